// Connects this tab to the one event stream of the browser. A shared worker has the stream. A browser without shared
// workers chooses one tab by a lock; this tab has the stream and passes on what it reads.

import { Feed } from "./feed.js";

const WORKER = "/assets/stream-worker.js";
const CHANNEL = "handover-stream";

/** Tries to reconnect at once. */
let hurry = () => {};

/** @param {string} after @param {FeedListener} listener */
function followWorker(after, listener) {
  // This policy accepts the one script of our worker and nothing else.
  const types = /** @type {any} */ (window).trustedTypes;
  const policy = types?.createPolicy("handover-worker", {
    createScriptURL: (/** @type {string} */ url) => {
      if (url !== WORKER) throw new TypeError("not the script of our worker");
      return url;
    },
  });
  const worker = new SharedWorker(policy ? policy.createScriptURL(WORKER) : WORKER, {
    type: "module",
    name: "handover",
  });
  const join = () => worker.port.postMessage({ kind: "follow", after });
  worker.onerror = () => {
    worker.onerror = null;
    followByLock(after, listener);
  };
  worker.port.onmessage = (event) => {
    after = event.data.state.cursor ?? after;
    listener(event.data.state, event.data.changed);
  };
  join();
  addEventListener("pagehide", () => worker.port.postMessage({ kind: "leave" }));
  addEventListener("pageshow", (event) => {
    if (event.persisted) join();
  });
  hurry = () => worker.port.postMessage({ kind: "hurry" });
}

/** @param {string} after @param {FeedListener} listener */
function followByLock(after, listener) {
  const channel = new BroadcastChannel(CHANNEL);
  /** @type {FeedState | null} */
  let newest = null;
  /** @type {Feed | null} */
  let own = null;
  channel.onmessage = (event) => {
    if (event.data.hello) {
      if (own) channel.postMessage({ state: own.state, changed: own.state.cursor !== event.data.after });
      return;
    }
    newest = event.data.state;
    listener(event.data.state, event.data.changed);
  };
  channel.postMessage({ hello: true, after });
  // The tab that gets the lock keeps it until it is closed. Then the next tab continues after the newest event.
  const lead = () =>
    new Promise(() => {
      own = new Feed(newest?.cursor ?? after, (state, changed) => {
        channel.postMessage({ state, changed });
        listener(state, changed);
      });
      hurry = () => own?.hurry();
      listener(own.state, false);
    });
  if (navigator.locks) void navigator.locks.request(CHANNEL, lead);
  else void lead();
}

/** @param {string} after @param {FeedListener} listener */
export function follow(after, listener) {
  try {
    followWorker(after, listener);
  } catch {
    followByLock(after, listener);
  }
  const hurryWhenSeen = () => {
    if (!document.hidden) hurry();
  };
  document.addEventListener("visibilitychange", hurryWhenSeen);
  addEventListener("online", () => hurry());
}
