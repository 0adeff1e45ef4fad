// By which way did a turn get its harness, and why? Asked for one turn at a time.

import { address, Problem, read } from "./api.js";
import { button, el, fill } from "./dom.js";
import { problemNode } from "./notices.js";

/** Return a button that asks why the turn of a message was warm or cold, and where it is told. */
export function why(place, message) {
  const told = el("div", { class: "why", "aria-live": "polite" });
  const ask = async () => {
    try {
      fill(told, explained(await read(address(place, path(message.turn_id)))));
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      fill(told, problemNode(error));
    }
  };
  return { told, ask: button("Warm or cold?", ask, { class: "quiet" }) };
}

function path(turnId) {
  return `/turns/${encodeURIComponent(turnId)}/explain`;
}

function explained(found) {
  return [
    el("span", { class: `chip ${found.path === "warm" ? "good" : ""}` }, found.path ?? "unknown"),
    found.reason && el("span", { class: "chip" }, found.reason),
    " ",
    el("span", { class: "hint" }, found.explain),
  ];
}
