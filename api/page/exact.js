// How does JSON stay what it was, though a browser's numbers are floating point?
//
// Where the browser tells how a number was written, one that it cannot hold is kept as written.

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
