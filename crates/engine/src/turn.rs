//! A turn: one run of one agent's program on one task. An attempt has a first turn, repairs and resumptions.
//!
//! A turn is recorded before its program starts, so that whoever comes after a crash knows what was under way.

use serde::{Deserialize, Serialize};

use crate::id::{AgentId, TaskId, TurnId, WorkflowId};
use crate::json::Json;
use crate::task::names;
use crate::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    pub id: TurnId,
    pub task: TaskId,
    pub workflow: WorkflowId,
    /// Whose program runs: the holder's, or the evaluator's.
    pub agent: AgentId,
    /// The claim it belongs to.
    pub attempt: u32,
    /// Which turn of the task it is, from 1.
    pub number: u32,
    pub purpose: Purpose,
    pub adapter: String,
    /// The runner that started it, by its own name: only that one can look after it.
    pub runner: String,
    pub started: Timestamp,
    pub state: TurnState,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "turn", rename_all = "snake_case")]
pub enum TurnState {
    Running,
    Ended(Box<Ended>),
}

/// What a turn came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    pub at: Timestamp,
    pub end: TurnEnd,
    /// Why, when it did not simply finish.
    pub reason: Option<String>,
    /// The program's own name for the conversation, by which it can be resumed.
    pub conversation: Option<String>,
    pub spent: Spent,
    pub tool_calls: u32,
    /// Everything the program wrote.
    pub stream: Option<Object>,
    /// What its output was judged to be: kind, verdict, codes, summary.
    pub verdict: Option<Json>,
}

/// What something cost. Unknown is not nothing: it binds no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Spent {
    /// In millionths of a dollar.
    pub usd_micros: Option<u64>,
    pub tokens: Option<u64>,
    pub ms: u64,
    pub turns: u32,
}

/// Bytes that are kept in the object store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Object {
    /// SHA-256, in hexadecimal; also its name there.
    pub hash: String,
    pub bytes: u64,
}

names! {
    /// Why a turn was begun.
    Purpose {
        First = "first", Repair = "repair", Next = "next", Answer = "answer", Recovery = "recovery",
        Verification = "verification", Conflict = "conflict", Evaluation = "evaluation", Feedback = "feedback",
        Review = "review",
    }
}

names! {
    /// How a turn ended.
    TurnEnd {
        Finished = "finished", Failed = "failed", Signalled = "signalled", TimedOut = "timed_out",
        OverBudget = "over_budget", ClaimLost = "claim_lost", SpawnFailed = "spawn_failed", ApiError = "api_error",
        Interrupted = "interrupted", Cancelled = "cancelled",
    }
}

impl Purpose {
    /// It is another agent's, who looks at what the worker made.
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
            | Self::Feedback => false,
        }
    }
}

impl Turn {
    pub fn ended(&self) -> Option<&Ended> {
        match &self.state {
            TurnState::Running => None,
            TurnState::Ended(ended) => Some(ended),
        }
    }
}

impl Spent {
    /// Together with another one. A sum of which a part is unknown is at least the known part.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let sum = |left: Option<u64>, right: Option<u64>| match (left, right) {
            (None, None) => None,
            (left, right) => Some(left.unwrap_or(0).saturating_add(right.unwrap_or(0))),
        };
        Self {
            usd_micros: sum(self.usd_micros, other.usd_micros),
            tokens: sum(self.tokens, other.tokens),
            ms: self.ms.saturating_add(other.ms),
            turns: self.turns.saturating_add(other.turns),
        }
    }
}
