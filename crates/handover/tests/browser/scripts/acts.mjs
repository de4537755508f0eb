// A person decides on the page, and the work goes on. A runner is up.

import { play, serve, shows, signedIn, until } from "./page.mjs";

const item = (page, words) => page.locator("li.item").filter({ hasText: words });
const isGone = (page, words) => until(page, (wanted) => ![...document.querySelectorAll("li.item:not(.gone)")].some((each) => each.innerText.includes(wanted)), words);

play(async () => {
  await serve({ verb: "up" });
  const page = await signedIn();

  // Answer a question: the task goes on and is ready to merge, and the task behind it starts.
  const question = item(page, "Which port should the service use?");
  await question.getByRole("textbox").fill("8080");
  await question.getByRole("button", { name: "Answer" }).click();
  await shows(page, "Answered. claude continues.");
  await until(page, () => [...document.querySelectorAll(".row.merge")].some((row) => row.innerText.includes("Add health endpoint")));
  await shows(page, "Port to v2");

  // Add a task: it appears and is worked on.
  await page.keyboard.press("n");
  await page.keyboard.type("Error pages");
  await page.keyboard.press("Enter");
  await shows(page, "Added 9 Error pages");
  await until(page, () => [...document.querySelectorAll(".row.merge")].some((row) => row.innerText.includes("Error pages")));

  // Stop a running task.
  await page.fill("#add", "Paginate orders");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: /^Stop \d+ Paginate orders/ }).click();
  await until(page, () => !document.getElementById("running"));

  // Put off an item, and show it again.
  const limit = item(page, "6 changed no file");
  await limit.getByText("Put off").click();
  await limit.getByRole("button", { name: "until tomorrow" }).click();
  await shows(page, "Put off until tomorrow.");
  await shows(page, "1 item put off");
  await page.getByText("1 item put off").click();
  await page.getByRole("button", { name: "Show again" }).click();
  await item(page, "6 changed no file").waitFor();

  // Take as it is, with a reason.
  await item(page, "6 changed no file").getByRole("button", { name: "Take as it is…" }).click();
  await page.getByLabel("Why is it good as it is?").fill("There was nothing to do.");
  await page.getByRole("button", { name: "Take as it is", exact: true }).click();
  await isGone(page, "6 changed no file");

  // Drop a task that has nothing to keep. Then drop one whose work is kept, and restore it.
  await item(page, "Cart totals").getByRole("button", { name: "Drop" }).click();
  await isGone(page, "Cart totals");
  await page.getByRole("link", { name: "Sign-up email", exact: true }).click();
  await page.getByRole("button", { name: "Drop" }).click();
  await page.getByRole("button", { name: "Restore" }).click();
  await shows(page, "ready to merge");
  await page.getByRole("button", { name: "Merge…" }).waitFor();
});
