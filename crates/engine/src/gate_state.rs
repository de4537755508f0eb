//! The gate before a claim: whether a person has let the next claim of a gated task begin.

use crate::approval::{Approval, ApprovalState, Waiting};
use crate::limits;
use crate::list::List;
use crate::task::Task;
use crate::time::Timestamp;
use crate::world::{Fact, Stop, World};

/// The state of the gate before the next claim of a task.
pub(crate) enum GateState<'a> {
    /// The task is not gated.
    Missing,
    Open(&'a Approval),
    /// A person was asked.
    Waiting(&'a Approval),
    Closed,
}

/// Returns the state of the gate, from the approvals of the workflow.
pub(crate) fn gate_state<'a>(world: &'a World, task: &Task, now: Timestamp) -> Result<GateState<'a>, Stop> {
    if !task.gate {
        return Ok(GateState::Missing);
    }
    let list = List::Gates { workflow: task.workflow, limit: limits::GATES_MAX };
    let Fact::ApprovalRows(rows) = world.list(list)? else { return Ok(GateState::Closed) };
    let next = Waiting { workflow: task.workflow, task: task.id, attempt: task.attempt + 1 };
    let mut own = rows.iter().filter(|row| row.waiting == Some(next) && !row.is_over(now));
    Ok(own.next().map_or(GateState::Closed, |row| match row.state {
        ApprovalState::Approved { .. } => GateState::Open(row),
        ApprovalState::Pending { .. }
        | ApprovalState::Rejected { .. }
        | ApprovalState::Expired { .. }
        | ApprovalState::Revoked { .. }
        | ApprovalState::Consumed { .. } => GateState::Waiting(row),
    }))
}

/// Tells whether a claim would pass the gate now.
pub(crate) fn is_passable(world: &World, task: &Task, now: Timestamp) -> Result<bool, Stop> {
    Ok(match gate_state(world, task, now)? {
        GateState::Missing | GateState::Open(_) => true,
        GateState::Waiting(_) | GateState::Closed => false,
    })
}
