//! A condition: a fact about the project that needs a person and belongs to no task, such as an agent without a login.

use serde::{Deserialize, Serialize};

use crate::json::Json;
use crate::task::names;
use crate::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Condition {
    pub kind: ConditionKind,
    /// The thing that the condition is about: an agent's slug (short name), a command or a branch. No two conditions
    /// have the same kind and the same subject.
    pub subject: String,
    /// The condition as one line of text, which a person reads.
    pub title: String,
    pub detail: Json,
    /// The time at which the condition was recorded first. An update of the condition does not change this time.
    pub since: Timestamp,
    pub updated: Timestamp,
}

names! {
    /// The kind of a condition. `AgentRests`: an agent cannot work. `SetupFailed`: a command that prepares worktrees
    /// failed. `BaselineFails`: a check fails already before the work of a task. `TipFailed`: a check fails on the last
    /// commit of a branch.
    ConditionKind {
        AgentRests = "agent_rests", SetupFailed = "setup_failed", BaselineFails = "baseline_fails",
        TipFailed = "tip_failed",
    }
}
