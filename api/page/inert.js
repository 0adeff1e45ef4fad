// How is text of somebody else's shown so that it does nothing and hides nothing?
//
// It is only ever put into text nodes. What would be invisible in one, or turn others around, is
// shown by its number: a reader sees what a model saw.

const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f]/g;
const HIDDEN =
  /[\u0080-\u009f\u200b\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;

/** Return text with control characters as pictures, and invisible ones by their numbers. */
export function harmless(text) {
  return String(text)
    .replaceAll("\r\n", "\n")
    .replace(CONTROLS, (found) => picture(found.charCodeAt(0)))
    .replace(HIDDEN, (found) => numbered(found.codePointAt(0)));
}

/** Return the beginning of a text on one line, at most `length` characters of it. */
export function oneLine(text, length = 200) {
  const start = String(text).slice(0, length * 4);
  const line = start.replace(/\s+/g, " ").trim();
  const letters = [...line];
  const cut = letters.length > length || start.length < String(text).length;
  return cut ? `${letters.slice(0, length).join("")}…` : line;
}

function picture(code) {
  return code === 0x7f ? "\u2421" : String.fromCharCode(0x2400 + code);
}

function numbered(code) {
  return `\u27e8U+${code.toString(16).toUpperCase().padStart(4, "0")}\u27e9`;
}
