// Takes a picture of each page in both colour schemes. With UPDATE=1 the pictures go to docs/dashboard. Their times
// differ from run to run, so that the test compares no pixels: it checks that each page has a picture of a decent size.

import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { isLive, person, play, serve, shows, signedIn } from "./page.mjs";

const FOLDER = `${process.env.REPOSITORY}/docs/dashboard`;
const BYTES_MAX = 150 * 1024;

play(async () => {
  const origin = await serve({ verb: "up" });
  await person("add", "Paginate orders", "--role", "coder");
  const page = await signedIn();
  await shows(page, "Running 1");
  const approval = await page.getByRole("link", { name: "Read it" }).getAttribute("href");
  const turn = async () => {
    await page.getByRole("tab", { name: /^Tries/ }).click();
    await page.locator("#panel a").first().click();
    await shows(page, "sh test.sh");
  };
  const merge = async () => {
    await page.getByRole("button", { name: "Merge…" }).click();
    await shows(page, "One commit: Fix login");
  };
  const plan = async () => {
    await page.locator("#main li a").first().click();
    await shows(page, "Cart totals");
  };
  /** The name of the picture, the address, words that the page shows, and what to do before the picture is taken. */
  const pages = [
    ["needs-you", "/", "Running 1"],
    ["task", "/t/2", "res.redirect(safe(next)"],
    ["merge", "/t/2", "res.redirect(safe(next)", merge],
    ["check-failed", "/t/5", "expected 12.30, got 12.3"],
    ["question", "/t/4", "Which port should the service use?"],
    ["running", "/t/9", "Orders come in pages of 50."],
    ["conversation", "/t/2", "Fix login", turn],
    ["approval", approval, "git push origin main"],
    ["plans", "/w", "3 of 9 done"],
    ["plan", "/w", "3 of 9 done", plan],
    ["time", "/time", "8 turns"],
    ["spend", "/spend", "Total"],
    ["agents", "/agents", "claude"],
  ];
  for (const [name, path, words, act] of pages) {
    await page.goto(origin + path);
    await shows(page, words);
    await isLive(page);
    await act?.();
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme });
      const picture = await page.screenshot({ animations: "disabled", caret: "hide" });
      const file = `${FOLDER}/${name}-${colorScheme}.png`;
      assert.ok(picture.length <= BYTES_MAX, `${name} has ${picture.length} bytes`);
      if (process.env.UPDATE) {
        mkdirSync(FOLDER, { recursive: true });
        writeFileSync(file, picture);
      }
      assert.ok(existsSync(file) && readFileSync(file).length <= BYTES_MAX, `${file} is missing; renew it with UPDATE=1`);
    }
  }
});
