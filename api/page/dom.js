// How are elements made? From names, attributes and texts, never from markup.

import { harmless } from "./inert.js";

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
