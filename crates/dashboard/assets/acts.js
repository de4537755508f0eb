// Acts of the person: one at a time for each thing, with the failure in its place.

import { told } from "./problem.js";
import { readAgain } from "./refresh.js";
import { announce, redraw } from "./state.js";

/** @type {Set<string>} */
const pending = new Set();
/** @type {Map<string, RequestProblem>} */
const problems = new Map();
/** Texts that the person has typed and not sent. @type {Map<string, string>} */
const drafts = new Map();

/** @param {string} key */
export const isPending = (key) => pending.has(key);

/** @param {string} key */
export const problemOf = (key) => problems.get(key) ?? null;

/** @param {string} key */
export const draft = (key) => drafts.get(key) ?? "";

/** @param {string} key @param {string} text */
export function setDraft(key, text) {
  if (text === "") drafts.delete(key);
  else drafts.set(key, text);
}

/** Keeps what is typed into a field. @param {string} key */
export function typing(key) {
  return (/** @type {InputEvent} */ event) => setDraft(key, /** @type {HTMLInputElement} */ (event.target).value);
}

/** Sends a form with Ctrl+Enter, and with Enter when its text has one line. @param {KeyboardEvent} event */
export function sendByKey(event) {
  const field = /** @type {HTMLTextAreaElement} */ (event.target);
  if (event.key !== "Enter" || event.isComposing) return;
  if (!event.ctrlKey && !event.metaKey && (field.rows > 1 || event.shiftKey)) return;
  event.preventDefault();
  field.form?.requestSubmit();
}

/** Acts on the thing `key`. Returns true when the server did it. @param {string} key @param {() => Promise<unknown>} work */
export async function perform(key, work) {
  if (pending.has(key)) return false;
  pending.add(key);
  problems.delete(key);
  redraw();
  try {
    await work();
    return true;
  } catch (error) {
    const problem = told(error);
    problems.set(key, problem);
    announce(problem.message);
    return false;
  } finally {
    pending.delete(key);
    // After a refusal, too: another person may have settled the thing.
    void readAgain();
    redraw();
  }
}
