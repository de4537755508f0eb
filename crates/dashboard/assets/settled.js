// Items that were settled a moment ago. They stay for five seconds with the words that say who settled them.

import { announce, isOpen, redraw } from "./state.js";
import { line } from "./visible.js";

const SHOWN_MS = 5_000;
const SHOWN_MS_UNDO = 10_000;

/** @type {Map<string, SettledItem>} */
const settled = new Map();

/** Words about acts in other tabs of this browser, by the name of the item. @type {Map<string, string>} */
const elsewhere = new Map();
const channel = new BroadcastChannel("handover-acts");
channel.onmessage = (event) => {
  const { name, words } = event.data;
  elsewhere.set(name, `${words} (in another tab)`);
  setTimeout(() => elsewhere.delete(name), SHOWN_MS);
};

/** @param {SettledItem} entry */
function show(entry) {
  settled.set(entry.name, entry);
  announce(`${entry.words} ${line(entry.title)}`);
  redraw();
  setTimeout(
    () => {
      if (settled.get(entry.name) === entry) forget(entry.name);
    },
    entry.undo ? SHOWN_MS_UNDO : SHOWN_MS,
  );
}

/**
 * Shows that this person settled an item here. The item leaves the list at once.
 * @param {{ name: string, title: string }} item @param {number} index @param {string} words @param {() => void} [undo]
 */
export function settledHere({ name, title }, index, words, undo) {
  channel.postMessage({ name, words });
  show({ name, title, words, index, undo });
}

/** @param {string} name */
export function forget(name) {
  settled.delete(name);
  redraw();
}

/** Shows what was settled elsewhere, and announces what is new. @param {Now} before @param {Now} next */
export function noteSettled(before, next) {
  const isIn = (/** @type {Now} */ now, /** @type {Item} */ item) => now.items.some((each) => each.name === item.name);
  for (const [index, item] of before.items.filter(isOpen).entries()) {
    if (isIn(next, item) || settled.has(item.name)) continue;
    const said = next.settled?.find((each) => each.name === item.name)?.words ?? elsewhere.get(item.name);
    const words = line(said) || `${item.kind === "question" ? "Answered" : "Settled"} in the terminal`;
    show({ name: item.name, title: item.title, words, index });
  }
  const fresh = next.items.filter((item) => isOpen(item) && !isIn(before, item));
  if (fresh[0])
    announce(fresh.length === 1 ? `Needs you: ${line(fresh[0].title)}` : `${fresh.length} new items need you`);
}

/**
 * Returns the open items, with the settled ones at the places at which they stood.
 * @param {Item[]} items
 * @returns {(Item | SettledItem)[]}
 */
export function withSettled(items) {
  /** @type {(Item | SettledItem)[]} */
  const rows = items.filter((item) => !settled.has(item.name));
  for (const entry of [...settled.values()].sort((a, b) => a.index - b.index))
    rows.splice(Math.min(entry.index, rows.length), 0, entry);
  return rows;
}
