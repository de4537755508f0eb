// Types that several modules use, mostly the answers of /api/v1. Times are milliseconds since 1970. An amount of money
// is given in millionths of a dollar; null means that nobody knows it.

type Money = number | null;

interface Act {
  name: string;
  command: string;
}

interface Item {
  name: string;
  kind: string;
  title: string;
  detail: string;
  task: number | null;
  task_id: string | null;
  task_name: string | null;
  since: number;
  behind: number;
  stops_agents: boolean;
  put_off_until: number | null;
  subject: {
    approval_id: string | null;
    message_id: string | null;
    review_id: string | null;
    workflow_id: string | null;
    agent: string | null;
  };
  text: string | null;
  acts: Act[];
}

interface MergeRow {
  task: number | null;
  task_id: string | null;
  workflow_id: string;
  name: string;
  agent: string | null;
  check: string;
  why: string | null;
  files: number;
  added: number;
  removed: number;
  usd_micros: Money;
  since: number;
  tree: string | null;
}

interface RunningRow {
  task: number;
  task_id: string;
  name: string;
  agent: string;
  since: number;
  doing: string | null;
  usd_micros: Money;
  turn_id: string | null;
}

interface ReadyRow {
  task: number;
  task_id: string;
  name: string;
  after: number[];
}

interface DoneRow {
  task: number;
  task_id: string;
  name: string;
  merged_at: number | null;
  usd_micros: Money;
}

/** An item that was settled a moment ago, and by whom. The server may leave the list out. */
interface Settled {
  name: string;
  words: string;
}

interface Now {
  cursor: string;
  at: number;
  viewer: { scope: string; decides: boolean };
  project: { name: string; branch: string | null; commit: string | null };
  repositories: { name: string; needs: number }[];
  runner: { alive: boolean };
  agents: { slug: string; state: string }[];
  check: { command: string; state: string; ms?: number | null } | null;
  any_task: boolean;
  last: { task: number | null; name: string; merged_at: number } | null;
  items: Item[];
  merge: MergeRow[];
  running: RunningRow[];
  ready: ReadyRow[];
  stalled: { workflow_id: string; name: string; words: string }[];
  done: { count: number; merged: number; usd_micros: Money; unknown_cost: number; rows: DoneRow[] };
  settled?: Settled[];
}

interface MergePlan {
  target: string;
  message: string;
  files: { path: string; added: number; removed: number }[];
  tree: string;
  moved: number;
  checked: string;
  dirty: string[];
  conflict: string[];
  command: string;
  seconds: number | null;
}

interface Turn {
  id: string;
  number: number;
  agent: string;
  purpose: string | null;
  started: number;
  ended_at: number | null;
  end: string | null;
  reason: string | null;
  usd_micros: Money;
  tokens_in: number | null;
  tokens_out: number | null;
  ms: number | null;
  conversation: string | null;
  task?: number | null;
  task_id?: string | null;
  task_name?: string | null;
}

interface Check {
  /** The number by which the server finds the output. */
  verification: number;
  try: number;
  command: string;
  ok: boolean;
  /** How the check ended, such as `exited with 1`. */
  how: string;
  exit_code: number | null;
  ms: number;
  runs: number;
  tree: string | null;
  commit: string | null;
  at: number;
  tail: string[];
}

interface Finding {
  id: string;
  path?: string | null;
  line?: number | null;
  aspect: string;
  text: string;
  recommendation: string | null;
  state: string;
}

interface TaskPage {
  task: {
    number: number;
    id: string;
    name: string;
    description: string | null;
    goal: string | null;
    acceptance_criteria: string[];
    status: string;
    state: string;
    plan: string | null;
    workflow_id: string;
    role: string | null;
  };
  agent: string | null;
  tries: number;
  ms: number;
  usd_micros: Money;
  base: { branch: string | null; commit: string | null } | null;
  branch: string | null;
  outcome: string | null;
  check: { word: string; why: string | null } | null;
  moved?: number;
  tree: string | null;
  can: string[];
  item: Item | null;
  turns: Turn[];
  checks: Check[];
  not_seen: { code: string; text: string }[];
  checkpoints: { at: number; by: string; summary: string }[];
  findings: Finding[];
  messages: { id: string; from: string; at: number; text: string; kind: string }[];
}

interface DiffLine {
  kind: "same" | "add" | "remove";
  old: number | null;
  new: number | null;
  text: string;
}

interface Hunk {
  old_start: number;
  new_start: number;
  heading: string | null;
  lines: DiffLine[];
}

interface DiffFile {
  path: string;
  old_path: string | null;
  status: string;
  added: number;
  removed: number;
  binary: boolean;
  cut: boolean;
  hunks: Hunk[];
}

interface Diff {
  from: string | null;
  to: string | null;
  tree: string | null;
  cut: boolean;
  files: DiffFile[];
}

/** A comment of the person on a line, which is sent back with the work. */
interface Note {
  path: string;
  line: number;
  text: string;
  /** The removed line that the comment is about. */
  quote?: string | undefined;
}

interface TranscriptLine {
  kind: "text" | "tool" | "result" | "error" | "stderr" | "warning";
  text: string;
  title: string | null;
  detail: string[];
  ok: boolean | null;
  at: number | null;
}

interface Approval {
  id: string;
  status: string;
  source: string;
  asked_by: string;
  task_id: string | null;
  attempt: number | null;
  operation: string;
  exact_content: string;
  scope: string;
  directory: string;
  risk_level: string;
  rollback: string;
  verification: string;
  fingerprint: string;
  asked_at: number;
  expires_at: number | null;
  decided_by: string | null;
  decided_at: number | null;
  used_at: number | null;
  reason: string | null;
  before?: string[];
  undo?: string | null;
  states?: { done?: number | { at: number; words: string } | null };
  agent?: string | null;
  branch?: string | null;
  why?: string | null;
  task?: number | null;
  task_name?: string | null;
}

interface SpendRow {
  key: string;
  name: string;
  usd_micros: Money;
  unknown_turns: number;
  turns: number;
  tokens_in: number | null;
  tokens_out: number | null;
  ms: number;
}

interface Spend {
  rows: SpendRow[];
  total: SpendRow;
}

interface Graph {
  ids: string[];
  numbers: number[];
  names: string[];
  states: string[];
  layers: number[];
  agents: (string | null)[];
  edges: [number, number][];
  cursor: string;
}

interface Plan {
  id: string;
  name: string;
  status: string;
  plan_summary: string | null;
  total_tasks: number;
  open_tasks: number;
  created_at: number | string;
}

interface Agent {
  id: string;
  slug: string;
  name: string;
  runtime: string;
  role: string;
  status: string;
  current_task_id: string | null;
  last_heartbeat: number | string | null;
}

/**
 * What keys of the keyboard do, in words, and the act. Without an act, a key clicks the control of the current
 * row that has the key as its `data-key`.
 */
interface KeyAct {
  words: string;
  act?: (key: string) => void;
}

/**
 * One page of the dashboard. `name` is its place in the navigation. `refresh` reads its data again. `drawn` is called
 * after each drawing, `close` when another page opens.
 */
interface Page {
  name: string;
  title: () => string;
  view: () => unknown;
  refresh?: () => Promise<void>;
  /** The shortest time between two readings of a page with much data. */
  gap?: number;
  drawn?: () => void;
  close?: () => void;
  /** Tells whether something that the person wrote would be lost. */
  leave?: () => boolean;
  keys?: Record<string, KeyAct>;
}

/**
 * What a page has to know about the event stream. `cursor` is the position of the newest event. `since` is the time at
 * which the connection was lost.
 */
interface FeedState {
  word: "connecting" | "live" | "lost" | "signed out";
  since: number;
  cursor: string | null;
}

/** Receives the state of the event stream. `changed` tells that there was an event. */
type FeedListener = (state: FeedState, changed: boolean) => void;

/** An item that was settled a moment ago. `index` is the place in the list at which it stood. */
interface SettledItem {
  name: string;
  title: string;
  words: string;
  index: number;
  undo?: (() => void) | undefined;
}

/** A task of a plan, with the numbers of the tasks for which it waits. */
interface PlanTask {
  task: number;
  task_id: string;
  name: string;
  state: string;
  agent: string | null;
  after: number[];
}

/** A failed request, as the class of problem.js. */
type RequestProblem = import("./problem.js").Problem;

/** The key of this browser, as IndexedDB keeps it. */
interface BrowserKey {
  pair: CryptoKeyPair;
  publicKey: string;
}

/** How a button looks that changes something, and its name for a screen reader. */
interface ActOptions {
  kind?: "primary" | "plain" | "quiet";
  off?: boolean;
  shortcut?: string;
  name?: string;
}

/**
 * A question to the person whose answer is a text. `key` names the thing that is acted on. `above` stands above the
 * text, which may be empty when `optional`.
 */
interface TextQuestion {
  key: string;
  title: string;
  ask?: string;
  button?: string;
  note: string;
  above?: unknown;
  optional?: boolean;
  work: (text: string) => Promise<unknown>;
  done?: (() => void) | undefined;
}

/** One merge in the merge dialog. */
interface MergeStep {
  subject: MergeSubject;
  plan: MergePlan | null;
  problem: RequestProblem | null;
  state: "asked" | "merging" | "merged";
}

/** A line of a conversation, and the result when it is a tool call. */
interface TranscriptEntry {
  said: TranscriptLine;
  result?: TranscriptLine;
}

/** A stretch of time in the picture of the timeline. */
interface TimeStretch {
  from: number;
  to: number;
  x: number;
  width: number;
}

/** What is merged: a task, or the branch of a plan. */
interface MergeSubject {
  task_id: string | null;
  task: number | null;
  workflow_id: string;
  name: string;
}
