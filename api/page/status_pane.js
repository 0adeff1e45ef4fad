// Which history is it, may a client leave it out, and whom is it related to?

import { address, isAborted, Problem, read } from "./api.js";
import { el, fill, time } from "./dom.js";
import { hashOf, sessionPlace } from "./place.js";
import { problemNode } from "./notices.js";

/** Return the pane of readiness, fingerprints, lineage and what else the rules know. */
export function statusPane(place, node) {
  return {
    async show({ at }, signal) {
      const ask = (path, query) => read(address(place, path, query), signal);
      const state = ask("/state", { at });
      const shown = await Promise.all([
        section("Readiness", state, (found) => readiness(found.readiness)),
        section("Fingerprints", ask("/fingerprint", { at }), fingerprints),
        section("Where it stands", state, standing),
        section("Lineage", ask("/lineage"), (found) => lineage(place, found)),
      ]);
      if (!signal.aborted) fill(node, shown);
    },
  };
}

async function section(title, asked, show) {
  try {
    return el("section", {}, el("h2", {}, title), show(await asked));
  } catch (error) {
    if (isAborted(error)) return null;
    if (!(error instanceof Problem)) throw error;
    return el("section", {}, el("h2", {}, title), problemNode(error));
  }
}

function readiness(found) {
  const verdict = found.ready
    ? "Ready: a client may send its newest message alone."
    : "Not ready: a client has to send its whole history.";
  return [
    el("p", {}, el("span", { class: `chip ${found.ready ? "good" : "bad"}` }, verdict)),
    found.empty && el("p", {}, "It has no turn yet."),
    el(
      "ul",
      {},
      found.reasons.map((reason) =>
        el("li", {}, el("code", {}, reason.code), reason.detail ? `: ${reason.detail}` : ""),
      ),
    ),
    el("p", { class: "hint" }, `Through version ${found.through_version}.`),
  ];
}

function fingerprints(found) {
  return facts([
    ["What is shown", found.history],
    ["What the model sees", found.model_history],
    ["Configuration", found.config],
    ["Credentials", found.credentials],
  ]);
}

function lineage(place, found) {
  const link = (relative) => [
    el(
      "a",
      { href: hashOf(sessionPlace(place.project, relative.session_id)) },
      relative.title || relative.session_id,
    ),
    ` at version ${relative.version}`,
    relative.status === "open" ? "" : `, ${relative.status}`,
  ];
  const children = found.children.items;
  return [
    el("h3", {}, "Forked from"),
    found.ancestors.length > 0
      ? el("ol", {}, found.ancestors.map((each) => el("li", {}, link(each))))
      : el("p", {}, "No other session."),
    el("h3", {}, "Forks of it"),
    children.length > 0
      ? el("ul", {}, children.map((each) => el("li", {}, link(each))))
      : el("p", {}, "None."),
    found.children.next_cursor && el("p", { class: "hint" }, "There are more."),
  ];
}

function standing(state) {
  const { messages, turns, turn, losses } = state;
  return facts([
    ["Session", state.session_id],
    ["Status", state.status],
    ["Title", state.title && `${state.title} (by ${state.title_by})`],
    ["Opened", time(state.created_at)],
    ["Last change", time(state.updated_at)],
    ["Messages", `${messages.in_sight} in sight, ${messages.archived} archived, ${messages.ever} ever`],
    ["Turns", `${turns.in_sight} in sight, ${turns.ever} ever`],
    ["Turn", turn && `${turn.turn_id}, ${turn.status}`],
    ["Open calls", names(state.open_calls, (call) => call.name)],
    ["Open approvals", names(state.open_gates, (gate) => gate.tool ?? gate.kind)],
    ["Approval mode", state.approval_mode],
    ["Summary", state.summary_version && `of version ${state.summary_version}`],
    ["Redo reverts", state.redo_version && `the rewind at version ${state.redo_version}`],
    ["Open losses", losses.open > 0 ? String(losses.open) : null],
    ["Hash", state.head.hash],
  ]);
}

function names(items, nameOf) {
  return items.length > 0 ? items.map(nameOf).join(", ") : null;
}

function facts(rows) {
  return el(
    "dl",
    {},
    rows
      .filter(([, value]) => value !== null && value !== undefined)
      .map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]),
  );
}
