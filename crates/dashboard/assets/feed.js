// Follows the event stream of the server: reads events with `fetch`, reconnects with a growing delay, and continues
// after the last event that it has read.

import { isSignedOut } from "./problem.js";
import { renewedToken, token } from "./session.js";

const DELAY_MS_MIN = 250;
const DELAY_MS_MAX = 10_000;
/** The server sends at least a comment every 15 seconds. A longer silence means that the connection is dead. */
const SILENCE_MS_MAX = 40_000;

export class Feed {
  /** @param {string | null} after @param {FeedListener} report */
  constructor(after, report) {
    /** @type {FeedState} */
    this.state = { word: "connecting", since: Date.now(), cursor: after };
    this.report = report;
    this.delay = DELAY_MS_MIN;
    this.wake = () => {};
    void this.run();
  }

  /** @param {Partial<FeedState>} change @param {boolean} [changed] */
  tell(change, changed = false) {
    this.state = { ...this.state, ...change };
    this.report(this.state, changed);
  }

  /** Tries again at once. */
  hurry() {
    this.delay = DELAY_MS_MIN;
    this.wake();
  }

  async run() {
    for (;;) {
      try {
        await this.follow();
      } catch (error) {
        if (isSignedOut(error)) return this.tell({ word: "signed out" });
      }
      if (this.state.word !== "lost") this.tell({ word: "lost", since: Date.now() });
      // A random part keeps many browsers from reconnecting at the same moment.
      const delay = this.delay * (0.75 + Math.random() / 2);
      this.delay = Math.min(this.delay * 2, DELAY_MS_MAX);
      await new Promise((resolve) => {
        this.wake = () => resolve(undefined);
        setTimeout(resolve, delay);
      });
    }
  }

  async follow() {
    const stop = new AbortController();
    let watch = setTimeout(() => stop.abort(), SILENCE_MS_MAX);
    try {
      let response = await this.open(await token(), stop.signal);
      if (response.status === 401) response = await this.open(await renewedToken(), stop.signal);
      if (response.status === 422) {
        // Another store has taken the place of ours, and our position means nothing to it.
        this.tell({ cursor: null }, true);
        return;
      }
      if (!response.ok || !response.body) return;
      this.delay = DELAY_MS_MIN;
      this.tell({ word: "live" }, this.state.word === "lost");
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      const parser = new EventParser();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        clearTimeout(watch);
        watch = setTimeout(() => stop.abort(), SILENCE_MS_MAX);
        const found = parser.take(value);
        if (found.id !== null) this.tell({ cursor: found.id }, found.changed);
        // The server stops. Its last event has our position, and the next server continues there.
        if (found.goodbye) return;
      }
    } finally {
      clearTimeout(watch);
      stop.abort();
    }
  }

  /** @param {string} bearer @param {AbortSignal} signal */
  open(bearer, signal) {
    const headers = new Headers({ Authorization: `Bearer ${bearer}`, Accept: "text/event-stream" });
    if (this.state.cursor !== null) headers.set("Last-Event-ID", this.state.cursor);
    return fetch("/api/v1/events", { headers, signal, cache: "no-store", credentials: "omit" });
  }
}

/** Reads server-sent events. It skips their data: an event only tells that something changed. */
class EventParser {
  rest = "";
  kind = "";
  /** @type {string | null} */
  id = null;

  /** @param {string} text */
  take(text) {
    const parts = (this.rest + text).split("\n");
    this.rest = parts.pop() ?? "";
    // Only the beginning of an unfinished line matters, and the data of an event can have a mebibyte.
    if (this.rest.startsWith("data:")) this.rest = "data:";
    /** @type {{ changed: boolean, goodbye: boolean, id: string | null }} */
    const found = { changed: false, goodbye: false, id: null };
    for (const part of parts) {
      const line = part.replace(/\r$/, "");
      if (line.startsWith("event:")) this.kind = line.slice(6).trim();
      else if (line.startsWith("id:")) this.id = line.slice(3).trim();
      else if (line === "") {
        if (this.id !== null) found.id = this.id;
        if (this.kind === "goodbye") found.goodbye = true;
        else if (this.kind !== "" || this.id !== null) found.changed = true;
        this.kind = "";
        this.id = null;
      }
    }
    return found;
  }
}
