// A token of another scope sees tasks, read-only: no costs, no questions, no approvals.

import assert from "node:assert/strict";
import { lacks, person, play, serve, shows, signedIn } from "./page.mjs";

play(async () => {
  const origin = await serve();
  for (const scope of ["agent", "coordinator", "admin"]) {
    const made = JSON.parse(await person("token", "create", `watch-${scope}`, "--scope", scope, "--json"));
    const secret = made.secret ?? made.token;
    const answer = await fetch(`${origin}/api/v1/now`, { headers: { Authorization: `Bearer ${secret}` } });
    assert.equal(answer.status, 200, scope);
    const now = await answer.json();
    assert.deepEqual([now.viewer.decides, now.done.usd_micros, now.repositories], [false, null, []], scope);
    assert.deepEqual(now.items.map((item) => item.kind), ["check_failed", "no_changes"], scope);
    assert.ok(now.merge.every((row) => row.usd_micros === null), scope);

    // The page with this token in place of the person's.
    const page = await signedIn();
    await page.route("**/api/v1/browser/token", async (route) => {
      const own = await route.fetch();
      await route.fulfill({ response: own, json: { ...(await own.json()), token: secret, scope } });
    });
    await page.reload();
    await shows(page, "You are looking on; deciding needs handover open on the machine.");
    await shows(page, "Cart totals");
    for (const words of ["$", "cost unknown", "Which port", "asks for approval", "Add a task"]) await lacks(page, words);
    const buttons = await page.evaluate(() => [...document.querySelectorAll("#main button")].map((button) => button.ariaLabel ?? button.innerText));
    assert.deepEqual(buttons.filter((name) => !name.startsWith("Copy")), [], scope);
    await page.context().close();
  }
});
