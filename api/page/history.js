// How does a session go back, forth, and apart? Each time what will come of it is shown first.

import { address, send } from "./api.js";
import { askFirst } from "./dialog.js";
import { count, el } from "./dom.js";

/**
 * Return what can be done to a session's history.
 *
 * `changed()` is called after something was done, `opened(session_id)` after a fork.
 */
export function historyOf(place, { changed, opened }) {
  const rewind = (title, wanted, fields = null) => {
    const interrupt = checkbox("Interrupt the turn that runs, if one does");
    const all = el("div", {}, fields, interrupt.label);
    const body = () => ({ ...wanted(), ...(interrupt.input.checked ? { interrupt: true } : {}) });
    let seen = null;
    return askFirst({
      title,
      fields: all,
      confirm: "Rewind",
      consequence: async () => {
        seen = await send(address(place, "/rewind"), { ...body(), dry_run: true });
        return rewound(seen, "It takes out");
      },
      act: async () => {
        // Nothing is done to a history that nobody looked at.
        const done = await send(address(place, "/rewind"), body(), seen.tag);
        changed();
        return rewound(done, "It took out");
      },
    });
  };

  return {
    rewindTurns() {
      const turns = el("input", { type: "number", min: "1", step: "1", value: "1", required: true });
      const label = el("label", {}, "Turns to take out ", turns);
      return rewind("Rewind turns", () => ({ turns: Number(turns.value) }), label);
    },
    rewindBefore: (message) =>
      rewind(`Rewind to before message ${message.index + 1}`, () => ({
        before_message: message.message_id,
      })),
    rewindTo: (version) => rewind(`Rewind to version ${version}`, () => ({ to_version: version })),
    redo: () => redo(place, null, changed),
    switchTo: (other) => redo(place, other.rewind_version, changed),
    forkAfter: (message) =>
      fork(place, { at_turn: message.turn_id }, `turn ${message.turn_id}`, opened),
    forkAt: (version) => fork(place, { at: version }, `version ${version}`, opened),
  };
}

function redo(place, rewindVersion, changed) {
  const wanted = rewindVersion === null ? {} : { rewind_version: rewindVersion };
  let seen = null;
  return askFirst({
    title: rewindVersion === null ? "Redo what was rewound" : "Switch to this branch",
    confirm: rewindVersion === null ? "Redo" : "Switch",
    consequence: async () => {
      seen = await send(address(place, "/redo"), { ...wanted, dry_run: true });
      return restored(seen, ["It brings back", "it takes out"]);
    },
    act: async () => {
      const done = await send(address(place, "/redo"), wanted, seen.tag);
      changed();
      return restored(done, ["It brought back", "it took out"]);
    },
  });
}

function fork(place, from, words, opened) {
  const title = el("input", { type: "text", maxlength: "200", placeholder: "Numbered by itself" });
  const fields = el("div", {}, el("label", {}, "Title of the new session ", title));
  return askFirst({
    title: `Fork after ${words}`,
    fields,
    confirm: "Fork",
    consequence: async () => [
      el("p", {}, `A new session begins with everything up to ${words}.`),
      el("p", {}, "This one stays as it is. What still runs or waits there is ended in the new one."),
    ],
    act: async () => {
      const named = title.value.trim() === "" ? {} : { title: title.value.trim() };
      const made = await send(address(place, "/fork"), { ...from, ...named });
      opened(made.session_id);
      return null;
    },
  });
}

function rewound(answer, words) {
  return [
    el("p", {}, `${words} ${parts(answer.turns_rewound, answer.messages_rewound)}.`),
    el("p", { class: "hint" }, "Nothing is deleted: redo brings it back."),
    answer.target && forEditing(answer.target),
  ];
}

function forEditing(target) {
  const attachments = target.attachments?.length ?? 0;
  return [
    el(
      "label",
      { class: "editing" },
      "What the first turn that is taken out asked, to be edited and sent again:",
      el("textarea", { readonly: true, rows: "5", dir: "auto" }, target.text ?? ""),
    ),
    attachments > 0 && el("p", {}, `It had ${count(attachments, "attachment")}.`),
  ];
}

function restored(answer, [back, out]) {
  const taken = answer.turns_rewound > 0 || answer.messages_rewound > 0;
  return el(
    "p",
    {},
    `${back} ${parts(answer.turns_restored, answer.messages_restored)}`,
    taken ? `; before that ${out} ${parts(answer.turns_rewound, answer.messages_rewound)}.` : ".",
  );
}

function parts(turns, messages) {
  return `${count(turns, "turn")} with ${count(messages, "message")}`;
}

function checkbox(words) {
  const input = el("input", { type: "checkbox" });
  return { input, label: el("label", { class: "check" }, input, " ", words) };
}
