//! Gated tasks: a person approves each claim before it begins. The engine asks for the approval, and the claim consumes
//! it.

use crate::approval::{Approval, ApprovalState, Source, WaitingTask};
use crate::case::Case;
use crate::command::{Actor, AskApproval};
use crate::event::{Event, Moved};
use crate::gate_state::{self, GateState, gate_state};
use crate::id::{AgentId, ApprovalId};
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::rules::claim::dependencies_met;
use crate::rules::status::blank;
use crate::rules::{approval, block, lapse};
use crate::task::{BlockKind, Status, Task, TaskBlock, TaskState};
use crate::world::DecisionStop;

/// Returns the approval that a claim of the task must consume. Returns `None` if claims of the task need no approval.
pub(crate) fn passage(case: &Case<'_>, task: &Task) -> Result<Option<ApprovalId>, DecisionStop> {
    let closed = |approval| Err(Refusal::ApprovalRequired { task: task.id, approval }.into());
    match gate_state(case.world, task, case.now)? {
        GateState::Missing => Ok(None),
        GateState::Closed => closed(None),
        GateState::Waiting(row) => closed(Some(row.id)),
        GateState::Open(row) => {
            // Read the approval again, because `row` comes from a list that may be out of date. A person may have
            // revoked the approval after the list was read.
            let row = case.world.approval(row.id)?;
            match row.state {
                ApprovalState::Approved { .. } => Ok(Some(row.id)),
                ApprovalState::Pending { .. }
                | ApprovalState::Rejected { .. }
                | ApprovalState::Expired { .. }
                | ApprovalState::Revoked { .. }
                | ApprovalState::Consumed { .. } => closed(None),
            }
        }
    }
}

/// Consumes the approval that allowed the claim to begin. The approval cannot be used again.
pub(crate) fn pass(case: &mut Case<'_>, id: ApprovalId, agent: AgentId) -> Result<(), DecisionStop> {
    let row = case.world.approval(id)?;
    approval::moved(case, row, row.state.used(Actor::Agent(agent), case.now));
    Ok(())
}

/// Asks a person to approve the next claim of a gated task (a task whose claims need an approval). The request comes
/// from the engine, not from an agent. A repeated request returns the same approval.
pub(crate) fn ask(case: &mut Case<'_>, asked: &AskApproval) -> Result<Reply, DecisionStop> {
    let nothing = || Refusal::state("the engine asks only whether a gated task may begin");
    let (Source::ExecGate, Some((id, attempt))) = (asked.source, asked.waits) else { return Err(nothing().into()) };
    let (task, _) = case.task(id)?;
    let begins = match task.status() {
        Status::Pending | Status::Planning | Status::InProgress | Status::Failed => case.live_holder(task)?.is_none(),
        Status::Paused | Status::Blocked | Status::Completed | Status::Skipped => false,
    };
    if !begins || attempt != task.attempt + 1 {
        return Err(Refusal::state(format!("attempt {attempt} of {id} cannot begin now")).into());
    }
    // Ask a person only when all dependencies of the task are met. Otherwise a rejection could block a task that still
    // waits for another task, and a later change of the plan could replace that other task.
    dependencies_met(case, task)?;
    match gate_state(case.world, task, case.now)? {
        GateState::Missing => return Err(nothing().into()),
        GateState::Open(row) | GateState::Waiting(row) => {
            let until = row.state.until().unwrap_or(case.now);
            return Ok(Reply::ApprovalAsked { approval: row.id, until });
        }
        GateState::Closed => expire_earlier(case, task)?,
    }
    approval::room(case)?;
    let waiting = WaitingTask { workflow: task.workflow, task: id, attempt };
    let approval = ApprovalId::next(&mut case.ids);
    Ok(approval::record(case, approval, asked, Actor::Engine, Some(waiting)))
}

/// Ends the expired requests for an approval of this task's next claim. Without this, a request would become valid
/// again if the clock were set back, and a person would be asked about a claim that has already begun.
fn expire_earlier(case: &mut Case<'_>, task: &Task) -> Result<(), DecisionStop> {
    let earlier: Vec<ApprovalId> = gate_state::requests(case.world, task)?.map(|row| row.id).collect();
    for id in earlier {
        let row = case.world.approval(id)?;
        if row.is_over(case.now) {
            lapse::expire(case, row)?;
        }
    }
    Ok(())
}

/// Blocks a gated task after a person rejected or revoked the approval of its next claim. The task stays blocked until
/// a person, or an agent with the role that the block names, decides how to proceed.
pub(crate) fn decided(case: &mut Case<'_>, approval: &Approval, said: &str) -> Result<(), DecisionStop> {
    let Some(WaitingTask { task: id, attempt, .. }) = approval.waiting else { return Ok(()) };
    let task = match case.task(id) {
        Ok((task, _)) => task,
        // The task was removed after the approval was asked for, so there is no task to block.
        Err(DecisionStop::Refused(_) | DecisionStop::Recorded(_)) => return Ok(()),
        Err(missing @ DecisionStop::Missing(_)) => return Err(missing),
    };
    if task.attempt + 1 != attempt || !matches!(task.state, TaskState::Pending { lease: None }) {
        return Ok(());
    }
    let kind = BlockKind::Ambiguity;
    let (reason, role) = (format!("{} was {said}", approval.id), kind.default_role().to_owned());
    let found = TaskBlock { by: Actor::Person, kind, reason, role };
    case.events.push(Event::Moved(Box::new(Moved { state: TaskState::Blocked(found.clone()), ..blank(task) })));
    block::route(case, task, &found)
}
