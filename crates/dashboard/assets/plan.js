// The pages `/w`, all plans, and `/w/ID`, one plan: its tasks by state, its progress, its branch with the changes.

import { perform } from "./acts.js";
import { read, send, url } from "./api.js";
import { DiffView } from "./diff.js";
import { html, nothing } from "./lit.js";
import { openMerge } from "./merge.js";
import {
  LOADING,
  actButton,
  button,
  countBadge,
  failureOf,
  failureView,
  onValue,
  stateColour,
  taskPath,
  toggleButton,
} from "./parts.js";
import { told } from "./problem.js";
import { decides, keep, kept, redraw, state } from "./state.js";
import { line } from "./visible.js";
import { costs, count, sentence } from "./words.js";

/** Groups come in this order: what needs somebody first, what is done last. */
const ORDER = [
  /fail|dead|conflict|block|needs/,
  /run|work|progress|claim/,
  /merge|review/,
  /ready|open|pending/,
  /wait|plan/,
];
const ROWS = 200;

/** @param {string} word */
const isDone = (word) => /^(done|complete|merged|dropped|cancel)/.test(word);

/** @param {string} word */
function rank(word) {
  const found = ORDER.findIndex((pattern) => pattern.test(word));
  return isDone(word) ? ORDER.length + 1 : found < 0 ? ORDER.length : found;
}

/** @param {Graph} graph @returns {PlanTask[]} */
function tasksOf(graph) {
  /** @type {number[][]} */
  const after = graph.ids.map(() => []);
  for (const [from, to] of graph.edges) {
    if (!isDone(graph.states[from] ?? "")) after[to]?.push(graph.numbers[from] ?? 0);
  }
  return graph.ids.map((id, at) => ({
    task: graph.numbers[at] ?? 0,
    task_id: id,
    name: graph.names[at] ?? "",
    state: graph.states[at] ?? "",
    agent: graph.agents[at] ?? null,
    after: after[at] ?? [],
  }));
}

/** @param {number} done @param {number} all */
function progressView(done, all) {
  return html`<label class="progress">${done} of ${all} done <progress max=${all || 1} value=${done}></progress></label>`;
}

/** @returns {Page} */
export function plansPage() {
  /** @type {Plan[] | null} */
  let plans = null;
  return {
    name: "plans",
    gap: 2_000,
    title: () => "Plans",
    refresh: async () => {
      plans = (await read("workflows?limit=200")).workflows;
    },
    view: () => html`<h1 tabindex="-1">Plans</h1>
      ${!plans ? LOADING : plans.length === 0 ? html`<p class="calm">No plan yet.</p>` : nothing}
      <ul class="card rows">${plans?.map(
        (plan) => html`<li class="row" data-row tabindex="-1">
        <a class="name grow" data-key="o" href=${url`/w/${plan.id}`}>${line(plan.name)}</a>
        <span class="detail">${line(plan.status).replaceAll("_", " ")}</span>
        ${progressView(plan.total_tasks - plan.open_tasks, plan.total_tasks)}</li>`,
      )}</ul>`,
    keys: { o: { words: "open" } },
  };
}

/** @param {string} id @returns {Page} */
export function planPage(id) {
  /** @type {Plan | null} */
  let plan = null;
  /** @type {PlanTask[]} */
  let tasks = [];
  /** @type {SpendRow | undefined} */
  let spent;
  /** @type {RequestProblem | null} */
  let problem = null;
  const filter = { text: "", agent: "", state: "" };
  let isBoard = kept("board") === "on";
  /** Groups that the person asked to see whole. @type {Set<string>} */
  const whole = new Set();
  /** The changes of the branch, once the person asked for them. @type {DiffView | null} */
  let diff = null;

  async function refresh() {
    try {
      const [found, graph] = await Promise.all([read(url`workflows/${id}`), read(url`workflows/${id}/graph`)]);
      [plan, tasks, problem] = [found, tasksOf(graph), null];
      if (decides())
        spent ??= (await read("spend?by=workflow")).rows.find((/** @type {SpendRow} */ row) => row.key === id);
    } catch (error) {
      problem = told(error);
      if (problem.status !== 404) throw error;
    }
  }

  async function showDiff() {
    diff = new DiffView(id);
    redraw();
    await diff.read(url`workflows/${id}/diff`);
  }

  /** @param {keyof typeof filter} name */
  const set = (name) =>
    onValue((value) => {
      filter[name] = value;
      redraw();
    });

  /** @param {"agent" | "state"} name @param {string} words */
  function choice(name, words) {
    const all = [...new Set(tasks.map((task) => task[name] ?? ""))].filter((each) => each !== "").sort();
    return html`<select aria-label="Only this ${name}" @change=${set(name)}><option value="">${words}</option>
      ${all.map((each) => html`<option value=${each} ?selected=${filter[name] === each}>${line(each)}</option>`)}</select>`;
  }

  /** @param {PlanTask} task */
  function taskView(task) {
    const key = `retry:${task.task_id}`;
    const waits = task.after.length > 0 ? `waits for ${task.after.slice(0, 5).join(", ")}` : "";
    const canRetry = /fail|dead/.test(task.state);
    const retry = () => void perform(key, () => send(url`tasks/${task.task_id}/retry`));
    return html`<li class="row" data-row tabindex="-1"><span class="number">${task.task}</span>
      <a class="name grow" title=${line(task.name)} data-key="o" href=${taskPath(task)}>${line(task.name)}</a>
      <span class="detail">${task.agent ? line(task.agent) : waits}</span>
      ${canRetry ? actButton("Retry", key, retry, { name: `Retry ${task.task}` }) : nothing} ${failureOf(key)}</li>`;
  }

  /** @param {[string, PlanTask[]]} group */
  function groupView([name, all]) {
    const shown = whole.has(name) ? all : all.slice(0, ROWS);
    const more = () => {
      whole.add(name);
      redraw();
    };
    return html`<section aria-label=${line(name)}>
      <div class="heading"><h2><span class="label ${stateColour(name)}">${line(name)}</span> ${countBadge(all.length)}</h2></div>
      <ul class="card rows">${shown.map(taskView)}</ul>
      ${shown.length < all.length ? button(`Show all ${count(all.length, "task")}`, more) : nothing}</section>`;
  }

  function view() {
    if (problem) return html`<h1 tabindex="-1">Plan</h1>${failureView(problem)}`;
    if (!plan) return LOADING;
    const text = filter.text.toLowerCase();
    /** @type {Map<string, PlanTask[]>} */
    const groups = new Map();
    for (const task of tasks) {
      const isWanted = `${task.task} ${task.name}`.toLowerCase().includes(text);
      if (!isWanted || ![task.agent, ""].includes(filter.agent) || ![task.state, ""].includes(filter.state)) continue;
      groups.set(task.state, groups.get(task.state) ?? []);
      groups.get(task.state)?.push(task);
    }
    const done = tasks.filter((task) => isDone(task.state)).length;
    const sorted = [...groups].sort(([a], [b]) => rank(a) - rank(b));
    const ready = state.now?.merge.find((row) => row.task_id === null && row.workflow_id === id);
    const toggle = () => {
      isBoard = !isBoard;
      keep("board", isBoard ? "on" : "off");
      redraw();
    };
    return html`<p><a class="back" href="/w">‹ Plans</a></p>
      <div class="heading"><h1 tabindex="-1">${line(plan.name)}</h1>${progressView(done, tasks.length)}</div>
      <p class="detail">${line(plan.status).replaceAll("_", " ")}${spent ? ` · ${costs(spent.usd_micros, spent.unknown_turns)}` : ""}</p>
      ${plan.plan_summary ? html`<p class="whole">${sentence(line(plan.plan_summary))}</p>` : nothing}
      <div class="acts page-acts">
        ${ready ? actButton("Merge…", id, () => openMerge([ready]), { kind: "primary" }) : nothing}
        ${diff ? nothing : button("Changes of the branch", showDiff, "plain")}
      </div>
      ${diff ? html`<section aria-label="Changes of the branch">${diff.view()}</section>` : nothing}
      <div class="filters">
        <input type="search" aria-label="Only tasks with this text" placeholder="Find a task" @input=${set("text")}>
        ${choice("agent", "all agents")} ${choice("state", "all states")}
        <span class="board-switch">${toggleButton("Board", isBoard, toggle)}</span></div>
      ${sorted.length === 0 ? html`<p class="calm">No task matches.</p>` : nothing}
      <div class=${isBoard ? "board" : ""}>${sorted.map(groupView)}</div>`;
  }

  return {
    name: "plans",
    gap: 2_000,
    title: () => plan?.name ?? "Plan",
    refresh,
    view,
    keys: { o: { words: "open" } },
  };
}
