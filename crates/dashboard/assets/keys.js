// The keyboard: j and k move between rows, other keys act on the current row or the page, `?` shows them all.

import { closeDialog, openDialog } from "./dialog.js";
import { html } from "./lit.js";
import { button } from "./parts.js";
import { keep, kept, redraw, state } from "./state.js";

/** The place of the row that had the focus last. It stays when the row itself leaves. */
let lastIndex = -1;
/** @type {(path: string) => void} */
let go = () => {};

function rows() {
  return /** @type {HTMLElement[]} */ ([...document.querySelectorAll("#main [data-row]")]).filter(
    (row) => row.offsetParent !== null,
  );
}

/** @returns {HTMLElement | null | undefined} */
function currentRow() {
  return document.activeElement?.closest("[data-row]");
}

/** @param {number} step */
function moveRow(step) {
  const all = rows();
  const current = currentRow();
  const at = current ? all.indexOf(current) : lastIndex - (step > 0 ? 1 : 0);
  const next = all[Math.min(Math.max(at + step, 0), all.length - 1)];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
}

/** Clicks the control of the current row that has this key. @param {string} key */
function clickInRow(key) {
  const control = currentRow()?.querySelector(`[data-key="${CSS.escape(key)}"]`);
  if (!(control instanceof HTMLElement)) return false;
  if (control.matches("textarea")) control.focus();
  else control.click();
  return true;
}

// A person who speaks to the computer can turn single keys off.
const areKeysOn = () => kept("keys") !== "off";

/** @param {KeyboardEvent} event */
function receive(event) {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  const target = event.target instanceof Element ? event.target : null;
  const isField = target?.matches("input:not([type=checkbox]), textarea, select") ?? false;
  if (event.key === "Escape") {
    closeMenus(null);
    if (isField && !state.dialog) /** @type {HTMLElement} */ (target?.closest("[data-row], main")).focus();
  } else if (
    !isField &&
    !state.dialog &&
    state.signedOut === null &&
    (event.key === "?" || areKeysOn()) &&
    act(event.key)
  ) {
    event.preventDefault();
  }
}

/** @param {string} key */
function act(key) {
  const own = Object.entries(state.page?.keys ?? {}).find(([keys]) => keys.split(" ").includes(key))?.[1];
  if (own?.act) own.act(key);
  else if (key === "j" || key === "k") moveRow(key === "j" ? 1 : -1);
  else if (key === "n") {
    const focus = () => document.getElementById("add")?.focus();
    // The focus moves at once where it can, so that no letter after the key is lost.
    if (location.pathname === "/") focus();
    else {
      go("/");
      requestAnimationFrame(focus);
    }
  } else if (key === "?") openHelp();
  else return clickInRow(key);
  return true;
}

/** Closes the open menus except the one that has this node. @param {Node | null} inside */
function closeMenus(inside) {
  for (const menu of /** @type {NodeListOf<HTMLDetailsElement>} */ (document.querySelectorAll("details.menu[open]"))) {
    if (!inside || !menu.contains(inside)) menu.open = false;
  }
}

/** @param {(path: string) => void} navigate */
export function startKeys(navigate) {
  go = navigate;
  addEventListener("keydown", receive);
  addEventListener("click", (event) => {
    const target = event.target instanceof Element ? event.target : null;
    // A choice closes its menu, too.
    closeMenus(target?.closest(".choices") ? null : target);
  });
  addEventListener("focusin", () => {
    const row = currentRow();
    if (row) lastIndex = rows().indexOf(row);
  });
}

/** @returns {[string, string][]} */
export function keyWords() {
  const own = Object.entries(state.page?.keys ?? {}).map(
    ([keys, { words }]) => /** @type {[string, string]} */ ([keys, words]),
  );
  return [
    ...(own.some(([keys]) => keys === "j k") ? [] : [/** @type {[string, string]} */ (["j k", "move"])]),
    ...own,
    ["n", "add"],
    ["?", "all keys"],
  ];
}

export function openHelp() {
  openDialog(
    () => html`<div class="dialog">
    <h2 id="dialog-title" tabindex="-1" autofocus>Keys</h2>
    <dl class="keys">${[...keyWords(), ["Esc", "close, or leave a field"]].map(
      ([keys, words]) => html`<div><dt><kbd>${keys}</kbd></dt><dd>${words}</dd></div>`,
    )}</dl>
    <p><label><input type="checkbox" .checked=${areKeysOn()} @change=${() => {
      keep("keys", areKeysOn() ? "off" : "on");
      redraw();
    }}> Act on single keys</label></p>
    <div class="acts">${button("Close", closeDialog, "plain")}</div>
  </div>`,
  );
}
