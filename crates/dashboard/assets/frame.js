// What every page has: header, bars about the connection, keys at the bottom, and the page of a browser that is not
// connected.

import { html, nothing } from "./lit.js";
import { keyWords, openHelp } from "./keys.js";
import { command } from "./parts.js";
import { isOffline, isOpen, redraw, state } from "./state.js";
import { line } from "./visible.js";
import { clock, sentence } from "./words.js";

const PLACES = [
  ["tasks", "Tasks", "/"],
  ["plans", "Plans", "/w"],
  ["time", "Time", "/time"],
  ["spend", "Spend", "/spend"],
  ["agents", "Agents", "/agents"],
];

/** The time after which a page that is behind says so. */
const BEHIND_MS = 1_000;

let menuOpen = false;

export function closeMenu() {
  if (!menuOpen) return;
  menuOpen = false;
  redraw();
}

function connectionWord() {
  const { word } = state.connection;
  if (isOffline()) return ["off", "offline"];
  if (word === "lost") return ["wait", "reconnecting…"];
  if (word !== "live") return ["wait", "connecting…"];
  if (state.behindSince !== null && Date.now() - state.behindSince > BEHIND_MS) return ["wait", "Catching up…"];
  return ["live", "live"];
}

export function headerView() {
  const now = state.now;
  const [colour, word] = connectionWord();
  return html`<div class="frame">
    <a class="brand" href="/">Handover</a>
    ${now ? html`<strong class="project">${line(now.project.name)}</strong>` : nothing}
    ${now?.repositories.map(
      (other) => html`<span class="other" title="Another repository: run handover open there">
      ${line(other.name)} ${other.needs > 0 ? html`<span class="count">${other.needs}<span class="unseen"> need you</span></span>` : nothing}</span>`,
    )}
    <button type="button" class="quiet menu-button" aria-expanded=${menuOpen} aria-controls="places" @click=${() => {
      menuOpen = !menuOpen;
      redraw();
    }}>Menu</button>
    <nav id="places" class=${menuOpen ? "open" : ""} aria-label="Pages">
      ${PLACES.map(([name, words, path]) => html`<a href=${path} aria-current=${state.page?.name === name ? "page" : nothing}>${words}</a>`)}
      <button type="button" class="quiet" aria-label="Keys and help" @click=${openHelp}>?</button>
    </nav>
    <span class="connection ${colour}" role="status"><span class="dot" aria-hidden="true"></span> ${word}</span>
  </div>`;
}

export function barsView() {
  const { failure, now, connection } = state;
  const bar = (/** @type {string} */ kind, /** @type {unknown} */ words) =>
    html`<p class="bar ${kind}" role="status">${words}</p>`;
  if (isOffline()) {
    const since = clock(connection.since, Date.now());
    return bar("off", html`Not connected since ${since}. Showing the last known state. ${command("handover up")}`);
  }
  // Without an answer the connection is lost, too, and a moment later the bar says so.
  if (failure && failure.status !== 0)
    return bar("off", `This page could not be read: ${sentence(line(failure.message))}`);
  if (!now || now.viewer.decides) return nothing;
  return bar("", html`You are looking on; deciding needs ${command("handover open")} on the machine.`);
}

export function footerView() {
  if (!state.page?.keys || state.signedOut !== null) return nothing;
  return html`<p class="frame hints">${keyWords().map(([key, words]) => html`<span><kbd>${key}</kbd> ${words}</span>`)}</p>`;
}

export function signedOutView() {
  return html`<section class="signed-out" aria-labelledby="signed-out">
    <h1 id="signed-out" tabindex="-1">This browser is not connected yet.</h1>
    ${state.signedOut ? html`<p>${line(state.signedOut)}</p>` : nothing}
    <p>In your terminal: ${command("handover open")}</p>
  </section>`;
}

export function setTitle() {
  const now = state.now;
  if (!now || state.signedOut !== null) {
    document.title = "Handover";
    return;
  }
  const waiting = now.items.filter((item) => item.stops_agents && isOpen(item)).length;
  const parts = [line(state.page?.title() ?? ""), line(now.project.name), "Handover"].filter((part) => part !== "");
  document.title = (waiting > 0 ? `(${waiting}) ` : "") + parts.join(" · ");
}
