// What changed between two versions? The server's own words, line by line.

import { address, isAborted, Problem, readText } from "./api.js";
import { button, count, el, fill, oneLine, put } from "./dom.js";
import { problemNode } from "./notices.js";

const PAGE = 200;
const KINDS = { "+": "added", "-": "removed", "~": "changed" };

/** Show in `node` what changed from one version to another. */
export async function showDiff(place, node, { from, to }, signal) {
  try {
    const url = address(place, "/diff", { from, to, limit: PAGE });
    const text = await readText(url, "text/plain", signal);
    fill(node, text.trim() === "" ? nothing(from, to) : lines(text));
  } catch (error) {
    if (isAborted(error)) return;
    if (!(error instanceof Problem)) throw error;
    fill(node, problemNode(error));
  }
}

/** Return the pane that tells what the chosen event changed. */
export function changesPane(place, node) {
  return {
    async show({ version, event }, signal) {
      const what = event
        ? el("h2", {}, `Version ${version}: ${event.type}`)
        : el("h2", {}, `Version ${version}`);
      const body = differences("What it changed");
      if (version <= 1) put(body, el("p", {}, "The session began with this event."));
      else await showDiff(place, body, { from: version - 1, to: version }, signal);
      if (!signal.aborted) fill(node, what, body);
    },
  };
}

/**
 * Return the pane that compares two versions; `choose(from, to)` puts them into the address, and
 * `current()` is the version that a reader is at.
 */
export function comparePane(place, node, { choose, current }) {
  const from = versionField("From version");
  const to = versionField("to version");
  const body = differences("Differences");
  const take = (field) => () => {
    field.input.value = String(current());
  };
  let asked = "";
  const submit = (event) => {
    event.preventDefault();
    choose(Number(from.input.value), Number(to.input.value));
  };
  const form = el(
    "form",
    { class: "compare", on: { submit } },
    from.label,
    button("This one", take(from), { class: "quiet" }),
    to.label,
    button("This one", take(to), { class: "quiet" }),
    el("button", { type: "submit", class: "primary" }, "Compare"),
  );
  fill(node, form, body);
  return {
    async show({ version, last, place: at }, signal) {
      const wanted = { from: at.from ?? 1, to: at.to ?? version };
      from.input.max = to.input.max = String(last);
      const given = at.from !== null || at.to !== null;
      // What a reader has typed stays while the slider moves.
      if (given || from.input.value === "") from.input.value = String(wanted.from);
      if (given || to.input.value === "") to.input.value = String(wanted.to);
      if (!given) {
        asked = "";
        return fill(body, el("p", { class: "hint" }, "Choose two versions, and compare them."));
      }
      if (asked === `${wanted.from}-${wanted.to}` && body.childElementCount > 0) return undefined;
      await showDiff(place, body, wanted, signal);
      asked = signal.aborted ? "" : `${wanted.from}-${wanted.to}`;
      return undefined;
    },
  };
}

function differences(label) {
  return el("div", { class: "diff", role: "group", tabindex: "0", "aria-label": label });
}

function versionField(name) {
  const input = el("input", { type: "number", min: "1", step: "1", required: true });
  return { input, label: el("label", {}, name, " ", input) };
}

function nothing(from, to) {
  return el("p", { class: "hint" }, `Nothing in sight differs between ${from} and ${to}.`);
}

function lines(text) {
  const all = text.trimEnd().split("\n");
  return [
    el("pre", {}, all.map((line) => el("span", { class: `line ${kindOf(line)}` }, `${line}\n`))),
    all.length > 200 && el("p", { class: "hint" }, count(all.length, "line")),
  ];
}

function kindOf(line) {
  return KINDS[oneLine(line, 1)[0]] ?? "";
}
