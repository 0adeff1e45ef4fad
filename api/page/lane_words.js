// What is said of a lane: how it stands, what became of it, and of the sessions that it had?

import { el } from "./dom.js";

const STATES = { moved: "moved elsewhere", pruned: "given up", purged: "purged" };

/** Return what a lane is called: where it is, and of one that was purged that nothing is known of it. */
export function laneName(lane) {
  return lane.description || "A lane of which nothing is known";
}

/** Return the marks of a lane, in words. */
export function laneMarks(lane) {
  const chip = (words, kind = "") => el("span", { class: `chip ${kind}` }, words);
  const { session } = lane;
  if (lane.status === "purged") return [chip(STATES.purged)];
  return [
    chip(lane.platform),
    el("span", {}, lane.shared ? "shared" : "private"),
    lane.status !== "open" && chip(STATES[lane.status] ?? lane.status),
    session?.turn_id && chip("turn under way", "good"),
    session === null && chip("no session"),
    session && session.status !== "open" && chip(`session ${session.status}`),
    lane.suspended && chip(`suspended: ${lane.suspended_reason}`, "bad"),
    lane.resume_pending && chip(`resume pending: ${lane.resume_reason}`, "fresh"),
    lane.pinned && chip("pinned"),
  ];
}

const BEGAN = {
  created: "the first one here",
  "session-ended": "as the one before had ended",
  recovered: "found again after the lane was given up",
  moved: "came along with the lane",
  branched: "a branch",
  requested: "a new conversation was asked for",
  suspended: "as the lane was suspended",
  forced: "the gateway asked for a new one",
  switched: "gone on with",
};
const ENDED = {
  "lane-reset": "ended, as a new one took its place",
  "lane-switched": "left for another one",
  "lane-suspended": "ended, as the lane was suspended",
  "agent-close": "its agent closed it",
  "orphan-reaped": "given up, as its agent was gone",
};

/** Return why a session became the lane's current one. */
export function whyBegan({ reason }) {
  return BEGAN[reason] ?? reason;
}

/** Return what became of a session that a lane had. */
export function whyEnded({ status, archived_reason: reason }) {
  if (status === "archived") return ENDED[reason] ?? (reason ? `ended: ${reason}` : "put away by a person");
  return { open: "still open", absent: "gone", deleted: "deleted" }[status] ?? status;
}

const TOOK_PLACE = {
  requested: "a new conversation was asked for",
  suspended: "the lane was suspended",
  forced: "the gateway asked for it",
};

const SENTENCES = {
  "lane-opened": ({ lane_key: key, shared, moved_from: from }, { lane }) => [
    from ? ["The conversation of lane ", lane(from), " goes on here"] : "The place was seen",
    `, as ${key}; its conversation is ${shared ? "shared" : "private"}.`,
  ],
  "lane-bound": ({ session_id: id, reason, previous_session_id: before }, { session }) => {
    const named = session(id);
    switch (reason) {
      case "created":
        return ["Session ", named, " began."];
      case "session-ended":
        return ["Session ", named, " began, as ", before ? session(before) : "the one before", " had ended."];
      case "recovered":
        return ["Session ", named, " was found again."];
      case "moved":
        return ["Session ", named, " came along."];
      case "branched":
        return ["The conversation went on in session ", named, ", a branch of ", before ? session(before) : "another", "."];
      default:
        return ["Session ", named, ` became the current one: ${reason}.`];
    }
  },
  "lane-reset": ({ session_id: id, previous_session_id: before, reason, had_activity: had }, { session }) => [
    "Session ",
    session(id),
    " took the place of ",
    session(before),
    `: ${TOOK_PLACE[reason] ?? reason}.`,
    had ? "" : " Nothing had been said in that one.",
  ],
  "lane-suspended": ({ reason }) => `The lane was suspended: ${reason}. Whoever came next was to get a new session.`,
  "lane-switched": ({ session_id: id, previous_session_id: before }, { session }) => [
    "The conversation went on with the earlier session ",
    session(id),
    " instead of ",
    session(before),
    ".",
  ],
  "lane-resume-marked": ({ reason }) => `A turn was cut off (${reason}), and could be gone on with.`,
  "lane-resume-cleared": ({ reason }) => `There was nothing to go on with any more: ${reason}.`,
  "lane-moved": ({ to_lane_id: to, follow }, { lane }) => [
    "The conversation went on in lane ",
    lane(to),
    follow ? "; what still comes here goes there." : ".",
  ],
  "lane-pinned": ({ pinned }) => (pinned ? "The lane was pinned: it is kept." : "The lane was pinned no more."),
  "lane-pruned": () => "The lane was given up, as nothing had come for long.",
  "lane-purged": () => "What was known of the lane was destroyed.",
};

/** Return what a fact says; `links` makes links of the ids of a `session` and of a `lane`. */
export function sentence(fact, links) {
  if (fact.data === null || fact.data === undefined) return "(its content is gone)";
  return SENTENCES[fact.type]?.(fact.data, links) ?? fact.type;
}
