//! Every bound, with its unit and its reason.

use crate::time::Millis;

/// A worker that thinks for long between two calls must not lose its task; fifteen minutes is what users settled on.
pub const LEASE_MS_DEFAULT: Millis = Millis::minutes(15);
/// Below this a renewal could not be written in time on a slow disk.
pub const LEASE_MS_MIN: Millis = Millis::seconds(1);
/// A lease is for dead workers: a day is longer than any sign of life stays away.
pub const LEASE_MS_MAX: Millis = Millis::minutes(24 * 60);
/// What agents are told to wait between two heartbeats.
pub const HEARTBEAT_MS: Millis = Millis::seconds(30);
/// A sign of life is stored at most this often, because each one is a durable write.
pub const SEEN_MS: Millis = Millis::seconds(30);
/// Three heartbeats missed, counted from the last sign that was stored.
pub const OFFLINE_MS: Millis = Millis::seconds(120);
/// A connection that nothing watches counts as gone after so long without a call: as long as a lease lasts by default.
pub const HOME_SILENCE_MS: Millis = Millis::minutes(15);
/// A forgotten workflow lock opens by itself.
pub const LOCK_MS: Millis = Millis::minutes(15);
/// How long a repeated request is answered from the first one.
pub const KEY_MS: Millis = Millis::minutes(24 * 60);
/// A plan that stopped half-way is given up after a minute without a piece.
pub const DRAFT_MS: Millis = Millis::minutes(1);

/// Names are shown in lists and matched exactly.
pub const NAME_BYTES_MAX: usize = 512;
/// A role, a capability, a group, a slug.
pub const LABEL_BYTES_MAX: usize = 128;
/// A slug, as on the rules page.
pub const SLUG_CHARS_MAX: usize = 64;
/// One line or paragraph: outcome, error, reason, summary, subject.
pub const SUMMARY_BYTES_MAX: usize = 64 * 1024;
/// A description, a message body, a piece of JSON.
pub const TEXT_BYTES_MAX: usize = 512 * 1024;
/// Idempotency keys and lock owners are chosen by callers.
pub const KEY_BYTES_MAX: usize = 256;
/// A path or a glob.
pub const PATH_BYTES_MAX: usize = 4096;

/// The size of the largest plan we are asked to take.
pub const PLAN_TASKS_MAX: usize = 100_000;
/// Twenty dependencies for each task of the largest plan is past any plan seen.
pub const PLAN_EDGES_MAX: usize = 2_000_000;
/// Rows of one piece of a plan: a piece must be written in well under 250 ms, because all others wait for it.
pub const PIECE_ROWS_MAX: usize = 3_000;
/// A replan is one transaction that nobody else may wait long for.
pub const REPLAN_ROWS_MAX: usize = 10_000;
/// Dependencies between open tasks that a replan by an agent looks at; with more, a person replans.
pub const OPEN_EDGES_MAX: usize = 200_000;
/// Inserting in the middle moves all later tasks in one statement.
pub const SHIFT_TASKS_MAX: u32 = 20_000;
/// Dependencies of one task.
pub const DEPENDENCIES_MAX: usize = 1_000;
/// Capabilities a task asks for or an agent has.
pub const CAPABILITIES_MAX: usize = 64;
/// Globs of one task; overlap is compared pair by pair.
pub const TOUCHES_MAX: usize = 64;
/// How many names a refusal lists before it says how many more there are.
pub const NAMED_MAX: usize = 20;
/// Attempts that may end by a crash or an expired lease.
pub const ATTEMPTS_DEFAULT: u32 = 5;
pub const ATTEMPTS_MAX: u32 = 1_000;
/// A ceiling above which a parallel limit means nothing.
pub const PARALLEL_MAX: u32 = 10_000;
/// Claimed tasks with globs in one workflow, all of which each further claim is compared with.
pub const BUSY_FILES_MAX: usize = 1_000;
/// Tasks one agent may hold.
pub const HELD_TASKS_MAX: usize = 200;
/// Agents with one name and runtime that are looked at for one to resume.
pub const SAME_AGENTS_MAX: usize = 20;
/// Agents of one connection.
pub const SESSION_AGENTS_MAX: usize = 200;

/// How many ready tasks one page looks at.
pub const CANDIDATES_MAX: usize = 500;
/// Pages one call for work goes through before it says that there is none: others wait meanwhile.
pub const CLAIM_PAGES_MAX: u32 = 20;
/// Rows of a page, unless asked otherwise, and at most.
pub const PAGE_ROWS_DEFAULT: usize = 50;
pub const PAGE_ROWS_MAX: usize = 500;
/// Leases ended by one sweep of one workflow.
pub const SWEEP_TASKS_MAX: usize = 100;
/// Ids of freed tasks kept in the event of a completion; the rest are counted.
pub const FREED_TASKS_MAX: usize = 100;

/// Files a checkpoint or a task names.
pub const FILES_MAX: usize = 1_000;
/// Unread messages of one mailbox: a full mailbox refuses, so that nothing is lost silently.
pub const UNREAD_MAX: u32 = 1_000;
/// Recipients of one broadcast.
pub const BROADCAST_MAX: usize = 500;
/// Messages marked by one call.
pub const MARKED_MESSAGES_MAX: usize = 500;
/// Agents who hold one role and get what is routed to it.
pub const ROLE_HOLDERS_MAX: usize = 100;
/// Repositories of one workflow.
pub const REPOSITORIES_MAX: usize = 100;
/// Tokens that are not revoked: each is a way in that somebody must keep an eye on.
pub const TOKENS_MAX: usize = 500;
/// A pending approval is forgotten by its asker after a day; an approval that is given is for what is done now.
pub const PENDING_APPROVAL_MS: Millis = Millis::minutes(24 * 60);
pub const APPROVAL_MS: Millis = Millis::minutes(5);
/// Approvals that wait at once: a person cannot look at more.
pub const APPROVALS_MAX: usize = 1_000;
/// A sender of a notice that was not heard of for so long is gone; sending is given up well before.
pub const NOTICE_SENDING_MS: Millis = Millis::seconds(90);
/// What cannot be sent is tried again after a pause that doubles, up to a longest one.
pub const NOTICE_PAUSE_MS: Millis = Millis::seconds(10);
pub const NOTICE_PAUSE_MS_MAX: Millis = Millis::minutes(30);
/// About three hours; whoever was away longer finds it with `status`.
pub const NOTICE_TRIES_MAX: u32 = 14;
/// Notices that are looked at for one to send.
pub const NOTICES_LOOKED_AT: u32 = 20;
/// What is kept of why a notice could not be sent.
pub const PROBLEM_CHARS_MAX: usize = 500;
/// Approvals a person is shown at once.
pub const SHOWN_APPROVALS_MAX: usize = 500;
/// Gates of one workflow that are open or waited for: as many as approvals can wait, and those that were just given.
pub const GATES_MAX: u32 = 2_000;
/// Gated tasks for which a person is asked in one round.
pub const GATED_TASKS_MAX: u32 = 50;
/// One task asks for few things at once.
pub const OPEN_APPROVALS_LOOKED_AT: u32 = 20;
/// Approvals ended by one sweep.
pub const EXPIRED_APPROVALS_MAX: u32 = 100;
/// Times a conversation is sent back at one prompt for its handoff, as a runner repairs.
pub const REMINDERS_MAX: u32 = 2;
/// Reports of progress in a row; the next one means that the agent goes in circles.
pub const GOES_ON_MAX: u32 = 2;
/// A conversation that was not heard of for so long is not going on.
pub const REMINDER_MS: Millis = Millis::minutes(7 * 24 * 60);
/// Turns of one task: a loop that nobody stops ends here.
pub const TURNS_MAX: u32 = 10_000;
/// A runner that was not heard of for so long is gone: it shows itself several times as often.
pub const RUNNER_MS: Millis = Millis::seconds(30);
/// Agents one runner works.
pub const RUNNER_AGENTS_MAX: usize = 500;
/// Rounds of a review that keeps a task from being completed, before a person has to look.
pub const REVIEW_ROUNDS_DEFAULT: u32 = 5;
/// A review that goes on for longer is another one.
pub const REVIEW_ROUNDS_MAX: u32 = 1_000;
/// Findings of one response: nobody answers more.
pub const FOUND_MAX: usize = 200;
/// Findings of one review, all of which each round looks at.
pub const FINDINGS_MAX: u32 = 2_000;
/// A document of the feedback protocol is no larger, so that no text in it is.
pub const REVIEW_BYTES_MAX: usize = 1 << 20;
/// Sections of the project context.
pub const SECTIONS_MAX: usize = 500;
/// Variables of a template.
pub const VARIABLES_MAX: usize = 256;

/// How long an approval can be decided and used, as the project's settings say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lifetimes {
    /// From the request until a person decides.
    pub pending: Millis,
    /// From the decision until it is used.
    pub approved: Millis,
}

impl Default for Lifetimes {
    fn default() -> Self {
        Self { pending: PENDING_APPROVAL_MS, approved: APPROVAL_MS }
    }
}
