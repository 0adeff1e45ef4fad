// How is a reader told what happened, or what went wrong?

import { button, byId, el, fill } from "./dom.js";

/** Return a problem as an element: its title, and what it says more. */
export function problemNode(problem) {
  const flaws = (problem.more?.errors ?? []).map((flaw) =>
    el("li", {}, `${flaw.pointer ?? flaw.parameter ?? ""} ${flaw.detail ?? ""}`),
  );
  return el(
    "div",
    { class: problem.absent ? "problem absent" : "problem" },
    el("strong", {}, problem.title ?? "This page met a defect of its own"),
    el("p", {}, problem.detail || String(problem.message ?? "")),
    flaws.length > 0 && el("ul", {}, flaws),
  );
}

/** Show what went wrong until it is closed, or until the next good answer takes it away. */
export function complain(problem) {
  fill(byId("trouble"), problemNode(problem), button("Close", settle, { class: "quiet" }));
  byId("trouble").hidden = false;
}

/** Take away what went wrong. */
export function settle() {
  byId("trouble").hidden = true;
  fill(byId("trouble"));
}

/** Say what was done. */
export function announce(...words) {
  fill(byId("news"), words);
}
