// What had been said at a version? Its last page first, and the others on request.

import { address, isAborted, read } from "./api.js";
import { button, el, fill } from "./dom.js";
import { messageNode } from "./message.js";

const PAGE = 50;
const MOST_PAGES = 8;

/** Return the transcript of a session, shown in `pane`. */
export function transcript(place, { pane, actions, told, failed }) {
  let pages = [];
  let shown = { at: null, version: null, show: "" };
  let known = new Map();
  let generation = 0;
  let atEnd = true;

  // Who reads the end goes on reading it, however the room for it changes.
  const scrolled = () => {
    atEnd = pane.scrollTop + pane.clientHeight >= pane.scrollHeight - 60;
  };
  const toEnd = () => {
    pane.scrollTop = pane.scrollHeight;
  };
  const resized = new ResizeObserver(() => atEnd && toEnd());
  pane.addEventListener("scroll", scrolled);
  resized.observe(pane);
  fill(pane);

  const ask = (query, signal) => {
    const { at, show } = shown;
    const url = address(place, "/transcript", { order: "desc", limit: PAGE, at, include: show, ...query });
    return read(url, signal);
  };

  const beyond = async (cursor, take) => {
    const mine = generation;
    try {
      const page = await ask({ cursor });
      if (mine === generation) take(pageOf(page));
    } catch (error) {
      if (mine === generation) failed(error);
    }
  };

  const loadEarlier = () =>
    beyond(pages[0].earlier, (page) => {
      const below = pane.scrollHeight - pane.scrollTop;
      pages = [page, ...pages].slice(0, MOST_PAGES);
      draw();
      pane.scrollTop = pane.scrollHeight - below;
    });

  const loadLater = () =>
    beyond(pages.at(-1).later, (page) => {
      pages = [...pages, page].slice(-MOST_PAGES);
      draw();
    });

  const draw = () => {
    const messages = pages.flatMap((page) => page.items);
    const before = known;
    known = new Map();
    const nodes = messages.map((message) => {
      const fresh = shown.at !== null && message.version === shown.at;
      const key = keyOf(message);
      const content = `${fresh}${JSON.stringify(message)}`;
      const kept = before.get(key);
      const entry =
        kept?.content === content
          ? kept
          : { content, node: messageNode(place, message, actions, { fresh }) };
      known.set(key, entry);
      return entry.node;
    });
    fill(
      pane,
      pages[0]?.earlier && button("Earlier messages", loadEarlier, { class: "more" }),
      nodes.length > 0 ? nodes : el("p", { class: "empty" }, "Nothing had been said yet."),
      pages.at(-1)?.later && button("Later messages", loadLater, { class: "more" }),
    );
  };

  return {
    /** Show the last page at a version, or now for null; `grown` if messages were only added. */
    async show({ at, show, grown }, signal) {
      const sameView = grown && shown.at === at && shown.show === show && pages.length > 0;
      generation += 1;
      shown = { at, show };
      try {
        const answer = await ask({}, signal);
        told(answer);
        const page = pageOf(answer);
        // What a reader has opened by hand stays, as long as it is the same view that goes on.
        pages = sameView ? goneOn(pages, page) : [page];
        const follows = !sameView || atEnd;
        draw();
        if (follows) toEnd();
      } catch (error) {
        if (!isAborted(error)) failed(error);
      }
    },
    stop() {
      generation += 1;
      resized.disconnect();
      pane.removeEventListener("scroll", scrolled);
    },
  };
}

/** Return a page in the order that it is read in; its own cursors go the other way. */
function pageOf(answer) {
  return {
    items: answer.items.reverse(),
    earlier: answer.next_cursor,
    later: answer.previous_cursor,
  };
}

/** Return the pages before the last one, which was read anew, and it: without a gap or a copy. */
function goneOn(pages, page) {
  const before = pages.flatMap((old) => old.items);
  const first = page.items[0] && keyOf(page.items[0]);
  const end = before.findIndex((message) => keyOf(message) === first);
  // Beyond some pages, or after a gap, the older ones are read again when they are asked for.
  if (end <= 0 || end > PAGE * (MOST_PAGES - 1)) return [page];
  return [{ items: before.slice(0, end), earlier: pages[0].earlier, later: null }, page];
}

function keyOf(message) {
  return `${message.version} ${message.message_id}`;
}
