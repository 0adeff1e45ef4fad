// What does the page show, and what do its keys do?

import { Problem } from "./api.js";
import { byId, el } from "./dom.js";
import { GROUPS } from "./event_words.js";
import { once } from "./latest.js";
import { PANES } from "./moving.js";
import { complain } from "./notices.js";
import { canBe, follow } from "./place.js";
import { openSession } from "./session.js";
import { showLive, showName } from "./session_head.js";

let session = null;

const places = follow((place) => show(place));
const go = (change, kind) => places.go(change, kind);
const list = once(async () => (await import("./sessions.js")).sessionList(go));
let listShown = false;

function show(place) {
  const inSession = place.session !== null;
  byId("list-view").hidden = inSession;
  byId("session-view").hidden = !inSession;
  byId("home").href = `#/${encodeURIComponent(place.project)}`;
  if (!inSession || (session && !session.is(place))) {
    session?.close();
    session = null;
  }
  if (!canBe(place)) return noSuchPlace(place);
  if (!inSession) return showList();
  hideList();
  if (session) session.show(place);
  else session = openSession(place, go);
  return undefined;
}

async function showList() {
  listShown = true;
  const shown = await list();
  // The reader may have gone on while its script came.
  if (listShown) shown.show(places.current);
}

async function hideList() {
  if (!listShown) return;
  listShown = false;
  (await list()).hide();
}

function noSuchPlace(place) {
  hideList();
  showName(place.session ?? place.project);
  showLive("off");
  complain(
    new Problem({
      title: place.session === null ? "There is no such project" : "There is no such session",
      detail: "An id has letters, digits, dots, hyphens and underscores, 128 at most.",
    }),
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
  ["/", "Find a session", () => find()],
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
  go({ session: null });
  byId("find").elements.q.focus();
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
  addEventListener("keydown", pressed);
  addEventListener("unhandledrejection", (event) => complain(event.reason));
}

wire();
show(places.current);
