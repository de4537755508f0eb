// Small pieces that several pages show: buttons, commands, failures, times.

import { isPending, problemOf } from "./acts.js";
import { url } from "./api.js";
import { html, nothing } from "./lit.js";
import { decides, mayAct, redraw, serverTime } from "./state.js";
import { line } from "./visible.js";
import { age, clock, cost, sentence } from "./words.js";

/**
 * A button that acts on the thing `key`. It is off while the server is away and while the act runs. A viewer who does
 * not decide has none.
 * @param {string} label @param {string} key @param {() => void} act @param {ActOptions} [options]
 */
export function actButton(label, key, act, options = {}) {
  if (!decides()) return nothing;
  const off = !mayAct() || isPending(key) || options.off === true;
  return html`<button type="button" class=${options.kind ?? "quiet"} ?disabled=${off} data-key=${options.shortcut ?? nothing}
    aria-label=${options.name ?? nothing} @click=${act}>${label}</button>`;
}

/** A button that only changes what is shown. @param {string} label @param {() => void} run @param {string} [kind] */
export function button(label, run, kind = "quiet") {
  return html`<button type="button" class=${kind} @click=${run}>${label}</button>`;
}

/** A button that shows whether something is on. @param {string} label @param {boolean} isOn @param {() => void} run */
export function toggleButton(label, isOn, run) {
  return html`<button type="button" class="plain" aria-pressed=${isOn} @click=${run}>${label}</button>`;
}

export const LOADING = html`<p class="loading">Loading…</p>`;

/** @param {(value: string) => void} set */
export function onValue(set) {
  return (/** @type {Event} */ event) => set(/** @type {HTMLInputElement} */ (event.target).value);
}

/** @param {RequestProblem | null} problem */
export function failureView(problem) {
  if (!problem) return nothing;
  return html`<p class="failure" role="alert">${sentence(line(problem.message))} ${sentence(line(problem.suggestion))}</p>`;
}

/** @param {string} key */
export function failureOf(key) {
  return failureView(problemOf(key));
}

/** The text that was copied a moment ago. @type {string | null} */
let copied = null;

/** @param {string | null} text */
function setCopied(text) {
  copied = text;
  redraw();
}

/** @param {string | (() => string)} text @param {string} label @param {string} [name] */
export function copyButton(text, label, name) {
  const id = typeof text === "string" ? text : label;
  const copy = async () => {
    await navigator.clipboard.writeText(typeof text === "string" ? text : text());
    setCopied(id);
    setTimeout(setCopied, 2_000, null);
  };
  return html`<button type="button" class="quiet" aria-label=${name ?? nothing} @click=${copy}>${copied === id ? "Copied" : label}</button>`;
}

/** @param {string} text */
export function command(text) {
  return html`<span class="command"><code>${line(text)}</code> ${copyButton(text, "Copy", `Copy the command ${line(text)}`)}</span>`;
}

/** A text in which parts between backticks are code. @param {string | null} text */
export function coded(text) {
  const parts = line(text).split("`");
  // An unpaired backtick is a letter like any other.
  if (parts.length % 2 === 0) return line(text);
  return parts.map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : part));
}

/** How long ago something was. @param {number} at */
export function ago(at) {
  const date = new Date(at);
  const exact = Number.isNaN(date.getTime()) ? nothing : date.toISOString();
  return html`<time datetime=${exact} title=${clock(at, serverTime())}>${age(serverTime() - at)}</time>`;
}

/** @param {{ task?: number | null, task_id?: string | null }} row */
export function taskPath(row) {
  return url`/t/${row.task ?? row.task_id}`;
}

/** The cost of a row. A viewer who does not decide sees no costs. @param {Money} micros */
export function costCell(micros) {
  return html`<span class="cost">${decides() ? cost(micros) : nothing}</span>`;
}

/** One row of a list of facts, or nothing when there is no value. @param {string} name @param {unknown} value */
export function fact(name, value) {
  return value ? html`<div><dt>${name}</dt><dd>${value}</dd></div>` : nothing;
}

/** The colour of a task's state, which always stands with its word. @param {string} state */
export function stateColour(state) {
  if (/fail|crash|conflict|dead/.test(state)) return "bad";
  if (/merge|done|complete/.test(state)) return "good";
  if (/run|work|progress|claim/.test(state)) return "ask";
  return /^(ready|open|pending|wait|plan)/.test(state) ? "" : "warn";
}

/** @param {number} number */
export function countBadge(number) {
  return html`<span class="count">${number.toLocaleString("en")}</span>`;
}
