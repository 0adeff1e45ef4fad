// How are elements made? From names, attributes and texts, never from markup.
//
// Text of somebody else's does nothing and hides nothing: what would be invisible in it, or turn
// others around, is shown by its number. A reader sees what a model saw.

/**
 * Return a new element. An attribute of `true` is there, of null or false it is not; `on` has
 * listeners by event. Children are nodes, or texts, which are shown and never read as markup.
 */
export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "on") {
      for (const [event, listener] of Object.entries(value)) node.addEventListener(event, listener);
    } else if (value === true) {
      node.setAttribute(name, "");
    } else if (value !== null && value !== undefined && value !== false) {
      node.setAttribute(name, name === "title" ? harmless(value) : value);
    }
  }
  put(node, ...children);
  return node;
}

/** Add children to a node; null and false are left out, lists are taken apart. */
export function put(node, ...children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : harmless(child));
  }
  return node;
}

/** Show these children and no others. */
export function fill(node, ...children) {
  node.replaceChildren();
  return put(node, ...children);
}

/** Return a button with a text. */
export function button(text, action, attributes = {}) {
  return el("button", { type: "button", ...attributes, on: { click: action } }, text);
}

/** Return the element of this id, which the page has. */
export function byId(id) {
  return document.getElementById(id);
}

/** Return a moment as the reader's clock shows it; the whole of it as a title. */
export function time(text, { date = true } = {}) {
  const moment = new Date(text);
  if (Number.isNaN(moment.getTime())) return el("span", {}, text ?? "");
  const style = date ? { dateStyle: "medium", timeStyle: "short" } : { timeStyle: "medium" };
  const shown = new Intl.DateTimeFormat(undefined, style).format(moment);
  return el("time", { datetime: text, title: text }, shown);
}

const NUMBERS = new Intl.NumberFormat();

/** Return a number with its thousands apart. */
export function number(value) {
  return NUMBERS.format(value);
}

/** Return how many there are of something: `1 turn`, `2 turns`. */
export function count(value, one, many = `${one}s`) {
  return `${number(value)} ${value === 1 ? one : many}`;
}

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
