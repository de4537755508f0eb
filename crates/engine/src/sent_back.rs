//! The record of a task that was sent back: what the caller wants changed, and which agent may continue its attempt.

use serde::{Deserialize, Serialize};

use crate::caller::Actor;
use crate::checkpoint::Checkpoint;
use crate::delivery::DeliveredWork;
use crate::id::AgentId;
use crate::json::Json;
use crate::task::Task;

/// A remark about one place in the work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SendBackNote {
    pub file: String,
    /// The line in the file. `None` when the remark is about the whole file.
    pub line: Option<u32>,
    pub text: String,
}

/// The JSON in the checkpoint of a task that was given back to its agent. With this proof, the agent continues with the
/// same attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentBack {
    /// The agent that worked on the task last. `None` when that agent is not known; any agent claims the task then.
    pub agent: Option<AgentId>,
    pub notes: Vec<SendBackNote>,
    /// The work that waited in git when the task was sent back.
    pub work: Option<DeliveredWork>,
}

/// The form in which the record is stored. The outer member names the kind of the record.
#[derive(Serialize, Deserialize)]
struct StoredSentBack {
    sent_back: SentBack,
}

impl SentBack {
    pub(crate) fn json(self) -> Option<Json> {
        serde_json::to_value(StoredSentBack { sent_back: self }).ok().as_ref().map(Json::from)
    }

    /// Returns the record in a checkpoint of the task. Returns `None` for a checkpoint of an agent, which proves
    /// nothing, and for a checkpoint of a coordinator in a protected task, which a coordinator may not send back.
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
