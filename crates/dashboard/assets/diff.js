// A diff by file: the list of files, their changed lines, comments on lines, and which files the person has seen.

import { draft, sendByKey, setDraft, typing } from "./acts.js";
import { read } from "./api.js";
import { guard, html, live, nothing, repeat } from "./lit.js";
import { button, failureView } from "./parts.js";
import { told } from "./problem.js";
import { keep, kept, redraw } from "./state.js";
import { line } from "./visible.js";
import { count, lineCount } from "./words.js";

/** A file with more lines is folded at first, as are all files after this number of lines together. */
const LINES_FILE = 1_200;
const LINES_ALL = 5_000;
const SIGNS = { add: "+", remove: "−", same: "" };

/** @param {DiffFile} file */
function hash(file) {
  let value = 0x811c9dc5;
  const text = file.path + JSON.stringify(file.hunks);
  for (let at = 0; at < text.length; at += 1) value = Math.imul(value ^ text.charCodeAt(at), 0x01000193);
  return value >>> 0;
}

/** @param {string} selector @returns {HTMLElement[]} */
const all = (selector) => [...document.querySelectorAll(selector)].filter((each) => each instanceof HTMLElement);

/** Finds the element with the focus, or the first below the header. @param {HTMLElement[]} elements */
function placeIn(elements) {
  const focused = elements.findIndex((each) => each.contains(document.activeElement));
  return {
    focused,
    at: focused >= 0 ? focused : elements.findIndex((each) => each.getBoundingClientRect().bottom > 80),
  };
}

/** @param {number} value @param {unknown[]} list */
const within = (value, list) => Math.min(Math.max(value, 0), list.length - 1);

export class DiffView {
  /** @type {Diff | null} */
  diff = null;
  /** @type {RequestProblem | null} */
  problem = null;
  /** @type {Map<DiffFile, number>} */
  hashes = new Map();
  /** @type {Set<number>} */
  seen = new Set();
  /** Files that the person opened or folded. @type {Map<string, boolean>} */
  opened = new Map();
  /** Comments by the key of their line. @type {Map<string, Note>} */
  notes = new Map();
  /** The key of the line whose comment is being written. @type {string | null} */
  editing = null;
  canComment = false;
  /** @type {Finding[]} */
  findings = [];
  version = 0;

  /** @param {string} place the name under which the browser keeps which files were seen */
  constructor(place) {
    this.place = `seen:${place}`;
  }

  /** @param {string} path */
  async read(path) {
    try {
      this.show(await read(path));
    } catch (error) {
      this.problem = told(error);
      redraw();
    }
  }

  /** @param {Diff} diff */
  show(diff) {
    [this.diff, this.problem] = [diff, null];
    this.hashes = new Map(diff.files.map((file) => [file, hash(file)]));
    this.seen = new Set(JSON.parse(kept(this.place) ?? "[]"));
    this.changed();
  }

  changed() {
    this.version += 1;
    redraw();
  }

  /** @param {boolean} canComment */
  allowComments(canComment) {
    if (this.canComment === canComment) return;
    this.canComment = canComment;
    this.version += 1;
  }

  /** @param {DiffFile} file */
  isSeen(file) {
    return this.seen.has(this.hashes.get(file) ?? -1);
  }

  /** @param {DiffFile} file @param {boolean} isSeen */
  setSeen(file, isSeen) {
    this.seen[isSeen ? "add" : "delete"](this.hashes.get(file) ?? -1);
    this.opened.delete(file.path);
    keep(this.place, JSON.stringify([...this.seen].slice(-500)));
    this.changed();
  }

  seeNext() {
    const files = this.diff?.files ?? [];
    const file = files[placeIn(all(".file")).at];
    if (!file) return;
    this.setSeen(file, true);
    const next = files.findIndex((each) => !this.isSeen(each));
    if (next >= 0) requestAnimationFrame(() => this.goTo(next));
  }

  /** @param {number} index */
  goTo(index) {
    const file = all(".file")[index];
    file?.scrollIntoView();
    file?.querySelector("button")?.focus({ preventScroll: true });
  }

  /** @param {number} step */
  moveFile(step) {
    const files = all(".file");
    this.goTo(within(placeIn(files).at + step, files));
  }

  /** @param {number} step */
  moveLine(step) {
    const lines = all("button.line");
    const { focused, at } = placeIn(lines);
    const next = lines[within(focused >= 0 ? at + step : at, lines)];
    next?.focus({ preventScroll: true });
    next?.scrollIntoView({ block: "nearest" });
  }

  comment() {
    /** @type {HTMLElement | null} */ (document.querySelector("button.line:focus"))?.click();
  }

  /** @param {string} key */
  edit(key) {
    this.editing = this.editing === key ? null : key;
    setDraft(key, draft(key) || (this.notes.get(key)?.text ?? ""));
    this.changed();
    requestAnimationFrame(() => all(".remark textarea")[0]?.focus());
  }

  /** @param {string} key @param {Note} note @param {SubmitEvent} event */
  save(key, note, event) {
    event.preventDefault();
    const text = draft(key).trim();
    if (text === "") this.notes.delete(key);
    else this.notes.set(key, { ...note, text });
    setDraft(key, "");
    this.editing = null;
    this.changed();
  }

  /**
   * Returns an empty comment on a line. A comment on a removed line goes to the line after it, with the removed text.
   * @param {DiffFile} file @param {DiffLine[]} lines @param {number} at
   * @returns {Note}
   */
  noteOn(file, lines, at) {
    const row = lines[at];
    const near = lines.slice(at).find((each) => each.new !== null) ?? lines.findLast((each) => each.new !== null);
    return {
      path: file.path,
      line: near?.new ?? 1,
      text: "",
      quote: row?.kind === "remove" ? row.text.trim() : undefined,
    };
  }

  /** @returns {Note[]} */
  sent() {
    return [...this.notes.values()].map(({ quote, ...note }) =>
      quote === undefined ? note : { ...note, text: `About the removed line “${quote}”: ${note.text}` },
    );
  }

  /** @param {DiffFile} file @param {DiffLine[]} lines @param {DiffLine} row @param {number} at */
  rowView(file, lines, row, at) {
    const isOld = row.kind === "remove";
    const key = `${file.path}\n${isOld ? `-${row.old}` : row.new}`;
    const label = `Comment on ${isOld ? "removed " : ""}line ${isOld ? row.old : row.new}`;
    const edit = () => this.edit(key);
    const note = this.notes.get(key);
    const found = this.findings.filter((each) => each.path === file.path && each.line === row.new);
    return html`<div class=${row.kind}>
        <span class="old">${row.kind === "add" ? nothing : row.old}</span>
        <span class="new">${
          this.canComment
            ? html`<button type="button" class="line" tabindex="-1" aria-label=${label} @click=${edit}>${row.new ?? "·"}</button>`
            : row.new
        }</span>
        <span class="sign">${SIGNS[row.kind]}</span><span class="code">${line(row.text.replaceAll("\t", "    "))}</span></div>
      ${found.map(
        (each) => html`<p class="remark"><strong>${line(each.aspect)}</strong> ${line(each.text)}
        <span class="detail">${line(each.state)}</span></p>`,
      )}
      ${
        this.editing === key
          ? html`<form class="remark" @submit=${(/** @type {SubmitEvent} */ event) => this.save(key, this.noteOn(file, lines, at), event)}>
            <textarea rows="2" aria-label=${label} .value=${live(draft(key))} @input=${typing(key)} @keydown=${sendByKey}></textarea>
            <div class="acts"><button class="plain">Keep the comment</button>${button("Cancel", edit)}</div></form>`
          : note
            ? html`<p class="remark"><strong>you:</strong> ${line(note.text)} ${button("edit", edit)}</p>`
            : nothing
      }`;
  }

  /** @param {DiffFile} file */
  linesView(file) {
    if (file.binary) return html`<p class="detail">This file is not text.</p>`;
    return html`<div class="code-lines">${file.hunks.map(
      ({ heading, new_start: start, lines }) => html`<p class="hunk">${line(heading) || `line ${start}`}</p>
        ${lines.map((row, at) => this.rowView(file, lines, row, at))}`,
    )}</div>
      ${file.cut ? html`<p class="detail">The rest of this file is too long to be shown here.</p>` : nothing}`;
  }

  /** @param {DiffFile} file @param {boolean} isOpen */
  fileView(file, isOpen) {
    const fold = () => {
      this.opened.set(file.path, !isOpen);
      this.changed();
    };
    return html`<section class="file" aria-label=${line(file.path)}>
      <div class="file-head">
        <button type="button" class="fold" aria-expanded=${isOpen} @click=${fold}><span aria-hidden="true">${isOpen ? "▾" : "▸"}</span>
          <code>${file.old_path && file.old_path !== file.path ? `${line(file.old_path)} → ` : ""}${line(file.path)}</code></button>
        <span class="detail">${file.status === "changed" ? nothing : line(file.status)}</span>
        <span class="lines">${lineCount(file.added, file.removed)}</span>
        <label><input type="checkbox" .checked=${live(this.isSeen(file))} @change=${() => this.setSeen(file, !this.isSeen(file))}> Seen</label>
      </div>
      ${isOpen ? this.linesView(file) : nothing}
    </section>`;
  }

  view() {
    const diff = this.diff;
    if (this.problem) return failureView(this.problem);
    if (!diff) return html`<p class="calm">Loading the changes…</p>`;
    if (diff.files.length === 0) return html`<p class="calm">No file is changed.</p>`;
    let drawn = 0;
    const files = diff.files.map((file) => {
      const size = file.hunks.reduce((sum, hunk) => sum + hunk.lines.length, 0);
      drawn += size;
      return {
        file,
        isOpen: this.opened.get(file.path) ?? (!this.isSeen(file) && size <= LINES_FILE && drawn <= LINES_ALL),
      };
    });
    const seen = diff.files.filter((file) => this.isSeen(file)).length;
    return html`<div class="diff">
      <nav class="file-list" aria-label="Changed files">
        <ul>${diff.files.map(
          (file, index) => html`<li><button type="button" class="quiet" @click=${() => this.goTo(index)}>
          <span class="tick">${this.isSeen(file) ? html`✓<span class="unseen">seen</span>` : nothing}</span>
          <code>${line(file.path)}</code></button></li>`,
        )}</ul>
        <p class="detail">${seen} of ${count(diff.files.length, "file")} seen</p>
      </nav>
      <div>${repeat(
        files,
        ({ file }) => file.path,
        ({ file, isOpen }) => guard([file, isOpen, this.version], () => this.fileView(file, isOpen)),
      )}
        ${diff.cut ? html`<p class="detail">There are more files than are shown here.</p>` : nothing}</div>
    </div>`;
  }
}
