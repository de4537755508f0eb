//! Reads the stored brief of a task, which has the task's goal and the contract for its output.

use engine::task::TaskDetail;
use wire::message::{Brief, judge_brief};

/// The error that the stored brief of a task breaks the rules of its protocol. The text has the codes of the errors in
/// the brief.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the brief of the task is not valid: {0}")]
pub struct BadBrief(pub String);

/// Returns the brief of a task. Returns `None` for a task without one.
pub fn stored_brief(detail: &TaskDetail) -> Result<Option<Brief>, BadBrief> {
    let Some(stored) = &detail.brief else { return Ok(None) };
    let judged = judge_brief(stored.as_str().as_bytes());
    let problems = judged.report.codes().0.join(", ");
    judged.value.map(Some).ok_or(BadBrief(problems))
}
