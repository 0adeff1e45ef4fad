// What stands above a session: its name, whether it is live, whether it is ready.

import { byId, count, el, fill } from "./dom.js";
import { hashOf, isLane, lanePlace } from "./place.js";

const LIVE = {
  live: "live",
  connecting: "connecting…",
  paused: "paused",
  off: "not live",
};

/** Show a session's name, how it stands, and the lane that it belongs to. */
export function showSession(project, session) {
  const title = session.title || session.session_id;
  const chips = byId("session-chips");
  const focused = chips.contains(document.activeElement);
  document.title = `${title} - turnlog`;
  fill(byId("session-title"), title);
  fill(
    chips,
    session.title && el("span", { class: "id" }, session.session_id),
    session.status !== "open" && el("span", { class: "chip" }, session.status),
    session.archived_reason && el("span", { class: "chip" }, session.archived_reason),
    session.pinned && el("span", { class: "chip" }, "pinned"),
    session.turn_status && el("span", { class: "chip" }, `turn ${session.turn_status}`),
    session.open_gates > 0 && el("span", { class: "chip" }, count(session.open_gates, "approval")),
    isLane(session.source?.lane_id) && lane(project, session.source),
  );
  if (focused) chips.querySelector("a")?.focus();
}

function lane(project, { lane_id: id, platform }) {
  const named = typeof platform === "string" ? `lane: ${platform}` : "lane";
  return el("a", { href: hashOf(lanePlace(project, id)), title: `Lane ${id}` }, named);
}

/** Show only the name that the address has, until more is known. */
export function showName(id) {
  document.title = `${id} - turnlog`;
  fill(byId("session-title"), id);
  fill(byId("session-chips"));
  showReadiness(null);
}

/** Show whether a client may leave the history out; nothing while it is not known. */
export function showReadiness(readiness) {
  const node = byId("ready");
  node.hidden = readiness === null;
  if (readiness === null) return;
  const reasons = readiness.reasons.map((reason) => reason.code);
  node.className = `chip ${readiness.ready ? "good" : "bad"}`;
  fill(node, readiness.ready ? "ready" : ["not ready", ...reasons].join(", "));
}

/** Show whether what is recorded comes by itself. */
export function showLive(state) {
  const node = byId("live");
  node.dataset.state = state;
  fill(node, LIVE[state]);
}
