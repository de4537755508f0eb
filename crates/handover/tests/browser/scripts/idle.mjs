// A project with agents: no runner, no task, then one task that was merged.

import assert from "node:assert/strict";
import { kill, lacks, person, play, run, serve, shows, signedIn, violations } from "./page.mjs";

play(async () => {
  await serve();
  let page = await signedIn();
  await shows(page, "No runner is up, so no task is worked on. Start one: handover up");
  await shows(page, "It is checked with sh test.sh before you see it.");
  await lacks(page, "No agent yet");
  await kill();
  await page.context().close();

  await person("add", "Sign-up email", "--role", "coder");
  await run("run", "--once");
  await person("merge", "1", "--yes");
  await serve({ verb: "up" });
  page = await signedIn();
  await shows(page, "Nothing needs you. 2 agents are ready: claude, codex. Check: sh test.sh");
  await shows(page, "Last: 1 Sign-up email, merged");
  await shows(page, "Done today 1");
  await lacks(page, "No runner is up");
  assert.equal(await page.title(), "shop · Handover");
  assert.deepEqual(await violations(page), []);
});
