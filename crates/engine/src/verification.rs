//! A verification: the checks of a task's output and their results.

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
    /// The number of the verification among the verifications of its task, from 1.
    pub number: u32,
    pub attempt: u32,
    /// The turn (run of an agent's program) whose output was verified. `None` when the output came from an agent that
    /// no runner started.
    pub turn: Option<TurnId>,
    pub by: Actor,
    pub mechanical: Verdict,
    pub semantic: Verdict,
    pub output_ref: Option<String>,
    /// The details of the verification as JSON: the commands that ran, with their exit codes, times, hashes and the
    /// ends of their outputs; the verified commit; and the answer of the evaluator (the agent that judges the output).
    pub evidence: Json,
    pub at: Timestamp,
}

names! {
    /// The result of one check. A check that Handover makes itself is never skipped. The evaluation by another agent
    /// can be skipped.
    Verdict { Pass = "pass", Fail = "fail", Skipped = "skipped" }
}

impl Verification {
    pub fn has_passed(&self) -> bool {
        self.mechanical == Verdict::Pass && self.semantic != Verdict::Fail
    }
}
