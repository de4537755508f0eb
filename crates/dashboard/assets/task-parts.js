// The parts of a task's page that are only read: checks with their output, tries, what was not seen, and the brief.

import { read, url } from "./api.js";
import { html, nothing } from "./lit.js";
import { costCell, fact } from "./parts.js";
import { told } from "./problem.js";
import { redraw, serverTime } from "./state.js";
import { line, lines, output } from "./visible.js";
import { clock, duration, sentence, shortHash, stopwatch } from "./words.js";

/** The outputs that the person opened, by task and number of the verification. @type {Map<string, string>} */
const outputs = new Map();

/** @param {string} task @param {Check} check */
async function readOutput(task, { verification, tail }) {
  const key = `${task} ${verification}`;
  if (outputs.has(key)) return;
  outputs.set(key, "Loading…");
  try {
    const { text, cut } = await read(url`tasks/${task}/checks/${verification}/output`);
    outputs.set(key, (cut ? "… (the beginning is left out)\n" : "") + output(text));
  } catch (error) {
    outputs.set(key, [...tail.map(output), "", sentence(told(error).message)].join("\n"));
  }
  redraw();
}

/** @param {TaskPage} page @param {Check} check */
function outputView({ task }, check) {
  const text = outputs.get(`${task.id} ${check.verification}`) ?? check.tail.map(output).join("\n");
  const toggle = (/** @type {Event} */ event) => {
    if (/** @type {HTMLDetailsElement} */ (event.target).open) void readOutput(task.id, check);
  };
  return html`<details @toggle=${toggle}><summary>whole output</summary>
    <pre class="output" tabindex="0" aria-label="Output of the check">${text}</pre></details>`;
}

/** @param {Check} check */
function ended(check) {
  return line(check.how) + (check.runs > 1 ? (check.runs === 2 ? " twice" : ` ${check.runs} times`) : "");
}

/** @param {TaskPage} page */
export function checkSummary(page) {
  const last = page.checks.at(-1);
  if (!last || last.ok || last.tail.length === 0) return nothing;
  return html`<div class="failed-check"><p><code>${line(last.command)}</code> ${ended(last)}.</p>
    <pre class="output" tabindex="0" aria-label="The last lines of the check">${last.tail.slice(-12).map(output).join("\n")}</pre>
    ${outputView(page, last)}</div>`;
}

/** @param {TaskPage} page */
export function checksView(page) {
  if (page.checks.length === 0) return html`<p class="calm">No check has run.</p>`;
  return html`<section aria-labelledby="checks"><h2 id="checks">Check</h2><ul class="card">${page.checks
    .toReversed()
    .map(
      (check) => html`<li class="row check">
    <span class="detail">try ${check.try}</span> <code>${line(check.command)}</code>
    <span class="state ${check.ok ? "good" : "bad"}">${ended(check)}</span>
    <span class="detail">${duration(check.ms)}
      ${check.tree ? `· on ${check.tree === page.tree ? "this tree" : "the tree"} (${shortHash(check.tree)})` : nothing}</span>
    ${outputView(page, check)}</li>`,
    )}</ul></section>`;
}

/** @param {TaskPage} page */
export function notSeenView(page) {
  if (page.not_seen.length === 0) return nothing;
  return html`<section aria-labelledby="not-seen"><h2 id="not-seen">Said, not seen</h2>
    <ul>${page.not_seen.map((each) => html`<li>${line(each.text)}</li>`)}</ul></section>`;
}

/** @param {Turn} turn */
export function turnFacts(turn) {
  const end =
    turn.ended_at === null ? "running" : [turn.end?.replaceAll("_", " "), turn.reason].filter(Boolean).join(": ");
  const facts = [
    clock(turn.started, serverTime()),
    stopwatch(turn.ms ?? serverTime() - turn.started),
    turn.purpose,
    end,
  ];
  return line(facts.filter(Boolean).join(" · "));
}

/** @param {TaskPage} page */
export function triesView({ turns }) {
  if (turns.length === 0) return html`<p class="calm">No agent has worked on it yet.</p>`;
  return html`<ul class="card">${turns.map(
    (turn) => html`<li class="row" data-row tabindex="-1">
    <span class="number">${turn.number}</span> <a class="name" data-key="o" href=${url`/turn/${turn.id}`}>${line(turn.agent)}</a>
    <span class="detail grow">${turnFacts(turn)}</span>${costCell(turn.usd_micros)}</li>`,
  )}</ul>`;
}

/** @param {TaskPage} page */
export function briefView({ task, checkpoints, messages, findings }) {
  const text = (/** @type {string | null} */ words) => words && html`<span class="text">${lines(words)}</span>`;
  const time = (/** @type {number} */ at) => clock(at, serverTime());
  const criteria = task.acceptance_criteria;
  return html`<dl class="facts">
    ${fact("description", text(task.description))} ${fact("goal", text(task.goal))}
    ${fact("done when", criteria.length > 0 && html`<ul class="bullets">${criteria.map((each) => html`<li>${line(each)}</li>`)}</ul>`)}
    ${fact("role", text(task.role))}
    ${checkpoints.map((each) => fact(time(each.at), html`${line(each.by)} saved: ${text(each.summary)}`))}
    ${messages.map((each) => fact(time(each.at), html`${line(each.from)}: ${text(each.text)}`))}
    ${findings.map((each) =>
      fact(
        "finding",
        html`<strong>${line(each.aspect)}</strong> <code>${line(each.path)}${each.line ? `:${each.line}` : ""}</code>
        ${text(each.text)} ${text(each.recommendation)} <span class="detail">${line(each.state)}</span>`,
      ),
    )}
    ${fact("part of", html`<a href=${url`/w/${task.workflow_id}`}>${line(task.plan) || "a plan"}</a>`)}
  </dl>`;
}
