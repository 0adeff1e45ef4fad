// Which sessions are there? The newest first, found by their titles or by what was said in them.

import { address, read } from "./api.js";
import { byId, count, el, time } from "./dom.js";
import { listing, PAGE, picked, whenGiven } from "./listing.js";
import { hashOf, sessionPlace } from "./place.js";

/** Wire the list of sessions; `go(change, kind)` moves the reader. Returns what shows a place. */
export function sessionList(go) {
  const form = byId("find");
  const list = byId("sessions");
  const more = byId("sessions-more");
  let place = null;
  let begun = false;

  const sessions = listing(list, more, async (cursor, signal) => {
    const { project, q, in: where, status } = place;
    const words = where === "messages" && q;
    const query = words ? { q, limit: PAGE, cursor } : { title: q, status, limit: PAGE, cursor };
    const path = words ? "/search" : "/sessions";
    const page = await read(address({ project }, path, query), signal);
    const rows = () => page.items.map((item) => (words ? hit(project, item) : row(project, item)));
    return { next_cursor: page.next_cursor, rows, nothing: () => empty(q) };
  });

  const choose = () => {
    const given = new FormData(form);
    const where = picked(given, "in", "titles");
    go({ q: given.get("q").trim() || null, in: where, status: picked(given, "status", "open") }, "find");
  };
  whenGiven(form, choose);

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
      sessions.load();
      sessions.follow(place.project, { mayChange: () => place.in !== "messages" });
    },
    hide: sessions.stop,
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

