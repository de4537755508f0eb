// Reads the page again after events, at most four times a second. A tab that nobody sees reads less often.

import { read } from "./api.js";
import { isSignedOut, told } from "./problem.js";
import { noteSettled } from "./settled.js";
import { redraw, state } from "./state.js";

const GAP_MS = 250;
const GAP_MS_HIDDEN = 5_000;
/** What an agent does at the moment has no events, so a page with running tasks is read again after this time. */
const POLL_MS_RUNNING = 4_000;
const POLL_MS = 30_000;

/** @type {number | undefined} */
let timer;
let reading = false;
/** The time of the first change after the last reading began. @type {number | null} */
let dirtySince = null;
let last = 0;

/** Notes that something changed on the server. */
export function changed() {
  dirtySince ??= Date.now();
  state.behindSince ??= dirtySince;
  plan();
}

function plan() {
  if (reading || timer !== undefined) return;
  const gap = document.hidden ? GAP_MS_HIDDEN : GAP_MS;
  timer = window.setTimeout(() => void run(), Math.max(0, last + gap - Date.now()));
}

export async function readAgain() {
  dirtySince ??= Date.now();
  if (reading) return;
  clearTimeout(timer);
  await run();
}

async function run() {
  timer = undefined;
  reading = true;
  dirtySince = null;
  last = Date.now();
  try {
    // The first state has the rights of the viewer and the name of the project, which pages need.
    if (state.now) await Promise.all([readNow(), readPage()]);
    else await readNow().then(readPage);
    state.failure = null;
  } catch (error) {
    if (isSignedOut(error)) state.signedOut = told(error).message;
    else state.failure = told(error);
  } finally {
    reading = false;
    state.behindSince = dirtySince;
    if (dirtySince !== null) plan();
    redraw();
  }
}

/** The page that was read last, and when. */
const lastPage = { page: state.page, at: 0, timer: 0 };

/** Reads the open page. A page with much data is read less often, and once more after the last change. */
function readPage() {
  const { page } = state;
  if (!page?.refresh) return;
  clearTimeout(lastPage.timer);
  const rest = lastPage.at + (page.gap ?? 0) - Date.now();
  if (lastPage.page === page && rest > 0) {
    lastPage.timer = window.setTimeout(changed, rest);
    return;
  }
  [lastPage.page, lastPage.at] = [page, Date.now()];
  return page.refresh();
}

async function readNow() {
  /** @type {Now} */
  const next = await read("now");
  const before = state.now;
  state.now = next;
  state.skew = next.at - Date.now();
  if (before) noteSettled(before, next);
}

/** Starts the clock of the page: durations count on, and what has no events is read again. */
export function startClock() {
  setInterval(() => {
    if (document.hidden || state.signedOut !== null) return;
    redraw();
    const gap = state.now?.running.length ? POLL_MS_RUNNING : POLL_MS;
    if (!reading && timer === undefined && state.connection.word !== "lost" && Date.now() - last > gap) void run();
  }, 1_000);
  document.addEventListener("visibilitychange", () => {
    if (document.hidden || timer === undefined) return;
    clearTimeout(timer);
    timer = undefined;
    plan();
  });
}
