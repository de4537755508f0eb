// The event stream of all tabs of this browser. A browser has six connections to a server, so that each tab cannot
// have a stream of its own.

import { Feed } from "./feed.js";

/** @type {Set<MessagePort>} */
const ports = new Set();
/** @type {Feed | null} */
let feed = null;

/** @param {FeedState} state @param {boolean} changed */
function tellAll(state, changed) {
  for (const port of ports) port.postMessage({ state, changed });
  // The next tab that follows signs in with the key that `handover open` has enrolled in the meantime.
  if (state.word === "signed out") feed = null;
}

/** @param {MessageEvent} event */
function receive(event) {
  const port = /** @type {MessagePort} */ (event.currentTarget);
  const { kind, after } = event.data;
  if (kind === "leave") ports.delete(port);
  else if (kind === "hurry") feed?.hurry();
  else if (kind === "follow") {
    ports.add(port);
    feed ??= new Feed(after, tellAll);
    // A tab that is behind the stream reads its page again.
    port.postMessage({ state: feed.state, changed: feed.state.cursor !== after });
  }
}

addEventListener("connect", (event) => {
  const port = /** @type {MessageEvent} */ (event).ports[0];
  if (!port) return;
  port.addEventListener("message", receive);
  port.start();
});
