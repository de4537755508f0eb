// Requests to /api/v1. Every request carries the token of session.js. A token that the server no longer accepts is
// renewed once.

import { answered } from "./problem.js";
import { renewedToken, token } from "./session.js";

const WAIT_MS = 30_000;

/**
 * @param {string} method
 * @param {string} path below /api/v1/
 * @param {{ body?: unknown, signal?: AbortSignal }} options
 * @returns {Promise<any>}
 */
function request(method, path, options) {
  const attempt = (/** @type {string} */ bearer) => {
    const headers = new Headers({ Authorization: `Bearer ${bearer}`, Accept: "application/json" });
    if (options.body !== undefined) headers.set("Content-Type", "application/json");
    const limit = AbortSignal.timeout(WAIT_MS);
    return fetch(`/api/v1/${path}`, {
      method,
      headers,
      body: options.body === undefined ? null : JSON.stringify(options.body),
      signal: options.signal ? AbortSignal.any([options.signal, limit]) : limit,
      cache: "no-store",
      credentials: "omit",
    });
  };
  return answered(async () => {
    const first = await attempt(await token());
    return first.status === 401 ? attempt(await renewedToken()) : first;
  });
}

/**
 * Writes a path with its parts encoded: url`tasks/${id}/drop`.
 * @param {TemplateStringsArray} texts @param {...(string | number | null | undefined)} parts
 */
export function url(texts, ...parts) {
  return String.raw({ raw: texts }, ...parts.map((part) => encodeURIComponent(part ?? "")));
}

/** @param {string} path @param {AbortSignal} [signal] */
export function read(path, signal) {
  return request("GET", path, signal ? { signal } : {});
}

/** @param {string} path @param {unknown} [body] */
export function send(path, body = {}) {
  return request("POST", path, { body });
}
