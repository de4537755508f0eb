//! A condition: a fact about the project that needs a person and belongs to no task, such as an agent without a login.

use serde::{Deserialize, Serialize};

use crate::json::Json;
use crate::task::names;
use crate::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Condition {
    pub kind: ConditionKind,
    /// The thing that the condition is about: an agent's slug, a command, a branch. The kind and the subject name the
    /// condition.
    pub subject: String,
    /// The condition in one line, for a person.
    pub title: String,
    pub detail: Json,
    /// The time at which the condition was first seen. It stays when the condition is updated.
    pub since: Timestamp,
    pub updated: Timestamp,
}

names! {
    /// The kind of a condition.
    ConditionKind {
        AgentRests = "agent_rests", SetupFailed = "setup_failed", BaselineFails = "baseline_fails",
        TipFailed = "tip_failed",
    }
}
