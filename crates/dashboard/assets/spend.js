// The page `/spend`: what the agents cost by day, agent, plan and model. An unknown cost is never shown as zero.

import { read, url } from "./api.js";
import { html, nothing } from "./lit.js";
import { LOADING, toggleButton } from "./parts.js";
import { redraw, serverTime } from "./state.js";
import { line } from "./visible.js";
import { costs, duration, short } from "./words.js";

const DAY_MS = 86_400_000;
const GROUPS = [
  ["day", "Day"],
  ["agent", "Agent"],
  ["workflow", "Plan"],
  ["model", "Model"],
];
const RANGES = [
  ["7", "7 days"],
  ["30", "30 days"],
  ["", "all time"],
];

/** @returns {Page} */
export function spendPage() {
  /** @type {Spend | null} */
  let spend = null;
  let by = "day";
  let days = "30";

  async function refresh() {
    const from = days === "" ? "" : url`&from=${Math.floor(serverTime() - Number(days) * DAY_MS)}`;
    spend = await read(url`spend?by=${by}` + from);
    redraw();
  }

  /** @param {string[][]} all @param {string} current @param {(value: string) => void} set */
  function choices(all, current, set) {
    const choose = (/** @type {string} */ value) => {
      set(value);
      void refresh();
      redraw();
    };
    return all.map(([value = "", words = ""]) => toggleButton(words, value === current, () => choose(value)));
  }

  /** @param {SpendRow} row @param {number} most */
  function rowView(row, most) {
    const name =
      by === "workflow" && row.key ? html`<a href=${url`/w/${row.key}`}>${line(row.name)}</a>` : line(row.name);
    const part = Math.round((100 * (row.usd_micros ?? 0)) / most);
    return html`<tr><th scope="row">${name}</th>
      <td class="wide">${most > 0 ? html`<div class="amount" .style=${`width: ${part}%`}></div>` : nothing}</td>
      <td>${costs(row.usd_micros, row.unknown_turns)}</td><td>${row.turns}</td>
      <td class="wide">${short(row.tokens_in)} / ${short(row.tokens_out)}</td><td class="wide">${duration(row.ms)}</td></tr>`;
  }

  return {
    name: "spend",
    gap: 5_000,
    title: () => "Spend",
    refresh,
    view: () => {
      const most = Math.max(0, ...(spend?.rows ?? []).map((row) => row.usd_micros ?? 0));
      return html`<h1 tabindex="-1">Spend</h1>
        <div class="filters"><span role="group" aria-label="Grouped by" class="acts">${choices(GROUPS, by, (value) => (by = value))}</span>
          <span role="group" aria-label="Time" class="acts">${choices(RANGES, days, (value) => (days = value))}</span></div>
        ${
          !spend
            ? LOADING
            : spend.rows.length === 0
              ? html`<p class="calm">No agent has worked in this time.</p>`
              : html`<table class="card"><thead><tr><th scope="col">${GROUPS.find(([value]) => value === by)?.[1]}</th>
                <td class="wide"></td><th scope="col">Cost</th><th scope="col">Turns</th>
                <th scope="col" class="wide">Tokens in / out</th><th scope="col" class="wide">Time</th></tr></thead>
              <tbody>${spend.rows.map((row) => rowView(row, most))}</tbody>
              <tfoot>${rowView({ ...spend.total, key: "", name: "Total" }, 0)}</tfoot></table>
              ${
                spend.total.unknown_turns > 0
                  ? html`<p class="note">Some programs do not report what they cost.
                Their turns are counted as of unknown cost.</p>`
                  : nothing
              }`
        }`;
    },
  };
}
