// The sections of the page `/` below the items: work to merge, running, waiting and done.

import { perform } from "./acts.js";
import { send, url } from "./api.js";
import { html, nothing, repeat } from "./lit.js";
import { openMerge } from "./merge.js";
import { actButton, coded, costCell, countBadge, failureOf, taskPath } from "./parts.js";
import { decides, serverTime } from "./state.js";
import { line } from "./visible.js";
import { clock, costs, count, lineCount, stopwatch } from "./words.js";

const ROWS = 50;

/** @param {number} shown @param {number} all */
function more(shown, all) {
  return all > shown ? html`<li class="row detail">and ${(all - shown).toLocaleString("en")} more</li>` : nothing;
}

/** @param {MergeRow} row */
function mergePath(row) {
  return row.task_id ? taskPath(row) : url`/w/${row.workflow_id}`;
}

/** @param {MergeRow} row */
function mergeRow(row) {
  const isChecked = row.check === "checked" || row.check === "flaky";
  const why = row.why ? ` (${line(row.why)})` : "";
  const name = `${row.task ?? ""} ${line(row.name)}`.trim();
  return html`<li class="row merge" data-row tabindex="-1">
    <span class="number">${row.task ?? ""}</span>
    <a class="name" title=${line(row.name)} data-key="o" href=${mergePath(row)}>${line(row.name)}</a>
    <span class="state ${isChecked ? "good" : "warn"}">${line(row.check)}${why}</span>
    <span class="size">${row.files > 0 ? `${count(row.files, "file")} ${lineCount(row.added, row.removed)}` : nothing}</span>
    ${costCell(row.usd_micros)}
    <span class="acts">
      <a class="quiet" data-key="d" href=${mergePath(row)} aria-label="Diff of ${name}">Diff</a>
      ${isChecked ? actButton("Merge", name, () => openMerge([row]), { shortcut: "m", name: `Merge ${name}` }) : nothing}
    </span>
  </li>`;
}

/** @param {Now} now */
export function mergeSection(now) {
  if (now.merge.length === 0) return nothing;
  const checked = now.merge.filter((row) => row.check === "checked");
  return html`<section aria-labelledby="merge">
    <div class="heading">
      <h2 id="merge">Ready to merge ${countBadge(now.merge.length)}</h2>
      ${checked.length > 1 ? actButton(`Merge ${checked.length} checked…`, "merge", () => openMerge(checked), { kind: "plain" }) : nothing}
    </div>
    <ul class="card rows">${repeat(now.merge.slice(0, ROWS), (row) => row.task_id ?? row.workflow_id, mergeRow)}
      ${more(ROWS, now.merge.length)}</ul>
  </section>`;
}

/** @param {string} id */
function stop(id) {
  void perform(`stop:${id}`, () => send(url`tasks/${id}/stop`));
}

/** @param {Now} now */
export function runningSection(now) {
  if (now.running.length === 0) return nothing;
  return html`<section aria-labelledby="running">
    <div class="heading"><h2 id="running">Running ${countBadge(now.running.length)}</h2></div>
    <ul class="card rows">
      ${repeat(
        now.running,
        (row) => row.task_id,
        (row) => html`<li class="row run" data-row tabindex="-1">
        <span class="number">${row.task}</span>
        <a class="name" title=${line(row.name)} data-key="o" href=${taskPath(row)}>${line(row.name)}</a>
        <span class="agent">${line(row.agent)}</span>
        <span class="time">${stopwatch(serverTime() - row.since)}</span>
        <span class="doing">${row.doing ? html`<code>${line(row.doing)}</code>` : nothing}</span>
        ${costCell(row.usd_micros)}
        <span class="acts">${actButton("Stop", `stop:${row.task_id}`, () => stop(row.task_id), {
          name: `Stop ${row.task} ${line(row.name)}`,
        })}</span>
        ${failureOf(`stop:${row.task_id}`)}
      </li>`,
      )}
    </ul>
  </section>`;
}

/** @param {Now} now */
export function stalledSection(now) {
  if (now.stalled.length === 0) return nothing;
  return html`<section aria-labelledby="stalled">
    <div class="heading"><h2 id="stalled">Stopped plans ${countBadge(now.stalled.length)}</h2></div>
    <ul class="card rows">
      ${now.stalled.map(
        (row) => html`<li class="row" data-row tabindex="-1">
        <a class="name grow" data-key="o" href=${url`/w/${row.workflow_id}`}>${line(row.name)}</a>
        <span class="detail">${coded(row.words)}</span>
      </li>`,
      )}
    </ul>
  </section>`;
}

/** @param {Now} now */
export function readySection(now) {
  if (now.ready.length === 0) return nothing;
  const rows = now.ready.slice(0, ROWS);
  return html`<section aria-labelledby="ready">
    <div class="heading"><h2 id="ready">Ready ${countBadge(now.ready.length)}</h2></div>
    <ul class="flow">
      ${rows.map(
        (row) => html`<li data-row tabindex="-1">
        <a data-key="o" href=${taskPath(row)}><span class="number">${row.task}</span> ${line(row.name)}</a>
        ${row.after.length > 0 ? html`<span class="detail">(waits for ${row.after.join(", ")})</span>` : nothing}
      </li>`,
      )}
      ${now.ready.length > ROWS ? html`<li class="detail">and ${(now.ready.length - ROWS).toLocaleString("en")} more</li>` : nothing}
    </ul>
  </section>`;
}

/** @param {Now} now */
export function doneSection(now) {
  const done = now.done;
  if (done.count === 0) return nothing;
  return html`<section aria-labelledby="done">
    <details class="done">
      <summary><h2 id="done">Done today ${countBadge(done.count)}</h2>
        ${decides() ? html`<span class="detail">${costs(done.usd_micros, done.unknown_cost)}</span>` : nothing}</summary>
      <ul class="card rows">
        ${done.rows.map(
          (row) => html`<li class="row" data-row tabindex="-1">
          <span class="number">${row.task}</span>
          <a class="name grow" data-key="o" href=${taskPath(row)}>${line(row.name)}</a>
          <span class="detail">${row.merged_at === null ? "done, not merged" : `merged ${clock(row.merged_at, serverTime())}`}</span>
          ${costCell(row.usd_micros)}
        </li>`,
        )}
        ${more(done.rows.length, done.count)}
      </ul>
    </details>
  </section>`;
}
