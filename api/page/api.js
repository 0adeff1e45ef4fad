// How is the server asked, and what is told when it refuses?
//
// A browser's numbers are floating point: where it tells how a number was written, one that it
// cannot hold is kept as it was.

/** What went wrong, in the words of the server's problem document. */
export class Problem extends Error {
  constructor({ title, detail = "", code = "", status = 0, ...more }) {
    super(title);
    this.title = title;
    this.detail = detail;
    this.code = code;
    this.status = status;
    this.more = more;
  }

  /** Whether the server has no such route, which an older one may not have. */
  get absent() {
    return this.code === "not-found" || this.code === "method-not-allowed";
  }
}

/** Return the value of JSON; numbers that would change are kept as they were written. */
export function parse(text) {
  if (typeof JSON.rawJSON !== "function") return JSON.parse(text);
  return JSON.parse(text, (_, value, context) =>
    typeof value === "number" && String(value) !== context.source
      ? JSON.rawJSON(context.source)
      : value,
  );
}

/** Return a value as JSON over several lines. */
export function pretty(value) {
  return JSON.stringify(value, null, 2) ?? "";
}

/** Return the address of something in a project, or in a session of it. */
export function address({ project, session = null }, path, query = {}) {
  const base = `/v1/projects/${encodeURIComponent(project)}`;
  const within = session === null ? "" : `/sessions/${encodeURIComponent(session)}`;
  const given = Object.entries(query).filter(([, value]) => value !== null && value !== "");
  const search = new URLSearchParams(given).toString();
  return `${base}${within}${path}${search ? `?${search}` : ""}`;
}

/** Return the JSON that a GET answers. */
export async function read(url, signal = null) {
  return parse(await text(url, { signal }));
}

/** Return the text that a GET answers, of the type that is asked for. */
export function readText(url, accept, signal = null) {
  return text(url, { signal, headers: { Accept: accept } });
}

/**
 * Return what a POST, or another `method`, answers, and as `tag` the version of the session that it is about; with `tag`
 * given it is refused if the session has gone on since.
 */
export async function send(url, body, tag = null, method = "POST") {
  const headers = { "Content-Type": "application/json", ...(tag ? { "If-Match": tag } : {}) };
  const answer = await ask(url, { method, headers, body: JSON.stringify(body) });
  return { ...parse(await answer.text()), tag: answer.headers.get("ETag") };
}

/** Whether an error only says that nobody waits for the answer any more. */
export function isAborted(error) {
  return error instanceof DOMException && error.name === "AbortError";
}

async function text(url, options) {
  return (await ask(url, options)).text();
}

async function ask(url, options) {
  let answer;
  try {
    answer = await fetch(url, { credentials: "same-origin", ...options });
    if (!answer.ok) throw problem(answer.status, await answer.text());
  } catch (error) {
    if (isAborted(error) || error instanceof Problem) throw error;
    throw new Problem({
      title: "The server does not answer",
      detail: "It may have been stopped; try again when it runs.",
      code: "unreachable",
    });
  }
  return answer;
}

function problem(status, body) {
  let told = {};
  try {
    told = JSON.parse(body);
  } catch {
    // Whatever stands between this page and turnlog may answer with something else.
  }
  const found = new Problem({ title: `The server answered ${status}`, ...told, status });
  if (!found.absent) return found;
  return new Problem({
    title: "This server does not have this yet",
    detail: "A newer turnlog does.",
    code: found.code,
    status,
  });
}
