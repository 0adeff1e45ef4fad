// Which lanes are there, with the session that each has? The newest activity first.
//
// The server finds lanes by their whole key; by a part of a text they are found here, in what it lists.

import { address, read } from "./api.js";
import { byId, el, number, oneLine, put, time } from "./dom.js";
import { laneMarks, laneName } from "./lane_words.js";
import { listing, PAGE, picked, whenGiven } from "./listing.js";
import { OF_LANES } from "./live.js";
import { hashOf, lanePlace } from "./place.js";

const LARGE_PAGE = 200;
const LOOKED_AT_ONCE = 1_000;

const PLATFORMS = [
  "api", "api_server", "bluebubbles", "dingtalk", "discord", "email", "feishu", "google_chat",
  "homeassistant", "irc", "line", "local", "matrix", "mattermost", "msgraph_webhook", "ntfy", "qqbot",
  "signal", "simplex", "slack", "sms", "teams", "telegram", "web", "webhook", "wecom",
  "wecom_callback", "weixin", "whatsapp", "whatsapp_cloud", "yuanbao",
];

/** Wire the list of lanes; `go(change, kind)` moves the reader. Returns what shows a place. */
export function laneList(go) {
  const form = byId("find-lane");
  const list = byId("lanes");
  const more = byId("lanes-more");
  let place = null;
  let begun = false;

  const lanes = listing(list, more, async (cursor, signal) => {
    const here = place;
    const page = await (here.q ? found(here, cursor, signal) : listed(here, { cursor, limit: PAGE }, signal));
    const rows = () => {
      for (const lane of page.items) offer(form.elements.platform, lane.platform);
      return page.items.map((lane) => row(here.project, lane));
    };
    return { next_cursor: page.next_cursor, rows, nothing: () => empty(here, page) };
  });

  const choose = () => {
    const given = new FormData(form);
    const platform = picked(given, "platform", "");
    go({ q: given.get("q").trim() || null, platform, status: picked(given, "status", "open") }, "find");
  };
  whenGiven(form, choose);
  for (const name of PLATFORMS) offer(form.elements.platform, name);

  return {
    show(next) {
      place = next;
      document.title = "Lanes - turnlog";
      const words = form.elements.q;
      if (words !== document.activeElement) words.value = place.q ?? "";
      const typed = !begun && words.value.trim() !== (place.q ?? "");
      begun = true;
      if (typed) return choose(); // while the page was loading
      if (place.platform) offer(form.elements.platform, place.platform);
      form.elements.platform.value = place.platform ?? "";
      form.elements.status.value = place.status ?? "open";
      lanes.load();
      // A search that has not seen all lanes would begin anew each time.
      lanes.follow(place.project, { mayChange: ({ isWhole }) => !place.q || isWhole, types: OF_LANES });
    },
    hide: lanes.stop,
  };
}

function listed({ project, platform, status }, query, signal) {
  return read(address({ project }, "/lanes", { platform, status, ...query }), signal);
}

/** Return lanes that have some words in what is shown of them, or have just this key. */
async function found(place, cursor, signal) {
  const words = place.q.toLowerCase();
  const items = [];
  if (cursor === null) items.push(...(await listed(place, { key: place.q }, signal)).items);
  const known = new Set(items.map((lane) => lane.lane_id));
  let next = cursor;
  let looked = 0;
  do {
    const page = await listed(place, { cursor: next, limit: LARGE_PAGE }, signal);
    looked += page.items.length;
    items.push(...page.items.filter((lane) => !known.has(lane.lane_id) && says(lane, words)));
    next = page.next_cursor;
  } while (next !== null && items.length < PAGE && looked < LOOKED_AT_ONCE);
  return { items, next_cursor: next, looked };
}

function says({ description, lane_key, lane_id, session_id, session }, words) {
  const texts = [description, lane_key, session?.title ?? ""];
  // Ids are digits by chance: a part of one would find any.
  const ids = [lane_id, session_id];
  return texts.some((text) => text.toLowerCase().includes(words)) || ids.some((id) => id.startsWith(words));
}

/** Let a platform be chosen, which may be one of an agent's own. */
function offer(select, name) {
  if ([...select.options].some((option) => option.value === name)) return;
  put(select, el("option", { value: name }, name));
}

function row(project, lane) {
  const title = lane.session?.title || lane.session_id;
  return el(
    "li",
    {},
    el(
      "a",
      { href: hashOf(lanePlace(project, lane.lane_id)) },
      el("span", { class: "title", dir: "auto" }, laneName(lane)),
      el("span", { class: "when" }, time(lane.updated_at)),
      el(
        "span",
        { class: "about" },
        laneMarks(lane),
        title && el("span", { class: "now", dir: "auto" }, `→ ${oneLine(title, 120)}`),
        el("span", { class: "id" }, oneLine(lane.lane_key || lane.lane_id, 120)),
      ),
    ),
  );
}

function empty({ q, platform, status }, { next_cursor: next, looked }) {
  let text = "Nothing is found.";
  if (next !== null) text = `Nothing is found among ${number(looked)} lanes; there are more.`;
  else if (!q && !platform && !status) {
    text = "There is no lane yet: a gateway begins with POST /lanes/resolve, which tells it the session of a message's source.";
  }
  return el("li", { class: "empty" }, text);
}
