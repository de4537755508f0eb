//! A turn: one run of one agent's program on one task. An attempt (one claim of a task) begins with a first turn;
//! repairs and resumptions are further turns.
//!
//! A turn is recorded before its program starts. So after a runner has crashed, the next runner knows which turn was
//! running.

use serde::{Deserialize, Serialize};

use crate::id::{AgentId, TaskId, TurnId, WorkflowId};
use crate::json::Json;
use crate::limits;
use crate::task::names;
use crate::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    pub id: TurnId,
    pub task: TaskId,
    pub workflow: WorkflowId,
    /// The agent whose program runs. This is the holder of the task, or an agent that evaluates the holder's work.
    pub agent: AgentId,
    /// The number of the task's attempt to which this run of the program belongs.
    pub attempt: u32,
    /// The number of this run of the program among all runs for the task, from 1.
    pub number: u32,
    pub purpose: Purpose,
    pub adapter: String,
    /// The name of the runner that started the program. Only that runner can watch the program's process.
    pub runner: String,
    pub started: Timestamp,
    pub state: TurnState,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "turn", rename_all = "snake_case")]
pub enum TurnState {
    Running,
    Ended(Box<TurnResult>),
}

/// The result of a turn, which is one run of an agent's program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnResult {
    pub at: Timestamp,
    pub end: TurnEnd,
    /// The reason why the run of the program ended. `None` when the program finished normally.
    pub reason: Option<String>,
    /// The program's own name for its conversation. A later run of the program can resume the conversation by this
    /// name.
    pub conversation: Option<String>,
    pub spent: Spent,
    pub tool_calls: u32,
    /// The complete output of the program. `None` when the output was not stored.
    pub stream: Option<StoredObject>,
    /// The verdict on the program's output. The verdict has a kind, codes and a summary.
    pub verdict: Option<Json>,
    /// The name of the model, as the program said it. `None` when the program named no model.
    pub model: Option<String>,
}

/// The cost of one or several turns (runs of an agent's program). `None` means that a cost is unknown, which is not the
/// same as zero. An unknown cost counts as within every limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Spent {
    /// The cost in millionths of a US dollar.
    pub usd_micros: Option<u64>,
    /// All tokens that the model read and wrote.
    pub tokens: Option<u64>,
    /// The tokens that the model read, with those that came from a cache.
    pub tokens_in: Option<u64>,
    /// The tokens that the model wrote, with those of its thinking.
    pub tokens_out: Option<u64>,
    pub ms: u64,
    pub turns: u32,
}

/// A reference to bytes in the object store, which keeps bytes as files that are named by their hash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredObject {
    /// The SHA-256 hash of the bytes, in hexadecimal. It is also the object's name in the object store.
    pub hash: String,
    pub bytes: u64,
}

names! {
    /// The reason why a turn (a run of an agent's program) began.
    Purpose {
        First = "first", Repair = "repair", Next = "next", Answer = "answer", Recovery = "recovery",
        Verification = "verification", Conflict = "conflict", Evaluation = "evaluation", Feedback = "feedback",
        Review = "review", SentBack = "sent_back",
    }
}

names! {
    /// The way in which a turn (a run of an agent's program) ended.
    TurnEnd {
        Finished = "finished", Failed = "failed", Signalled = "signalled", TimedOut = "timed_out",
        OverBudget = "over_budget", ClaimLost = "claim_lost", SpawnFailed = "spawn_failed", ApiError = "api_error",
        Interrupted = "interrupted", Cancelled = "cancelled", ConversationLost = "conversation_lost",
    }
}

impl Purpose {
    /// Returns true when the turn is an evaluation or a review: another agent's program runs and only reads the work of
    /// the task's holder.
    pub fn is_a_look(self) -> bool {
        match self {
            Self::Evaluation | Self::Review => true,
            Self::First
            | Self::Repair
            | Self::Next
            | Self::Answer
            | Self::Recovery
            | Self::Verification
            | Self::Conflict
            | Self::Feedback
            | Self::SentBack => false,
        }
    }
}

/// Returns the reason for blocking a task whose agent has reported progress instead of a result too often. `before` is
/// the number of progress reports in a row before the present report. Returns `None` when the present report is
/// allowed.
pub fn progress_limit_reached(before: u32, summary: &str) -> Option<String> {
    let is_reached = before >= limits::GOES_ON_MAX;
    is_reached.then(|| {
        let reports = before.saturating_add(1);
        format!("IN_PROGRESS_LIMIT: the agent reported progress {reports} times in a row: {summary}")
    })
}

impl Turn {
    pub fn ended(&self) -> Option<&TurnResult> {
        match &self.state {
            TurnState::Running => None,
            TurnState::Ended(ended) => Some(ended),
        }
    }
}

impl Spent {
    /// Returns the sum of two costs. An unknown cost is added as zero, so the real sum can be higher. The sum of two
    /// unknown costs is unknown.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let sum = |left: Option<u64>, right: Option<u64>| match (left, right) {
            (None, None) => None,
            (left, right) => Some(left.unwrap_or(0).saturating_add(right.unwrap_or(0))),
        };
        Self {
            usd_micros: sum(self.usd_micros, other.usd_micros),
            tokens: sum(self.tokens, other.tokens),
            tokens_in: sum(self.tokens_in, other.tokens_in),
            tokens_out: sum(self.tokens_out, other.tokens_out),
            ms: self.ms.saturating_add(other.ms),
            turns: self.turns.saturating_add(other.turns),
        }
    }

    /// Returns the tokens that the model read and the tokens that it wrote. Returns `None` when the two numbers are less
    /// than all tokens, because then some turns reported only their total.
    pub fn tokens_apart(self) -> Option<(u64, u64)> {
        let (read, written) = self.tokens_in.zip(self.tokens_out)?;
        let is_all = self.tokens.is_none_or(|all| read.saturating_add(written) >= all);
        is_all.then_some((read, written))
    }
}
