//! An acknowledgement: the record of a write that the store confirmed, with enough data to look for the write later.

use engine::id::{AgentId, CheckpointId, MessageId, TaskId, WorkflowId};
use engine::inbox::MailboxOwner;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Ack {
    Registered { agent: AgentId, slug: String },
    Created { workflow: WorkflowId, tasks: usize },
    Planned { workflow: WorkflowId, tasks: u32, ids: Vec<TaskId> },
    Added { task: TaskId },
    Claimed { task: TaskId, agent: AgentId, attempt: u32 },
    Noted { task: TaskId, sequence: u32, checkpoint: CheckpointId },
    Completed { task: TaskId, agent: AgentId, attempt: u32, outcome: String },
    Released { task: TaskId, agent: AgentId, attempt: u32 },
    Sent { message: MessageId, to: MailboxOwner, sequence: u32 },
    Read { message: MessageId },
}

/// A callback that receives every acknowledgement as soon as it arrives.
pub(crate) type Report = std::sync::Arc<dyn Fn(Ack) + Send + Sync>;
