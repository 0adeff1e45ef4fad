// Where is the reader? In the address, so that links work and Back goes back.
//
// `#/project` is a list of sessions, `#/project/session` one of them; `#/project/~lanes` is a list of
// lanes, `#/project/~lanes/lane` one of them: no session's id begins so. The rest is in the query.

const PROJECT = "default";
const CALM_MS = 150;
const LANES = "~lanes";
const SESSION_NAMES = ["at", "pane", "from", "to", "show", "types"];
const LIST_NAMES = ["q", "in", "status"];
const LANE_LIST_NAMES = ["q", "platform", "status"];
const NAMES = [...new Set([...SESSION_NAMES, ...LIST_NAMES, ...LANE_LIST_NAMES])];
const VERSIONS = ["at", "from", "to"];

const ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;
const LANE_ID = /^[0-9a-f]{32}$/;

/** Return whether a place can be at all: any other id would be another address altogether. */
export function canBe({ project, session, lane }) {
  return ID.test(project) && (session === null || ID.test(session)) && (lane === null || isLane(lane));
}

/** Return whether this is a lane's id, as far as one can see. */
export function isLane(id) {
  return typeof id === "string" && LANE_ID.test(id);
}

/** Return the place that an address names; what makes no sense in it is left out. */
export function placeOf(hash) {
  const [path, search = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const [project, second, third] = path.split("/").map(decoded);
  const query = new URLSearchParams(search);
  const lanes = second === LANES;
  const place = {
    project: project || PROJECT,
    session: lanes ? null : second || null,
    lanes,
    lane: lanes ? third || null : null,
  };
  for (const name of NAMES) {
    const value = query.get(name) || null;
    place[name] = VERSIONS.includes(name) ? version(value) : value;
  }
  return place;
}

/** Return the address of a place. */
export function hashOf(place) {
  const within = place.lanes ? [LANES, place.lane] : [place.session];
  const parts = [place.project, ...within].filter((part) => part !== null);
  const names = namesOf(place);
  const given = names.filter((name) => place[name] !== null && place[name] !== undefined);
  const query = new URLSearchParams(given.map((name) => [name, place[name]])).toString();
  return `#/${parts.map(encodeURIComponent).join("/")}${query ? `?${query}` : ""}`;
}

/** Return the place of a session as it is now, or as it was at a version. */
export function sessionPlace(project, session, at = null) {
  return { ...placeOf(""), project, session, at };
}

/** Return the place of a project's lanes, or of one of them. */
export function lanePlace(project, lane = null) {
  return { ...placeOf(""), project, lanes: true, lane };
}

/** Keep the address and what is shown the same; `show` draws a place. */
export function follow(show) {
  let current = placeOf(location.hash);
  let lastKind = null;
  let timer = null;
  const write = (how) => {
    clearTimeout(timer);
    timer = null;
    history[how](null, "", hashOf(current));
  };
  addEventListener("popstate", () => {
    clearTimeout(timer);
    timer = null;
    lastKind = null;
    current = placeOf(location.hash);
    show(current);
  });
  return {
    get current() {
      return current;
    },
    /** Go to a place. Moves of one `kind` in a row are one step of the browser's history. */
    go(change, kind = null) {
      const next = { ...current, ...change };
      if (hashOf(next) === hashOf(current) && location.hash !== "") return;
      if (kind !== null && kind === lastKind) {
        current = next;
        // Browsers refuse an address that is written hundreds of times in a row.
        clearTimeout(timer);
        timer = setTimeout(write, CALM_MS, "replaceState");
      } else {
        if (timer !== null) write("replaceState");
        current = next;
        write("pushState");
      }
      lastKind = kind;
      show(current);
    },
  };
}

/** Return what else of a place its address says. */
function namesOf({ session, lanes, lane }) {
  if (lanes) return lane === null ? LANE_LIST_NAMES : [];
  return session === null ? LIST_NAMES : SESSION_NAMES;
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function version(text) {
  return text !== null && /^[0-9]{1,9}$/.test(text) ? Number(text) : null;
}
