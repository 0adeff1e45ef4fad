// What does the page show, and what do its keys do?

import { Problem } from "./api.js";
import { byId, el } from "./dom.js";
import { GROUPS } from "./event_words.js";
import { once } from "./latest.js";
import { PANES } from "./moving.js";
import { complain } from "./notices.js";
import { canBe, follow, hashOf, lanePlace, sessionPlace } from "./place.js";
import { openSession } from "./session.js";
import { showLive, showName } from "./session_head.js";

let session = null;

const places = follow((place) => show(place));
const go = (change, kind) => places.go(change, kind);
const LISTS = {
  "list-view": once(async () => (await import("./sessions.js")).sessionList(go)),
  "lanes-view": once(async () => (await import("./lanes.js")).laneList(go)),
  "lane-view": once(async () => (await import("./lane.js")).laneView()),
};
let listShown = null;

function show(place) {
  const inSession = place.session !== null;
  const list = listOf(place);
  for (const id of Object.keys(LISTS)) byId(id).hidden = id !== list;
  byId("session-view").hidden = !inSession;
  byId("home").href = `#/${encodeURIComponent(place.project)}`;
  showViews(place);
  if (!inSession || (session && !session.is(place))) {
    session?.close();
    session = null;
  }
  if (!canBe(place)) return noSuchPlace(place);
  if (!inSession) return showList(list);
  hideList();
  if (session) session.show(place);
  else session = openSession(place, go);
  return undefined;
}

/** Return the view of a place that is in no session: a list, or a lane. */
function listOf({ session, lanes, lane }) {
  if (session !== null) return null;
  if (!lanes) return "list-view";
  return lane === null ? "lanes-view" : "lane-view";
}

function showViews({ project, session, lanes }) {
  byId("views").hidden = session !== null;
  byId("project").value = project;
  for (const [id, place, chosen] of [
    ["to-sessions", sessionPlace(project, null), !lanes],
    ["to-lanes", lanePlace(project), lanes],
  ]) {
    byId(id).href = hashOf(place);
    if (chosen) byId(id).setAttribute("aria-current", "true");
    else byId(id).removeAttribute("aria-current");
  }
}

async function showList(name) {
  if (listShown !== name) hideList();
  listShown = name;
  const shown = await LISTS[name]();
  // The reader may have gone on while its script came.
  if (listShown === name) shown.show(places.current);
}

async function hideList() {
  if (listShown === null) return;
  const list = LISTS[listShown];
  listShown = null;
  (await list()).hide();
}

function noSuchPlace(place) {
  hideList();
  showName(place.lane ?? place.session ?? place.project);
  showLive("off");
  complain(
    place.lane === null
      ? new Problem({
          title: place.session === null ? "There is no such project" : "There is no such session",
          detail: "An id has letters, digits, dots, hyphens and underscores, 128 at most.",
        })
      : new Problem({ title: "There is no such lane", detail: "Its id has 32 digits, 0 to 9 and a to f." }),
  );
}

const KEYS = [
  ["?", "This help", () => help()],
  ["ArrowLeft", "One version back", () => session?.step(-1)],
  ["ArrowRight", "One version on", () => session?.step(1)],
  ["Home", "The first version", () => session?.to(1)],
  ["End", "Now", () => session?.to("last")],
  ["j", "The next event of the timeline", () => session?.beside(1)],
  ["k", "The event before", () => session?.beside(-1)],
  ["a", "Archived messages, shown or not", () => session?.toggle("archived")],
  ["w", "Rewound messages, shown or not", () => session?.toggle("rewound")],
  ["r", "Rewind: what would come of it", () => session?.act.rewind()],
  ["u", "Redo: what would come of it", () => session?.act.redo()],
  ["f", "Fork: what would come of it", () => session?.act.fork()],
  ...PANES.map((pane, at) => [
    String(at + 1),
    `The ${pane} pane`,
    () => session && go({ pane: pane === "transcript" ? null : pane }),
  ]),
  ["/", "Find a session, or a lane", () => find()],
  ["l", "The lanes, or the sessions", () => toOtherList()],
  ["d", "Dark or light", () => changeTheme()],
];

const SHOWN = { ArrowLeft: "←", ArrowRight: "→" };

async function help() {
  const rows = KEYS.map(([key, words]) => [
    el("dt", {}, el("kbd", {}, SHOWN[key] ?? key)),
    el("dd", {}, words),
  ]);
  const { tell } = await import("./dialog.js");
  tell("Keys", el("dl", { class: "keys" }, rows));
}

function find() {
  const { lanes } = places.current;
  go({ session: null, lane: null });
  byId(lanes ? "find-lane" : "find").elements.q.focus();
}

function toOtherList() {
  const { project, lanes } = places.current;
  go(lanes ? sessionPlace(project, null) : lanePlace(project));
}

function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  const field = event.target.closest("input, select, textarea");
  // In a field its own keys count; a checkbox and the slider have none that are letters.
  const letters = field?.type === "checkbox" || field?.type === "range";
  if (field && !(letters && event.key.length === 1 && event.key !== " ")) return;
  const inEvents = event.target.closest("#events") !== null;
  const wanted = (inEvents && { ArrowDown: "j", ArrowUp: "k" }[event.key]) || event.key;
  const found = KEYS.find(([key]) => key === wanted);
  if (!found) return;
  event.preventDefault();
  found[2]();
}

function changeTheme() {
  const root = document.documentElement;
  const dark = getComputedStyle(root).colorScheme === "dark" ||
    (root.dataset.theme === undefined && matchMedia("(prefers-color-scheme: dark)").matches);
  root.dataset.theme = dark ? "light" : "dark";
  try {
    localStorage.setItem("turnlog-theme", root.dataset.theme);
  } catch {
    // Then it holds as long as the page is open.
  }
}

function wire() {
  const does = {
    theme: changeTheme,
    help,
    rewind: () => session?.act.rewind(),
    redo: () => session?.act.redo(),
    fork: () => session?.act.fork(),
  };
  for (const [id, act] of Object.entries(does)) byId(id).addEventListener("click", act);
  for (const name of ["archived", "rewound"]) {
    byId(`show-${name}`).addEventListener("change", () => session?.toggle(name));
  }
  const types = byId("types");
  for (const [name, words] of GROUPS) types.append(el("option", { value: name }, words));
  types.addEventListener("change", () => session?.filter(types.value || null));
  byId("project").addEventListener("change", (event) => {
    go({ project: event.target.value.trim() || "default", session: null, lane: null });
  });
  addEventListener("keydown", pressed);
  addEventListener("unhandledrejection", (event) => complain(event.reason));
}

wire();
show(places.current);
