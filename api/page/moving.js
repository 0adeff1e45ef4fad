// How does a reader move: along the versions of a session, and between its panes?
//
// On a narrow screen the timeline is one of the panes; on a wide one it stands beside the others.

import { byId, number } from "./dom.js";

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

/** Wire the scrubber; `move(version)` is called with where the reader wants to be. */
export function scrubber(move) {
  const range = byId("scrub");
  const label = byId("scrub-label");
  let now = { version: 1, last: 1 };
  const to = (version) => move(Math.min(Math.max(version, 1), now.last));
  const controller = new AbortController();
  const { signal } = controller;

  range.addEventListener("input", () => to(Number(range.value)), { signal });
  byId("scrub-first").addEventListener("click", () => to(1), { signal });
  byId("scrub-back").addEventListener("click", () => to(now.version - 1), { signal });
  byId("scrub-forward").addEventListener("click", () => to(now.version + 1), { signal });
  byId("scrub-last").addEventListener("click", () => to(now.last), { signal });

  return {
    to,
    step: (by) => to(now.version + by),
    /** Show the version, of how many there are. */
    show(version, last) {
      now = { version, last };
      range.max = String(last);
      range.value = String(version);
      const words = `version ${number(version)} of ${number(last)}`;
      range.setAttribute("aria-valuetext", words);
      label.textContent = version === last ? `${words}: now` : words;
      byId("scrub-first").disabled = byId("scrub-back").disabled = version <= 1;
      byId("scrub-forward").disabled = byId("scrub-last").disabled = version >= last;
    },
    stop: () => controller.abort(),
  };
}
