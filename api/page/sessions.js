// Which sessions are there? The newest first, found by their titles or by what was said in them.

import { address, isAborted, Problem, read } from "./api.js";
import { byId, count, el, fill, put, time } from "./dom.js";
import { latest } from "./latest.js";
import { followProject } from "./live.js";
import { complain, settle } from "./notices.js";
import { hashOf, sessionPlace } from "./place.js";

const PAGE = 50;

/** Wire the list of sessions; `go(change, kind)` moves the reader. Returns what shows a place. */
export function sessionList(go) {
  const form = byId("find");
  const list = byId("sessions");
  const more = byId("sessions-more");
  let place = null;
  let following = null;
  let followed = null;
  let stopLive = () => {};
  let begun = false;

  const load = latest(async (cursor, signal) => {
    const { project, q, in: where, status } = place;
    const words = where === "messages" && q;
    const query = words ? { q, limit: PAGE, cursor } : { title: q, status, limit: PAGE, cursor };
    const path = words ? "/search" : "/sessions";
    try {
      const page = await read(address({ project }, path, query), signal);
      if (signal.aborted) return;
      settle();
      const rows = page.items.map((item) => (words ? hit(project, item) : row(project, item)));
      const focused = document.activeElement?.closest("#sessions a")?.getAttribute("href");
      if (cursor === null) fill(list);
      put(list, rows);
      if (focused) list.querySelector(`a[href="${CSS.escape(focused)}"]`)?.focus();
      if (list.childElementCount === 0) put(list, empty(q));
      following = page.next_cursor;
      more.hidden = following === null;
    } catch (error) {
      if (isAborted(error)) return;
      if (!(error instanceof Problem)) throw error;
      fill(list);
      more.hidden = true;
      complain(error);
    }
  });

  /** Read the list again when it may be another, unless a reader is somewhere down in it. */
  const followNow = () => {
    if (followed === place.project) return;
    stopLive();
    followed = place.project;
    stopLive = followProject(place.project, () => {
      if (list.childElementCount <= PAGE && place.in !== "messages") load(null);
    });
  };

  const choose = () => {
    const given = new FormData(form);
    const pick = (name, usual) => (given.get(name) === usual ? null : given.get(name));
    go({ q: given.get("q").trim() || null, in: pick("in", "titles"), status: pick("status", "open") }, "find");
  };
  form.addEventListener("input", choose);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    choose();
  });
  more.addEventListener("click", () => load(following));

  return {
    show(next) {
      place = next;
      document.title = "Sessions - turnlog";
      const words = form.elements.q;
      if (words !== document.activeElement) words.value = place.q ?? "";
      const typed = !begun && words.value.trim() !== (place.q ?? "");
      begun = true;
      if (typed) return choose(); // while the page was loading
      form.elements.in.value = place.in === "messages" ? "messages" : "titles";
      form.elements.status.value = place.status ?? "open";
      form.elements.status.disabled = place.in === "messages";
      load(null);
      followNow();
    },
    hide() {
      load.stop();
      stopLive();
      followed = null;
    },
  };
}

function row(project, session) {
  return el(
    "li",
    {},
    el(
      "a",
      { href: hashOf(sessionPlace(project, session.session_id)) },
      el("span", { class: "title", dir: "auto" }, session.title || session.session_id),
      el("span", { class: "when" }, time(session.updated_at)),
      el(
        "span",
        { class: "about" },
        session.title ? el("span", { class: "id" }, session.session_id) : null,
        el("span", {}, count(session.turns, "turn")),
        el("span", {}, count(session.messages, "message")),
        session.turn_status && el("span", { class: "chip" }, session.turn_status),
        session.open_gates > 0 && el("span", { class: "chip" }, count(session.open_gates, "approval")),
        session.status !== "open" && el("span", { class: "chip" }, session.status),
        session.pinned && el("span", { class: "chip" }, "pinned"),
        session.ready ? null : el("span", { class: "chip bad" }, "not ready"),
      ),
    ),
  );
}

function hit(project, found) {
  return el(
    "li",
    {},
    el(
      "a",
      { href: hashOf(sessionPlace(project, found.session_id, found.version)) },
      el("span", { class: "title" }, found.session_id),
      el("span", { class: "when" }, time(found.at)),
      el(
        "span",
        { class: "about snippet", dir: "auto" },
        el("span", { class: "chip" }, found.role),
        marked(found.snippet),
      ),
    ),
  );
}

/** Return a snippet with its marks, which count code points. */
function marked({ text, marks }) {
  const letters = [...text];
  const parts = [];
  let end = 0;
  for (const [start, stop] of marks) {
    parts.push(letters.slice(end, start).join(""));
    parts.push(el("mark", {}, letters.slice(start, stop).join("")));
    end = stop;
  }
  return el("span", {}, parts, letters.slice(end).join(""));
}

function empty(words) {
  const text = words
    ? "Nothing is found."
    : "There is no session yet. Record one, or import transcripts with turnlog import.";
  return el("li", { class: "empty" }, text);
}

