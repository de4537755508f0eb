// The merge dialog: lists every effect of a merge and asks once.

import { read, send, url } from "./api.js";
import { closeDialog, openDialog } from "./dialog.js";
import { html, nothing } from "./lit.js";
import { button, copyButton, failureView } from "./parts.js";
import { told } from "./problem.js";
import { readAgain } from "./refresh.js";
import { settledHere } from "./settled.js";
import { mayAct, redraw } from "./state.js";
import { line } from "./visible.js";
import { count, lineCount } from "./words.js";

/** @param {MergeSubject} subject */
function path(subject) {
  return subject.task_id ? url`tasks/${subject.task_id}/merge` : url`workflows/${subject.workflow_id}/merge`;
}

/** @param {MergeSubject[]} subjects */
export function openMerge(subjects) {
  /** @type {MergeStep[]} */
  const steps = subjects.map((subject) => ({ subject, plan: null, problem: null, state: "asked" }));
  openDialog(() => view(steps));
  for (const step of steps) void look(step);
}

/** @param {MergeStep} step */
async function look(step) {
  try {
    step.plan = await read(path(step.subject));
  } catch (error) {
    step.problem = told(error);
  }
  redraw();
}

/** Merges one after the other and stops at the first that fails. @param {MergeStep[]} steps */
async function mergeAll(steps) {
  for (const step of steps) {
    if (step.state === "merged" || !step.plan) continue;
    step.state = "merging";
    step.problem = null;
    redraw();
    try {
      await send(path(step.subject), { tree: step.plan.tree });
      step.state = "merged";
      const name = `merge:${step.subject.task_id ?? step.subject.workflow_id}`;
      settledHere({ name, title: title(step) }, Infinity, `Merged into ${line(step.plan.target)}.`);
    } catch (error) {
      step.state = "asked";
      step.problem = told(error);
      // The work changed since it was shown. Show what it is now, before the person decides again.
      if (step.problem.code === "TREE_CHANGED") void look(step);
      break;
    }
  }
  void readAgain();
  redraw();
  if (steps.every((step) => step.state === "merged")) closeDialog();
}

/** @param {MergeStep} step */
function title(step) {
  return `${step.subject.task ?? ""} ${line(step.subject.name)}`.trim();
}

/** @param {MergePlan} plan */
function checkWords(plan) {
  if (plan.moved === 0) return line(plan.checked);
  const taken = plan.seconds === null ? "" : ` (about ${plan.seconds} s)`;
  return `${line(plan.target)} moved by ${count(plan.moved, "commit")}; the check runs on the merged result first${taken}.`;
}

/** @param {MergeStep} step @param {boolean} isOnly */
function stepView(step, isOnly) {
  const { plan, problem } = step;
  const word = step.state === "merged" ? "✓ merged" : step.state === "merging" ? "merging…" : "";
  return html`<section class="effect">
    ${isOnly ? nothing : html`<h3>${title(step)} <span class="detail">${word}</span></h3>`}
    ${failureView(problem)}
    ${
      !plan
        ? problem
          ? nothing
          : html`<p class="detail">Looking at the merge…</p>`
        : html`
        <ul class="files">${plan.files.map(
          (file) => html`<li><code>${line(file.path)}</code>
          <span class="lines">${lineCount(file.added, file.removed)}</span></li>`,
        )}</ul>
        <p>One commit: <strong>${line(plan.message)}</strong></p>
        <p>${checkWords(plan)}</p>
        ${
          plan.dirty.length > 0
            ? html`<p>Changed in your folder and left as it is: <code>${plan.dirty.map(line).join(", ")}</code></p>`
            : nothing
        }
        ${
          plan.conflict.length > 0
            ? html`<p class="failure">Conflict in <code>${plan.conflict.map(line).join(", ")}</code>.
          Send it back, or merge by hand.</p>`
            : nothing
        }`
    }
  </section>`;
}

/** @param {MergeStep[]} steps */
function view(steps) {
  const first = steps[0];
  if (!first) return nothing;
  const isOnly = steps.length === 1;
  const target = line(steps.find((step) => step.plan)?.plan?.target ?? "…");
  const isReady = steps.every((step) => step.state === "merged" || (step.plan && step.plan.conflict.length === 0));
  const isMerging = steps.some((step) => step.state === "merging");
  return html`<div class="dialog">
    <h2 id="dialog-title" tabindex="-1" autofocus>${isOnly ? `Merge ${title(first)}` : `Merge ${steps.length} checked tasks`}</h2>
    ${steps.map((step) => stepView(step, isOnly))}
    <div class="acts">
      <button type="button" class="primary" ?disabled=${!isReady || isMerging || !mayAct()} @click=${() => mergeAll(steps)}>
        ${isMerging ? "Merging…" : `Merge into ${target}`}</button>
      ${button("Cancel", closeDialog)}
      ${isOnly && first.plan ? copyButton(first.plan.command, `Copy: ${line(first.plan.command)}`) : nothing}
    </div>
  </div>`;
}
