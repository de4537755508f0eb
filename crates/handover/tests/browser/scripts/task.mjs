// The page of a task: its changes by file, and the merge while another file has changes of the person.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { play, scene, serve, shows, signedIn, until } from "./page.mjs";

const git = (...words) => execFileSync("git", words, { cwd: `${scene}/shop`, encoding: "utf8" });

play(async () => {
  const origin = await serve();
  const page = await signedIn("/t/2");
  for (const words of [
    "2 Fix login",
    "ready to merge · checked",
    "claude · 1 try",
    "Keeps ?next= through the form",
    "src/login.js",
    "test/login.txt",
    "res.redirect(safe(next) ? next : '/')",
    "0 of 2 files seen",
  ]) {
    await shows(page, words);
  }
  assert.equal(await page.title(), "(4) 2 Fix login · shop · Handover");
  await page.getByLabel("Seen").first().check();
  await shows(page, "1 of 2 files seen");
  assert.equal(await page.getByText("res.redirect(safe(next)").count(), 0, "a file that was seen is folded");

  for (const [tab, words] of [["Check", "whole output"], ["Tries 1", "claude"], ["Conversation", "The form loses the address"], ["Task", "Fix login"]]) {
    await page.getByRole("tab", { name: tab }).click();
    await shows(page, words);
  }

  writeFileSync(`${scene}/shop/README.md`, "# shop, changed by hand\n");
  await page.getByRole("button", { name: "Merge…" }).click();
  await shows(page, "One commit: Fix login");
  await shows(page, "src/login.js +5 −1");
  await shows(page, "Changed in your folder and left as it is: README.md");
  await page.getByRole("button", { name: "Merge into main" }).click();
  await until(page, () => !document.querySelector("dialog")?.open);
  assert.equal(git("log", "-1", "--format=%s", "main"), "Fix login\n");
  assert.equal(readFileSync(`${scene}/shop/README.md`, "utf8"), "# shop, changed by hand\n");
  assert.match(readFileSync(`${scene}/shop/src/login.js`, "utf8"), /safe\(next\)/);
  await page.goto(origin);
  await shows(page, "Ready to merge 1");
});
