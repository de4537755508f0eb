//! The commands that the hooks of clients send: when a hook stopped a call, and when an agent has finished its work on
//! a prompt.

use serde::Serialize;

use super::{AskApproval, Note, Register};
use crate::id::{AgentId, TaskId};

/// A call that a gate (a rule of a client's hook) stopped, and the agent that made the call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PassGate {
    pub asked: AskApproval,
    /// The agent to create, with its id, when no agent has registered in the conversation. The caller chooses the id
    /// before it sends this command, because the hash of the request covers the id.
    pub newcomer: Option<(AgentId, Register)>,
}

/// The report that a conversation of a client, or a sub-agent of it, has finished its work on a prompt and stops. The
/// report names the claim that the conversation works on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PromptReport {
    pub conversation: String,
    /// The client's name for a sub-agent. Empty when the report is about the conversation itself.
    pub part: String,
    pub prompt: String,
    pub task: TaskId,
    pub attempt: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SendBack {
    pub report: PromptReport,
    /// A checkpoint with the agent's handoff (its closing report) and the problems that the handoff has.
    pub note: Note,
    /// The reason with which the task is blocked if the agent already had to repeat its handoff (closing report) too
    /// often.
    pub blocked: String,
    /// The role whose agents get a message about the blocked task. `None` selects the default role for a failed
    /// verification.
    pub role: Option<String>,
}
