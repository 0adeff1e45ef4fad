// Where are the events of a fork that came before it? With the sessions that it was forked from: a
// fork has its own events only, and each version is unique along its lineage.

import { address, Problem, read } from "./api.js";

/** Return the sessions before this one, the oldest first, each with the last version it shares. */
export async function ancestorsOf(place) {
  try {
    const { ancestors } = await read(address(place, "/lineage"));
    return ancestors.map(({ session_id, version }) => ({
      place: { ...place, session: session_id },
      through: version,
    }));
  } catch (error) {
    if (error instanceof Problem) return [];
    throw error;
  }
}

/** Return up to `room` events before a version that ancestors have, the newest first. */
export async function inheritedBefore(ancestors, { before, types, room }) {
  const items = [];
  for (const { place, through } of [...ancestors].reverse()) {
    if (items.length >= room) return { items, beyond: true };
    const query = { order: "desc", before: Math.min(before, through + 1), types };
    const page = await pageOf(place, { ...query, limit: room - items.length });
    items.push(...page.items);
    if (page.next_cursor !== null) return { items, beyond: true };
  }
  return { items, beyond: false };
}

/** Return up to `room` events after a version that ancestors have, the oldest first. */
export async function inheritedAfter(ancestors, { after, types, room }) {
  const items = [];
  for (const { place, through } of ancestors) {
    if (through <= after) continue;
    if (items.length >= room) return { items, beyond: true };
    const query = { after, before: through + 1, types };
    const page = await pageOf(place, { ...query, limit: room - items.length });
    items.push(...page.items);
    if (page.next_cursor !== null) return { items, beyond: true };
  }
  return { items, beyond: false };
}

/** Return one event of a session, or of the ancestor that has it. */
export async function readEvent(place, version, signal) {
  try {
    return await read(address(place, `/events/${version}`), signal);
  } catch (error) {
    if (!(error instanceof Problem) || error.code !== "no-such-event") throw error;
    const owner = (await ancestorsOf(place)).find(({ through }) => version <= through);
    if (owner === undefined) throw error;
    return await read(address(owner.place, `/events/${version}`), signal);
  }
}

/** Return a page of an ancestor's events; of one that was deleted there is none to be read. */
async function pageOf(place, query) {
  try {
    return await read(address(place, "/events", query));
  } catch (error) {
    if (error instanceof Problem) return { items: [], next_cursor: null };
    throw error;
  }
}
