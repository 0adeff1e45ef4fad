// Which history is it, may a client leave it out, and whom is it related to?

import { address, isAborted, Problem, read } from "./api.js";
import { el, fill, time } from "./dom.js";
import { hashOf, sessionPlace } from "./place.js";
import { problemNode } from "./notices.js";

/** Return the pane of readiness, fingerprints, lineage and what else is known of the session. */
export function statusPane(place, node) {
  return {
    async show({ at, session }, signal) {
      const ask = (path, query) => read(address(place, path, query), signal);
      const answers = await Promise.all([
        section("Readiness", ask("/readiness", { at }), readiness),
        section("Fingerprints", ask("/fingerprint", { at }), fingerprints),
        section("Lineage", ask("/lineage"), (found) => lineage(place, found)),
      ]);
      if (!signal.aborted) fill(node, answers, session && about(session));
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

function about(session) {
  return el(
    "section",
    {},
    el("h2", {}, "The session"),
    facts([
      ["Id", session.session_id],
      ["Status", session.status],
      ["Opened", time(session.created_at)],
      ["Last change", time(session.updated_at)],
      ["Messages in sight", String(session.messages)],
      ["Turns in sight", String(session.turns)],
      ["Running turn", session.turn_id && `${session.turn_id} (${session.turn_status})`],
      ["Open approvals", String(session.open_gates)],
      ["Approval mode", session.approval_mode],
      ["Hash of the newest event", session.head.hash],
    ]),
  );
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
