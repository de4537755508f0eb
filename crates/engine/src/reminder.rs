//! A reminder: the number of times that a client's conversation was sent back at one prompt because its handoff was
//! missing or wrong, and the number of times in a row that it reported progress instead of a result.

use serde::{Deserialize, Serialize};

use crate::id::TaskId;
use crate::time::Timestamp;

/// The reminders of one part of one conversation. The count starts again at another prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reminder {
    pub conversation: String,
    /// The client's name for a sub-agent; empty for the conversation itself.
    pub part: String,
    pub prompt: String,
    /// The number of times that the conversation was sent back at this prompt.
    pub count: u32,
    /// The task and the claim that the conversation works on.
    pub task: TaskId,
    pub attempt: u32,
    /// The number of progress reports in a row in this claim.
    pub goes_on: u32,
    pub at: Timestamp,
}

impl Reminder {
    /// Returns the number of times that the conversation was sent back at this prompt.
    pub fn count_at(&self, prompt: &str) -> u32 {
        if self.prompt == prompt { self.count } else { 0 }
    }

    /// Returns the number of progress reports in a row in this claim.
    pub fn goes_on_in(&self, task: TaskId, attempt: u32) -> u32 {
        if (self.task, self.attempt) == (task, attempt) { self.goes_on } else { 0 }
    }
}
