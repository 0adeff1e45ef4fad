// How is one message shown, with its parts and what can be done about it?

import { address, pretty } from "./api.js";
import { button, count, el, number, oneLine, put } from "./dom.js";
import { why } from "./paths.js";

const LONG = 6_000;

/**
 * Return a message as an element.
 *
 * `actions` has `goTo(version)`, `rewindBefore(message)`, `forkAfter(message)` and
 * `switchTo(alternative)`; `fresh` tells that the chosen event began it.
 */
export function messageNode(place, message, actions, { fresh }) {
  const turn = message.role === "user" && message.turn_id ? why(place, message) : null;
  const classes = ["message", message.role, message.state, fresh ? "fresh" : ""];
  return el(
    "article",
    { class: classes.filter(Boolean).join(" "), "aria-label": label(message) },
    el(
      "header",
      {},
      el("span", { class: "role" }, message.summary ? "summary" : message.role),
      message.author && el("span", { class: "by" }, message.author.display ?? message.author.subject_id),
      message.state !== "live" && el("span", { class: `chip ${message.state}` }, message.state),
      message.status === "partial" && el("span", { class: "chip" }, "partial"),
      fresh && el("span", { class: "chip fresh" }, "this event"),
      button(`v${message.version}`, () => actions.goTo(message.version), {
        class: "quiet",
        "aria-label": `Go to version ${message.version}`,
        title: "Go to the version at which this began",
      }),
      message.summary ? null : choices(message, actions, turn),
    ),
    turn?.told,
    message.parts.map((part) => partNode(place, part)),
    (message.alternatives ?? []).length > 0 && alternatives(message, actions),
  );
}

function label(message) {
  return `${message.role} message ${message.index + 1}, ${message.state}`;
}

function choices(message, actions, turn) {
  if (turn === null) return null;
  if (message.state === "rewound") return el("span", { class: "choices" }, turn.ask);
  return el(
    "span",
    { class: "choices" },
    turn.ask,
    button("Rewind to before…", () => actions.rewindBefore(message), { class: "quiet" }),
    button("Fork after its turn…", () => actions.forkAfter(message), { class: "quiet" }),
  );
}

function alternatives(message, actions) {
  const others = message.alternatives.map((other) =>
    el(
      "li",
      {},
      el("span", { class: "id" }, other.message_id),
      button(`See version ${other.version}`, () => actions.goTo(other.version), { class: "quiet" }),
      Number.isInteger(other.rewind_version)
        ? button("Switch to this branch…", () => actions.switchTo(other), { class: "quiet" })
        : el("span", { class: "chip" }, "in sight"),
    ),
  );
  const all = others.length + (message.alternatives_more ?? 0);
  return el(
    "details",
    { class: "alternatives" },
    el("summary", {}, `${count(all, "other message")} began a turn here`),
    el("ul", {}, others),
    all > others.length && el("p", { class: "hint" }, "Older ones are not listed."),
  );
}

const SHOWN = {
  text: (part) => textNode(part.text, "text"),
  reasoning: (part) => folded("Reasoning", "", () => textNode(part.text, "text reasoning")),
  tool_call: (part) =>
    folded(part.name, `${oneLine(written(part.arguments), 90)}`, () => value(part.arguments), [
      el("span", { class: `chip ${part.status ?? ""}` }, part.status ?? "call"),
      part.gate && el("span", { class: "chip" }, `approval ${part.gate.status}`),
    ]),
  tool_result: (part) =>
    folded(`Result${part.name ? ` of ${part.name}` : ""}`, oneLine(written(part.output), 90), () =>
      value(part.output), [
      part.is_error && el("span", { class: "chip bad" }, "error"),
      part.denied && el("span", { class: "chip bad" }, "denied"),
    ]),
  attachment: (part, place) => attachment(part, place),
  data: (part) => folded(`Data: ${part.kind}`, "", () => value(part.data)),
  missing: (part) => el("p", { class: "missing" }, `This is gone: ${part.reason}.`),
};

function partNode(place, part) {
  const show = SHOWN[part.type] ?? (() => folded(part.type, "", () => value(part)));
  const node = el("div", { class: "part" });
  return put(node, show(part, place), (part.blobs ?? []).map((blob) => rest(place, blob)));
}

/** Return what opens when it is asked for; its content is made only then. */
function folded(title, hint, make, chips = []) {
  const node = el(
    "details",
    {},
    el(
      "summary",
      {},
      el("span", { class: "name" }, title),
      chips,
      el("span", { class: "hint", dir: "auto" }, hint),
    ),
  );
  node.addEventListener("toggle", () => node.open && node.childElementCount === 1 && put(node, make()));
  return node;
}

function value(content) {
  return textNode(written(content), "code");
}

function written(content) {
  return typeof content === "string" ? content : pretty(content);
}

function textNode(text, kind) {
  const whole = text ?? "";
  const node = el("div", { class: kind, dir: "auto" });
  if (whole.length <= LONG) return put(node, whole);
  const cut = whole.slice(0, LONG).replace(/[\ud800-\udbff]$/, "");
  const show = button(`Show all ${number(whole.length)} characters`, () => {
    node.replaceChildren();
    put(node, whole);
  });
  return put(node, cut, "… ", show);
}

function attachment(part, place) {
  const name = part.filename ?? part.attachment_id ?? "attachment";
  const about = [part.media_type, part.size ? `${number(part.size)} bytes` : null];
  const words = `${name} (${about.filter(Boolean).join(", ") || "attachment"})`;
  return part.sha256 ? download(place, part.sha256, words) : el("span", {}, words);
}

function rest(place, blob) {
  const words = `The whole of it: ${number(blob.size)} bytes`;
  return el("p", { class: "rest" }, download(place, blob.sha256, words));
}

function download(place, digest, words) {
  const href = address({ project: place.project }, `/blobs/${encodeURIComponent(digest)}`);
  return el("a", { href, download: digest.slice(0, 16) }, words);
}
