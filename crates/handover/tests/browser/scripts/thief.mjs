// Programs that agents start on this machine get nothing: neither the next program on the port of the server, nor a
// page on another port.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { expected, isLive, kill, play, serve, signedIn } from "./page.mjs";

/** Starts a web server that answers everything with an empty page and keeps the headers that it gets. */
async function impostor(port) {
  const heard = [];
  let asked;
  const isAsked = new Promise((resolve) => (asked = resolve));
  const server = createServer((request, response) => {
    heard.push(request.headers);
    if (request.url.startsWith("/api/")) asked();
    response.writeHead(200, { "Content-Type": "text/html" }).end("<!doctype html><title>another program</title>");
  });
  await new Promise((resolve, reject) => server.once("error", reject).listen(port, "127.0.0.1", resolve));
  return {
    heard,
    isAsked,
    port: server.address().port,
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Everything that a page finds in the storage of its origin. It runs in the page. */
async function loot() {
  const done = (request) => new Promise((resolve) => (request.onsuccess = () => resolve(request.result)));
  const base64url = (bytes) => btoa(String.fromCharCode(...new Uint8Array(bytes))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  const found = { local: { ...localStorage }, session: { ...sessionStorage }, cookie: document.cookie, keys: [], caches: await caches.keys() };
  for (const { name } of await indexedDB.databases()) {
    const database = await done(indexedDB.open(name));
    for (const store of database.objectStoreNames) {
      for (const { pair, publicKey } of await done(database.transaction(store).objectStore(store).getAll())) {
        const tries = ["jwk", "pkcs8", "raw"].map((format) => crypto.subtle.exportKey(format, pair.privateKey).then(() => format, () => null));
        // The other program can let the key sign, but it does not know a nonce of the server.
        const nonce = "bm9uY2U";
        const text = new TextEncoder().encode(`handover browser token\n${location.origin}\n${nonce}`);
        const signature = base64url(await crypto.subtle.sign({ name: "ECDSA", hash: "SHA-256" }, pair.privateKey, text));
        const exported = (await Promise.all(tries)).filter(Boolean);
        found.keys.push({ exported, isExtractable: pair.privateKey.extractable, proof: { public_key: publicKey, nonce, signature } });
      }
    }
  }
  return found;
}

play(async () => {
  expected.push("ERR_", "CORS", "Failed to load", "frame", "SharedWorker", "401", "MIME type", "status of 404");
  const origin = await serve();
  const { port } = new URL(origin);
  const page = await signedIn();

  // A page on another port, to which the same browser goes.
  const neighbour = await impostor(0);
  const other = await page.context().newPage();
  await other.goto(`http://127.0.0.1:${neighbour.port}/`);
  const got = await other.evaluate(async (address) => {
    const read = (path, options) => fetch(address + path, options).then((answer) => `${answer.status} ${answer.type}`, (error) => error.name);
    const frame = document.body.appendChild(document.createElement("iframe"));
    frame.src = address;
    await new Promise((resolve) => (frame.onload = resolve));
    let inside;
    try {
      inside = frame.contentDocument === null ? "closed" : frame.contentDocument.title;
    } catch (error) {
      inside = error.name;
    }
    return {
      inside,
      now: await read("/api/v1/now", { credentials: "include" }),
      page: await read("/", { credentials: "include" }),
      challenge: await read("/api/v1/browser/challenge", { method: "POST", headers: { "Content-Type": "application/json" }, body: "{}" }),
      plain: await read("/api/v1/browser/challenge", { method: "POST", body: "{}" }),
    };
  }, origin);
  assert.deepEqual(got, { inside: "closed", now: "TypeError", page: "TypeError", challenge: "TypeError", plain: "TypeError" });
  const frame = other.frames().find((each) => each !== other.mainFrame());
  assert.match(frame.url(), /^chrome-error:/, "the page is not shown in a frame");
  assert.deepEqual(await page.context().cookies(), []);
  assert.ok(neighbour.heard.every((headers) => !headers.cookie && !headers.authorization));
  await neighbour.close();

  // The server dies, and another program takes its port.
  await kill();
  const next = await impostor(Number(port));
  const visit = await page.context().newPage();
  await visit.goto(origin);
  assert.equal(await visit.title(), "another program");
  const found = await visit.evaluate(loot);
  assert.deepEqual([found.session, found.cookie, found.caches], [{}, "", []]);
  assert.equal(found.keys.length, 1);
  assert.deepEqual([found.keys[0].exported, found.keys[0].isExtractable], [[], false]);
  // The page of the person tries to connect again, and may show its token to the other program.
  await next.isAsked;
  await next.close();

  const again = await serve({ port });
  const ask = (path, options) => fetch(again + path, options);
  const secrets = [...Object.values(found.local), ...Object.keys(found.local), found.keys[0].proof.public_key];
  for (const headers of next.heard) secrets.push(...Object.values(headers).map((value) => String(value).replace(/^Bearer /, "")));
  for (const secret of new Set(secrets)) {
    const answer = await ask("/api/v1/now", { headers: { Authorization: `Bearer ${encodeURIComponent(secret)}` } });
    const raw = await ask("/api/v1/now", { headers: { Authorization: `Bearer ${secret.replace(/[^\x20-\x7e]/g, "")}` } });
    assert.deepEqual([answer.status, raw.status], [401, 401], `the server accepts ${secret}`);
  }
  const proof = { method: "POST", headers: { "Content-Type": "application/json", Origin: origin }, body: JSON.stringify(found.keys[0].proof) };
  assert.equal((await ask("/api/v1/browser/token", proof)).status, 403);

  // The person's own page is back without a new link.
  await page.goto(origin);
  await isLive(page);
});
