// How is a reader asked before anything changes?

import { button, el, fill } from "./dom.js";
import { problemNode } from "./notices.js";

const node = () => document.getElementById("dialog");

/**
 * Ask: a title, what is to be chosen, what will come of it, and a button that does it.
 *
 * `consequence()` is asked whenever a field changes, and returns what to show; until it has
 * answered nothing can be confirmed. `act()` does it, and returns what to show in the end.
 */
export function askFirst({ title, fields = null, consequence, confirm, act }) {
  const told = el("div", { class: "consequence", "aria-live": "polite" });
  const yes = button(confirm, () => perform(), { class: "primary", disabled: true });
  const no = button("Cancel", close, { class: "quiet" });
  const buttons = el("div", { class: "buttons" }, no, yes);
  let asked = 0;

  const look = async () => {
    const mine = ++asked;
    yes.disabled = true;
    fill(told, el("p", { class: "hint" }, "Asking what would come of it…"));
    try {
      const found = await consequence();
      if (mine !== asked) return;
      fill(told, found);
      yes.disabled = false;
    } catch (error) {
      if (mine === asked) fill(told, problemNode(error));
    }
  };
  const perform = async () => {
    yes.disabled = true;
    try {
      const done = await act();
      if (done === null) return close();
      fill(told, done);
      fields?.remove();
      fill(buttons, button("Close", close, { class: "primary" }));
      buttons.firstChild.focus();
    } catch (error) {
      fill(told, problemNode(error), button("Look again", look, { class: "quiet" }));
    }
    return undefined;
  };

  fields?.addEventListener("input", look);
  fill(node(), el("h2", { id: "dialog-title" }, title), fields, told, buttons);
  node().showModal();
  return look();
}

/** Close what is open. */
export function close() {
  node().close();
}

/** Show something until it is closed. */
export function tell(title, ...content) {
  const buttons = el("div", { class: "buttons" }, button("Close", close, { class: "primary" }));
  fill(node(), el("h2", { id: "dialog-title" }, title), content, buttons);
  node().showModal();
}

/** Whether a dialog is open. */
export function isOpen() {
  return node().open;
}
