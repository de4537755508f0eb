// One item that needs the person: why, since when, and what the person can do about it in place.

import { draft, isPending, perform, sendByKey, setDraft, typing } from "./acts.js";
import { send, url } from "./api.js";
import { html, live, nothing } from "./lit.js";
import { actButton, ago, button, coded, command, failureOf, taskPath } from "./parts.js";
import { askDeny, askSendBack, askTake } from "./questions.js";
import { forget, settledHere } from "./settled.js";
import { decides, mayAct, serverTime } from "./state.js";
import { line, lines } from "./visible.js";
import { clock, count } from "./words.js";

/** The word and the colour of each kind. @type {Record<string, [string, string]>} */
const KINDS = {
  approval: ["Approval", "ask"],
  question: ["Question", "ask"],
  agent_rests: ["Agent", "warn"],
  setup_failed: ["Setup", "bad"],
  settings_changed: ["Settings", "ask"],
  check_failed: ["Check", "bad"],
  conflict: ["Conflict", "bad"],
  no_changes: ["No change", "warn"],
  tip_failed: ["Check", "bad"],
  check_changed: ["Check", "ask"],
  budget: ["Limit", "warn"],
  stuck: ["Stuck", "warn"],
  blocked: ["Blocked", "warn"],
  failed: ["Failed", "bad"],
  finding: ["Review", "ask"],
  baseline: ["Check", "warn"],
  memory: ["Memory", "ask"],
};

/** @param {Item} item */
export const agentOf = (item) => line(item.subject.agent ?? "the agent");

/** @param {Item} item @param {string} verb @param {unknown} [body] */
const onTask = (item, verb, body) => send(url`tasks/${item.task_id}/${verb}`, body);

/** @param {Item} item @param {number} index @param {() => Promise<unknown>} work @param {string} words */
async function settle(item, index, work, words) {
  if (await perform(item.name, work)) settledHere(item, index, words);
}

/** @param {Item} item @param {number} index */
function retry(item, index) {
  void settle(item, index, () => onTask(item, "retry"), "Started again.");
}

/** @param {Item} item @param {number} index */
async function drop(item, index) {
  let days = 0;
  const done = await perform(item.name, async () => {
    days = (await onTask(item, "drop")).kept_days ?? 0;
  });
  if (!done) return;
  const undo = async () => {
    if (await perform(item.name, () => onTask(item, "restore"))) forget(item.name);
  };
  // Without kept work there is nothing to restore.
  if (days) settledHere(item, index, `Dropped. Its work is kept for ${count(days, "day")}.`, undo);
  else settledHere(item, index, "Dropped.");
}

/** @param {Item} item @param {number} index @param {number | null} until null shows the item again @param {string} words */
function putOff(item, index, until, words) {
  const work = () => send("items/put-off", { name: item.name, until });
  void (until === null ? perform(item.name, work) : settle(item, index, work, `Put off ${words}.`));
}

/** @param {Item} item @param {number} index */
export function answerForm(item, index) {
  const key = `${item.name}:answer`;
  const submit = async (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    const text = draft(key).trim();
    if (text === "" || !mayAct()) return;
    const work = () =>
      item.task_id ? onTask(item, "answer", { text }) : send(url`messages/${item.subject.message_id}/reply`, { text });
    if (!(await perform(item.name, work))) return;
    setDraft(key, "");
    settledHere(item, index, `Answered. ${agentOf(item)} continues.`);
  };
  return html`<form class="answer" @submit=${submit}>
    <textarea rows="1" autocomplete="off" placeholder="Your answer" aria-label="Your answer to: ${line(item.title)}" data-key="a"
      .value=${live(draft(key))} @input=${typing(key)} @keydown=${sendByKey}></textarea>
    <button class="primary" ?disabled=${!mayAct() || isPending(item.name)}>Answer</button>
  </form>`;
}

/** @param {Item} item */
function kindLabel(item) {
  const [word, colour] = KINDS[item.kind] ?? [item.kind, "warn"];
  return html`<span class="label ${colour}">${line(word)}</span>`;
}

/** @param {string} text a command @param {string} [words] */
function terminal(text, words) {
  return html`<span class="terminal">${words ? `${words} in` : "In"} your terminal: ${command(text)}</span>`;
}

/**
 * Returns the control of one act, or null when the page shows it elsewhere.
 * @param {Item} item @param {number} index @param {Act} act @param {boolean} isFirst
 */
function control(item, index, act, isFirst) {
  const kind = isFirst && act.name !== "drop" ? "primary" : "quiet";
  const { approval_id: approval } = item.subject;
  const task = item.task_id ?? "";
  const settled = (/** @type {string} */ words) => () => settledHere(item, index, words);
  const does = (/** @type {string} */ label, /** @type {() => void} */ run) =>
    actButton(label, item.name, run, { kind });
  const link = (/** @type {string} */ label, /** @type {string} */ path) =>
    html`<a class=${kind} data-key="o" href=${path}>${label}</a>`;
  switch (act.name) {
    // The answer has a field. An approval is given on its own page, after all of its content was on the screen.
    case "answer":
    case "approve":
      return null;
    case "read":
      return link("Read it", url`/approvals/${approval}`);
    case "reject":
      return does("Deny…", () => askDeny(approval ?? "", agentOf(item), settled("Denied.")));
    case "send_back":
      return does("Send back…", () => askSendBack(task, agentOf(item), [], settled(`Sent back to ${agentOf(item)}.`)));
    case "take":
      return does("Take as it is…", () => askTake(task, settled("Taken as it is.")));
    case "drop":
      return does("Drop", () => void drop(item, index));
    case "retry":
      return task ? does("Retry", () => retry(item, index)) : terminal(act.command, "Try again");
    case "add": {
      const name = /"(.*)"/.exec(act.command)?.[1];
      return name
        ? does(`Add task “${line(name)}”`, () => void perform(item.name, () => send("tasks", { name })))
        : terminal(act.command);
    }
    case "show":
      if (approval) return link("Show", url`/approvals/${approval}`);
      return task ? link("Open", taskPath(item)) : terminal(act.command);
    case "logs":
      return link(isFirst ? "Open" : "Logs", taskPath(item));
    default:
      return terminal(act.command);
  }
}

/** @param {Item} item @param {number} index */
function putOffMenu(item, index) {
  const morning = new Date(serverTime());
  morning.setHours(32, 0, 0, 0);
  const monday = new Date(morning);
  monday.setDate(monday.getDate() + ((8 - monday.getDay()) % 7));
  /** @type {[string, number][]} */
  const choices = [
    ["for an hour", serverTime() + 3_600_000],
    ["until tomorrow", +morning],
    ["until Monday", +monday],
  ];
  return html`<details class="menu"><summary class="quiet">Put off</summary>
    <div class="choices">${choices.map(([words, until]) =>
      actButton(words, item.name, () => putOff(item, index, until, words)),
    )}</div></details>`;
}

/** The whole text of an item when its lines had no room for it. @param {Item} item */
export function wholeText(item) {
  const text = lines(item.text).trim();
  if (text === "" || line(`${item.title} ${item.detail}`).includes(line(text))) return nothing;
  return text.length < 600
    ? html`<p class="whole">${text}</p>`
    : html`<details class="whole"><summary>The whole text</summary><p>${text}</p></details>`;
}

/** A link to what the item is about, for items whose acts have none. @param {Item} item @param {boolean} isFirst */
function aboutLink(item, isFirst) {
  const plan = item.subject.workflow_id;
  if (decides() && item.acts.some((act) => ["logs", "show", "read"].includes(act.name))) return nothing;
  const path = item.task_id ? taskPath(item) : plan && url`/w/${plan}`;
  return path
    ? html`<a class=${isFirst ? "primary" : "quiet"} data-key="o" href=${path}>Open ${item.task ?? ""}</a>`
    : nothing;
}

/** @param {Item} item @param {number} index */
export function itemView(item, index) {
  const { acts } = item;
  const first = acts[0]?.name;
  return html`<li class="item" data-row tabindex="-1">
    ${kindLabel(item)}
    <div class="body">
      <h3>${coded(item.title)}</h3>
      <p class="detail">${coded(item.detail)}</p>
      ${wholeText(item)}
      ${
        item.kind === "approval"
          ? html`<p class="detail">If you deny, ${agentOf(item)} gets your reason and continues without it.</p>`
          : nothing
      }
      <div class="acts">
        ${
          decides()
            ? html`${acts.some((act) => act.name === "answer") ? answerForm(item, index) : nothing}
          ${acts.map((act) => control(item, index, act, act === acts[0]))}`
            : nothing
        }
        ${aboutLink(item, decides() && first === "drop")} ${decides() ? putOffMenu(item, index) : nothing}
      </div>
      ${failureOf(item.name)}
    </div>
    <span class="age">${ago(item.since)}</span>
  </li>`;
}

/** @param {SettledItem} gone */
export function settledView(gone) {
  return html`<li class="item gone" data-row tabindex="-1">
    <span class="label good">✓</span>
    <div class="body"><p><strong>${gone.words}</strong> <span class="detail">${coded(gone.title)}</span></p></div>
    ${gone.undo ? button("Undo", gone.undo) : nothing}
  </li>`;
}

/** @param {Item} item */
export function putOffView(item) {
  return html`<li class="row">${kindLabel(item)} <span class="grow">${coded(item.title)}</span>
    <span class="detail">until ${clock(item.put_off_until ?? 0, serverTime())}</span>
    ${actButton("Show again", item.name, () => putOff(item, 0, null, ""))} ${failureOf(item.name)}</li>`;
}
