//! The content of commands that record turns (runs of agents' programs) and verifications.

use serde::Serialize;

use crate::id::{AgentId, TaskId, TurnId};
use crate::json::Json;
use crate::turn::Purpose;
use crate::verification::Verdict;

/// A request to start a turn, which is one run of an agent's program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StartTurn {
    pub task: TaskId,
    pub attempt: u32,
    /// The agent whose program runs in the turn. `None` when it is the agent that holds the task.
    pub agent: Option<AgentId>,
    pub purpose: Purpose,
    pub adapter: String,
    pub runner: String,
}

/// The result of verifying a task's output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RecordVerification {
    pub task: TaskId,
    pub attempt: u32,
    pub turn: Option<TurnId>,
    pub mechanical: Verdict,
    pub semantic: Verdict,
    pub output_ref: Option<String>,
    pub evidence: Json,
}
