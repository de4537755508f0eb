// The page of an approval: exactly what an agent wants to do. Allow works only after all of it was on the screen.

import { perform } from "./acts.js";
import { read, send, url } from "./api.js";
import { html, nothing } from "./lit.js";
import { LOADING, actButton, ago, button, fact, failureOf, failureView } from "./parts.js";
import { told } from "./problem.js";
import { askDeny } from "./questions.js";
import { decides, redraw, serverTime } from "./state.js";
import { line, lines } from "./visible.js";
import { age, clock, count } from "./words.js";

/** The content is observed in slices of this length, which fit on every screen. */
const SLICE_CHARS = 240;
const SLICE_LINES = 4;
/** The time for which a slice has to be on the screen. A jump to the end passes over what is between. */
const SHOWN_MS = 100;

/** @param {string} text */
function slices(text) {
  /** @type {string[]} */
  const found = [];
  let rows = SLICE_LINES;
  for (const row of lines(text).match(new RegExp(`[^\\n]{1,${SLICE_CHARS}}\\n?|\\n`, "gu")) ?? []) {
    if (rows >= SLICE_LINES || (found.at(-1) ?? "").length + row.length > SLICE_CHARS) rows = found.push("") && 0;
    found[found.length - 1] += row;
    rows += 1;
  }
  return found;
}

/** @param {string} id @returns {Page} */
export function approvalPage(id) {
  /** @type {Approval | null} */
  let approval = null;
  /** @type {RequestProblem | null} */
  let problem = null;
  /** The texts of the request in slices. @type {Map<string, string[]>} */
  let texts = new Map();
  /** The slices that were on the screen, by name and number. @type {Set<string | undefined>} */
  const seen = new Set();
  /** @type {WeakSet<Element>} */
  let observed = new WeakSet();
  const key = `approval:${id}`;
  /** @type {Map<Element, number>} */
  const timers = new Map();
  // A slice counts when it is shown as a whole, and not behind the header or the bar with the buttons.
  const observer = new IntersectionObserver(
    (entries) => {
      for (const { target, intersectionRatio } of entries) {
        clearTimeout(timers.get(target));
        if (intersectionRatio >= 0.98 && !document.hidden) timers.set(target, window.setTimeout(see, SHOWN_MS, target));
      }
    },
    { threshold: 0.98, rootMargin: "-48px 0px -90px 0px" },
  );

  /** @param {HTMLElement} slice */
  function see(slice) {
    seen.add(slice.dataset.slice);
    redraw();
  }

  async function refresh() {
    try {
      const next = /** @type {Approval} */ (await read(url`approvals/${id}`));
      if (next.fingerprint !== approval?.fingerprint || next.exact_content !== approval.exact_content) {
        // This is another request, of which nothing was seen yet.
        const all = {
          exact: next.exact_content || next.operation,
          in: next.directory,
          scope: next.scope,
          why: next.why,
          undo: next.undo || next.rollback,
          check: next.verification,
        };
        texts = new Map(Object.entries(all).map(([name, text]) => [name, slices(text ?? "")]));
        seen.clear();
        timers.forEach((timer) => clearTimeout(timer));
        observed = new WeakSet();
        observer.disconnect();
      }
      [approval, problem] = [next, null];
    } catch (error) {
      problem = told(error);
      if (problem.status !== 404 && problem.status !== 403) throw error;
    }
  }

  const unseen = () => [...texts.values()].reduce((sum, { length }) => sum + length, -seen.size);

  /** @param {string} name */
  const shown = (name) =>
    texts.get(name)?.length &&
    texts.get(name)?.map((slice, at) => html`<span data-slice="${name}${at}">${slice}</span>`);

  /** The states are separate: allowed is not used, and used is not done. @param {Approval} now */
  function statesView(now) {
    const time = (/** @type {number | null} */ at) => (at === null ? "" : ` ${clock(at, serverTime())}`);
    const done = now.states?.done;
    const decided = { rejected: "denied", revoked: "revoked" }[now.status] ?? "allowed";
    const steps = [
      `asked${time(now.asked_at)}`,
      now.status === "expired"
        ? "expired"
        : now.decided_at !== null && `${decided}${time(now.decided_at)} by ${line(now.decided_by)}`,
      now.used_at !== null && `used${time(now.used_at)}`,
      typeof done === "number" ? `done${time(done)}` : done && line(done.words),
    ];
    return html`<p class="states" role="status">${steps.filter(Boolean).join(" → ")}</p>
      ${now.reason ? html`<p class="whole">${lines(now.reason)}</p>` : nothing}`;
  }

  /** @param {Approval} now @param {string} agent */
  function decideView(now, agent) {
    if (now.status !== "pending" || !decides()) return nothing;
    const { fingerprint } = now;
    const allow = () =>
      void (unseen() === 0 && perform(key, () => send(url`approvals/${id}/approve`, { fingerprint })));
    const goOn = () => {
      const next = [...document.querySelectorAll("[data-slice]")].find(
        (slice) => !seen.has(/** @type {HTMLElement} */ (slice).dataset.slice),
      );
      next?.scrollIntoView({ block: "center" });
    };
    const hint = html`off until all was shown ${button(`${count(unseen(), "part")} left`, goOn)}`;
    return html`<div class="acts decide">
        ${actButton("Deny…", key, () => askDeny(id, agent), { kind: "plain" })}
        <span class="grow"></span><span class="detail">${unseen() === 0 ? "exactly this, once" : hint}</span>
        ${actButton("Allow once", key, allow, { kind: "primary", off: unseen() > 0 })}
      </div>${failureOf(key)}
      <p class="note">Allowed is not done: this page then shows when it was used and how it ended.</p>`;
  }

  return {
    name: "tasks",
    title: () => "Approval",
    refresh,
    view: () => {
      if (problem) return html`<h1 tabindex="-1">Approval</h1>${failureView(problem)}`;
      if (!approval) return LOADING;
      const now = approval;
      const agent = line(now.agent ?? now.asked_by);
      const code = (/** @type {unknown} */ text) => text && html`<code>${text}</code>`;
      const task = now.task ?? now.task_id;
      const tried = now.attempt === null ? "" : `, try ${now.attempt}`;
      return html`<p><a class="back" href="/">‹ Tasks</a></p>
        <div class="heading"><h1 tabindex="-1">${agent} wants to ${now.exact_content ? "run" : "do this"}</h1>
          <span class="detail">asked ${ago(now.asked_at)} ago</span></div>
        <pre class="exact" aria-label="Exactly what would be done">${shown("exact")}</pre>
        <dl class="facts">
          ${fact("tool", now.exact_content && line(now.operation))} ${fact("in", code(shown("in")))}
          ${fact("branch", now.branch && code(line(now.branch)))}
          ${fact("scope", shown("scope"))} ${fact("why", shown("why"))}
          ${fact("for", task && html`<a href=${url`/t/${task}`}>${line(String(task))} ${line(now.task_name)}</a>${tried}`)}
          ${fact("before", now.before?.length && now.before.map((each) => html`<code>${line(each)}</code><br>`))}
          ${fact("undo", code(shown("undo")))} ${fact("check", shown("check"))} ${fact("risk", line(now.risk_level).toLowerCase())}
          ${fact("expires", now.status === "pending" && now.expires_at && `in ${age(now.expires_at - serverTime())}`)}
        </dl>
        ${decideView(now, agent)} ${statesView(now)}`;
    },
    drawn: () => {
      for (const slice of document.querySelectorAll("[data-slice]")) {
        if (observed.has(slice)) continue;
        observed.add(slice);
        observer.observe(slice);
      }
    },
    close: () => observer.disconnect(),
  };
}
