// When is something worth asking for? Of many questions in a row the newest, once there is a
// moment's quiet; what the first screen does not need, when it is first needed.

const QUIET_MS = 90;
const AT_MOST_MS = 400;

/**
 * Return a function that runs `work` with its arguments and a signal. The first call of a row runs
 * at once; others wait for a quiet moment, though not for long, and give up the one that runs.
 */
export function latest(work) {
  let timer = null;
  let running = null;
  let asked = -Infinity;
  let ran = -Infinity;
  const run = async (args) => {
    clearTimeout(timer);
    running?.abort();
    running = new AbortController();
    ran = performance.now();
    await work(...args, running.signal);
  };
  const ask = (...args) => {
    clearTimeout(timer);
    const now = performance.now();
    const wait = now - asked < QUIET_MS && now - ran < AT_MOST_MS ? QUIET_MS : 0;
    asked = now;
    if (wait) timer = setTimeout(run, wait, args);
    else run(args);
  };
  ask.stop = () => {
    clearTimeout(timer);
    running?.abort();
  };
  return ask;
}

/** Return a function that makes something when it is first asked for it, and has it from then on. */
export function once(make) {
  let made = null;
  return () => {
    made ??= make();
    return made;
  };
}
