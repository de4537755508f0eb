// The page `/time`: the turns of each agent over time. Hours in which nothing happened are folded.

import { read, url } from "./api.js";
import { html, nothing, svg } from "./lit.js";
import { LOADING, button, onValue } from "./parts.js";
import { redraw, serverTime } from "./state.js";
import { turnFacts } from "./task-parts.js";
import { line } from "./visible.js";
import { age, clock, costs, count } from "./words.js";

const HOUR_MS = 3_600_000;
const TURNS_MAX = 2_000;
/** A gap without turns that is longer than this is folded. */
const IDLE_MS = 20 * 60_000;
const FOLD_WIDTH = 34;
const LANE = 34;
const WIDTH_MIN = 1_000;

const KINDS = [
  ["ended", "ended"],
  ["running", "running"],
  ["broken", "ended badly"],
  ["waiting", "waiting for you"],
];

/** @param {Turn} turn */
function kindOf(turn) {
  if (turn.ended_at === null) return "running";
  return /finish|complete/.test(turn.end ?? "") ? "ended" : "broken";
}

/** @param {Turn} turn */
const words = (turn) => `${line(turn.agent)}, ${turn.task ?? ""} ${line(turn.task_name)}, ${turnFacts(turn)}`;

/**
 * Returns the stretches in which turns ran, side by side, with folded gaps between.
 * @param {Turn[]} turns @param {number} now
 * @returns {TimeStretch[]}
 */
function stretches(turns, now) {
  /** @type {TimeStretch[]} */
  const found = [];
  for (const turn of [...turns].sort((a, b) => a.started - b.started)) {
    const end = turn.ended_at ?? now;
    const last = found.at(-1);
    if (last && turn.started - last.to < IDLE_MS) last.to = Math.max(last.to, end);
    else found.push({ from: turn.started, to: end, x: 0, width: 0 });
  }
  const busy = found.reduce((sum, each) => sum + each.to - each.from, 0) || 1;
  let x = 0;
  for (const each of found) {
    each.x = x;
    each.width = Math.max(12, ((each.to - each.from) / busy) * (WIDTH_MIN - FOLD_WIDTH * (found.length - 1)));
    x += each.width + FOLD_WIDTH;
  }
  return found;
}

/** Returns the place of a time in the picture. @param {TimeStretch[]} all @param {number} at */
function place(all, at) {
  const found = all.find((each) => at <= each.to) ?? all.at(-1);
  if (!found) return 0;
  return (
    found.x +
    (Math.min(Math.max(at - found.from, 0), found.to - found.from) / (found.to - found.from || 1)) * found.width
  );
}

/** @param {number} at */
const local = (at) => new Date(at - new Date(at).getTimezoneOffset() * 60_000).toISOString().slice(0, 16);

/** @returns {Page} */
export function timePage() {
  /** @type {Turn[] | null} */
  let turns = null;
  /** Times in which a task waited for the person. @type {{ agent: string, task: number, from: number, to: number | null }[]} */
  let waits = [];
  let from = serverTime() - 12 * HOUR_MS;
  /** The end of the range, or null for now. @type {number | null} */
  let to = null;

  async function refresh() {
    /** @type {Turn[]} */
    const found = [];
    let cursor = null;
    do {
      const range = url`turns?from=${Math.floor(from)}&to=${to ?? Math.ceil(serverTime())}&limit=500`;
      const page = /** @type {any} */ (await read(range + (cursor ? url`&cursor=${cursor}` : "")));
      found.push(...page.turns);
      ({ next_cursor: cursor, waits = [] } = page);
    } while (cursor && found.length < TURNS_MAX);
    turns = found;
    redraw();
  }

  /** @param {Turn[]} all */
  function picture(all) {
    const now = serverTime();
    const parts = stretches(all, now);
    const agents = [...new Set(all.map((turn) => turn.agent))].sort();
    const last = parts.at(-1);
    const width = Math.ceil((last?.x ?? 0) + (last?.width ?? 0)) + 40;
    const idle = (/** @type {number} */ at) => age((parts[at]?.from ?? 0) - (parts[at - 1]?.to ?? 0));
    const bar = (
      /** @type {number} */ start,
      /** @type {number | null} */ end,
      /** @type {number} */ lane,
      /** @type {string} */ kind,
    ) => {
      const x = place(parts, start);
      const width = Math.max(3, place(parts, end ?? now) - x);
      // Waiting is a line below the turns, so that both can be seen.
      const [y, height] = kind === "waiting" ? [47, 4] : [26, 18];
      return svg`<rect class=${kind} x=${x} y=${lane * LANE + y} width=${width} height=${height} rx="2"></rect>`;
    };
    return html`<div class="lanes"><ul>${agents.map((agent) => {
      const own = all.filter((turn) => turn.agent === agent);
      const known = own.filter((turn) => turn.usd_micros !== null);
      return html`<li><strong>${line(agent)}</strong> <span class="detail">${count(own.length, "turn")} · ${costs(
        known.reduce((sum, turn) => sum + (turn.usd_micros ?? 0), 0),
        own.length - known.length,
      )}</span></li>`;
    })}</ul>
      <div class="scroll" tabindex="0" role="region" aria-label="Turns over time">
        <svg width=${width} height=${agents.length * LANE + 34} role="group" aria-label="Turns">
        ${parts.map(
          (each, at) => svg`<text x=${each.x} y="14">${clock(each.from, now)}</text>
          ${at > 0 ? svg`<text class="fold-mark" x=${each.x - FOLD_WIDTH / 2} y=${agents.length * LANE + 30}>${idle(at)}</text>` : nothing}`,
        )}
        ${waits.map((wait) => bar(wait.from, wait.to, Math.max(0, agents.indexOf(wait.agent)), "waiting"))}
        ${all.map(
          (turn) => svg`<a href=${url`/turn/${turn.id}`} aria-label=${words(turn)}><title>${words(turn)}</title>
          ${bar(turn.started, turn.ended_at, agents.indexOf(turn.agent), kindOf(turn))}</a>`,
        )}
      </svg></div></div>
      <p class="note legend">${KINDS.map(([kind, name]) => html`<span class=${kind}>${name}</span>`)}</p>`;
  }

  /** @param {number} start @param {number | null} end */
  function choose(start, end) {
    [from, to, turns] = [start, end, null];
    void refresh();
    redraw();
  }

  /** @param {"from" | "to"} name @param {number} value */
  function field(name, value) {
    const set = onValue((text) => {
      const at = new Date(text).getTime();
      if (Number.isFinite(at)) choose(name === "from" ? at : from, name === "to" ? at : to);
    });
    return html`<label>${name} <input type="datetime-local" .value=${local(value)} @change=${set}></label>`;
  }

  /** @param {string} words @param {number} hours */
  const range = (words, hours) => button(words, () => choose(serverTime() - hours * HOUR_MS, null), "plain");

  return {
    name: "time",
    title: () => "Time",
    refresh,
    gap: 5_000,
    view: () => html`<h1 tabindex="-1">Time</h1>
      <div class="filters">${range("12 hours", 12)} ${range("24 hours", 24)} ${range("7 days", 168)}
        ${field("from", from)} ${field("to", to ?? serverTime())}</div>
      ${!turns ? LOADING : turns.length === 0 ? html`<p class="calm">No agent worked in this time.</p>` : picture(turns)}
      ${
        (turns?.length ?? 0) < TURNS_MAX
          ? nothing
          : html`<p class="note">Only the first ${count(TURNS_MAX, "turn")} are shown. Choose a shorter time.</p>`
      }`,
  };
}
