// The conversation of a turn: read from its beginning, then followed while it is written. Tool calls are folded.

import { perform } from "./acts.js";
import { read, send, url } from "./api.js";
import { guard, html, nothing } from "./lit.js";
import { actButton, copyButton, costCell, failureOf, failureView, taskPath } from "./parts.js";
import { told } from "./problem.js";
import { redraw } from "./state.js";
import { turnFacts } from "./task-parts.js";
import { line, lines, output } from "./visible.js";
import { count } from "./words.js";

const BYTES = 262_144;
const WAIT_S = 20;
const RETRY_MS = 2_000;
/** Entries are drawn in blocks, so that a new one does not cost more the longer the conversation is. */
const BLOCK = 100;
const BLOCKS_SHOWN = 10;
/** @type {Record<string, string>} */
const KINDS = { error: "problem", stderr: "standard error", warning: "warning" };

/** @param {TranscriptEntry} entry */
const isProblem = ({ said, result }) => said.kind === "error" || said.ok === false || result?.ok === false;

export class Transcript {
  /** @type {TranscriptEntry[]} */
  entries = [];
  ended = false;
  /** The window stays at the end while the agent writes, until the person scrolls up. */
  following = false;
  showAll = false;
  /** @type {RequestProblem | null} */
  problem = null;
  stop = new AbortController();

  /** @param {string} turn */
  constructor(turn) {
    this.turn = turn;
    addEventListener("scroll", () => (this.following = this.isAtEnd()), {
      signal: this.stop.signal,
      passive: true,
    });
    void this.run();
  }

  isAtEnd() {
    return innerHeight + scrollY > document.documentElement.scrollHeight - 100;
  }

  close() {
    this.stop.abort();
  }

  async run() {
    let after = 0;
    let wait = 0;
    while (!this.ended && !this.stop.signal.aborted) {
      // A tab that nobody sees must not keep one of the six connections of a browser.
      if (document.hidden)
        await new Promise((resolve) => document.addEventListener("visibilitychange", resolve, { once: true }));
      try {
        const page = await read(
          url`turns/${this.turn}/transcript?after=${after}&limit=${BYTES}&wait=${wait}`,
          this.stop.signal,
        );
        // An answer without new lines means that the page has caught up.
        if (wait === 0 && page.next === after) [wait, this.following] = [WAIT_S, !page.ended];
        this.ended = page.ended && page.next === after;
        after = page.next;
        this.problem = null;
        for (const said of page.lines) this.take(said);
      } catch (error) {
        if (this.stop.signal.aborted) return;
        this.problem = told(error);
        this.ended = this.problem.status === 404 || this.problem.status === 403;
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
      redraw();
    }
  }

  /** @param {TranscriptLine} said */
  take(said) {
    const call =
      said.kind === "result" ? this.entries.findLast((entry) => entry.said.kind === "tool" && !entry.result) : null;
    if (call) call.result = said;
    else this.entries.push({ said });
  }

  /** @param {boolean} isShown */
  drawn(isShown) {
    if (isShown && this.following && !this.isAtEnd()) scrollTo(0, document.documentElement.scrollHeight);
  }

  goToProblem() {
    const first = this.entries.findIndex(isProblem);
    this.showAll = true;
    this.following = false;
    redraw();
    setTimeout(() => {
      const place = /** @type {HTMLElement | undefined} */ (document.querySelectorAll(".entry")[first]);
      place?.scrollIntoView({ block: "center" });
      place?.focus({ preventScroll: true });
    }, 50);
  }

  text() {
    const one = (/** @type {TranscriptLine} */ said) => [said.title ?? said.text, ...said.detail].join("\n");
    return this.entries.map(({ said, result }) => one(said) + (result ? `\n→ ${one(result)}` : "")).join("\n\n");
  }

  /** @param {TranscriptEntry} entry */
  entryView(entry) {
    const { said, result } = entry;
    if (said.kind === "text") return html`<div class="entry said" tabindex="-1">${lines(said.text)}</div>`;
    const kind = `entry call ${isProblem(entry) ? "bad" : ""}`;
    const end = line(result?.title ?? result?.text);
    const rest = [
      ...said.detail,
      ...(result ? [end.length > 80 || result.title ? result.text : "", ...result.detail] : []),
    ].filter((each) => each !== "");
    const head = html`${KINDS[said.kind] ?? nothing} <code>${line(said.title ?? said.text)}</code>
      ${result ? html`<span class="state ${result.ok === false ? "bad" : ""}">→ ${end.slice(0, 80)}</span>` : nothing}`;
    if (rest.length === 0) return html`<div class=${kind} tabindex="-1">${head}</div>`;
    return html`<details class=${kind} tabindex="-1"><summary>${head}</summary><pre class="output">${output(rest.join("\n"))}</pre></details>`;
  }

  view() {
    const blocks = [];
    for (let at = 0; at < this.entries.length; at += BLOCK) blocks.push(this.entries.slice(at, at + BLOCK));
    const skipped = this.showAll ? 0 : Math.max(0, blocks.length - BLOCKS_SHOWN);
    const button = (/** @type {string} */ label, /** @type {() => void} */ run) =>
      html`<button type="button" class="quiet" @click=${() => {
        run();
        redraw();
      }}>${label}</button>`;
    const isEmpty = this.entries.length === 0;
    return html`<div class="acts">
        ${this.entries.some(isProblem) ? button("First problem", () => this.goToProblem()) : nothing}
        ${isEmpty ? nothing : copyButton(() => this.text(), "Copy as text")}
        ${skipped > 0 ? button(`Show ${count(skipped * BLOCK, "earlier line")}`, () => (this.showAll = true)) : nothing}
      </div>
      <div class="transcript">${blocks
        .slice(skipped)
        .map((block, at) =>
          guard([skipped + at, block.length, block.filter((entry) => entry.result).length], () =>
            block.map((entry) => this.entryView(entry)),
          ),
        )}</div>
      ${failureView(this.problem)}
      ${
        this.ended
          ? nothing
          : html`<p class="detail">${isEmpty ? "Nothing was said yet." : "The agent is working…"}
        ${this.following || isEmpty ? nothing : button("Go to the end", () => (this.following = true))}</p>`
      }`;
  }
}

/** @param {string} id @returns {Page} */
export function turnPage(id) {
  /** @type {Turn | null} */
  let turn = null;
  const transcript = new Transcript(id);
  const key = `turn:${id}`;
  return {
    name: "tasks",
    title: () => (turn ? `${turn.agent}, turn ${turn.number}` : "Conversation"),
    refresh: async () => {
      turn = await read(url`turns/${id}`);
    },
    view: () => {
      const task = turn?.task_id;
      const stop = () => void perform(key, () => send(url`tasks/${task}/stop`));
      const back =
        turn && task
          ? html`<a class="back" href=${taskPath(turn)}>‹ ${turn.task ?? ""} ${line(turn.task_name)}</a>`
          : nothing;
      return html`<p>${back}</p>
        <div class="heading"><h1 tabindex="-1">${turn ? `${line(turn.agent)}, turn ${turn.number}` : "Conversation"}</h1>
          ${turn?.ended_at === null && task ? actButton("Stop the turn", key, stop, { kind: "plain" }) : nothing}</div>
        ${turn ? html`<p class="detail">${turnFacts(turn)} ${costCell(turn.usd_micros)}</p>` : nothing}${failureOf(key)} ${transcript.view()}`;
    },
    drawn: () => transcript.drawn(true),
    close: () => transcript.close(),
    keys: { e: { words: "first problem", act: () => transcript.goToProblem() } },
  };
}
