// How does the page learn what is recorded while it is open?
//
// A browser keeps six connections to a server, so a page that nobody looks at gives its own up.

import { address, parse } from "./api.js";

const RETRY_MS = 2_000;
const CALM_MS = 500;

/** What changes a list of sessions. */
const LISTED = [
  "session-opened",
  "session-forked",
  "session-renamed",
  "session-archived",
  "session-unarchived",
  "session-pinned",
  "session-deleted",
  "session-restored",
  "session-purged",
  "session-suspended",
  "session-unsuspended",
  "turn-started",
  "turn-completed",
  "turn-failed",
  "turn-interrupted",
  "history-rewound",
  "rewind-reverted",
].join(",");

/** What changes a list of lanes: facts of theirs, and of the sessions that they have. */
export const OF_LANES = [
  "lane-opened",
  "lane-bound",
  "lane-reset",
  "lane-suspended",
  "lane-switched",
  "lane-resume-marked",
  "lane-resume-cleared",
  "lane-moved",
  "lane-pinned",
  "lane-pruned",
  "lane-purged",
  "session-renamed",
  "session-archived",
  "session-unarchived",
  "session-deleted",
  "session-restored",
  "session-purged",
  "session-suspended",
  "session-unsuspended",
  "resume-marked",
  "resume-cleared",
  "turn-started",
  "turn-completed",
  "turn-failed",
  "turn-interrupted",
].join(",");

/**
 * Follow a session from a version on: `arrived(event)` for each event once and in order, `state` is
 * told `live`, `connecting` or `paused`. Returns what stops it.
 */
export function followSession(place, after, { arrived, state }) {
  let seen = after;
  return follow(() => address(place, "/events/stream", { after: seen }), state, {
    synced: () => state("live"),
    event: (frame) => {
      const event = parse(frame.data);
      if (event.version <= seen) return;
      seen = event.version;
      arrived(event);
    },
  });
}

/**
 * Follow a project: `happened()` when its list of sessions may be another; or what else `types` tell
 * of, if `concerns(event)`. Returns what stops it.
 */
export function followProject(project, happened, { types = LISTED, concerns = () => true } = {}) {
  let timer = null;
  const soon = () => {
    timer ??= setTimeout(() => {
      timer = null;
      happened();
    }, CALM_MS);
  };
  const url = address({ project }, "/events/stream", { after: "latest", types });
  const stop = follow(() => url, () => {}, {
    synced: soon,
    event: (frame) => concerns(parse(frame.data)) && soon(),
  });
  return () => {
    clearTimeout(timer);
    stop();
  };
}

function follow(url, state, listeners) {
  let source = null;
  let timer = null;

  const open = () => {
    close();
    if (document.hidden) return state("paused");
    state("connecting");
    source = new EventSource(url());
    for (const [name, listen] of Object.entries(listeners)) source.addEventListener(name, listen);
    source.addEventListener("error", () => {
      state("connecting");
      // After an answer that is no stream the browser does not try again by itself.
      if (source?.readyState === EventSource.CLOSED) timer = setTimeout(open, RETRY_MS);
    });
    return undefined;
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
