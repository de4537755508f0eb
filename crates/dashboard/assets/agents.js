// The page `/agents`: which agents there are, whether they can work, and what they hold.

import { read, url } from "./api.js";
import { html, nothing } from "./lit.js";
import { ago, taskPath } from "./parts.js";
import { serverTime, state } from "./state.js";
import { line } from "./visible.js";
import { stopwatch } from "./words.js";

const COLOURS = /** @type {Record<string, string>} */ ({
  ready: "good",
  working: "ask",
  resting: "warn",
  missing: "bad",
});

/** @returns {Page} */
export function agentsPage() {
  /** @type {Agent[]} */
  let agents = [];

  /** @param {{ slug: string, state: string }} agent */
  function rowView(agent) {
    const known = agents.find((each) => each.slug === agent.slug);
    const running = state.now?.running.filter((row) => row.agent === agent.slug) ?? [];
    const beat = known?.last_heartbeat ? new Date(known.last_heartbeat).getTime() : null;
    return html`<li class="row agent-row" data-row tabindex="-1">
      <strong>${line(agent.slug)}</strong> <span class="label ${COLOURS[agent.state] ?? ""}">${line(agent.state)}</span>
      <span class="detail grow">${line([known?.runtime, known?.role].filter(Boolean).join(" · "))}
        ${beat ? html`· seen ${ago(beat)} ago` : nothing}</span>
      ${running.map(
        (row) => html`<a data-key="o" href=${row.turn_id ? url`/turn/${row.turn_id}` : taskPath(row)}>
        ${row.task} ${line(row.name)} ${stopwatch(serverTime() - row.since)}</a>`,
      )}
    </li>`;
  }

  return {
    name: "agents",
    gap: 2_000,
    title: () => "Agents",
    refresh: async () => {
      ({ agents } = await read("agents?limit=200"));
    },
    view: () => {
      const shown = new Map((state.now?.agents ?? []).map((agent) => [agent.slug, agent]));
      for (const { slug, status } of agents) if (!shown.has(slug)) shown.set(slug, { slug, state: status });
      return html`<h1 tabindex="-1">Agents</h1>
        ${shown.size === 0 ? html`<p class="calm">No agent yet.</p>` : nothing}
        <ul class="card rows">${[...shown.values()].map(rowView)}</ul>`;
    },
    keys: { o: { words: "open" } },
  };
}
