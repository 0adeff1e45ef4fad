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

/**
 * Wire the tabs: `choose(pane)` when a reader picks one, `resized()` when the screen gets narrow or
 * wide. Returns what stops it.
 */
export function tabs({ choose, resized }) {
  const controller = new AbortController();
  const { signal } = controller;
  byId("tabs").addEventListener(
    "click",
    (event) => {
      const tab = event.target.closest("[data-pane]");
      if (tab) choose(tab.dataset.pane);
    },
    { signal },
  );
  NARROW.addEventListener("change", resized, { signal });
  return () => controller.abort();
}

/** Show one pane and its tab. */
export function showPane(name) {
  for (const tab of byId("tabs").children) {
    const chosen = tab.dataset.pane === name;
    if (chosen) tab.setAttribute("aria-current", "true");
    else tab.removeAttribute("aria-current");
    byId(`pane-${tab.dataset.pane}`).classList.toggle("shown", chosen);
  }
}
