// At which version is the reader? A slider and buttons that move along the versions of a session.

import { byId, number } from "./dom.js";

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
