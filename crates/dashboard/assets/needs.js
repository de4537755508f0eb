// The page `/`: what needs the person, what can be merged, what runs, what is next and what was done today.

import { draft, isPending, perform, setDraft, typing } from "./acts.js";
import { send } from "./api.js";
import { itemView, putOffView, settledView } from "./item.js";
import { html, live, nothing, repeat } from "./lit.js";
import { LOADING, command, countBadge, failureOf, taskPath } from "./parts.js";
import { withSettled } from "./settled.js";
import { announce, decides, isOpen, mayAct, redraw, serverTime, state } from "./state.js";
import { line } from "./visible.js";
import { clock, count, duration } from "./words.js";
import { doneSection, mergeSection, readySection, runningSection, stalledSection } from "./work.js";

const ADD = "add";
/** The task that was added last. @type {{ number: number, name: string } | null} */
let added = null;

/** @param {SubmitEvent} event */
async function addTask(event) {
  event.preventDefault();
  const name = draft(ADD).trim();
  if (name === "" || !mayAct()) return;
  const done = await perform(ADD, async () => {
    const answer = await send("tasks", { name });
    added = { number: answer.task, name };
  });
  if (!done) return;
  setDraft(ADD, "");
  announce(`Added ${added?.number} ${name}`);
  redraw();
}

function addForm() {
  const button = html`<button class="primary" ?disabled=${!mayAct() || isPending(ADD)}>Add</button>`;
  return html`<form class="add" @submit=${addTask}>
    <label class="unseen" for="add">Add a task</label>
    <input id="add" autocomplete="off" placeholder="Add a task…" aria-describedby="add-note" .value=${live(draft(ADD))}
      @input=${(/** @type {InputEvent} */ event) => {
        typing(ADD)(event);
        redraw();
      }}>
    ${draft(ADD).trim() === "" ? html`<kbd aria-hidden="true">n</kbd>` : button}
    <p id="add-note" class="note">${added ? html`Added <a href="/t/${added.number}">${added.number} ${line(added.name)}</a>` : nothing}</p>
    ${failureOf(ADD)}
  </form>`;
}

/** @param {Now} now */
function obstacles(now) {
  const add = "handover agent add NAME -- PROGRAM";
  if (now.agents.length === 0)
    return html`<p class="notice">No agent yet. Install Claude Code, Codex, … or: ${command(add)}</p>`;
  if (now.runner.alive) return nothing;
  return html`<p class="notice">No runner is up, so no task is worked on. Start one: ${command("handover up")}</p>`;
}

/** @param {Now} now */
function readiness(now) {
  const ready = now.agents.filter((agent) => agent.state === "ready" || agent.state === "working");
  const names = ready.map((agent) => line(agent.slug)).join(", ");
  const who =
    ready.length === 0
      ? "No agent is ready."
      : `${count(ready.length, "agent")} ${ready.length === 1 ? "is" : "are"} ready: ${names}.`;
  const check = now.check;
  if (!check) return html`<p>${who} No check is set.</p>`;
  const branch = line(now.project.branch ?? "this branch");
  const taken = !check.ms ? "" : `, ${duration(check.ms)}`;
  const how =
    check.state === "passes"
      ? `passes on ${branch}${taken}`
      : check.state === "fails"
        ? `fails on ${branch}`
        : "did not run yet";
  return html`<p>${who} Check: <code>${line(check.command)}</code> (${how}).</p>`;
}

/** @param {Now} now */
function idleView(now) {
  const { last } = now;
  const name = last?.task ? html`<a href=${taskPath(last)}>${last.task} ${line(last.name)}</a>` : line(last?.name);
  return html`<section class="idle" aria-labelledby="idle">
    <h2 id="idle">Nothing needs you.</h2>
    ${now.agents.length === 0 ? nothing : readiness(now)}
    ${last ? html`<p>Last: ${name}, merged ${clock(last.merged_at, serverTime())}.</p>` : nothing}
  </section>`;
}

/** @param {Now} now */
function firstVisit(now) {
  const check = now.check
    ? html`It is checked with <code>${line(now.check.command)}</code> before you see it.`
    : "You see what it changed before anything is merged.";
  return html`<section class="first" aria-labelledby="first">
    <h2 id="first">What should be done first?</h2>
    <ol>
      <li>Each task gets its own worktree and branch.</li>
      <li>${check}</li>
      <li>You look at the diff and merge, or send it back.</li>
    </ol>
    <p>Or in the terminal: ${command('handover add "…"')}</p>
  </section>`;
}

/** @param {Now} now */
function needsSection(now) {
  const open = now.items.filter(isOpen);
  const later = now.items.filter((item) => item.kind !== "merge" && !isOpen(item));
  const rows = withSettled(open);
  return html`<section aria-labelledby="needs">
    <div class="heading"><h2 id="needs">Needs you ${countBadge(open.length)}</h2></div>
    ${rows.length === 0 ? html`<p class="calm">Nothing needs you.</p>` : nothing}
    <ul class="card items">${repeat(
      rows,
      (row) => row.name,
      (row, index) => ("words" in row ? settledView(row) : itemView(row, index)),
    )}</ul>
    ${
      later.length > 0
        ? html`<details class="later"><summary>${count(later.length, "item")} put off</summary>
        <ul class="card">${later.map(putOffView)}</ul></details>`
        : nothing
    }
  </section>`;
}

function view() {
  const now = state.now;
  if (!now) return LOADING;
  const isIdle =
    withSettled(now.items).length + now.merge.length + now.running.length + now.ready.length + now.stalled.length === 0;
  return html`
    <h1 class="unseen" tabindex="-1">${line(now.project.name)}: what needs you</h1>
    ${decides() ? addForm() : nothing} ${obstacles(now)}
    ${
      !now.any_task
        ? firstVisit(now)
        : isIdle
          ? idleView(now)
          : [needsSection, mergeSection, runningSection, stalledSection, readySection].map((section) => section(now))
    }
    ${doneSection(now)}`;
}

let focused = false;

function focusFirstVisit() {
  if (focused || !state.now) return;
  focused = true;
  if (!state.now.any_task && document.activeElement === document.body) document.getElementById("add")?.focus();
}

/** @returns {Page} */
export function needsPage() {
  return {
    name: "tasks",
    title: () => "",
    view,
    drawn: focusFirstVisit,
    keys: {
      o: { words: "open" },
      a: { words: "answer" },
      d: { words: "diff" },
      m: { words: "merge" },
      s: { words: "send back" },
    },
  };
}
