// A browser gets in with a link, stays in without one, and a link works once.

import assert from "node:assert/strict";
import { expected, isLive, lacks, link, newBrowser, play, serve, shows } from "./page.mjs";

const NOT_CONNECTED = "This browser is not connected yet. In your terminal: handover open";

play(async () => {
  const origin = await serve();
  expected.push("403 (Forbidden)");

  const stranger = await (await newBrowser()).newPage();
  await stranger.goto(origin);
  await shows(stranger, NOT_CONNECTED);
  assert.equal(await stranger.title(), "Handover");

  const context = await newBrowser();
  const page = await context.newPage();
  const address = await link();
  await page.goto(address);
  await isLive(page);
  assert.equal(page.url(), `${origin}/`, "the code does not stay in the address");
  assert.equal(await page.title(), "shop · Handover");

  const later = await context.newPage();
  await later.goto(`${origin}/`);
  await isLive(later);
  await lacks(later, "not connected");

  const thief = await (await newBrowser()).newPage();
  await thief.goto(address);
  await shows(thief, "The link was used before or is older than a minute.");
  await shows(thief, "In your terminal: handover open");

  // The page of the stranger connects as soon as its person gets a link in another tab.
  const helped = await stranger.context().newPage();
  await helped.goto(await link());
  await isLive(helped);
  await isLive(stranger);
});
