// What can be done to a lane? What will become of its session is shown first.

import { address, Problem, read, send } from "./api.js";
import { askFirst } from "./dialog.js";
import { count, el } from "./dom.js";
import { complain } from "./notices.js";

/** Return what can be done to a lane; `again(words)` is called after something was done. */
export function laneActions({ project }, lane, { again, links }) {
  const where = (path = "") => address({ project }, `/lanes/${encodeURIComponent(lane.lane_id)}${path}`);

  return {
    reset() {
      let seen = null;
      return askFirst({
        title: "Reset the lane",
        confirm: "Reset",
        consequence: async () => {
          seen = await read(where());
          const query = { session_id: seen.session_id, status: "open" };
          const sharing = await read(address({ project }, "/lanes", query));
          const others = sharing.items.filter((each) => each.lane_id !== lane.lane_id).length;
          return left(seen, others);
        },
        act: async () => {
          // Nothing is done to a session that nobody looked at.
          const now = await read(where());
          if (whatRuns(now) !== whatRuns(seen)) throw goneOn();
          const done = await send(where("/reset"), {});
          again("The lane was reset.");
          return whatWasDone(done, links);
        },
      });
    },
    suspend() {
      const reason = el("input", { type: "text", maxlength: "128", value: "by hand", required: true });
      return askFirst({
        title: "Suspend the lane",
        fields: el("label", {}, "Why ", reason),
        confirm: "Suspend",
        consequence: async () => [
          el("p", {}, "Whoever writes here next gets a new session."),
          el("p", { class: "hint" }, "Until then nothing is done to the one that there is."),
        ],
        act: async () => {
          await send(where("/suspend"), { reason: reason.value.trim() });
          again("The lane was suspended.");
          return null;
        },
      });
    },
    async pin() {
      try {
        const done = await send(where(), { pinned: !lane.pinned }, `"${lane.version}"`, "PATCH");
        again(done.pinned ? "The lane was pinned." : "The lane was pinned no more.");
      } catch (error) {
        if (!(error instanceof Problem)) throw error;
        complain(error);
      }
    },
  };
}

/** Return what becomes of the session that a lane leaves; `others` lanes have it too. */
function left({ session, session_id: id }, others) {
  const named = el("strong", { dir: "auto" }, session?.title || id);
  const begins = el("p", {}, "A new session begins here at once.");
  if (session === null || !["open", "suspended"].includes(session.status)) {
    return [begins, el("p", {}, "The current one, ", named, ", is put away already.")];
  }
  if (others > 0) {
    return [
      begins,
      el("p", {}, "The current one, ", named, `, stays open, as ${count(others, "other lane")} has it too.`),
      el("p", {}, "What came by this lane, and runs or waits there, is cut off."),
    ];
  }
  return [
    begins,
    el("p", {}, "The current one, ", named, ", is put away. It can be read, and gone on with later."),
    session.turn_id && el("p", {}, `Its turn ${session.turn_id} is interrupted, and its approvals are withdrawn.`),
    el("p", {}, "What waits there is taken back."),
  ];
}

function whatWasDone({ session_id: id, interrupted, recalled }, links) {
  const waited = recalled?.length ?? 0;
  return [
    el("p", {}, "Session ", links.session(id), " began."),
    interrupted && el("p", {}, `Turn ${interrupted} was interrupted.`),
    waited > 0 && el("p", {}, `${count(waited, "message")} that waited ${waited === 1 ? "was" : "were"} taken back.`),
  ];
}

function whatRuns({ session_id: id, session }) {
  return `${id} ${session?.status} ${session?.turn_id}`;
}

function goneOn() {
  return new Problem({
    title: "The lane has gone on",
    detail: "Since this was asked, something began or ended in its session.",
  });
}
