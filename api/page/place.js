// Where is the reader? In the address, so that links work and Back goes back.
//
// `#/project` is a list of sessions, `#/project/session` one of them; the rest is in the query.

const PROJECT = "default";
const CALM_MS = 150;
const NAMES = ["at", "pane", "from", "to", "show", "types", "q", "in", "status"];
const LIST_NAMES = ["q", "in", "status"];
const VERSIONS = ["at", "from", "to"];

const ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

/** Return whether a place can be at all: any other id would be another address altogether. */
export function canBe({ project, session }) {
  return ID.test(project) && (session === null || ID.test(session));
}

/** Return the place that an address names; what makes no sense in it is left out. */
export function placeOf(hash) {
  const [path, search = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const [project, session] = path.split("/").map(decoded);
  const query = new URLSearchParams(search);
  const place = { project: project || PROJECT, session: session || null };
  for (const name of NAMES) {
    const value = query.get(name) || null;
    place[name] = VERSIONS.includes(name) ? version(value) : value;
  }
  return place;
}

/** Return the address of a place. */
export function hashOf(place) {
  const parts = [place.project, place.session].filter((part) => part !== null);
  const names = place.session === null ? LIST_NAMES : NAMES.filter((n) => !LIST_NAMES.includes(n));
  const given = names.filter((name) => place[name] !== null && place[name] !== undefined);
  const query = new URLSearchParams(given.map((name) => [name, place[name]])).toString();
  return `#/${parts.map(encodeURIComponent).join("/")}${query ? `?${query}` : ""}`;
}

/** Return the place of a session as it is now, or as it was at a version. */
export function sessionPlace(project, session, at = null) {
  return { ...placeOf(""), project, session, at };
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
