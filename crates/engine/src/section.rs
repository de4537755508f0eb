//! Project context: the knowledge of agents about the project, in named sections. An agent may write only some of the
//! sections.

use serde::{Deserialize, Serialize};

use crate::caller::Actor;
use crate::id::TaskId;
use crate::json::Json;
use crate::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Section {
    pub name: String,
    pub body: Json,
    /// The version of this section of the project context. It grows by one with every write.
    pub version: u32,
    pub by: Actor,
    pub updated: Timestamp,
}

/// One write of a section of the project context: the writer, the time, the task, and the section's body before and
/// after.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SectionChange {
    pub section: String,
    pub version: u32,
    pub by: Actor,
    pub task: Option<TaskId>,
    pub at: Timestamp,
    pub before: Option<Json>,
    pub after: Json,
}
