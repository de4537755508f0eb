//! The commands that hooks give for the sessions of clients.

use serde::Serialize;

use super::{AskApproval, Note, Register};
use crate::id::{AgentId, TaskId};

/// A call that a gate stopped, and the agent that made it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PassGate {
    pub asked: AskApproval,
    /// The agent to create for a conversation in which no agent registered. The fingerprint contains its id, so the
    /// caller knows the id before.
    pub newcomer: Option<(AgentId, Register)>,
}

/// A part of a conversation that stops at a prompt, and the claim that it works on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PromptReport {
    pub conversation: String,
    /// The client's name for a sub-agent; empty for the conversation itself.
    pub part: String,
    pub prompt: String,
    pub task: TaskId,
    pub attempt: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SendBack {
    pub report: PromptReport,
    /// The agent's handoff, and the problems found in it.
    pub note: Note,
    /// The reason to block the task with, when the agent was sent back too often.
    pub blocked: String,
}
