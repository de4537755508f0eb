//! A reminder counts two things for a client's conversation: how often the agent had to write its handoff (closing
//! report) again at one prompt, because the handoff was missing or wrong; and how often in a row the agent reported
//! progress instead of a result.

use serde::{Deserialize, Serialize};

use crate::id::TaskId;
use crate::time::Timestamp;

/// The counts of missing handoffs (closing reports) and of progress reports for one conversation, or for one sub-agent
/// of a conversation. At another prompt, `count` starts again at 0.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reminder {
    pub conversation: String,
    /// The client's name for the sub-agent that is counted. Empty when the counts are for the conversation itself.
    pub part: String,
    pub prompt: String,
    /// The number of times that the agent had to write its handoff (closing report) again at this prompt.
    pub count: u32,
    /// The task that the conversation works on, and the attempt number of its claim.
    pub task: TaskId,
    pub attempt: u32,
    /// The number of times in a row that the agent reported progress instead of a result in this claim.
    pub goes_on: u32,
    pub at: Timestamp,
}

impl Reminder {
    /// Returns the number of times that the agent had to write its handoff (closing report) again at this prompt.
    pub fn count_at(&self, prompt: &str) -> u32 {
        if self.prompt == prompt { self.count } else { 0 }
    }

    /// Returns the number of times in a row that the agent reported progress instead of a result in this claim.
    pub fn goes_on_in(&self, task: TaskId, attempt: u32) -> u32 {
        if (self.task, self.attempt) == (task, attempt) { self.goes_on } else { 0 }
    }
}
