// Texts of agents stay text: as names of tasks, questions and outcomes.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { HIDDEN_CODES, TEXTS } from "./hostile-texts.mjs";
import { person, play, run, scene, serve, shows, signedIn } from "./page.mjs";

/** Returns the texts in groups, each joined to one text. */
function joined(size) {
  const groups = [];
  for (let at = 0; at < TEXTS.length; at += size) groups.push(TEXTS.slice(at, at + size).join(" | "));
  return groups;
}

/** The number of characters of a name that is not cut. */
const NAME_MAX = 100;
/** The number of ready tasks that the first page shows. */
const ROWS = 50;

/** Returns names of tasks with all texts. A name has one line, and the server refuses control characters in it. */
function packed() {
  const names = [""];
  for (const text of TEXTS) {
    const word = text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g, " ").trim().slice(0, NAME_MAX);
    if (names.at(-1).length + word.length + 3 > NAME_MAX) names.push(word);
    else names[names.length - 1] += names.at(-1) ? ` | ${word}` : word;
  }
  return names;
}

/** Lets the agent end its next turn with these words. They stand in JSON that stands in JSON. */
function says(words, isDone) {
  const twice = JSON.stringify(JSON.stringify(words).slice(1, -1)).slice(1, -1);
  writeFileSync(`${scene}/sim/hostile.words`, twice);
  writeFileSync(`${scene}/sim/hostile.success`, String(isDone));
  writeFileSync(`${scene}/sim/hostile.recommendation`, isDone ? "proceed" : "escalate");
}

async function isText(page, where) {
  const found = await page.evaluate((codes) => {
    const hidden = new Set(codes);
    const shown = `${document.body.innerText} ${document.title}`;
    const attributes = [...document.querySelectorAll("[title], [aria-label]")].map((element) => `${element.title} ${element.ariaLabel}`);
    return {
      made: [...document.querySelectorAll(".made, script:not([src^='/assets/']), iframe, object, embed, img, base, style")].map((each) => each.outerHTML),
      ran: globalThis.made ?? null,
      hidden: [...new Set([...shown, ...attributes.join("")].map((letter) => letter.codePointAt(0)).filter((code) => hidden.has(code)))],
      links: [...document.querySelectorAll("a")].map((link) => link.href).filter((href) => !href.startsWith(location.origin)),
      width: document.documentElement.scrollWidth - innerWidth,
    };
  }, HIDDEN_CODES);
  assert.deepEqual(found, { made: [], ran: null, hidden: [], links: [], width: 0 }, where);
}

play(async () => {
  assert.ok(TEXTS.length >= 200, `${TEXTS.length} texts`);
  const questions = joined(60);
  for (const [at, words] of questions.entries()) {
    says(words, false);
    await person("add", `Hostile question ${at}`, "--role", "coder");
    await run("run", "--once");
  }
  for (const [at, words] of joined(60).entries()) {
    says(words, true);
    await person("add", `Hostile outcome ${at}`, "--role", "coder");
    await run("run", "--once");
  }
  const names = packed();
  await person("add", "--", ...names);
  await serve();
  const page = await signedIn();
  await shows(page, "Hostile question 0");
  await shows(page, "<U+202E>");
  await shows(page, "<b class=made>bold</b>");
  await isText(page, "/");
  await page.setViewportSize({ width: 380, height: 800 });
  await isText(page, "/ at 380 px");
  const asked = 2 * questions.length;
  const others = Array.from({ length: Math.max(2, names.length - ROWS) }, (_, at) => asked + names.length - at);
  for (const number of [...Array.from({ length: asked }, (_, at) => at + 1), ...others]) {
    await page.goto(new URL(`/t/${number}`, page.url()).href);
    await shows(page, "‹ Tasks");
    await isText(page, `/t/${number}`);
  }
});
