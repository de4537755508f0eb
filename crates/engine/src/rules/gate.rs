//! Gated tasks: a person lets each claim begin. The engine asks, the claim uses the answer up.

use crate::approval::{Approval, ApprovalState, Source, Waiting};
use crate::case::Case;
use crate::command::{Actor, AskApproval};
use crate::event::{Event, Moved};
use crate::gate_state::{GateState, gate_state};
use crate::id::{AgentId, ApprovalId};
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::rules::claim::dependencies_met;
use crate::rules::status::blank;
use crate::rules::{approval, block};
use crate::task::{Block, BlockKind, State, Status, Task};
use crate::world::Stop;

/// What a claim has to use up, if the task is gated.
pub(crate) fn passage(case: &Case<'_>, task: &Task) -> Result<Option<ApprovalId>, Stop> {
    let closed = |approval| Err(Refusal::ApprovalRequired { task: task.id, approval }.into());
    match gate_state(case.world, task, case.now)? {
        GateState::Missing => Ok(None),
        GateState::Closed => closed(None),
        GateState::Waiting(row) => closed(Some(row.id)),
        GateState::Open(row) => {
            // The list is a hint: it may have been revoked since.
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

/// The claim that goes through is the one use.
pub(crate) fn pass(case: &mut Case<'_>, id: ApprovalId, agent: AgentId) -> Result<(), Stop> {
    let row = case.world.approval(id)?;
    approval::moved(case, row, row.state.used(Actor::Agent(agent), case.now));
    Ok(())
}

/// The engine asks before a task begins. Asked again, it is the same approval.
pub(crate) fn ask(case: &mut Case<'_>, asked: &AskApproval) -> Result<Reply, Stop> {
    let nothing = || Refusal::state("the engine asks only whether a gated task may begin");
    let (Source::ExecGate, Some((id, attempt))) = (asked.source, asked.waits) else { return Err(nothing().into()) };
    let (task, _) = case.task(id)?;
    let begins = match task.status() {
        Status::Pending | Status::Planning | Status::InProgress | Status::Failed => case.live_holder(task)?.is_none(),
        Status::Paused | Status::Blocked | Status::Completed | Status::Skipped => false,
    };
    if !begins || attempt != task.attempt + 1 {
        return Err(Refusal::state(format!("attempt {attempt} of {id} is not about to begin")).into());
    }
    // A no blocks it, and what is blocked is begun: it must wait for nothing that could still be replaced.
    dependencies_met(case, task)?;
    match gate_state(case.world, task, case.now)? {
        GateState::Missing => return Err(nothing().into()),
        GateState::Open(row) | GateState::Waiting(row) => {
            let until = row.state.until().unwrap_or(case.now);
            return Ok(Reply::ApprovalAsked { approval: row.id, until });
        }
        GateState::Closed => {}
    }
    approval::room(case)?;
    let waiting = Waiting { workflow: task.workflow, task: id, attempt };
    let approval = ApprovalId::next(&mut case.ids);
    Ok(approval::record(case, approval, asked, Actor::Engine, Some(waiting)))
}

/// A no keeps the task from beginning until somebody decides what becomes of it.
pub(crate) fn decided(case: &mut Case<'_>, approval: &Approval, said: &str) -> Result<(), Stop> {
    let Some(Waiting { task: id, attempt, .. }) = approval.waiting else { return Ok(()) };
    let task = match case.task(id) {
        Ok((task, _)) => task,
        // It was removed meanwhile.
        Err(Stop::Refused(_) | Stop::Recorded(_)) => return Ok(()),
        Err(missing @ Stop::Missing(_)) => return Err(missing),
    };
    if task.attempt + 1 != attempt || !matches!(task.state, State::Pending { lease: None }) {
        return Ok(());
    }
    let kind = BlockKind::Ambiguity;
    let (reason, role) = (format!("{} was {said}", approval.id), kind.default_role().to_owned());
    let found = Block { by: Actor::Person, kind, reason, role };
    case.events.push(Event::Moved(Box::new(Moved { state: State::Blocked(found.clone()), ..blank(task) })));
    block::route(case, task, &found)
}
