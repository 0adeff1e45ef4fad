// What does an event say, in one line?

import { count, number, oneLine } from "./dom.js";

/** Which types a reader picks at once. */
export const GROUPS = [
  ["messages", "Messages", ["turn-started", "message-recorded"]],
  ["tools", "Tool calls", ["tool-call-requested", "tool-call-completed"]],
  ["turns", "Turns", ["turn-started", "turn-completed", "turn-failed", "turn-interrupted"]],
  [
    "gates",
    "Approvals",
    ["gate-opened", "gate-decided", "gate-expired", "gate-withdrawn", "gate-consumed"],
  ],
  [
    "history",
    "Rewinds, forks, compaction",
    ["history-rewound", "rewind-reverted", "session-forked", "history-compacted"],
  ],
  [
    "harnesses",
    "Harnesses",
    [
      "harness-started",
      "harness-parked",
      "harness-resumed",
      "harness-evicted",
      "dispatch-refused",
      "seat-close-requested",
    ],
  ],
  ["usage", "Usage", ["usage-recorded"]],
  ["losses", "Losses and imports", ["records-lost", "loss-healed", "history-imported"]],
  [
    "session",
    "The session itself",
    [
      "session-opened",
      "session-renamed",
      "session-configured",
      "approval-mode-set",
      "session-archived",
      "session-unarchived",
      "session-pinned",
      "session-deleted",
      "session-restored",
      "session-purged",
      "session-suspended",
      "session-unsuspended",
      "resume-marked",
      "resume-cleared",
    ],
  ],
  ["data", "Data", ["data-recorded"]],
];

/** Return the types of a group as the server takes them; null for all. */
export function typesOf(group) {
  const found = GROUPS.find(([name]) => name === group);
  return found ? found[2].join(",") : null;
}

/** Return whether an event is of a group; every event is of no group. */
export function isOf(event, group) {
  const found = GROUPS.find(([name]) => name === group);
  return found === undefined || found[2].includes(event.type);
}

const WORDS = {
  "turn-started": (data) => (data.messages ?? []).map((message) => said(message.content)).join(" "),
  "message-recorded": (data) => said(data.message?.content),
  "tool-call-requested": (data) => `${data.name} ${compact(data.arguments)}`,
  "tool-call-completed": (data) =>
    `${data.denied ? "denied: " : data.is_error ? "error: " : ""}${compact(data.output)}`,
  "gate-opened": (data) => `${data.kind}${data.tool ? `: ${data.tool}` : ""}`,
  "gate-decided": (data) => `${data.verdict} by ${data.decided_by}`,
  "gate-withdrawn": (data) => data.reason,
  "harness-started": (data) => named(data.path, data.reason),
  "harness-parked": (data) => (data.state === "idle" ? "for the next turn" : "for a decision"),
  "harness-resumed": (data) =>
    data.asides ? `warm, told ${count(data.asides, "message")} said aside` : "warm",
  "harness-evicted": (data) => data.reason,
  "dispatch-refused": (data) => named(data.code, data.seat, ...(data.reasons ?? [])),
  "seat-close-requested": (data) => data.reason,
  "usage-recorded": (data) =>
    `${data.model}: ${count(data.input_tokens + data.output_tokens, "token")}`,
  "data-recorded": (data) => data.kind,
  "turn-completed": (data) => data.stop_reason ?? "",
  "turn-failed": (data) => `${data.error?.code ?? ""} ${data.error?.message ?? ""}`,
  "turn-interrupted": (data) => data.reason,
  "history-compacted": (data) => data.summary,
  "history-rewound": (data) => `takes out ${moved(data)}, from version ${data.from_version} on`,
  "rewind-reverted": (data) => `brings back ${moved(data)}, as before version ${data.rewind_version}`,
  "records-lost": (data) =>
    `${data.count === null || data.count === undefined ? "unknown" : number(data.count)}: ${data.reason}`,
  "loss-healed": (data) => `of version ${data.loss_version}`,
  "history-imported": (data) => `${data.format}: ${data.source_name}`,
  "session-forked": (data) =>
    `of ${data.parent?.session_id} at version ${data.parent?.version}`,
  "session-opened": (data) => data.title ?? "",
  "session-renamed": (data) => data.title ?? "no title",
  "session-archived": (data) => data.reason ?? "",
  "session-deleted": (data) => data.reason ?? "",
  "session-pinned": (data) => (data.pinned ? "kept" : "kept no more"),
  "approval-mode-set": (data) => data.mode,
};

/** Return what an event says, on one line. */
export function gist(event) {
  if (event.data === null || event.data === undefined) return "(its content is gone)";
  const words = WORDS[event.type] ?? facts;
  return oneLine(words(event.data) ?? "");
}

/** Return who recorded an event, if it says. */
export function recordedBy(event) {
  const names = [event.actor, event.producer?.id].filter(Boolean);
  return names.length > 0 ? names.join(", ") : null;
}

/** Return who recorded an event if it was not just whoever sits at this machine; of a turn that came
 * by a lane, who spoke there. */
export function notableBy(event) {
  const author = event.lane_id ? event.data?.messages?.[0]?.author : null;
  const names = [author?.display ?? author?.subject_id, event.actor === "local" ? null : event.actor];
  return names.filter(Boolean).join(", ") || null;
}

function named(first, ...others) {
  const more = others.filter(Boolean);
  return more.length > 0 ? `${first}: ${more.join(", ")}` : first;
}

function moved({ turns, messages }) {
  return `${count(turns, "turn")} with ${count(messages, "message")}`;
}

function said(content) {
  if (typeof content === "string") return content;
  return (Array.isArray(content) ? content : []).map(partSaid).join(" ");
}

function partSaid(part) {
  return part.text ?? part.name ?? part.filename ?? `(${part.type})`;
}

function compact(value) {
  if (typeof value === "string") return value;
  return value === undefined ? "" : JSON.stringify(value);
}

function facts(data) {
  return Object.entries(data)
    .filter(([, value]) => typeof value !== "object")
    .map(([name, value]) => `${name.replaceAll("_", " ")} ${value}`)
    .join(", ");
}
