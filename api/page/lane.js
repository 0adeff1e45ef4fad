// One lane: where it is, which session it has and had, and what became of it?

import { address, isAborted, Problem, read } from "./api.js";
import { button, byId, el, fill, put, time } from "./dom.js";
import { notableBy } from "./event_words.js";
import { laneMarks, laneName, sentence, whyBegan, whyEnded } from "./lane_words.js";
import { latest } from "./latest.js";
import { followProject, OF_LANES } from "./live.js";
import { announce, complain, settle } from "./notices.js";
import { hashOf, lanePlace, sessionPlace } from "./place.js";

const PAGE = 50;
const MOST_SESSIONS = 200;

/** Wire the view of a lane. Returns what shows a place. */
export function laneView() {
  const body = byId("lane-body");
  let place = null;
  let parts = null;
  let lane = null;
  let facts = [];
  let sessions = { shown: 0, next: null };
  let stopLive = () => {};

  const where = (path = "", query = {}) =>
    address({ project: place.project }, `/lanes/${encodeURIComponent(place.lane)}${path}`, query);
  const links = {
    session: (id, words = id) => el("a", { href: hashOf(sessionPlace(place.project, id)), dir: "auto" }, words),
    lane: (id, words = id) => el("a", { href: hashOf(lanePlace(place.project, id)) }, words),
  };

  const load = latest(async (signal) => {
    try {
      const limit = Math.min(Math.max(sessions.shown, PAGE), MOST_SESSIONS);
      const now = await read(where(), signal);
      const [had, recorded] = await Promise.all([
        read(where("/sessions", { limit }), signal),
        factsSince(now, signal),
      ]);
      if (signal.aborted) return;
      settle();
      lane = now;
      // What was shown of a lane goes with what is known of it.
      const purged = recorded.some((fact) => fact.type === "lane-purged");
      facts = [...recorded, ...(purged ? facts.map((fact) => ({ ...fact, data: null })) : facts)];
      draw(had);
    } catch (error) {
      if (isAborted(error)) return;
      if (!(error instanceof Problem)) throw error;
      complain(error);
    }
  });

  /** Return the facts that are not shown yet, the newest first; of many the last ones. */
  const factsSince = async (now, signal) => {
    let after = facts[0]?.version ?? Math.max(now.version - PAGE, 0);
    const found = [];
    while (after !== null && after < now.version) {
      const page = await read(where("/events", { after, limit: PAGE }), signal);
      found.unshift(...page.items.reverse());
      after = page.next_after;
    }
    return found;
  };

  const earlierFacts = async () => {
    const first = facts.at(-1).version;
    const after = Math.max(first - 1 - PAGE, 0);
    const page = await read(where("/events", { after, limit: first - 1 - after }));
    if (facts.at(-1)?.version !== first) return;
    facts.push(...page.items.reverse());
    drawFacts();
  };

  const moreSessions = async () => {
    const { next } = sessions;
    const page = await read(where("/sessions", { limit: PAGE, cursor: next }));
    if (sessions.next === next) drawSessions(page, { added: true });
  };

  const draw = (had) => {
    const focused = document.activeElement?.closest("#lane-body a")?.getAttribute("href");
    document.title = `${laneName(lane)} - turnlog`;
    fill(byId("lane-title"), laneName(lane));
    fill(byId("lane-chips"), laneMarks(lane));
    const open = lane.status === "open";
    byId("lane-reset").hidden = byId("lane-pin").hidden = !open;
    byId("lane-suspend").hidden = !open || lane.suspended;
    fill(byId("lane-pin"), lane.pinned ? "Unpin" : "Pin");
    if (parts?.called !== lane.lane_key) begin();
    fill(parts.now, current(lane, links));
    fill(parts.source, pairs(lane.source));
    fill(parts.policy, pairs(lane.policy));
    drawSessions(had);
    drawFacts();
    if (focused) body.querySelector(`a[href="${CSS.escape(focused)}"]`)?.focus();
  };

  /** Make what stays as long as the lane is called so: a key that is just being copied, too. */
  const begin = () => {
    parts = { called: lane.lane_key };
    for (const name of ["now", "sessions", "source", "policy", "facts"]) parts[name] = el("div", {});
    fill(
      body,
      section("Current session", parts.now),
      section("Key", lane.lane_key && key(lane.lane_key), el("p", { class: "hint" }, "Lane ", el("code", {}, lane.lane_id))),
      section("Where it is", parts.source),
      section("Earlier sessions", parts.sessions),
      section("What happened", parts.facts),
      section("What its key follows from", parts.policy),
    );
  };

  const drawSessions = ({ items, next_cursor: next }, { added = false } = {}) => {
    const earlier = items.filter((each) => !each.current).map((each) => had(each, links));
    const list = added ? parts.sessions.querySelector("ul") : el("ul", { class: "lines" });
    put(list, earlier);
    sessions = { shown: (added ? sessions.shown : 0) + items.length, next };
    fill(
      parts.sessions,
      list.childElementCount > 0 ? list : el("p", { class: "hint" }, "None."),
      next !== null && button("More", () => moreSessions().catch(complain), { class: "more" }),
    );
  };

  const drawFacts = () => {
    fill(
      parts.facts,
      el("ol", { class: "lines" }, facts.map((fact) => happened(fact, links))),
      facts.at(-1)?.version > 1 &&
        button("Earlier", () => earlierFacts().catch(complain), { class: "more" }),
    );
  };

  const act = (name) => async () => {
    if (lane === null) return;
    const { laneActions } = await import("./lane_actions.js");
    const again = (words) => {
      announce(words);
      load();
    };
    laneActions(place, lane, { again, links })[name]();
  };
  byId("lane-reset").addEventListener("click", act("reset"));
  byId("lane-suspend").addEventListener("click", act("suspend"));
  byId("lane-pin").addEventListener("click", act("pin"));

  const concerns = (event) =>
    event.lane_id === place.lane || (lane !== null && event.session_id === lane.session_id);

  const leave = () => {
    load.stop();
    stopLive();
    place = lane = parts = null;
    facts = [];
    sessions = { shown: 0, next: null };
    for (const id of ["lane-title", "lane-chips", "lane-body"]) fill(byId(id));
    for (const id of ["lane-reset", "lane-suspend", "lane-pin"]) byId(id).hidden = true;
  };

  return {
    show(next) {
      if (place !== null && place.lane === next.lane && place.project === next.project) return;
      leave();
      place = next;
      document.title = "Lane - turnlog";
      load();
      stopLive = followProject(place.project, () => load(), { types: OF_LANES, concerns });
    },
    hide: leave,
  };
}

function section(title, ...content) {
  return el("section", {}, el("h2", {}, title), content);
}

function current(lane, links) {
  const { session, session_id: id } = lane;
  const elsewhere = lane.status === "moved" && lane.moved_to;
  if (lane.status === "purged") return el("p", { class: "hint" }, "None: whoever writes next begins it anew.");
  return [
    el(
      "p",
      {},
      session === null ? el("span", { class: "id" }, id) : links.session(id, session.title || id),
      session === null ? " is gone: whoever writes next gets a new one." : ` (${session.status})`,
    ),
    el("p", { class: "hint" }, "Since ", time(lane.bound_at), "; last activity ", time(lane.updated_at), "."),
    elsewhere && el("p", {}, "The conversation goes on in lane ", links.lane(elsewhere), "."),
    lane.moved_from && el("p", {}, "It came from lane ", links.lane(lane.moved_from), "."),
  ];
}

function key(text) {
  const shown = el("code", { class: "key", tabindex: "0" }, text);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      announce("The key was copied.");
    } catch {
      // A browser lends its clipboard to secure addresses only; then a reader copies by hand.
      getSelection().selectAllChildren(shown);
      announce("The key is marked, to be copied.");
    }
  };
  return el("p", {}, shown, " ", button("Copy", copy, { class: "quiet", "aria-label": "Copy the key" }));
}

function had(each, links) {
  const { session_id: id, title, status } = each;
  return el(
    "li",
    {},
    status === "absent" ? el("span", { class: "id" }, id) : links.session(id, title || id),
    el("span", { class: "hint" }, ` ${whyEnded(each)}; since `, time(each.bound_at), `: ${whyBegan(each)}`),
  );
}

function happened(fact, links) {
  const by = notableBy(fact);
  return el(
    "li",
    { "data-version": fact.version },
    el("span", { class: "when" }, time(fact.recorded_at)),
    el("span", { dir: "auto" }, sentence(fact, links), by && el("span", { class: "hint" }, ` By ${by}.`)),
  );
}

function pairs(values) {
  const shown = (value) => (typeof value === "string" ? value : JSON.stringify(value));
  return el(
    "dl",
    {},
    Object.entries(values).map(([name, value]) => [
      el("dt", {}, name),
      el("dd", { dir: "auto" }, shown(value)),
    ]),
  );
}
