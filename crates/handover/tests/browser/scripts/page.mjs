// Opens the browser and the page, and collects everything that a page must not do: errors, reports of the content
// security policy, and requests to other servers.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const tools = createRequire(`${process.env.BROWSER_TOOLS}/package.json`);
const { chromium } = tools("playwright-core");
export const axeSource = tools("axe-core").source;

export const scene = process.env.SCENE.replace(/\/$/, "");
/** How much longer everything takes on this machine at the moment. */
export const patience = Number(process.env.PATIENCE);

const ARGUMENTS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

const answers = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

/** Asks the test, which is outside of the browser, to do something. */
async function ask(what) {
  process.stdout.write(`${JSON.stringify(what)}\n`);
  return JSON.parse((await answers.next()).value);
}

/** Types a command as a person at a terminal. */
export async function person(...words) {
  const said = await ask({ ask: "person", words });
  assert.equal(said.code, 0, `handover ${words.join(" ")}: ${said.out}${said.err}`);
  return said.out;
}

/** Runs a command without a terminal. */
export const run = (...words) => ask({ ask: "run", words });

/** Starts the server and returns the address of the page. */
export async function serve({ verb = "serve", port = 0 } = {}) {
  return `http://127.0.0.1:${await ask({ ask: "serve", verb, port: Number(port) })}`;
}

export const kill = () => ask({ ask: "kill" });

export const link = async () => (await person("open", "--print")).trim();

/** All that pages did and must not do. */
export const faults = [];
/** Words in faults that a script expects, for example of a server that was killed. */
export const expected = [];
let browser;

/** Opens a browser with no memory. */
export async function newBrowser(options = {}) {
  browser ??= await chromium.launch({ executablePath: "/usr/bin/chromium", args: ARGUMENTS, headless: true });
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, locale: "en-GB", timezoneId: "UTC", ...options });
  context.setDefaultTimeout(20_000 * patience);
  context.on("page", watch);
  await context.addInitScript(() => {
    document.addEventListener("securitypolicyviolation", (event) => console.error(`CSP report: ${event.violatedDirective} ${event.blockedURI}`));
  });
  return context;
}

function watch(page) {
  page.on("pageerror", (error) => faults.push(`error in the page: ${error.stack ?? error}`));
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") faults.push(`console: ${message.text()} ${message.location().url}`);
  });
  page.on("request", (request) => {
    const { hostname, protocol } = new URL(request.url());
    if (protocol !== "data:" && hostname !== "127.0.0.1") faults.push(`a request to ${request.url()}`);
  });
}

/** The number of shared workers in the browser. */
export async function sharedWorkers() {
  const session = await browser.newBrowserCDPSession();
  const { targetInfos } = await session.send("Target.getTargets");
  return targetInfos.filter((target) => target.type === "shared_worker").length;
}

/** Opens the page as a person who has just typed `handover open`. */
export async function signedIn(path = "/", options = {}) {
  const context = await newBrowser(options);
  const page = await context.newPage();
  const address = new URL(await link());
  await page.goto(`${address.origin}${path}${address.hash}`);
  await isLive(page);
  return page;
}

export async function isLive(page) {
  await page.locator(".connection.live").waitFor();
}

/** Waits until a function of the page returns a true value. */
export const until = (page, condition, argument) => page.waitForFunction(condition, argument, { polling: 50 });

export const text = (page) => page.locator("body").innerText();

/** Waits until the page shows a text. The button that copies a command is no part of its sentence. */
export async function shows(page, words) {
  try {
    await until(page, (wanted) => document.body.innerText.replace(/\s+/g, " ").replaceAll(" Copy ", " ").includes(wanted), words);
  } catch {
    assert.fail(`the page does not show "${words}":\n${await text(page)}`);
  }
}

export async function lacks(page, words) {
  assert.ok(!(await text(page)).replace(/\s+/g, " ").includes(words), `the page shows "${words}":\n${await text(page)}`);
}

/** The rows of the page `/` by their section: a section's heading, and the text of each row. */
export function sections(page) {
  return page.evaluate(() => {
    const line = (element) => element.innerText.replace(/\s+/g, " ").trim();
    const found = {};
    for (const section of document.querySelectorAll("#main section")) {
      const rows = [...section.querySelectorAll("[data-row]")].filter((row) => row.offsetParent !== null);
      found[line(section.querySelector("h2"))] = rows.map((row) => line(row.querySelector("h3") ?? row));
    }
    return found;
  });
}

/** Runs axe-core on the page and returns its violations as lines. */
export async function violations(page) {
  await page.evaluate(axeSource);
  return page.evaluate(async () => {
    const result = await globalThis.axe.run(document, { runOnly: ["wcag2a", "wcag2aa"] });
    return result.violations.flatMap((rule) => rule.nodes.map((node) => `${rule.id}: ${node.html.slice(0, 160)} ${node.failureSummary ?? ""}`));
  });
}

/** The number of milliseconds until a condition holds in the page. */
export async function timeUntil(page, condition, argument) {
  const began = performance.now();
  await until(page, condition, argument);
  return performance.now() - began;
}

/** Plays one script: runs it, closes the browser, and fails when a page did something that it must not do. */
export async function play(script) {
  let failure = null;
  try {
    await script();
  } catch (error) {
    failure = error;
  }
  await browser?.close();
  const found = faults.filter((fault) => !expected.some((word) => fault.includes(word)));
  for (const fault of found) console.log(`FAULT ${fault}`);
  if (failure) console.log(failure.stack ?? failure);
  process.exit(failure || found.length > 0 ? 1 : 0);
}
