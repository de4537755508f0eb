// Comments on two lines go back to the agent, whose next turn continues the conversation and gets both.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { play, scene, serve, shows, signedIn, until } from "./page.mjs";

play(async () => {
  await serve({ verb: "up" });
  const page = await signedIn("/t/2");
  for (const [line, words] of [["res.redirect(safe(next)", "Name this isLocalPath."], ["function safe(path)", "And here."]]) {
    await page.locator(".code-lines div").filter({ hasText: line }).last().getByRole("button").click();
    await page.locator("form.remark textarea").fill(words);
    await page.getByRole("button", { name: "Keep the comment" }).click();
    await shows(page, `you: ${words}`);
  }
  await page.getByRole("button", { name: "Send back (2)" }).click();
  await shows(page, "src/login.js:");
  await page.getByRole("button", { name: "Send back to claude" }).click();
  await until(page, () => !document.querySelector("dialog")?.open);

  // The new work is there, checked again, and the page shows what changed since the last look.
  await shows(page, "isLocalPath(next)");
  const starts = readFileSync(`${scene}/sim/starts`, "utf8").trim().split("\n");
  assert.notEqual(starts.at(-1), "new", "the next turn continues the conversation");
  const message = readFileSync(`${scene}/sim/message.${starts.length}`, "utf8");
  for (const words of ["Name this isLocalPath.", "And here.", "src/login.js"]) assert.ok(message.includes(words), `${words} is not in ${message}`);
  await shows(page, "ready to merge · checked");
  await page.getByRole("button", { name: "since my last look" }).click();
  await until(page, () => [...document.querySelectorAll(".code-lines .remove")].some((row) => row.innerText.includes("safe(next)")));
});
