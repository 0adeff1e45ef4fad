// What exactly was recorded? One event, as the log has it.

import { readEvent } from "./ancestry.js";
import { isAborted, pretty, Problem } from "./api.js";
import { el, fill, time } from "./dom.js";
import { recordedBy } from "./event_words.js";
import { problemNode } from "./notices.js";

/** Return the pane that shows the chosen event raw. */
export function eventPane(place, node) {
  return {
    async show({ version, event }, signal) {
      try {
        const found = event ?? (await readEvent(place, version, signal));
        fill(node, heading(found), el("pre", { class: "raw", tabindex: "0" }, pretty(found)));
      } catch (error) {
        if (isAborted(error)) return;
        if (!(error instanceof Problem)) throw error;
        fill(node, problemNode(error));
      }
    },
  };
}

function heading(event) {
  const by = recordedBy(event);
  return [
    el("h2", {}, `Version ${event.version}: ${event.type}`),
    el(
      "p",
      { class: "hint" },
      time(event.recorded_at),
      by ? `, by ${by}` : "",
      event.affects === "history" ? ", changes the model's view" : "",
    ),
  ];
}
