// How does the page learn what is recorded while it is open?
//
// A browser keeps six connections to a server, so a page that nobody looks at gives its own up.

import { address } from "./api.js";
import { parse } from "./exact.js";

const RETRY_MS = 2_000;

/**
 * Follow a session from a version on: `arrived(event)` for each event once and in order, `state` is
 * told `live`, `connecting` or `paused`. Returns what stops it.
 */
export function followLive(place, after, { arrived, state }) {
  let seen = after;
  let source = null;
  let timer = null;

  const open = () => {
    close();
    if (document.hidden) return state("paused");
    state("connecting");
    source = new EventSource(address(place, "/events/stream", { after: seen }));
    source.addEventListener("synced", () => state("live"));
    source.addEventListener("event", (frame) => {
      const event = parse(frame.data);
      if (event.version <= seen) return;
      seen = event.version;
      arrived(event);
    });
    source.addEventListener("error", () => {
      state("connecting");
      // After an answer that is no stream the browser does not try again by itself.
      if (source.readyState === EventSource.CLOSED) timer = setTimeout(open, RETRY_MS);
    });
  };
  const close = () => {
    clearTimeout(timer);
    source?.close();
    source = null;
  };
  document.addEventListener("visibilitychange", open);
  open();
  return () => {
    document.removeEventListener("visibilitychange", open);
    close();
  };
}
