// Shows text that agents or other programs wrote so that a person can judge it. Characters that hide, reorder or
// control text become visible, such as <U+202E>. The terminal marks the same characters.

// Controls, soft hyphen, joiners, fillers, direction marks, separators, annotations, tags, lone surrogates.
const HIDDEN = new RegExp(
  "[\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b-\\u200f" +
    "\\u2028-\\u202e\\u2060-\\u206f\\u3164\\ufeff\\uffa0\\ufff0-\\ufffb\\ud800-\\udfff" +
    "\\u{13430}-\\u{1345f}\\u{1bca0}-\\u{1bca3}\\u{1d173}-\\u{1d17a}\\u{e0000}-\\u{e0fff}]",
  "u",
);
const SELECTOR = /[\ufe00-\ufe0f]/;

/**
 * Tells whether a variation selector may follow a character. Several selectors in a row can carry a hidden text.
 * @param {string} letter
 */
function takesSelector(letter) {
  return letter > "\u007f" ? !HIDDEN.test(letter) && !SELECTOR.test(letter) : /[0-9#*]/.test(letter);
}

/** @param {string} text @param {string} kept the characters that stay as they are */
function marked(text, kept) {
  if (!HIDDEN.test(text) && !SELECTOR.test(text)) return text;
  let shown = "";
  let before = " ";
  for (const letter of text) {
    const isShown = SELECTOR.test(letter) ? takesSelector(before) : !HIDDEN.test(letter);
    const number = (letter.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
    shown += isShown || kept.includes(letter) ? letter : `<U+${number}>`;
    before = letter;
  }
  return shown;
}

/** Returns a text on one line. @param {string | null | undefined} text */
export function line(text) {
  return marked((text ?? "").replace(/\r\n|[\n\t]/g, " "), "");
}

/** Returns the output of a program. Colours are left out: they hide nothing. @param {string} text */
export function output(text) {
  return lines(text.replace(/\u001b\[[0-9;]*m/g, ""));
}

/** Returns a text with its line breaks and tabs. @param {string | null | undefined} text */
export function lines(text) {
  return marked((text ?? "").replace(/\r\n/g, "\n"), "\n\t");
}
