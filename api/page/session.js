// One session: what is shown where, at which version, and what happens when more is recorded.
//
// A step asks for what the open pane shows, and for nothing else.

import { address, isAborted, read } from "./api.js";
import { byId, fill } from "./dom.js";
import { latest, once } from "./latest.js";
import { paneOf, scrubber, showPane, tabs } from "./moving.js";
import { announce, complain, settle } from "./notices.js";
import { sessionPlace } from "./place.js";
import { showLive, showName, showReadiness, showSession } from "./session_head.js";
import { timeline } from "./timeline.js";
import { transcript } from "./transcript.js";

/** What changes messages that were there before, so that the pages already read are stale. */
const REARRANGES = ["history-rewound", "rewind-reverted", "history-compacted", "history-asserted"];

/** Open the session of a place; `go(change, kind)` moves the reader. */
export function openSession(first, go) {
  const where = { project: first.project, session: first.session };
  const node = (name) => byId(`pane-${name}`);
  let place = first;
  let last = 0;
  let readiness = null;
  let waiting = [];
  // How often the messages were rearranged, and up to which time the transcript has taken it up.
  let rearranged = 1;
  let drawn = 0;
  let stopLive = () => {};
  let open = true;

  const version = () => Math.min(place.at ?? last, last || Infinity);
  const goTo = (wanted, kind = null) => go({ at: wanted >= last ? null : wanted }, kind);

  const past = once(async () => {
    const { historyOf } = await import("./history.js");
    return historyOf(where, {
      changed: () => {
        announce("The history was changed.");
        if (place.at !== null) go({ at: null });
      },
      opened: (id) => go(sessionPlace(where.project, id)),
    });
  });
  const doing = (name) => async (...args) => (await past())[name](...args);
  const events = timeline(where, {
    list: byId("events"),
    earlier: "Earlier events",
    later: "Later events",
    choose: (wanted) => goTo(wanted),
    failed: complain,
  });
  const panes = {
    timeline: { show: async () => events.reveal() },
    transcript: transcript(where, {
      pane: byId("messages"),
      actions: {
        goTo,
        rewindBefore: doing("rewindBefore"),
        forkAfter: doing("forkAfter"),
        switchTo: doing("switchTo"),
      },
      told: (answer) => {
        settle();
        readiness = answer.readiness;
        showReadiness(readiness);
        reached(answer.head.version);
      },
      failed: complain,
    }),
    changes: late(async () => {
      const { changesPane } = await import("./changes.js");
      return changesPane(where, node("changes"));
    }),
    event: late(async () => (await import("./event_pane.js")).eventPane(where, node("event"))),
    compare: late(async () => {
      const { comparePane } = await import("./changes.js");
      const choose = (from, to) => go({ from, to });
      return comparePane(where, node("compare"), { choose, current: version });
    }),
    status: late(async () => (await import("./status_pane.js")).statusPane(where, node("status"))),
  };

  const showOpenPane = latest(async (signal) => {
    const name = paneOf(place.pane);
    const mine = rearranged;
    const moment = { place, at: place.at, show: place.show, grown: drawn === mine };
    // What a pane tells of one event needs to know which; the transcript of now does not.
    if (name !== "transcript") await started;
    if (signal.aborted) return;
    const now = version();
    await panes[name].show({ ...moment, version: now, last, event: events.event(now) }, signal);
    if (!signal.aborted && name === "transcript") drawn = mine;
  });
  const showEvent = latest(async () => {
    await events.filter(place.types);
    await events.select(version());
  });
  const readSession = latest(async (signal) => {
    try {
      const session = await read(address(where, ""), signal);
      showSession(where.project, session);
      if (readiness?.ready !== session.ready) readiness = { ready: session.ready, reasons: [] };
      showReadiness(readiness);
    } catch (error) {
      if (!isAborted(error)) complain(error);
    }
  });

  const slider = scrubber((wanted) => goTo(wanted, "step"));
  const stopTabs = tabs({ choose: (pane) => go({ pane }), resized: () => draw() });

  const reached = (newest) => {
    last = Math.max(last, newest);
    slider.show(version(), last);
  };
  const arrived = (event) => {
    if (waiting.push(event) === 1) requestAnimationFrame(takeUp);
  };
  const takeUp = () => {
    if (!open) return;
    const recorded = waiting;
    waiting = [];
    const follows = place.at === null;
    if (recorded.some((event) => REARRANGES.includes(event.type))) rearranged += 1;
    reached(recorded.at(-1).version);
    events.append(recorded);
    readSession();
    if (!follows) return;
    events.select(last, { wait: true });
    showOpenPane();
  };

  const draw = () => {
    showPane(paneOf(place.pane));
    showToggles(place);
    showOpenPane();
  };

  const begin = async () => {
    draw();
    const page = await events.begin(first.at, first.types);
    if (!open) return undefined;
    if (page === null) return showLive("off");
    reached(page.head.version);
    events.select(version(), { wait: true });
    const { followSession } = await import("./live.js");
    if (!open) return undefined;
    stopLive = followSession(where, page.head.version, { arrived, state: showLive });
    readSession();
    return undefined;
  };

  for (const name of ["changes", "event", "status"]) fill(node(name));
  showName(first.session);
  showLive("connecting");
  const started = Promise.resolve().then(begin);

  return {
    is: (next) => next.session === where.session && next.project === where.project,
    show(next) {
      const before = place;
      place = next;
      settle();
      slider.show(version(), last);
      if (before.at !== place.at || before.types !== place.types) showEvent();
      draw();
    },
    step: (by) => slider.step(by),
    to: (wanted) => slider.to(wanted === "last" ? last : wanted),
    async beside(by) {
      const next = await events.beside(version(), by);
      if (next !== null) goTo(next, "step");
    },
    toggle: (name) => go({ show: toggled(place.show, name) }),
    filter: (types) => go({ types }),
    act: {
      rewind: () => (place.at === null ? doing("rewindTurns")() : doing("rewindTo")(version())),
      redo: doing("redo"),
      fork: () => doing("forkAt")(version()),
    },
    close() {
      open = false;
      stopLive();
      stopTabs();
      slider.stop();
      panes.transcript.stop();
      events.stop();
      for (const asking of [showOpenPane, showEvent, readSession]) asking.stop();
    },
  };
}

/** Return a pane whose script comes when it is first shown. */
function late(make) {
  const pane = once(make);
  return { show: async (...args) => (await pane()).show(...args) };
}

function showToggles(place) {
  const shown = (place.show ?? "").split(",");
  byId("show-archived").checked = shown.includes("archived");
  byId("show-rewound").checked = shown.includes("rewound");
  byId("types").value = place.types ?? "";
  byId("actions").classList.toggle("here", place.at !== null);
}

function toggled(show, name) {
  const names = new Set((show ?? "").split(",").filter(Boolean));
  if (!names.delete(name)) names.add(name);
  return names.size > 0 ? [...names].sort().join(",") : null;
}
