// How is a list of a project filled, page by page, and read again when it may be another?

import { isAborted, Problem } from "./api.js";
import { fill, put } from "./dom.js";
import { latest } from "./latest.js";
import { followProject } from "./live.js";
import { complain, settle } from "./notices.js";

export const PAGE = 50;

/**
 * Return what fills `list`, with `more` to go on. `turn(cursor, signal)` reads a page and returns its
 * `next_cursor`, and what makes its `rows`, and what says that there is `nothing`.
 */
export function listing(list, more, turn) {
  let following = null;
  let followed = null;
  let stopLive = () => {};

  const load = latest(async (cursor, signal) => {
    try {
      const page = await turn(cursor, signal);
      if (signal.aborted) return;
      settle();
      const focused = document.activeElement?.closest(`#${list.id} a`)?.getAttribute("href");
      if (cursor === null) fill(list);
      put(list, page.rows());
      if (focused) list.querySelector(`a[href="${CSS.escape(focused)}"]`)?.focus();
      if (list.childElementCount === 0) put(list, page.nothing());
      following = page.next_cursor;
      more.hidden = following === null;
    } catch (error) {
      if (isAborted(error)) return;
      if (!(error instanceof Problem)) throw error;
      fill(list);
      more.hidden = true;
      complain(error);
    }
  });
  more.addEventListener("click", () => load(following));

  return {
    load: () => load(null),

    /** Read the list again when it may be another, unless a reader is somewhere down in it. */
    follow(project, { mayChange, types }) {
      if (followed === project) return;
      stopLive();
      followed = project;
      const again = () => {
        if (list.childElementCount <= PAGE && mayChange({ isWhole: following === null })) load(null);
      };
      stopLive = followProject(project, again, { types });
    },

    stop() {
      load.stop();
      stopLive();
      followed = null;
    },
  };
}

/** Have `choose` called with whatever a form is given. */
export function whenGiven(form, choose) {
  form.addEventListener("input", choose);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    choose();
  });
}

/** Return what a form says of a name; null where that is usual. */
export function picked(given, name, usual) {
  return given.get(name) === usual ? null : given.get(name);
}
