// What the whole page knows, and when it is drawn again.

export const state = {
  /** @type {Now | null} */
  now: null,
  /** The clock of the server minus the clock of this browser, in milliseconds. */
  skew: 0,
  /** @type {Page | null} */
  page: null,
  /** @type {FeedState} */
  connection: { word: "connecting", since: Date.now(), cursor: null },
  /** The time of the oldest change that the page does not show yet. @type {number | null} */
  behindSince: null,
  /** Why the browser is not connected. @type {string | null} */
  signedOut: null,
  /** Why the last reading failed. @type {RequestProblem | null} */
  failure: null,
  /** @type {(() => unknown) | null} */
  dialog: null,
};

/** @type {() => void} */
let draw = () => {};
let planned = false;

/** @param {() => void} drawing */
export function drawWith(drawing) {
  draw = drawing;
}

/** Draws the page again, once for all changes of a frame. */
export function redraw() {
  if (planned) return;
  planned = true;
  const run = () => {
    planned = false;
    draw();
  };
  // A hidden tab has no frames, but its title still counts.
  if (document.hidden) setTimeout(run, 50);
  else requestAnimationFrame(run);
}

export function serverTime() {
  return Date.now() + state.skew;
}

/** The time for which a lost connection is not shown: a restart of the server takes less. */
const GRACE_MS = 1_500;

export function isOffline() {
  return state.connection.word === "lost" && Date.now() - state.connection.since > GRACE_MS;
}

/** Tells whether the viewer is a person, and not somebody who only looks on. */
export function decides() {
  return state.now?.viewer.decides ?? false;
}

export function mayAct() {
  return decides() && !isOffline();
}

/** Tells whether an item needs the person now. Finished work stands in a list of its own. @param {Item} item */
export function isOpen(item) {
  return item.kind !== "merge" && (item.put_off_until ?? 0) <= serverTime();
}

/** Tells a screen reader. @param {string} words */
export function announce(words) {
  const place = document.getElementById("said");
  if (place) place.textContent = words;
}

/**
 * Returns a value that the browser keeps for the interface. It is never a secret: the next program on this port can
 * read it.
 * @param {string} name
 */
export function kept(name) {
  try {
    return localStorage.getItem(`handover:${state.now?.project.name ?? ""}:${name}`);
  } catch {
    return null;
  }
}

/** @param {string} name @param {string} value */
export function keep(name, value) {
  try {
    localStorage.setItem(`handover:${state.now?.project.name ?? ""}:${name}`, value);
  } catch {
    // A browser without storage forgets the value with the page.
  }
}
