// Which pane is shown? On a narrow screen the timeline is one of them; on a wide one it stands
// beside the others.

import { byId } from "./dom.js";

export const PANES = ["timeline", "transcript", "changes", "event", "compare", "status"];

const NARROW = matchMedia("(max-width: 760px)");

/** Return the pane that stands for a name from an address. */
export function paneOf(name) {
  const known = PANES.includes(name) ? name : "transcript";
  return known === "timeline" && !NARROW.matches ? "transcript" : known;
}

/** Wire the tabs; `choose(pane)` is called when a reader picks one. Returns what stops it. */
export function tabs(choose) {
  const controller = new AbortController();
  const { signal } = controller;
  const list = byId("tabs");
  list.addEventListener(
    "click",
    (event) => {
      const tab = event.target.closest("[role=tab]");
      if (tab) choose(tab.dataset.pane);
    },
    { signal },
  );
  list.addEventListener(
    "keydown",
    (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (step === undefined) return;
      event.preventDefault();
      event.stopPropagation();
      const open = [...list.querySelectorAll("[role=tab]")].filter((tab) => tab.offsetParent);
      const at = open.indexOf(document.activeElement);
      const next = open[(at + step + open.length) % open.length];
      choose(next.dataset.pane);
      next.focus();
    },
    { signal },
  );
  NARROW.addEventListener("change", () => choose(null), { signal });
  return () => controller.abort();
}

/** Show one pane and its tab. */
export function showPane(name) {
  for (const tab of byId("tabs").querySelectorAll("[role=tab]")) {
    const chosen = tab.dataset.pane === name;
    tab.setAttribute("aria-selected", String(chosen));
    tab.tabIndex = chosen ? 0 : -1;
    byId(`pane-${tab.dataset.pane}`).classList.toggle("shown", chosen);
  }
}
