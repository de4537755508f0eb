// Starts the dashboard: connects the browser, opens the page of the address, and follows the events of the server.

import { agentsPage } from "./agents.js";
import { approvalPage } from "./approval.js";
import { closeDialog, drawDialog, startDialog } from "./dialog.js";
import { barsView, closeMenu, footerView, headerView, setTitle, signedOutView } from "./frame.js";
import { startKeys } from "./keys.js";
import { html, keyed, render } from "./lit.js";
import { needsPage } from "./needs.js";
import { planPage, plansPage } from "./plan.js";
import { isSignedOut, told } from "./problem.js";
import { changed, readAgain, startClock } from "./refresh.js";
import { enrol, token } from "./session.js";
import { spendPage } from "./spend.js";
import { drawWith, redraw, state } from "./state.js";
import { follow } from "./stream.js";
import { taskPage } from "./task.js";
import { timePage } from "./time.js";
import { turnPage } from "./transcript.js";

/** @type {[RegExp, (id: string) => Page][]} */
const ROUTES = [
  [/^\/$/, needsPage],
  [/^\/t\/([^/]+)$/, taskPage],
  [/^\/turn\/([^/]+)$/, turnPage],
  [/^\/approvals\/([^/]+)$/, approvalPage],
  [/^\/w$/, plansPage],
  [/^\/w\/([^/]+)$/, planPage],
  [/^\/spend$/, spendPage],
  [/^\/agents$/, agentsPage],
  [/^\/time$/, timePage],
];

/** @returns {Page} */
function missingPage() {
  return {
    name: "",
    title: () => "No such page",
    view: () => html`<h1 tabindex="-1">There is no page at this address.</h1><p><a href="/">What needs you</a></p>`,
  };
}

function element(/** @type {string} */ id) {
  return /** @type {HTMLElement} */ (document.getElementById(id));
}

let pageNumber = 0;
/** The heading of a new page gets the focus, so that a screen reader reads it. */
let wantsFocus = false;

function draw() {
  render(headerView(), element("header"));
  render(barsView(), element("bars"));
  const isOut = state.signedOut !== null;
  if (isOut || state.page) {
    document.getElementById("start")?.remove();
    render(keyed(isOut ? -1 : pageNumber, isOut ? signedOutView() : state.page?.view()), element("main"));
  }
  render(footerView(), element("footer"));
  drawDialog();
  setTitle();
  const heading = wantsFocus ? document.querySelector("h1") : null;
  if (heading) {
    wantsFocus = false;
    heading.focus({ preventScroll: true });
  }
  if (!isOut) state.page?.drawn?.();
}

function openPage() {
  const path = location.pathname;
  state.page?.close?.();
  closeDialog();
  closeMenu();
  for (const [pattern, open] of ROUTES) {
    const found = pattern.exec(path);
    if (found) {
      state.page = open(decodeURIComponent(found[1] ?? ""));
      break;
    }
    state.page = null;
  }
  state.page ??= missingPage();
  pageNumber += 1;
  redraw();
}

/** @param {string} path */
function navigate(path) {
  if (path !== location.pathname) history.pushState(null, "", path);
  openPage();
  scrollTo(0, 0);
  void readAgain();
  wantsFocus = true;
}

/** @param {MouseEvent} event */
function followLink(event) {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey)
    return;
  const link = event.target instanceof Element ? event.target.closest("a") : null;
  if (!link || link.origin !== location.origin || link.target !== "" || link.hash !== "") return;
  event.preventDefault();
  navigate(link.pathname);
}

/** Takes the one-time code of a link out of the address and out of the history. */
function takeCode() {
  const code = new URLSearchParams(location.hash.slice(1)).get("code");
  if (code !== null) history.replaceState(null, "", location.pathname);
  return code;
}

const RETRY_MS = 3_000;

const tabs = new BroadcastChannel("handover-session");

/** @param {string | null} code */
async function connect(code) {
  try {
    await token();
  } catch (error) {
    if (!isSignedOut(error) || code === null) throw error;
    await enrol(code);
    await token();
    tabs.postMessage("enrolled");
  }
}

/** @param {unknown} error */
function explain(error) {
  const problem = told(error);
  if (problem.code === "CODE_INVALID") state.signedOut = "The link was used before or is older than a minute.";
  else if (isSignedOut(error)) state.signedOut = "";
  else state.failure = problem;
  redraw();
}

async function start() {
  drawWith(draw);
  startDialog();
  startKeys(navigate);
  redraw();
  addEventListener("popstate", () => {
    openPage();
    void readAgain();
  });
  addEventListener("beforeunload", (event) => {
    if (state.page?.leave?.()) event.preventDefault();
  });
  addEventListener("click", followLink);
  addEventListener("hashchange", () => {
    if (location.hash.startsWith("#code=")) location.reload();
  });
  tabs.onmessage = () => {
    if (state.signedOut !== null) location.reload();
  };
  const code = takeCode();
  while (!state.now) {
    try {
      await connect(code);
      if (!state.page) openPage();
      await readAgain();
    } catch (error) {
      explain(error);
    }
    if (state.signedOut !== null) return;
    if (!state.now) await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
  follow(state.now.cursor, (connection, isChanged) => {
    state.connection = connection;
    if (connection.word === "signed out") state.signedOut = "";
    if (isChanged) changed();
    redraw();
  });
  startClock();
}

void start();
