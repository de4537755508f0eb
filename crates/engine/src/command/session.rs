//! What hooks ask for the sessions of clients.

use serde::Serialize;

use super::{AskApproval, Note, Register};
use crate::id::{AgentId, TaskId};

/// What a gate stopped, and for whom.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PassGate {
    pub asked: AskApproval,
    /// For a conversation nobody registered in: the agent that is made for it. The seal names it, so its id is known before.
    pub newcomer: Option<(AgentId, Register)>,
}

/// Which part of a conversation stops at which prompt, with which claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    pub conversation: String,
    /// The client's name for a sub-agent; empty for the conversation itself.
    pub part: String,
    pub prompt: String,
    pub task: TaskId,
    pub attempt: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SendBack {
    pub report: Report,
    /// What it said, and what is wrong with that.
    pub note: Note,
    /// Why the task is blocked, when it was sent back often enough.
    pub blocked: String,
}
