//! Every limit of the engine, with its unit, its reason, and the effect of exceeding it.

use crate::time::Millis;

/// The default length of a lease. An agent that thinks for a long time between two calls must not lose its task.
/// Fifteen minutes are long enough for that.
pub const LEASE_MS_DEFAULT: Millis = Millis::minutes(15);
/// The shortest lease that a workflow may have. A shorter lease could expire before its renewal is written to a slow
/// disk.
pub const LEASE_MS_MIN: Millis = Millis::seconds(1);
/// The longest lease that a workflow may have. A live agent is never silent for a day, so a longer lease would only
/// delay the discovery that an agent is dead.
pub const LEASE_MS_MAX: Millis = Millis::minutes(24 * 60);
/// The time between two heartbeats (signs of life). Agents are asked to send a heartbeat this often.
pub const HEARTBEAT_MS: Millis = Millis::seconds(30);
/// The shortest time between two stored signs of life of an agent. Signs of life in between are not stored, because
/// each of them would cost a write to disk.
pub const SEEN_MS: Millis = Millis::seconds(30);
/// An agent that is silent for this time counts as offline: the time of three heartbeats plus `SEEN_MS`. `SEEN_MS` is
/// added because the agent's last sign of life may be that much newer than the stored one.
pub const OFFLINE_MS: Millis = Millis::seconds(120);
/// A connection counts as gone when no process watches it and its agent is silent for this time. The time equals the
/// default lease.
pub const HOME_SILENCE_MS: Millis = Millis::minutes(15);
/// The time after which the lock of a workflow expires unless it is renewed.
pub const LOCK_MS: Millis = Millis::minutes(15);
/// The time for which an answer is stored under its idempotency key. A later call with the same key runs as a new
/// call.
pub const KEY_MS: Millis = Millis::minutes(24 * 60);
/// When the author of an unfinished plan sends no further tasks for this time, another caller may replace the plan.
pub const DRAFT_MS: Millis = Millis::minutes(1);

/// The maximum length of a name, in bytes. Longer names are refused, because a list shows the whole name, and a rule
/// compares the whole name.
pub const NAME_BYTES_MAX: usize = 512;
/// The maximum length of a role, a capability, a runtime or another short label, in bytes. Longer labels are refused.
pub const LABEL_BYTES_MAX: usize = 128;
/// The maximum length of a slug (the short name of an agent), in characters. Longer slugs are refused.
pub const SLUG_CHARS_MAX: usize = 64;
/// The maximum size of a line or a paragraph (outcome, error, reason, summary, subject), in bytes. Longer texts are
/// refused.
pub const SUMMARY_BYTES_MAX: usize = 64 * 1024;
/// The maximum size of a description, a message body, or a JSON value, in bytes. Larger values are refused.
pub const TEXT_BYTES_MAX: usize = 512 * 1024;
/// The maximum size of an idempotency key or a lock owner, in bytes; longer texts are refused. The limit is necessary
/// because callers choose these two texts freely.
pub const KEY_BYTES_MAX: usize = 256;
/// The maximum length of a path or a glob, in bytes. Longer paths and globs are refused.
pub const PATH_BYTES_MAX: usize = 4096;

/// The maximum number of conditions (facts about the project that need a person) that may exist at the same time. A
/// person reads all of them on one page.
pub const CONDITIONS_MAX: u32 = 200;

/// The maximum number of remarks with which a task is sent back. This is enough, because one person writes the remarks
/// and the agent reads all of them.
pub const SEND_BACK_NOTES_MAX: usize = 200;

/// The maximum number of tasks in a plan. A larger plan is refused.
pub const PLAN_TASKS_MAX: usize = 100_000;
/// The maximum number of dependencies in a plan; a plan with more is refused. The largest plan has 100,000 tasks, so
/// this is twenty dependencies for each task. No known plan has that many.
pub const PLAN_EDGES_MAX: usize = 2_000_000;
/// The maximum number of rows in one piece of a plan; a larger plan is split into several pieces, each with some of the
/// tasks. A piece must be written in well under 250 ms, because all other commands wait while the piece is written.
pub const PIECE_ROWS_MAX: usize = 3_000;
/// The maximum number of rows that a replan (a change of a workflow's plan) changes; a larger replan is refused. A
/// replan is one transaction, and other commands must not wait long for it.
pub const REPLAN_ROWS_MAX: usize = 10_000;
/// The maximum number of dependencies between open tasks that are read when an agent changes the plan of a workflow. If
/// there are more, only a person may change the plan.
pub const OPEN_EDGES_MAX: usize = 200_000;
/// The maximum number of later tasks that are moved when a task is inserted into the middle of a plan. An insertion
/// that would move more tasks is refused, because one statement moves all these tasks.
pub const SHIFT_TASKS_MAX: u32 = 20_000;
/// The maximum number of dependencies of one task. A task with more dependencies is refused.
pub const DEPENDENCIES_MAX: usize = 1_000;
/// The maximum number of capabilities that a task asks for, or that an agent has. More capabilities are refused.
pub const CAPABILITIES_MAX: usize = 64;
/// The maximum number of globs (patterns of the files that a task changes) of one task. More globs are refused, because
/// each glob is compared with every glob of the other claimed tasks.
pub const TOUCHES_MAX: usize = 64;
/// The maximum number of names that a refusal lists. Further names are only counted.
pub const NAMED_MAX: usize = 20;
/// `ATTEMPTS_DEFAULT` is the default for the number of attempts that may end by a crash or an expired lease before the
/// task fails. `ATTEMPTS_MAX` is the highest number that a plan may set for a task.
pub const ATTEMPTS_DEFAULT: u32 = 5;
pub const ATTEMPTS_MAX: u32 = 1_000;
/// The highest value of a workflow's limit for parallel work. A higher value is refused.
pub const PARALLEL_MAX: u32 = 10_000;
/// The maximum number of claimed tasks with globs (patterns of the files that the tasks change) in one workflow. A
/// further claim of a task with globs is refused, because its globs would be compared with the globs of too many
/// claimed tasks.
pub const BUSY_FILES_MAX: usize = 1_000;
/// The maximum number of tasks that one agent may hold. A further claim is refused.
pub const HELD_TASKS_MAX: usize = 200;
/// The maximum number of agents with one name and runtime that a registration reads to find the agent to resume. The
/// registration reads the agents that registered last. It does not find older agents.
pub const SAME_AGENTS_MAX: usize = 20;
/// The maximum number of agents of one connection. A further registration is refused, unless several clients share the
/// connection.
pub const SESSION_AGENTS_MAX: usize = 200;

/// The maximum number of ready tasks that are read for one page of claimable tasks.
pub const CANDIDATES_MAX: usize = 500;
/// The maximum number of pages of claimable tasks that the command `claim_next` reads, because other commands wait
/// while it reads. If no page has a task for the agent, the reply says that there is no task.
pub const CLAIM_PAGES_MAX: u32 = 20;
/// The default and the maximum for the number of rows in one page of a list.
pub const PAGE_ROWS_DEFAULT: usize = 50;
pub const PAGE_ROWS_MAX: usize = 500;
/// A sweep is the command that ends the expired leases of a workflow. This is the maximum number of leases that one
/// sweep ends; the next sweep ends the remaining ones.
pub const SWEEP_TASKS_MAX: usize = 100;
/// The event of a completed task lists the tasks that can begin now. This is the maximum number of ids in that list;
/// further tasks are only counted.
pub const FREED_TASKS_MAX: usize = 100;

/// The maximum number of files that a checkpoint or a task names. More files are refused.
pub const FILES_MAX: usize = 1_000;
/// The maximum number of unread messages of one mailbox. A full mailbox refuses new messages, so that a sender learns
/// that its message did not arrive.
pub const UNREAD_MAX: u32 = 1_000;
/// The maximum number of recipients of one broadcast. A broadcast that matches more agents is refused.
pub const BROADCAST_MAX: usize = 500;
/// The maximum number of messages that one call marks as read. A call with more messages is refused.
pub const MARKED_MESSAGES_MAX: usize = 500;
/// The maximum number of agents with one role that get a message for this role. Further agents with the role get no
/// message.
pub const ROLE_HOLDERS_MAX: usize = 100;
/// The maximum number of repositories of one workflow. More repositories are refused.
pub const REPOSITORIES_MAX: usize = 100;
/// The maximum number of tokens that are not revoked; a further token is refused. Each token gives access, so a person
/// must be able to watch all of them.
pub const TOKENS_MAX: usize = 500;
/// The time in which a one-time code can enrol a browser. A person opens the link with the code at once, and a code in an
/// old screen or log must be worthless.
pub const ENROLMENT_CODE_MS: Millis = Millis::seconds(60);
/// The time without a use after which a browser's key becomes invalid. A person who looks at the page once a month
/// connects the browser only once.
pub const BROWSER_KEY_MS: Millis = Millis::minutes(30 * 24 * 60);
/// The shortest time between two records of a use of a browser's key. An open page uses its key every few minutes, and
/// the key is valid for days, so a write for each use is not needed.
pub const KEY_USE_MS: Millis = Millis::minutes(60);
/// `PENDING_APPROVAL_MS` is the default time in which a person can decide about a request for an approval. After this
/// time, the asker no longer needs the answer. `APPROVAL_MS` is the default time in which the asker can use a given
/// approval. It is short, because an approval is meant for an act that the asker does immediately.
pub const PENDING_APPROVAL_MS: Millis = Millis::minutes(24 * 60);
pub const APPROVAL_MS: Millis = Millis::minutes(5);
/// The maximum number of pending approvals. A further request is refused, because a person cannot look at more pending
/// approvals.
pub const APPROVALS_MAX: usize = 1_000;
/// The time after which a sender that took a notice (a message to a person about a pending approval) counts as gone,
/// and another sender may take the notice. A live sender gives up its try well before that time.
pub const NOTICE_SENDING_MS: Millis = Millis::seconds(90);
/// `NOTICE_PAUSE_MS` is the pause after the first failed try to send a notice (a message to a person about a pending
/// approval). The pause doubles with each failed try. `NOTICE_PAUSE_MS_MAX` is the longest pause.
pub const NOTICE_PAUSE_MS: Millis = Millis::seconds(10);
pub const NOTICE_PAUSE_MS_MAX: Millis = Millis::minutes(30);
/// The maximum number of tries to send a notice (a message to a person about a pending approval), which take about
/// three hours. After the last try, Handover does not try to send the notice again. A person who is away for longer
/// finds the approval with the command `status`.
pub const NOTICE_TRIES_MAX: u32 = 14;
/// The maximum number of due notices (messages to people about pending approvals) that are read to find a notice to
/// send.
pub const NOTICES_LOOKED_AT: u32 = 20;
/// The shortest time between two notices about items (things that need a person). One notice reports all items that
/// appeared since the last notice.
pub const ITEM_NOTICE_PAUSE_MS: Millis = Millis::minutes(1);
/// The minimum time for which the store remembers that people were told about an item (a thing that needs a person).
/// After this time, the store forgets the item if a process no longer sees it. The store does not forget it earlier,
/// because another process may still see it.
pub const TOLD_ITEM_MS: Millis = Millis::minutes(24 * 60);
/// The maximum number of items (things that need a person) that one command about notices may name. A command with more
/// items is refused. This is enough, because every list of items that people see is shorter.
pub const TOLD_ITEMS_MAX: usize = 1_000;
/// The maximum number of told items (items about which people were told) that one command reads. It is larger than
/// [`TOLD_ITEMS_MAX`], because the store also remembers items that no longer need a person, if people were told about
/// them less than [`TOLD_ITEM_MS`] ago.
pub const TOLD_ITEMS_LOOKED_AT: u32 = 10_000;
/// The maximum number of items (things that need a person) that are put off at the same time. A further item is refused.
/// A person who puts off more than this does not look at the list any more.
pub const PUT_OFF_MAX: usize = 1_000;
/// The longest time for which an item can be put off. A longer time would hide the item.
pub const PUT_OFF_MS_MAX: Millis = Millis::minutes(14 * 24 * 60);
/// The maximum length of the stored reason why a notice (a message to a person about a pending approval) could not be
/// sent, in characters. A longer reason is cut.
pub const PROBLEM_CHARS_MAX: usize = 500;
/// The maximum number of approvals that one command records as seen by a person. A command with more approvals is
/// refused.
pub const SHOWN_APPROVALS_MAX: usize = 500;
/// The maximum number of approvals for gated tasks of one workflow that are read. The pending approvals and the
/// approvals that a person gave count together. So this limit is larger than the maximum number of pending approvals.
pub const GATES_MAX: u32 = 2_000;
/// The maximum number of gated tasks (a person must allow each claim) for which a timer asks people in one round. The
/// timer asks for the other gated tasks in its next rounds.
pub const GATED_TASKS_MAX: u32 = 50;
/// The maximum number of approvals of one task that are read: the pending approvals, and the given approvals that are
/// not used yet. This is enough, because a task asks for few approvals at the same time.
pub const OPEN_APPROVALS_LOOKED_AT: u32 = 20;
/// The maximum number of approvals that one command ends because they expired. The next command ends the remaining
/// expired approvals.
pub const EXPIRED_APPROVALS_MAX: u32 = 100;
/// The maximum number of times that an agent is asked to write its handoff (closing report) again at one prompt of its
/// client. If the handoff is missing or wrong after that, the task is blocked.
pub const REMINDERS_MAX: u32 = 2;
/// The maximum number of times in a row that an agent may report progress instead of a result. One more such report
/// blocks the task, because the agent only repeats itself.
pub const GOES_ON_MAX: u32 = 2;
/// The number of failed verifications in one attempt at which the task is blocked. After the first failure, the agent
/// may fix its output.
pub const VERIFICATION_FAILURES_MAX: u32 = 2;
/// A conversation of a client that is silent for this time counts as ended, and its reminders (counts of missing
/// handoffs) are deleted.
pub const REMINDER_MS: Millis = Millis::minutes(7 * 24 * 60);
/// The maximum number of turns (runs of an agent's program) of one task; a further turn is refused. This limit ends an
/// endless loop of turns that no person notices.
pub const TURNS_MAX: u32 = 10_000;
/// A runner (a process that starts agents' programs) that is silent for this time counts as gone. A live runner gives
/// several signs of life in this time.
pub const RUNNER_MS: Millis = Millis::seconds(30);
/// The maximum number of agents for which one runner (a process that starts agents' programs) works. A runner with more
/// agents is refused.
pub const RUNNER_AGENTS_MAX: usize = 500;
/// The default for the maximum number of rounds of a review that a task needs before it can be completed. After these
/// rounds a person must look at the review.
pub const REVIEW_ROUNDS_DEFAULT: u32 = 5;
/// The maximum number of rounds of any review. After them, a new review must be opened.
pub const REVIEW_ROUNDS_MAX: u32 = 1_000;
/// The maximum number of findings in one answer of a reviewing agent. An answer with more findings is refused, because
/// no agent could deal with so many.
pub const FOUND_MAX: usize = 200;
/// The maximum number of findings of one review; more findings are refused. The limit exists because each round of the
/// review reads all findings.
pub const FINDINGS_MAX: u32 = 2_000;
/// The maximum size of a document of the feedback protocol (the protocol of reviews), in bytes. Larger documents are
/// refused. So this is also the maximum size of each text in a document.
pub const REVIEW_BYTES_MAX: usize = 1 << 20;
/// The maximum number of sections of the project context, which is the shared knowledge about the project. A further
/// section is refused.
pub const SECTIONS_MAX: usize = 500;
/// The maximum number of variables with default values in a template. A template with more such variables is refused.
pub const VARIABLES_MAX: usize = 256;

/// The time in which a person can decide about an approval, and the time in which a given approval can be used. The
/// values come from the project's settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lifetimes {
    /// The time in which a person must decide about a request for an approval, counted from the request.
    pub pending: Millis,
    /// The time in which the approved act must be done, counted from the approval.
    pub approved: Millis,
}

impl Default for Lifetimes {
    fn default() -> Self {
        Self { pending: PENDING_APPROVAL_MS, approved: APPROVAL_MS }
    }
}
