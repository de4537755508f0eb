// Formats numbers and times for people: counts with their nouns, durations, amounts of money. The terminal uses the
// same formats.

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** @param {string} noun in the singular */
function plural(noun) {
  if (/[^aeiou]y$/.test(noun)) return `${noun.slice(0, -1)}ies`;
  return /(s|x|ch|sh)$/.test(noun) ? `${noun}es` : `${noun}s`;
}

/** Returns a number with its noun: `1 task`, `2 tasks`. @param {number} number @param {string} noun */
export function count(number, noun) {
  return `${number.toLocaleString("en")} ${number === 1 ? noun : plural(noun)}`;
}

/** Returns how long ago a time was, in the largest unit that fits: `38 s`, `12 min`. @param {number} ms */
export function age(ms) {
  const past = Math.max(0, ms);
  if (past < MINUTE) return `${Math.floor(past / SECOND)} s`;
  if (past < HOUR) return `${Math.floor(past / MINUTE)} min`;
  return past < DAY ? `${Math.floor(past / HOUR)} h` : `${Math.floor(past / DAY)} d`;
}

/** Returns a duration in its two largest units: `6.4 s`, `4 min 12 s`. @param {number} ms */
export function duration(ms) {
  if (ms < 20 * SECOND) return `${(Math.floor(ms / 100) / 10).toString()} s`;
  if (ms < MINUTE) return `${Math.floor(ms / SECOND)} s`;
  /** @type {[number, string, number, string]} */
  const units =
    ms < HOUR ? [MINUTE, "min", SECOND, "s"] : ms < DAY ? [HOUR, "h", MINUTE, "min"] : [DAY, "d", HOUR, "h"];
  const rest = Math.floor((ms % units[0]) / units[2]);
  const whole = `${Math.floor(ms / units[0])} ${units[1]}`;
  return rest === 0 ? whole : `${whole} ${rest} ${units[3]}`;
}

/** Returns a duration as a stopwatch shows it: `0:48`, `1:02:03`. @param {number} ms */
export function stopwatch(ms) {
  const past = Math.max(0, ms);
  const two = (/** @type {number} */ number) => String(number).padStart(2, "0");
  const [hours, minutes] = [Math.floor(past / HOUR), Math.floor((past % HOUR) / MINUTE)];
  const seconds = two(Math.floor((past % MINUTE) / SECOND));
  return hours === 0 ? `${minutes}:${seconds}` : `${hours}:${two(minutes)}:${seconds}`;
}

/**
 * Returns an amount of money: `$3.12`, `$0.0042` below a cent, `cost unknown` for null.
 * @param {Money} micros
 */
export function cost(micros) {
  if (micros === null || micros === undefined) return "cost unknown";
  const digits = micros === 0 || micros >= 9_950 ? 2 : micros >= 950 ? 4 : micros >= 95 ? 5 : 6;
  return `$${(micros / 1e6).toFixed(digits)}`;
}

/** @param {Money} micros @param {number} unknown the number of turns whose cost is unknown */
export function costs(micros, unknown) {
  if (unknown === 0) return cost(micros);
  return micros ? `${cost(micros)} and ${unknown} of unknown cost` : "cost unknown";
}

const clockFormat = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const dayFormat = new Intl.DateTimeFormat("en-GB", { weekday: "short", day: "numeric", month: "short" });

/** Returns a time of today as `09:41`, and another as `Mon 3 Nov 09:41`. @param {number} at @param {number} now */
export function clock(at, now) {
  const [then, today] = [new Date(at), new Date(now)];
  const time = clockFormat.format(then);
  return then.toDateString() === today.toDateString() ? time : `${day(at)} ${time}`;
}

/** @param {number} at */
export function day(at) {
  return dayFormat.format(new Date(at)).replace(",", "");
}

/** Returns a number of lines, with a real minus sign: `+61 −12`. @param {number} added @param {number} removed */
export function lineCount(added, removed) {
  return `+${added.toLocaleString("en")} −${removed.toLocaleString("en")}`;
}

/** Returns a large number in three digits: `950`, `12.4k`, `3.1M`. @param {number | null} number */
export function short(number) {
  if (number === null) return "unknown";
  if (number < 1_000) return String(number);
  return number < 1e6 ? `${(number / 1e3).toFixed(1)}k` : `${(number / 1e6).toFixed(1)}M`;
}

/** Returns a text as a sentence: with a capital letter and a period. @param {string} text */
export function sentence(text) {
  const whole = text.charAt(0).toUpperCase() + text.slice(1);
  return whole === "" || /[.!?…]$/.test(whole) ? whole : `${whole}.`;
}

/** @param {string | null} hash */
export function shortHash(hash) {
  return (hash ?? "").slice(0, 7);
}
