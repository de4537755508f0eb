// Every page in both colour schemes and on a narrow screen: no violations of WCAG 2 A and AA, no horizontal scroll.

import assert from "node:assert/strict";
import { newBrowser, person, play, serve, shows, signedIn, violations } from "./page.mjs";

const found = [];

async function judge(page, name) {
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    for (const line of await violations(page)) found.push(`${name}, ${colorScheme}: ${line}`);
  }
  await page.setViewportSize({ width: 380, height: 800 });
  const wide = await page.evaluate(() => {
    const over = [...document.querySelectorAll("body *")].filter((element) => element.getBoundingClientRect().right > innerWidth + 1);
    return document.documentElement.scrollWidth > innerWidth ? over.map((element) => element.outerHTML.slice(0, 120)).slice(0, 3) : [];
  });
  for (const line of wide) found.push(`${name}, 380 px: wider than the screen: ${line}`);
  for (const line of await violations(page)) found.push(`${name}, 380 px: ${line}`);
  await page.setViewportSize({ width: 1280, height: 900 });
}

play(async () => {
  const origin = await serve({ verb: "up" });
  await person("add", "Paginate orders", "--role", "coder");
  const stranger = await (await newBrowser()).newPage();
  await stranger.goto(origin);
  await shows(stranger, "not connected yet");
  await judge(stranger, "not connected");

  const page = await signedIn();
  await shows(page, "Running 1");
  await judge(page, "/");
  for (const [open, shown] of [
    [() => page.keyboard.press("?"), "leave a field"],
    [() => page.getByRole("button", { name: "Send back…" }).first().click(), "It continues the same conversation"],
    [() => page.getByRole("button", { name: "Merge 2 Fix login" }).click(), "Merge 2 Fix login"],
  ]) {
    await open();
    await shows(page, shown);
    await judge(page, `dialog "${shown}"`);
    await page.keyboard.press("Escape");
  }
  const approval = await page.getByRole("link", { name: "Read it" }).getAttribute("href");
  for (const [path, words] of [
    ["/t/2", "Fix login"],
    ["/t/4", "Which port should the service use?"],
    ["/t/5", "expected 12.30, got 12.3"],
    ["/t/6", "Tidy imports"],
    ["/t/9", "Paginate orders"],
    [approval, "git push origin main"],
    ["/w", "3 of 9 done"],
    ["/time", "8 turns"],
    ["/spend", "Total"],
    ["/agents", "claude"],
  ]) {
    await page.goto(origin + path);
    await shows(page, words);
    await judge(page, path);
  }
  await page.goto(`${origin}/w`);
  await page.locator("#main li a").first().click();
  await shows(page, "Cart totals");
  await judge(page, "a plan");
  assert.deepEqual(found, []);
});
