//! The gate of a gated task: a person must allow the next claim of the task before that claim begins.

use crate::approval::{Approval, ApprovalState, WaitingTask};
use crate::limits;
use crate::list::ApprovalQuery;
use crate::task::Task;
use crate::time::Timestamp;
use crate::world::{DecisionStop, World};

/// The state of a task's gate: whether a person has allowed the next claim of the task to begin.
pub(crate) enum GateState<'a> {
    /// The task has no gate, so its claims need no approval.
    Missing,
    Open(&'a Approval),
    /// A person was asked for an approval and has not decided yet.
    Waiting(&'a Approval),
    Closed,
}

/// Returns the state of the task's gate: whether a person has allowed the next claim of the task. It is computed from
/// the approvals of the workflow.
pub(crate) fn gate_state<'a>(world: &'a World, task: &Task, now: Timestamp) -> Result<GateState<'a>, DecisionStop> {
    if !task.gate {
        return Ok(GateState::Missing);
    }
    let mut current = requests(world, task)?.filter(|row| !row.is_over(now));
    Ok(current.next().map_or(GateState::Closed, |row| match row.state {
        ApprovalState::Approved { .. } => GateState::Open(row),
        ApprovalState::Pending { .. }
        | ApprovalState::Rejected { .. }
        | ApprovalState::Expired { .. }
        | ApprovalState::Revoked { .. }
        | ApprovalState::Consumed { .. } => GateState::Waiting(row),
    }))
}

/// Returns the requests that ask a person to approve the task's next claim. Includes expired requests. Leaves out
/// rejected and used requests.
pub(crate) fn requests<'a>(
    world: &'a World,
    task: &Task,
) -> Result<impl Iterator<Item = &'a Approval> + use<'a>, DecisionStop> {
    let list = ApprovalQuery::Gates { workflow: task.workflow, limit: limits::GATES_MAX };
    let next = WaitingTask { workflow: task.workflow, task: task.id, attempt: task.attempt + 1 };
    Ok(world.ask(&list)?.iter().filter(move |row| row.waiting == Some(next)))
}

/// Returns true when a claim of the task may begin now: a person allowed it, or the task has no gate.
pub(crate) fn is_passable(world: &World, task: &Task, now: Timestamp) -> Result<bool, DecisionStop> {
    Ok(match gate_state(world, task, now)? {
        GateState::Missing | GateState::Open(_) => true,
        GateState::Waiting(_) | GateState::Closed => false,
    })
}
