//! Every limit, with its unit and its reason.

use crate::time::Millis;

/// The default length of a lease. An agent that thinks for long between two calls must not lose its task; users settled
/// on fifteen minutes.
pub const LEASE_MS_DEFAULT: Millis = Millis::minutes(15);
/// The shortest lease. A shorter one could expire before a renewal is written on a slow disk.
pub const LEASE_MS_MIN: Millis = Millis::seconds(1);
/// The longest lease. Leases find dead agents, and no live agent is silent for a day.
pub const LEASE_MS_MAX: Millis = Millis::minutes(24 * 60);
/// The time between two heartbeats that agents are asked for.
pub const HEARTBEAT_MS: Millis = Millis::seconds(30);
/// The shortest time between two stored signs of life, because each one is a durable write.
pub const SEEN_MS: Millis = Millis::seconds(30);
/// The silence after which an agent counts as offline: three missed heartbeats, counted from the last stored sign of
/// life.
pub const OFFLINE_MS: Millis = Millis::seconds(120);
/// The silence after which a connection that no process watches counts as gone. It equals the default lease.
pub const HOME_SILENCE_MS: Millis = Millis::minutes(15);
/// The time after which a forgotten workflow lock expires.
pub const LOCK_MS: Millis = Millis::minutes(15);
/// The time during which a repeated request gets the answer of the first one.
pub const KEY_MS: Millis = Millis::minutes(24 * 60);
/// The time without a new piece after which an unfinished plan is given up.
pub const DRAFT_MS: Millis = Millis::minutes(1);

/// The maximum length of a name, in bytes. Names are shown in lists and matched exactly.
pub const NAME_BYTES_MAX: usize = 512;
/// The maximum length of a role, a capability, a group or a slug, in bytes.
pub const LABEL_BYTES_MAX: usize = 128;
/// The maximum length of a slug, in characters, as the rules page says.
pub const SLUG_CHARS_MAX: usize = 64;
/// The maximum size of one line or paragraph (outcome, error, reason, summary, subject), in bytes.
pub const SUMMARY_BYTES_MAX: usize = 64 * 1024;
/// The maximum size of a description, a message body, or a piece of JSON, in bytes.
pub const TEXT_BYTES_MAX: usize = 512 * 1024;
/// The maximum size of idempotency keys and lock owners, in bytes. Callers choose both.
pub const KEY_BYTES_MAX: usize = 256;
/// The maximum length of a path or a glob, in bytes.
pub const PATH_BYTES_MAX: usize = 4096;

/// The maximum number of tasks in a plan: the size of the largest supported plan.
pub const PLAN_TASKS_MAX: usize = 100_000;
/// The maximum number of dependencies in a plan. Twenty for each task of the largest plan is more than any known plan
/// has.
pub const PLAN_EDGES_MAX: usize = 2_000_000;
/// The maximum number of rows in one piece of a plan. A piece must be written in well under 250 ms, because all other
/// commands wait for it.
pub const PIECE_ROWS_MAX: usize = 3_000;
/// The maximum number of rows that a replan changes. It is one transaction, and no other command may wait long for it.
pub const REPLAN_ROWS_MAX: usize = 10_000;
/// The maximum number of dependencies between open tasks that a replan by an agent looks at. With more, only a person
/// may replan.
pub const OPEN_EDGES_MAX: usize = 200_000;
/// The maximum number of later tasks that an insertion into the middle of a plan moves, in one statement.
pub const SHIFT_TASKS_MAX: u32 = 20_000;
/// The maximum number of dependencies of one task.
pub const DEPENDENCIES_MAX: usize = 1_000;
/// The maximum number of capabilities that a task asks for, or that an agent has.
pub const CAPABILITIES_MAX: usize = 64;
/// The maximum number of globs of one task. Overlap is compared pair by pair.
pub const TOUCHES_MAX: usize = 64;
/// The maximum number of names that a refusal lists. It gives only the number of the rest.
pub const NAMED_MAX: usize = 20;
/// The default and the maximum number of attempts that may end by a crash or an expired lease.
pub const ATTEMPTS_DEFAULT: u32 = 5;
pub const ATTEMPTS_MAX: u32 = 1_000;
/// The maximum parallel limit of a workflow; a larger one would have no effect.
pub const PARALLEL_MAX: u32 = 10_000;
/// The maximum number of claimed tasks with globs in one workflow. Each further claim is compared with all of them.
pub const BUSY_FILES_MAX: usize = 1_000;
/// The maximum number of tasks that one agent may hold.
pub const HELD_TASKS_MAX: usize = 200;
/// The maximum number of agents with one name and runtime that are looked at to find one to resume.
pub const SAME_AGENTS_MAX: usize = 20;
/// The maximum number of agents of one connection.
pub const SESSION_AGENTS_MAX: usize = 200;

/// The maximum number of ready tasks that one page looks at.
pub const CANDIDATES_MAX: usize = 500;
/// The maximum number of pages that one call for work reads before it replies that there is no task. Other commands
/// wait during this time.
pub const CLAIM_PAGES_MAX: u32 = 20;
/// The default and the maximum number of rows of a page.
pub const PAGE_ROWS_DEFAULT: usize = 50;
pub const PAGE_ROWS_MAX: usize = 500;
/// The maximum number of leases that one sweep of one workflow ends.
pub const SWEEP_TASKS_MAX: usize = 100;
/// The maximum number of freed tasks whose ids the event of a completion keeps. The rest are only counted.
pub const FREED_TASKS_MAX: usize = 100;

/// The maximum number of files that a checkpoint or a task names.
pub const FILES_MAX: usize = 1_000;
/// The maximum number of unread messages of one mailbox. A full mailbox refuses new messages, so that none is lost
/// silently.
pub const UNREAD_MAX: u32 = 1_000;
/// The maximum number of recipients of one broadcast.
pub const BROADCAST_MAX: usize = 500;
/// The maximum number of messages that one call marks.
pub const MARKED_MESSAGES_MAX: usize = 500;
/// The maximum number of agents with one role that get the messages for this role.
pub const ROLE_HOLDERS_MAX: usize = 100;
/// The maximum number of repositories of one workflow.
pub const REPOSITORIES_MAX: usize = 100;
/// The maximum number of tokens that are not revoked. Each gives access, so a person must be able to watch them all.
pub const TOKENS_MAX: usize = 500;
/// The time for a decision, and the time to use an approval. After a day the asker has forgotten its request, and a
/// given approval is for an act that is done now.
pub const PENDING_APPROVAL_MS: Millis = Millis::minutes(24 * 60);
pub const APPROVAL_MS: Millis = Millis::minutes(5);
/// The maximum number of approvals that are pending at the same time. A person cannot look at more.
pub const APPROVALS_MAX: usize = 1_000;
/// The silence after which the sender of a notice counts as gone. A sender gives up well before.
pub const NOTICE_SENDING_MS: Millis = Millis::seconds(90);
/// The first and the longest pause before a failed notice is sent again. The pause doubles with each try.
pub const NOTICE_PAUSE_MS: Millis = Millis::seconds(10);
pub const NOTICE_PAUSE_MS_MAX: Millis = Millis::minutes(30);
/// The maximum number of tries to send a notice, which take about three hours. A person who is away for longer finds
/// the approval with `status`.
pub const NOTICE_TRIES_MAX: u32 = 14;
/// The maximum number of notices that are looked at to find one to send.
pub const NOTICES_LOOKED_AT: u32 = 20;
/// The maximum length of the stored reason why a notice could not be sent, in characters.
pub const PROBLEM_CHARS_MAX: usize = 500;
/// The maximum number of approvals that a person is shown at once.
pub const SHOWN_APPROVALS_MAX: usize = 500;
/// The maximum number of gates of one workflow that are open or waited for: as many as approvals can be pending, plus
/// the ones that were just given.
pub const GATES_MAX: u32 = 2_000;
/// The maximum number of gated tasks for which a person is asked in one round.
pub const GATED_TASKS_MAX: u32 = 50;
/// The maximum number of open approvals of one task that are looked at. A task asks for few approvals at once.
pub const OPEN_APPROVALS_LOOKED_AT: u32 = 20;
/// The maximum number of approvals that one sweep ends.
pub const EXPIRED_APPROVALS_MAX: u32 = 100;
/// The maximum number of times that a conversation is sent back at one prompt for its handoff. A runner allows as many
/// repairs.
pub const REMINDERS_MAX: u32 = 2;
/// The maximum number of progress reports in a row. One more means that the agent repeats itself without a result.
pub const GOES_ON_MAX: u32 = 2;
/// The silence after which a conversation counts as ended.
pub const REMINDER_MS: Millis = Millis::minutes(7 * 24 * 60);
/// The maximum number of turns of one task. This ends a loop that no person stops.
pub const TURNS_MAX: u32 = 10_000;
/// The silence after which a runner counts as gone. A live runner gives several signs of life in this time.
pub const RUNNER_MS: Millis = Millis::seconds(30);
/// The maximum number of agents of one runner.
pub const RUNNER_AGENTS_MAX: usize = 500;
/// The default number of rounds of a review that keeps a task from being completed, before a person must look at it.
pub const REVIEW_ROUNDS_DEFAULT: u32 = 5;
/// The maximum number of rounds of any review. More rounds need a new review.
pub const REVIEW_ROUNDS_MAX: u32 = 1_000;
/// The maximum number of findings of one response. No agent answers more.
pub const FOUND_MAX: usize = 200;
/// The maximum number of findings of one review. Each round looks at all of them.
pub const FINDINGS_MAX: u32 = 2_000;
/// The maximum size of a document of the feedback protocol, and so of every text in it, in bytes.
pub const REVIEW_BYTES_MAX: usize = 1 << 20;
/// The maximum number of sections of the project context.
pub const SECTIONS_MAX: usize = 500;
/// The maximum number of variables of a template.
pub const VARIABLES_MAX: usize = 256;

/// The times within which an approval must be decided and used, as the project's settings say.
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
