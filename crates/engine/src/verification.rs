//! A verification: what was checked of a task's output, and what came of it.

use serde::{Deserialize, Serialize};

use crate::caller::Actor;
use crate::id::{TaskId, TurnId, WorkflowId};
use crate::json::Json;
use crate::task::names;
use crate::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verification {
    pub task: TaskId,
    pub workflow: WorkflowId,
    /// Which one of the task, from 1.
    pub number: u32,
    pub attempt: u32,
    /// The turn whose output it was; none when an agent outside of the runner was verified.
    pub turn: Option<TurnId>,
    pub by: Actor,
    pub mechanical: Verdict,
    pub semantic: Verdict,
    pub output_ref: Option<String>,
    /// Commands with exit codes, times, hashes and tails; the commit; what the evaluator said.
    pub evidence: Json,
    pub at: Timestamp,
}

names! {
    /// What a check says. A mechanical one is never skipped.
    Verdict { Pass = "pass", Fail = "fail", Skipped = "skipped" }
}

impl Verification {
    pub fn has_passed(&self) -> bool {
        self.mechanical == Verdict::Pass && self.semantic != Verdict::Fail
    }
}
