// The page follows what happens elsewhere: the terminal, a killed server, and other tabs.

import assert from "node:assert/strict";
import { expected, isLive, kill, patience, person, play, serve, sharedWorkers, shows, signedIn, timeUntil, until } from "./page.mjs";

const count = (page, name) => page.locator("#main [data-row]").filter({ hasText: name }).count();

play(async () => {
  const origin = await serve();
  const page = await signedIn();
  await shows(page, "Which port should the service use?");

  // An item that is settled in the terminal leaves within a second and says so for some seconds.
  await person("answer", "4", "8080");
  const gone = await timeUntil(page, () => !document.querySelector(".item textarea"));
  assert.ok(gone < 1_000 * patience, `the answered question left after ${gone} ms`);
  await shows(page, "Answered in the terminal");
  await until(page, () => document.title.startsWith("(3) "));
  await until(page, () => !document.getElementById("main").innerText.includes("Answered in the terminal"));

  await person("add", "Rate limiting");
  const came = await timeUntil(page, () => document.body.innerText.includes("Rate limiting"));
  assert.ok(came < 1_000 * patience, `the new task came after ${came} ms`);

  // The server is killed. The page shows its last state, with all buttons off.
  expected.push("ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_EMPTY_RESPONSE", "ERR_CONNECTION_RESET", "401 (Unauthorized)");
  const { port } = new URL(origin);
  await kill();
  await shows(page, "Not connected since");
  await shows(page, "Showing the last known state.");
  await shows(page, "Rate limiting");
  const on = await page.evaluate(() => {
    const buttons = [...document.querySelectorAll("#main button")].filter((button) => !/^Copy/.test(button.ariaLabel ?? ""));
    return buttons.filter((button) => !button.disabled).map((button) => button.innerText);
  });
  assert.deepEqual(on, [], "these buttons are on while the server is away");
  await person("add", "Error pages");
  await serve({ port });
  await isLive(page);
  await shows(page, "Error pages");
  assert.equal(await page.locator(".bar.off").count(), 0);
  for (const name of ["Error pages", "Rate limiting", "Cart totals"]) assert.equal(await count(page, name), 1, name);

  // Twenty tabs share the stream of one worker: a browser has six connections.
  const streams = [];
  page.context().on("request", (request) => {
    if (request.url().includes("/api/v1/events")) streams.push(request.url());
  });
  const tabs = [page];
  while (tabs.length < 20) {
    const tab = await page.context().newPage();
    tabs.push(tab);
    await tab.goto(origin);
    await isLive(tab);
  }
  assert.deepEqual(streams, [], "a tab has a stream of its own");
  assert.equal(await sharedWorkers(), 1);
  await person("add", "Last of all");
  await Promise.all(tabs.map((tab) => shows(tab, "Last of all")));
});
