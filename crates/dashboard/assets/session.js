// The session of this browser. A key that cannot be exported stands in IndexedDB; its public half is enrolled once with
// the code of `handover open`. Each visit signs a nonce of the server and gets a token, which is kept in memory only.

import { Problem, answered } from "./problem.js";

const DATABASE = "handover";
const STORE = "keys";
const KEY = "browser";
/** The time before its end at which a token is renewed. */
const MARGIN_MS = 30_000;

/** @type {{ text: string, until: number } | null} */
let held = null;
/** @type {Promise<string> | null} */
let signing = null;

/** @returns {Promise<IDBDatabase>} */
function database() {
  return new Promise((resolve, reject) => {
    const opening = indexedDB.open(DATABASE, 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore(STORE);
    opening.onsuccess = () => resolve(opening.result);
    opening.onerror = () => reject(opening.error);
  });
}

/**
 * @template T
 * @param {IDBTransactionMode} mode
 * @param {(store: IDBObjectStore) => IDBRequest<T>} act
 * @returns {Promise<T>}
 */
async function inStore(mode, act) {
  const opened = await database();
  try {
    return await new Promise((resolve, reject) => {
      const transaction = opened.transaction(STORE, mode);
      const done = act(transaction.objectStore(STORE));
      transaction.oncomplete = () => resolve(done.result);
      transaction.onerror = () => reject(transaction.error);
      transaction.onabort = () => reject(transaction.error);
    });
  } finally {
    opened.close();
  }
}

/** @param {ArrayBuffer} bytes base64url without padding */
function base64url(bytes) {
  const binary = String.fromCharCode(...new Uint8Array(bytes));
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** Returns a name for this browser, such as `Firefox on Linux`. */
function browserName() {
  const find = (/** @type {string[]} */ names) => names.find((name) => navigator.userAgent.includes(name));
  const browser = find(["Edg", "Firefox", "Chrome", "Safari"])?.replace("Edg", "Edge") ?? "Browser";
  return `${browser} on ${find(["Android", "iPhone", "iPad", "Mac", "Windows", "Linux"]) ?? "this machine"}`;
}

/** @param {string} path @param {unknown} body */
function post(path, body) {
  return answered(() =>
    fetch(`/api/v1/browser/${path}`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
      cache: "no-store",
      credentials: "omit",
    }),
  );
}

/**
 * Enrols the key of this browser with the one-time code of a link. A browser that was connected before keeps its key, so
 * that the list of browsers names it once. Only a revoked key is replaced.
 * @param {string} code
 */
export async function enrol(code) {
  if (!crypto.subtle)
    throw new Problem(0, "NOT_SECURE", "This address cannot keep a key.", "Open the page on 127.0.0.1.");
  /** @type {BrowserKey | undefined} */
  const known = await inStore("readonly", (store) => store.get(KEY));
  if (known) {
    try {
      await post("keys", { code, public_key: known.publicKey, name: browserName() });
      held = null;
      return;
    } catch (error) {
      if (!(error instanceof Problem) || error.code !== "KEY_UNKNOWN") throw error;
    }
  }
  const pair = await crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, false, ["sign"]);
  const publicKey = base64url(await crypto.subtle.exportKey("raw", pair.publicKey));
  await post("keys", { code, public_key: publicKey, name: browserName() });
  held = null;
  await inStore("readwrite", (store) => store.put({ pair, publicKey }, KEY));
}

/** @returns {Promise<string>} */
async function sign() {
  /** @type {BrowserKey | undefined} */
  const key = await inStore("readonly", (store) => store.get(KEY));
  if (!key)
    throw new Problem(403, "KEY_UNKNOWN", "This browser is not connected yet.", "In your terminal: handover open");
  const { nonce } = await post("challenge", {});
  const text = new TextEncoder().encode(`handover browser token\n${location.origin}\n${nonce}`);
  const signature = await crypto.subtle.sign({ name: "ECDSA", hash: "SHA-256" }, key.pair.privateKey, text);
  const answer = await post("token", { public_key: key.publicKey, nonce, signature: base64url(signature) });
  // The clock of the server can differ from ours, and a token has 15 minutes. A refused token is renewed anyway.
  held = { text: answer.token, until: answer.expires_at };
  return answer.token;
}

export async function token() {
  if (held && Date.now() < held.until - MARGIN_MS) return held.text;
  return renewedToken();
}

/** Signs in again. Several requests that need a token at the same time share one signature. */
export function renewedToken() {
  held = null;
  signing ??= sign().finally(() => (signing = null));
  return signing;
}
