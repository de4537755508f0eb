// A project without agents and tasks: the page says what is missing and what to do.

import assert from "node:assert/strict";
import { play, serve, shows, signedIn, violations } from "./page.mjs";

play(async () => {
  await serve();
  const page = await signedIn();
  await shows(page, "No agent yet. Install Claude Code, Codex, … or: handover agent add NAME -- PROGRAM");
  await shows(page, "Each task gets its own worktree and branch.");
  await shows(page, "You look at the diff and merge, or send it back.");
  await shows(page, 'Or in the terminal: handover add "…"');
  assert.equal(await page.evaluate(() => document.activeElement?.id), "add", "the field for a task has the focus");
  assert.deepEqual(await violations(page), []);
});
