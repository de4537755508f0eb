//! Project context: what agents have learned about the project, in named sections that each agent may or may not write.

use serde::{Deserialize, Serialize};

use crate::caller::Actor;
use crate::id::TaskId;
use crate::json::Json;
use crate::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Section {
    pub name: String,
    pub body: Json,
    /// Grows by one with every write.
    pub version: u32,
    pub by: Actor,
    pub updated: Timestamp,
}

/// One write of a section: who, when, from which task, and what it was before and after.
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
