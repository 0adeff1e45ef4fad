// What happened in the session, event by event? A stretch of the log, which grows both ways.

import { address, read } from "./api.js";
import { button, el, fill, time } from "./dom.js";
import { gist, isOf, notableBy, typesOf } from "./event_words.js";

const PAGE = 100;
const MOST = 400;

/**
 * Return the timeline of a session.
 *
 * `choose(version)` is called when a reader picks an event, `failed(error)` when one cannot be read.
 */
export function timeline(place, { list, earlier, later, choose, failed }) {
  let events = [];
  let group = null;
  let more = { earlier: false, later: false };
  let rows = new Map();
  let selected = null;
  let generation = 0;
  let loading = false;
  let ancestors = null;

  const own = async (query) => {
    const url = address(place, "/events", { limit: PAGE, types: typesOf(group), ...query });
    const { items, next_cursor, head } = await read(url);
    return { items, beyond: next_cursor !== null, head };
  };

  /** Return a page of events before a version, or the last ones; a fork's go on with its parent's. */
  const before = async (version) => {
    const page = await own({ order: "desc", before: version });
    if (page.beyond || page.items.at(-1)?.version === 1) return page;
    const { ancestorsOf, inheritedBefore } = await import("./ancestry.js");
    ancestors ??= await ancestorsOf(place);
    const room = PAGE - page.items.length;
    const limits = { before: version ?? Infinity, types: typesOf(group), room };
    const rest = await inheritedBefore(ancestors, limits);
    return { ...page, items: [...page.items, ...rest.items], beyond: rest.beyond };
  };

  /** Return a page of events after a version, of which ancestors have the first. */
  const after = async (version) => {
    const base = ancestors?.at(-1)?.through ?? 0;
    if (version >= base) return await own({ after: version });
    const { inheritedAfter } = await import("./ancestry.js");
    const limits = { after: version, types: typesOf(group), room: PAGE };
    const found = await inheritedAfter(ancestors, limits);
    if (found.beyond || found.items.length === PAGE) return { ...found, beyond: true };
    const page = await own({ after: base, limit: PAGE - found.items.length });
    return { ...page, items: [...found.items, ...page.items] };
  };

  /** Read a page and take it up, unless another place was asked for in the meantime. */
  const load = async (asked, take) => {
    const mine = ++generation;
    loading = true;
    try {
      const page = await asked;
      if (mine === generation) take(page);
      return page;
    } catch (error) {
      if (mine === generation) failed(error);
      return null;
    } finally {
      if (mine === generation) loading = false;
    }
  };

  const showLast = () =>
    load(before(null), ({ items, beyond }) => {
      events = items.reverse();
      more = { earlier: beyond, later: false };
      draw();
    });

  // Versions have no gaps, so no more than half a page lies after the one that is wanted.
  const showAround = (version) => {
    const end = version + PAGE / 2;
    return load(before(end + 1), ({ items, beyond, head }) => {
      events = items.reverse();
      more = { earlier: beyond, later: end < head.version };
      draw();
    });
  };

  const loadEarlier = () =>
    load(before(events[0]?.version ?? 1), ({ items, beyond }) => {
      const below = list.scrollHeight - list.scrollTop;
      events = [...items.reverse(), ...events];
      more = { earlier: beyond, later: more.later || events.length > MOST };
      events = events.slice(0, MOST);
      draw();
      list.scrollTop = list.scrollHeight - below;
    });

  const loadLater = () =>
    load(after(events.at(-1)?.version ?? 0), ({ items, beyond }) => {
      events = [...events, ...items];
      more = { earlier: more.earlier || events.length > MOST, later: beyond };
      events = events.slice(-MOST);
      draw();
    });

  const draw = () => {
    const known = rows;
    rows = new Map(events.map((event) => [event.version, known.get(event.version) ?? row(event)]));
    const top = list.scrollTop;
    fill(list, more.earlier && earlierRow, [...rows.values()], more.later && laterRow);
    list.scrollTop = top;
    if (events.length === 0) fill(list, el("li", { class: "empty" }, "No events of this kind."));
    mark();
  };

  const row = (event) =>
    el("li", { class: `event ${event.affects === "history" ? "affects" : ""}` }, [
      el(
        "button",
        {
          type: "button",
          tabindex: "-1",
          "data-version": event.version,
          on: { click: () => choose(event.version) },
        },
        el("span", { class: "version" }, String(event.version)),
        el("span", { class: "type" }, event.type),
        el("span", { class: "when" }, time(event.recorded_at, { date: false })),
        el("span", { class: "gist", dir: "auto" }, gist(event)),
        notableBy(event) && el("span", { class: "by" }, notableBy(event)),
      ),
    ]);

  const mark = () => {
    for (const node of list.querySelectorAll('[aria-current="true"]')) {
      node.removeAttribute("aria-current");
      node.tabIndex = -1;
    }
    const chosen = rows.get(selected)?.firstChild;
    // One event can be reached by the tabulator, and from it the others by j and k.
    (chosen ?? rows.values().next().value?.firstChild)?.setAttribute("tabindex", "0");
    chosen?.setAttribute("aria-current", "true");
    return chosen;
  };

  const holds = (version) => {
    if (events.length === 0) return !more.earlier && !more.later;
    const afterFirst = version >= events[0].version || !more.earlier;
    return afterFirst && (version <= events.at(-1).version || !more.later);
  };

  const earlierRow = el("li", { class: "more" }, button(earlier, loadEarlier));
  const laterRow = el("li", { class: "more" }, button(later, loadLater));

  fill(list);
  return {
    /** Show the events around a version, or the last ones for null; return the page that was read. */
    begin(version, wanted) {
      group = wanted;
      selected = version;
      return version === null ? showLast() : showAround(version);
    },
    /** Mark the event of a version, and bring it into sight; read it if it is not there. */
    async select(version, { wait = false } = {}) {
      selected = version;
      if (!wait && !holds(version)) await showAround(version);
      const focused = list.contains(document.activeElement);
      const chosen = mark();
      chosen?.scrollIntoView({ block: "nearest" });
      if (focused) chosen?.focus();
    },
    /** Bring the chosen event into sight, after the timeline itself came into sight. */
    reveal: () => mark()?.scrollIntoView({ block: "nearest" }),
    /** Show the events of one group, or of all for null. */
    async filter(next) {
      if (next === group) return;
      group = next;
      events = [];
      more = { earlier: true, later: true };
      if (selected === null) await showLast();
      else await showAround(selected);
      mark()?.scrollIntoView({ block: "nearest" });
    },
    /** Take up events that have just been recorded. */
    append(recorded) {
      const last = events.at(-1)?.version ?? 0;
      const fresh = recorded.filter((event) => event.version > last && isOf(event, group));
      if (more.later || fresh.length === 0) return;
      const atEnd = list.scrollTop + list.clientHeight >= list.scrollHeight - 40;
      events = [...events, ...fresh];
      if (events.length > MOST) {
        events = events.slice(-MOST + PAGE);
        more.earlier = true;
      }
      draw();
      if (atEnd) list.scrollTop = list.scrollHeight;
    },
    /** Return the version of the next event that is shown, or null at the end. */
    async beside(version, step) {
      const found = () =>
        step > 0
          ? events.find((event) => event.version > version)
          : events.findLast((event) => event.version < version);
      if (found() === undefined && !loading && more[step > 0 ? "later" : "earlier"]) {
        await (step > 0 ? loadLater() : loadEarlier());
      }
      return found()?.version ?? null;
    },
    /** Take no answer any more that is still on its way. */
    stop() {
      generation += 1;
    },
    /** Return the event of a version, if it has been read. */
    event: (version) => events.find((event) => event.version === version) ?? null,
  };
}
