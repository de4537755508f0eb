// Failures of requests, in words that a person can act on.

/** A request that failed: the server refused it, or the server did not answer. */
export class Problem extends Error {
  /** @param {number} status 0: no answer @param {string} code @param {string} message @param {string} suggestion */
  constructor(status, code, message, suggestion) {
    super(message);
    this.status = status;
    this.code = code;
    this.suggestion = suggestion;
  }
}

/**
 * Returns the JSON of a response. Throws a Problem when there is none or when it reports an error.
 * @param {() => Promise<Response>} ask
 * @returns {Promise<any>}
 */
export async function answered(ask) {
  /** @type {Response} */
  let response;
  try {
    response = await ask();
  } catch (error) {
    if (error instanceof Problem) throw error;
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new Problem(0, "NOT_CONNECTED", "The server did not answer.", "Start it: handover up");
  }
  const body = await response.json().catch(() => null);
  if (response.ok && body !== null) return body;
  const code = typeof body?.code === "string" ? body.code : "UNKNOWN";
  const message = body?.message ?? `The server answered with the status ${response.status}.`;
  throw new Problem(response.status, code, String(message), String(body?.suggestion ?? ""));
}

/** @param {unknown} error */
export function told(error) {
  if (error instanceof Problem) return error;
  return new Problem(0, "PAGE_FAILED", error instanceof Error ? error.message : String(error), "Load the page again.");
}

/** Tells whether an error means that this browser has to be connected with `handover open`. @param {unknown} error */
export function isSignedOut(error) {
  return error instanceof Problem && (error.code === "KEY_UNKNOWN" || error.code === "CODE_INVALID");
}
