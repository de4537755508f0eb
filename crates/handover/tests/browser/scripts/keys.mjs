// Everything on the page `/` by keyboard, and the names that a screen reader says.

import assert from "node:assert/strict";
import { play, serve, shows, signedIn, until } from "./page.mjs";

const focusIs = (page, words) => until(page, (wanted) => document.activeElement?.innerText?.replace(/\s+/g, " ").includes(wanted), words);

play(async () => {
  await serve();
  const page = await signedIn();
  await shows(page, "Needs you 4");
  const keys = page.keyboard;

  await keys.press("n");
  await until(page, () => document.activeElement?.id === "add");
  await keys.type("jk?");
  assert.equal(await page.inputValue("#add"), "jk?", "keys in a field are letters");
  await page.fill("#add", "");
  await keys.press("Escape");
  await until(page, () => document.activeElement?.id !== "add");

  await keys.press("j");
  await focusIs(page, "codex asks for approval");
  await keys.press("j");
  await focusIs(page, "Which port should the service use?");
  await keys.press("a");
  await until(page, () => document.activeElement?.matches("textarea"));
  await keys.press("Escape");
  await focusIs(page, "Which port should the service use?");
  await keys.press("k");
  await focusIs(page, "codex asks for approval");
  await keys.press("j");
  await keys.press("j");
  await focusIs(page, "Check failed twice");
  await keys.press("o");
  await until(page, () => location.pathname === "/t/5");
  await shows(page, "Cart totals");
  await until(page, () => document.activeElement?.tagName === "H1");
  await page.goBack();
  await shows(page, "Needs you 4");

  await keys.press("?");
  await until(page, () => document.querySelector("dialog")?.open);
  await shows(page, "leave a field");
  await keys.press("Escape");
  await until(page, () => !document.querySelector("dialog")?.open);

  // The tab key reaches every control, in the order of the page, and the focus is visible.
  await page.evaluate(() => document.activeElement?.blur());
  const reached = new Set();
  for (let at = 0; at < 80; at += 1) {
    await keys.press("Tab");
    const { name, isVisible } = await page.evaluate(() => {
      const element = document.activeElement;
      // After the last control the focus is on the document.
      if (element === document.body) return { name: "", isVisible: true };
      const isVisible = getComputedStyle(element).outlineStyle !== "none";
      return { name: element.ariaLabel || element.innerText || element.id, isVisible };
    });
    reached.add(name.trim());
    assert.ok(isVisible, `the focus on ${name} is not visible`);
  }
  for (const name of ["Skip to the content", "Handover", "Read it", "Deny…", "Answer", "Drop", "Merge 2 Fix login", "Diff of 2 Fix login"]) {
    assert.ok(reached.has(name), `${name} cannot be reached: ${[...reached].join(", ")}`);
  }

  for (const [role, name] of [
    ["textbox", "Add a task"],
    ["textbox", "Your answer to: claude asks: Which port should the service use?"],
    ["button", "Merge 2 Fix login"],
    ["link", "Diff of 3 Sign-up email"],
    ["navigation", "Pages"],
    ["region", "Needs you 4"],
  ]) {
    assert.equal(await page.getByRole(role, { name, exact: true }).count(), 1, `${role} ${name}`);
  }
});
