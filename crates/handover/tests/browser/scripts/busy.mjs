// The page `/` with work in every state: sections, their order and their words.

import assert from "node:assert/strict";
import { person, play, sections, serve, shows, signedIn } from "./page.mjs";

play(async () => {
  await serve({ verb: "up" });
  await person("add", "Paginate orders", "--role", "coder");
  const page = await signedIn();
  await shows(page, "Running 1");
  const found = await sections(page);
  assert.deepEqual(Object.keys(found), ["Needs you 4", "Ready to merge 2", "Running 1", "Ready 1", "Done today 3"]);
  assert.deepEqual(found["Needs you 4"], [
    "codex asks for approval: publish the fix",
    "claude asks: Which port should the service use?",
    "Check failed twice: 5 Cart totals",
    '6 changed no file: "All done, everything works."',
  ]);
  assert.deepEqual(found["Ready to merge 2"], [
    "2 Fix login checked 2 files +6 −1 $0.42 Diff Merge",
    "3 Sign-up email checked 1 file +1 −0 $0.18 Diff Merge",
  ]);
  assert.match(found["Running 1"][0], /^9 Paginate orders claude 0:\d\d .*Stop$/);
  assert.deepEqual(found["Ready 1"], ["8 Port to v2 (waits for 4)"]);
  assert.equal(await page.title(), "(4) shop · Handover");
  for (const words of [
    "7 Publish the fix",
    "If you deny, codex gets your reason and continues without it.",
    "4 Add health endpoint · waits",
    "1 task behind it",
    "sh test.sh exited with 1",
    "expected 12.30, got 12.3",
  ]) {
    await shows(page, words);
  }
  await page.getByText("Done today").click();
  await shows(page, "1 Dark mode merged");
});
