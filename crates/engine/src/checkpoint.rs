//! A checkpoint: a record of an agent's progress in a task. The checkpoints of a task are numbered from 1.

use serde::{Deserialize, Serialize};

use crate::caller::Actor;
use crate::id::{CheckpointId, Ids, TaskId};
use crate::json::Json;
use crate::task::{Task, names};
use crate::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    pub id: CheckpointId,
    pub task: TaskId,
    pub sequence: u32,
    pub attempt: u32,
    pub by: Actor,
    pub note: Note,
    pub at: Timestamp,
}

names! {
    /// The subject of a checkpoint, for example a plan or an error.
    Kind {
        Plan = "plan", Progress = "progress", Decision = "decision", Error = "error", Recovery = "recovery",
        Complete = "complete", Replan = "replan",
    }
}

impl Checkpoint {
    /// Creates the next checkpoint of a task.
    pub fn after(task: &Task, ids: &mut Ids, by: Actor, note: Note, at: Timestamp) -> Self {
        Self {
            id: CheckpointId::next(ids),
            task: task.id,
            sequence: task.checkpoints + 1,
            attempt: task.attempt,
            by,
            note,
            at,
        }
    }
}

impl Note {
    pub fn plain(kind: Kind, summary: impl Into<String>) -> Self {
        Self { kind, summary: summary.into(), detail: None, files: Vec::new() }
    }
}

/// The content of a checkpoint, as its author wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    pub kind: Kind,
    pub summary: String,
    pub detail: Option<Json>,
    pub files: Vec<String>,
}
