//! Regaining a claim: an agent gets the same claim again after its lease expired or after its task was sent back. This
//! is possible only while no other agent has taken the task.
//!
//! A machine that gives no sign of life for the length of a lease loses its claims. After that, other agents can take
//! the tasks. When the machine wakes up, it asks for each of its claims again before it continues:
//!
//! ```text
//! ended by the clock, open, the same attempt ──> held again; nothing counts against the attempts
//! sent back to this agent, open, the same attempt ──> held again
//! held by another agent, a later attempt, ended in another way ──> CLAIM_LOST
//! ```

use crate::case::Case;
use crate::checkpoint::Kind;
use crate::command::Actor;
use crate::event::Event;
use crate::id::{AgentId, TaskId};
use crate::lapse_evidence;
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::rules::{claim, workflow};
use crate::sent_back::SentBack;
use crate::task::{Task, TaskState};
use crate::workflow::WorkflowStatus;
use crate::world::{CheckpointNeed, DecisionStop};

/// The number of newest checkpoints that are searched for the record of the claim's end. Other agents may have added
/// checkpoints after that record. If they added more checkpoints than this number, the record is not found and the
/// claim is lost.
const NOTES_MAX: u32 = 50;

pub(crate) fn regain(case: &mut Case<'_>, id: TaskId, attempt: u32) -> Result<Reply, DecisionStop> {
    let (task, workflow) = case.task(id)?;
    let agent = case.present(Some(task))?;
    let until = case.now + workflow.lease_ms;
    if task.holder() == Some(agent) && task.attempt == attempt {
        // The claim was never ended, even if its lease has expired. So the claim continues as if the lease had been
        // renewed in time.
        case.touch(agent)?;
        if task.state.running_lease().is_some_and(|lease| lease.until < until) {
            case.events.push(Event::Renewed { task: id, workflow: workflow.id, until });
        }
        return Ok(Reply::Claimed { task: id, attempt, until, review: task.review });
    }
    let end = if task.attempt == attempt && is_open(task) { claim_end(case, task, agent)? } else { None };
    let Some(end) = end else {
        return Err(Refusal::ClaimLost { task: id, holder: case.live_holder(task)?, attempt: task.attempt }.into());
    };
    let start = claim::may_go_on(case, task, workflow, agent)?;
    claim::end_dead(case, &start);
    // Load the task's detail (its long texts). It has the stored outcome of a failed task, which regaining the claim
    // clears.
    if matches!(task.state, TaskState::Failed { .. }) {
        case.world.detail(id)?;
    }
    if workflow.status == WorkflowStatus::Ready {
        workflow::moved(case, workflow, WorkflowStatus::InProgress, None);
    }
    let sent_back = end == ClaimEnd::SentBack;
    case.events.push(Event::Regained { task: id, workflow: workflow.id, agent, attempt, until, sent_back });
    case.touch(agent)?;
    Ok(Reply::Claimed { task: id, attempt, until, review: task.review })
}

/// Returns true when no agent holds the task and no actor has changed its status since the lease expired. The status is
/// then pending, or failed if the attempts were used up.
fn is_open(task: &Task) -> bool {
    match &task.state {
        TaskState::Pending { lease } => lease.is_none(),
        TaskState::Failed { by, .. } => *by == Actor::Engine,
        TaskState::Planning { .. }
        | TaskState::InProgress { .. }
        | TaskState::Paused { .. }
        | TaskState::Blocked(_)
        | TaskState::Completed { .. }
        | TaskState::Skipped { .. } => false,
    }
}

/// The way in which the last claim of a task ended: its lease expired (`Clock`), or the task was sent back to its
/// agent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ClaimEnd {
    Clock,
    SentBack,
}

/// Returns the way in which this agent's claim of the task ended: the lease expired, or the task was sent back. Returns
/// `None` when the last claim belonged to another agent, or ended in another way.
fn claim_end(case: &Case<'_>, task: &Task, agent: AgentId) -> Result<Option<ClaimEnd>, DecisionStop> {
    let after = task.checkpoints.saturating_sub(NOTES_MAX);
    let need = CheckpointNeed { task: task.id, after, limit: NOTES_MAX };
    for note in case.world.ask(&need)?.iter().rev() {
        if let Some(record) = SentBack::of(task, note) {
            let own = record.agent == Some(agent) && note.attempt == task.attempt;
            return Ok(own.then_some(ClaimEnd::SentBack));
        }
        if note.note.kind == Kind::Recovery && note.by == Actor::Engine {
            let own = note.attempt == task.attempt && lapse_evidence::names(note.note.detail.as_ref(), agent);
            return Ok(own.then_some(ClaimEnd::Clock));
        }
    }
    Ok(None)
}
