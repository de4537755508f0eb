// Acts that need a text of the person. A dialog asks for it, says what happens then, and acts.

import { draft, isPending, perform, sendByKey, setDraft, typing } from "./acts.js";
import { send, url } from "./api.js";
import { closeDialog, openDialog } from "./dialog.js";
import { html, live, nothing } from "./lit.js";
import { button, failureOf } from "./parts.js";
import { mayAct } from "./state.js";
import { line } from "./visible.js";

/** @param {TextQuestion} question */
export function askText(question) {
  const key = `${question.key}:${question.title}`;
  const submit = async (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    if (!mayAct() || !(await perform(key, () => question.work(draft(key).trim())))) return;
    setDraft(key, "");
    closeDialog();
    question.done?.();
  };
  openDialog(
    () => html`<form class="dialog" @submit=${submit}>
    <h2 id="dialog-title">${question.title}</h2>
    ${question.above ?? nothing}
    <label for="dialog-text">${question.ask ?? "Your message"}</label>
    <textarea id="dialog-text" rows="4" autofocus ?required=${!question.optional} .value=${live(draft(key))}
      @input=${typing(key)} @keydown=${sendByKey}></textarea>
    <p class="note">${question.note}</p>
    <div class="acts"><button class="primary" ?disabled=${!mayAct() || isPending(key)}>${question.button ?? question.title}</button>
      ${button("Cancel", closeDialog)}</div>
    ${failureOf(key)}
  </form>`,
  );
}

/** @param {string} approval @param {string} agent @param {() => void} [done] */
export function askDeny(approval, agent, done) {
  askText({
    key: approval,
    title: "Deny",
    ask: "Why not?",
    note: `${agent} gets your reason and continues without it.`,
    work: (reason) => send(url`approvals/${approval}/reject`, { reason }),
    done,
  });
}

/** @param {string} task @param {string} agent @param {Note[]} notes @param {() => void} [done] */
export function askSendBack(task, agent, notes, done) {
  askText({
    key: task,
    title: `Send back to ${agent}`,
    ask: "What should change?",
    note: "It continues the same conversation and is checked again.",
    above: html`<ul class="notes">${notes.map((note) => html`<li><code>${line(note.path)}:${note.line}</code> ${line(note.text)}</li>`)}</ul>`,
    optional: notes.length > 0,
    work: (text) => send(url`tasks/${task}/send-back`, { text, notes }),
    done,
  });
}

/** @param {string} task @param {() => void} [done] */
export function askTake(task, done) {
  askText({
    key: task,
    title: "Take as it is",
    ask: "Why is it good as it is?",
    note: "It counts as done without a passed check. Your reason is recorded.",
    work: (reason) => send(url`tasks/${task}/take`, { reason }),
    done,
  });
}
