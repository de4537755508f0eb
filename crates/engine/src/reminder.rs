//! A reminder: how often a conversation of a client was sent back at one prompt, because its handoff was missing or wrong,
//! and how often it said in a row that it goes on.

use serde::{Deserialize, Serialize};

use crate::id::TaskId;
use crate::time::Timestamp;

/// One for each conversation and part of it; another prompt begins anew.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reminder {
    pub conversation: String,
    /// The client's name for a sub-agent; empty for the conversation itself.
    pub part: String,
    pub prompt: String,
    /// Times it was sent back at this prompt.
    pub count: u32,
    /// What it works on, and in which claim.
    pub task: TaskId,
    pub attempt: u32,
    /// Reports of progress in a row in this claim.
    pub goes_on: u32,
    pub at: Timestamp,
}

impl Reminder {
    /// Times it was sent back at this prompt.
    pub fn count_at(&self, prompt: &str) -> u32 {
        if self.prompt == prompt { self.count } else { 0 }
    }

    /// Reports of progress in this claim.
    pub fn goes_on_in(&self, task: TaskId, attempt: u32) -> u32 {
        if (self.task, self.attempt) == (task, attempt) { self.goes_on } else { 0 }
    }
}
