//! The record of a task that was sent back to its agent: the changes that the caller wants, and the agent that may
//! continue the same attempt.

use serde::{Deserialize, Serialize};

use crate::caller::Actor;
use crate::checkpoint::Checkpoint;
use crate::delivery::DeliveredWork;
use crate::id::AgentId;
use crate::json::Json;
use crate::task::Task;

/// A remark about one file of a task's work. A person writes it when they send the task back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SendBackNote {
    pub file: String,
    /// The line in the file. `None` when the remark is about the whole file.
    pub line: Option<u32>,
    pub text: String,
}

/// The JSON in the checkpoint that is written when a task is sent back to its agent. It proves that the agent may
/// continue with the same attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentBack {
    /// The agent that worked on the task last, which may continue the attempt. When it is `None`, any agent can claim
    /// the task.
    pub agent: Option<AgentId>,
    pub notes: Vec<SendBackNote>,
    /// The work that waited in git when the task was sent back. `None` when no work waited.
    pub work: Option<DeliveredWork>,
}

/// The JSON form of `SentBack` in a checkpoint. The name `sent_back` distinguishes it from other JSON in checkpoints.
#[derive(Serialize, Deserialize)]
struct StoredSentBack {
    sent_back: SentBack,
}

impl SentBack {
    pub(crate) fn json(self) -> Option<Json> {
        serde_json::to_value(StoredSentBack { sent_back: self }).ok().as_ref().map(Json::from)
    }

    /// Returns the `SentBack` record that a checkpoint of the task contains. Returns `None` when the author of the
    /// checkpoint may not send the task back. An agent or a runner may not send any task back. A coordinator may send
    /// back only a task without protections (such as a required review).
    pub fn of(task: &Task, checkpoint: &Checkpoint) -> Option<Self> {
        let proves = match checkpoint.by {
            Actor::Person | Actor::Engine => true,
            Actor::Coordinator => task.protections().is_empty(),
            Actor::Agent(_) | Actor::Runner => false,
        };
        let detail = checkpoint.note.detail.as_ref().filter(|_| proves)?;
        serde_json::from_str::<StoredSentBack>(detail.as_str()).ok().map(|stored| stored.sent_back)
    }
}
