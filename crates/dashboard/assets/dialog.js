// The one dialog of the page. While it is open, nothing else can be clicked.

import { render } from "./lit.js";
import { redraw, state } from "./state.js";

function element() {
  return /** @type {HTMLDialogElement} */ (document.getElementById("dialog"));
}

/** @type {Element | null} */
let before = null;

/** Opens the dialog. Its view has a heading with the id `dialog-title`. @param {() => unknown} view */
export function openDialog(view) {
  before ??= document.activeElement;
  state.dialog = view;
  redraw();
}

export function closeDialog() {
  state.dialog = null;
  redraw();
}

export function drawDialog() {
  const place = element();
  if (state.dialog) {
    render(state.dialog(), place);
    if (!place.open) place.showModal();
  } else if (place.open) {
    place.close();
    render("", place);
    if (before instanceof HTMLElement && before.isConnected) before.focus();
    before = null;
  }
}

export function startDialog() {
  element().addEventListener("cancel", (event) => {
    event.preventDefault();
    closeDialog();
  });
  element().addEventListener("click", (event) => {
    // A click on the backdrop has the dialog itself as its target.
    if (event.target === element()) closeDialog();
  });
}
