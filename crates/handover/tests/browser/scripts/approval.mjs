// An approval: Allow is off until all of its content was on the screen, and allows exactly what was shown.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { person, play, scene, serve, shows, signedIn, until } from "./page.mjs";

play(async () => {
  // The request has more lines than a screen.
  writeFileSync(`${scene}/sim/exact`, Array.from({ length: 120 }, (_, at) => `git push origin branch-${at}`).join("\\n"));
  await serve({ verb: "up" });
  await person("add", "Publish the fix", "--role", "publisher");
  const page = await signedIn();
  await page.getByRole("link", { name: "Read it" }).click();
  await shows(page, "git push origin branch-0");
  const allow = page.getByRole("button", { name: "Allow once" });
  assert.ok(await allow.isDisabled(), "Allow is on before all was shown");
  assert.notEqual(await page.evaluate(() => document.activeElement?.innerText), "Allow once", "Allow has the focus by itself");
  // A jump to the end shows only the end: some parts are left.
  const left = page.getByRole("button", { name: /parts? left$/ });
  const parts = await left.innerText();
  await page.locator("pre.exact").evaluate((element) => {
    element.scrollTop = element.scrollHeight;
    scrollTo(0, document.documentElement.scrollHeight);
  });
  await until(page, (words) => ![...document.querySelectorAll("button")].some((button) => button.innerText === words), parts);
  assert.ok(await allow.isDisabled(), "Allow is on after a jump to the end");
  while ((await left.count()) > 0) {
    const before = await left.innerText();
    await left.click();
    await until(page, (words) => ![...document.querySelectorAll("button")].some((button) => button.innerText === words), before);
  }
  await until(page, () => [...document.querySelectorAll("button")].some((button) => button.innerText === "Allow once" && !button.disabled));
  await allow.click();
  await shows(page, "allowed");
  await shows(page, "used");
  await until(page, () => !document.querySelector(".decide"));
  await page.goto(new URL("/", page.url()).href);
  await shows(page, "Ready to merge 1");
  assert.ok(readFileSync(`${scene}/sim/asked.2`, "utf8").includes("approved"));
});
