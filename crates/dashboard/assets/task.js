// The page of a task: its state and acts, its changes, checks, tries, conversation and brief.

import { perform } from "./acts.js";
import { read, send, url } from "./api.js";
import { DiffView } from "./diff.js";
import { agentOf, answerForm, wholeText } from "./item.js";
import { html, nothing } from "./lit.js";
import { openMerge } from "./merge.js";
import { LOADING, actButton, coded, failureOf, failureView, onValue, stateColour, toggleButton } from "./parts.js";
import { told } from "./problem.js";
import { askSendBack, askTake, askText } from "./questions.js";
import { announce, decides, keep, kept, redraw, serverTime } from "./state.js";
import { briefView, checkSummary, checksView, notSeenView, triesView } from "./task-parts.js";
import { Transcript } from "./transcript.js";
import { line } from "./visible.js";
import { cost, count, shortHash, stopwatch } from "./words.js";

/** The changes of the tasks that were opened, with comments that were not sent yet. @type {Map<string, DiffView>} */
const views = new Map();

/**
 * Returns the tree at which the person looked before this one. Loading the page again is not another look.
 * @param {string} task @param {string} tree
 */
function lastLook(task, tree) {
  const [newest, before] = (kept(`look:${task}`) ?? "").split(" ");
  if (newest === tree) return before || null;
  keep(`look:${task}`, `${tree} ${newest ?? ""}`);
  return newest || null;
}

/** @param {string} id a number or an id @returns {Page} */
export function taskPage(id) {
  /** @type {TaskPage | null} */
  let page = null;
  /** @type {RequestProblem | null} */
  let problem = null;
  const diff = views.get(id) ?? new DiffView(id);
  views.set(id, diff);
  let tab = "";
  /** The tree of the last look, and whether only the changes since then are shown. @type {string | null} */
  let since = null;
  let isSince = false;
  let shown = "";
  /** @type {Transcript | null} */
  let transcript = null;
  const key = `task:${id}`;

  async function refresh() {
    try {
      page = /** @type {TaskPage} */ (await read(url`tasks/${id}/page`));
    } catch (error) {
      problem = told(error);
      if (problem.status !== 404) throw error;
      return;
    }
    problem = null;
    diff.findings = page.findings;
    if (page.tree) since ??= lastLook(page.task.id, page.tree);
    page.turns.sort((a, b) => a.started - b.started);
    page.checks.sort((a, b) => a.at - b.at);
    tab ||= page.can.includes("stop") ? "conversation" : page.tree ? "changes" : "brief";
    await readDiff();
  }

  async function readDiff() {
    const wanted = `${page?.tree} ${isSince}`;
    if (!page?.tree || wanted === shown) return;
    shown = wanted;
    await diff.read(url`tasks/${id}/diff` + (isSince ? url`?since=${since}` : ""));
  }

  /** @param {string} verb @param {string} words */
  async function act(verb, words) {
    if (await perform(key, () => send(url`tasks/${page?.task.id}/${verb}`))) announce(words);
  }

  function sendBack() {
    if (!page?.can.includes("send_back")) return;
    askSendBack(page.task.id, line(page.agent ?? "the agent"), diff.sent(), () => {
      diff.notes.clear();
      diff.changed();
    });
  }

  function merge() {
    if (!page?.can.includes("merge")) return;
    const { id: task_id, number: task, workflow_id, name } = page.task;
    openMerge([{ task_id, task, workflow_id, name }]);
  }

  /** @param {TaskPage} now */
  function actsView(now) {
    const notes = diff.notes.size > 0 ? ` (${diff.notes.size})` : "…";
    /** @type {[string, string, () => void][]} */
    const all = [
      ["merge", "Merge…", merge],
      ["send_back", `Send back${notes}`, sendBack],
      ["stop", "Stop", () => void act("stop", "Stopped")],
      ["retry", "Retry", () => void act("retry", "Started again")],
      ["take", "Take as it is…", () => askTake(now.task.id)],
      ["drop", "Drop", () => void act("drop", "Dropped")],
      ["restore", "Restore", () => void act("restore", "Restored")],
    ];
    const kindAt = (/** @type {string} */ name, /** @type {number} */ at) =>
      at > 1 ? "quiet" : at === 1 || /stop|drop/.test(name) ? "plain" : "primary";
    const possible = all.filter(([name]) => now.can.includes(name));
    if (!decides() || possible.length === 0) return nothing;
    return html`<div class="acts page-acts">
        ${possible.map(([name, label, run], at) => actButton(label, key, run, { kind: kindAt(name, at) }))}
        ${
          now.moved
            ? html`<span class="detail">${line(now.base?.branch ?? "The branch")} moved: ${count(now.moved, "commit")}</span>`
            : nothing
        }
      </div>${failureOf(key)}`;
  }

  /** Why the task needs the person. @param {Item} item */
  function itemView(item) {
    const approval = item.subject.approval_id;
    return html`<div class="why">
      <p><strong>${coded(item.title)}</strong></p><p class="detail">${coded(item.detail)}</p>${wholeText(item)}
      ${item.acts.some((each) => each.name === "answer") && decides() ? answerForm(item, 0) : nothing}
      ${approval ? html`<p><a href=${url`/approvals/${approval}`}>Read what ${agentOf(item)} asks for</a></p>` : nothing} ${failureOf(item.name)}
    </div>`;
  }

  /** @param {TaskPage} now */
  function headView(now) {
    const { task, base } = now;
    const running = now.turns.find((turn) => turn.ended_at === null);
    const worked = [
      count(now.tries, "try"),
      stopwatch(now.ms + (running ? serverTime() - running.started : 0)),
      decides() && cost(now.usd_micros),
    ];
    const facts = [
      now.agent,
      ...(now.tries > 0 ? worked : []),
      base?.branch && `from ${base.branch} ${shortHash(base.commit)}`,
      now.branch && `branch ${now.branch}`,
    ];
    const check = now.check ? ` · ${line(now.check.word)}${now.check.why ? ` (${line(now.check.why)})` : ""}` : "";
    const said = now.can.includes("merge") ? "" : `${line(now.agent ?? "The agent")}’s last words: `;
    return html`<p><a class="back" href="/">‹ Tasks</a></p>
      <div class="heading"><h1 tabindex="-1"><span class="number">${task.number}</span> ${line(task.name)}</h1>
        <span class="label ${stateColour(task.state + check)}">${line(task.state)}${check}</span></div>
      <p class="detail">${line(facts.filter(Boolean).join(" · "))}</p>
      ${now.outcome ? html`<p class="whole">${said}“${line(now.outcome)}”</p>` : nothing}
      ${now.item && now.item.kind !== "merge" ? itemView(now.item) : nothing} ${checkSummary(now)} ${actsView(now)}`;
  }

  /** @param {string} name */
  function choose(name) {
    tab = name;
    redraw();
  }

  /** @param {TaskPage} now */
  function tabsView(now) {
    /** @type {[string, string][]} */
    const names = [
      ["changes", `Changes ${diff.diff?.files.length ?? ""}`],
      ["check", "Check"],
      ["tries", `Tries ${now.tries}`],
      ["conversation", "Conversation"],
      ["brief", "Task"],
    ];
    const move = (/** @type {KeyboardEvent} */ event) => {
      const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
      const next = names[(names.findIndex(([name]) => name === tab) + step + names.length) % names.length];
      if (step === 0 || !next) return;
      choose(next[0]);
      document.getElementById(`tab-${next[0]}`)?.focus();
    };
    const toggle = () => {
      isSince = !isSince;
      void readDiff();
      redraw();
    };
    return html`<div class="tabs">
      <div role="tablist" aria-label="Parts of the task" @keydown=${move}>${names.map(
        ([name, words]) => html`<button type="button" role="tab" id="tab-${name}"
        aria-selected=${tab === name} aria-controls="panel" tabindex=${tab === name ? 0 : -1} @click=${() => choose(name)}>${words}</button>`,
      )}</div>
      <select aria-label="Part of the task" @change=${onValue(choose)}>
        ${names.map(([name, words]) => html`<option value=${name} ?selected=${tab === name}>${words}</option>`)}</select>
      ${tab === "changes" && since ? toggleButton("since my last look", isSince, toggle) : nothing}
    </div>`;
  }

  /** @param {TaskPage} now */
  function conversationView(now) {
    const turn = now.turns.at(-1);
    if (!turn) return html`<p class="calm">No agent has worked on it yet.</p>`;
    if (transcript?.turn !== turn.id) {
      transcript?.close();
      transcript = new Transcript(turn.id);
    }
    const title = `Write to ${line(now.agent ?? "the agent")}`;
    const work = (/** @type {string} */ text) => send(url`tasks/${now.task.id}/message`, { text });
    const write = () => askText({ key, title, button: "Send", note: "It reads this at its next step.", work });
    return html`${transcript.view()} ${now.can.includes("message") ? actButton(`${title}…`, key, write, { kind: "plain" }) : nothing}`;
  }

  /** @param {TaskPage} now */
  function panelView(now) {
    if (tab === "check") return checksView(now);
    if (tab === "tries") return triesView(now);
    if (tab === "brief") return briefView(now);
    return tab === "changes" ? html`${diff.view()} ${checksView(now)} ${notSeenView(now)}` : conversationView(now);
  }

  return {
    name: "tasks",
    title: () => (page ? `${page.task.number} ${page.task.name}` : `Task ${id}`),
    refresh,
    view: () => {
      if (problem)
        return html`<h1 tabindex="-1">Task ${line(id)}</h1>${failureView(problem)}<p><a class="back" href="/">‹ Tasks</a></p>`;
      if (!page) return LOADING;
      // The rights of the viewer can come after the task.
      diff.allowComments(page.can.includes("send_back") && decides());
      return html`${headView(page)} ${tabsView(page)}<div id="panel" role="tabpanel" aria-labelledby="tab-${tab}">${panelView(page)}</div>`;
    },
    drawn: () => transcript?.drawn(tab === "conversation"),
    close: () => transcript?.close(),
    leave: () => [...views.values()].some((each) => each.notes.size > 0),
    keys: {
      "j k": { words: "lines", act: (pressed) => diff.moveLine(pressed === "j" ? 1 : -1) },
      "[ ]": { words: "files", act: (pressed) => diff.moveFile(pressed === "]" ? 1 : -1) },
      c: { words: "comment", act: () => diff.comment() },
      s: { words: "send back", act: sendBack },
      m: { words: "merge", act: merge },
      v: { words: "seen", act: () => diff.seeNext() },
    },
  };
}
