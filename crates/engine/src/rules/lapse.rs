//! Approvals that end without a decision, or after one: taken up by their session, withdrawn, void, expired.

use crate::approval::{Approval, ApprovalState, ApprovalStatus};
use crate::case::Case;
use crate::command::{Actor, Rights};
use crate::id::{AgentId, ApprovalId, TaskId};
use crate::limits;
use crate::list::List;
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::rules::approval::{PAST, answer_task, is_of_this_attempt, moved, open};
use crate::world::{Fact, Need, Stop};

/// The claim goes on without the answer, or not at all: nobody needs to decide any more, and what was allowed for it is over.
pub(crate) fn withdraw(case: &mut Case<'_>, task: TaskId, goes_on: bool, reason: &str) -> Result<(), Stop> {
    for approval in open(case, task)? {
        let is_moot = match approval.state.status() {
            ApprovalStatus::Pending => true,
            ApprovalStatus::Approved => !goes_on,
            ApprovalStatus::Rejected | ApprovalStatus::Expired | ApprovalStatus::Revoked | ApprovalStatus::Consumed => {
                false
            }
        };
        if is_moot {
            let reason = Some(reason.to_owned());
            moved(case, approval, ApprovalState::Revoked { by: Actor::Engine, at: case.now, reason });
        }
    }
    Ok(())
}

/// A session goes on: what was allowed to its last turn is in its hands now.
pub(crate) fn take_up(case: &mut Case<'_>, agent: AgentId) -> Result<(), Stop> {
    let list = List::ApprovalsOf { agent, limit: limits::EXPIRED_APPROVALS_MAX };
    let Fact::ApprovalRows(rows) = case.world.list(list)? else { return Ok(()) };
    let waits = |row: &&Approval| matches!(row.state, ApprovalState::Approved { until: None, .. });
    let ids: Vec<ApprovalId> = rows.iter().filter(waits).map(|row| row.id).collect();
    case.world.want(ids.iter().map(|id| Need::Approval(*id)))?;
    for id in ids {
        let approval = case.world.approval(id)?;
        if matches!(approval.state, ApprovalState::Approved { until: None, .. }) {
            let (by, at) = (Actor::Agent(agent), case.now);
            let state = if is_of_this_attempt(case, approval)? {
                ApprovalState::Consumed { by, at }
            } else {
                ApprovalState::Revoked { by: Actor::Engine, at, reason: Some(PAST.to_owned()) }
            };
            moved(case, approval, state);
        }
    }
    Ok(())
}

/// Nobody can use what an agent that leaves was given, and nobody waits for what it asked without a task. A paused task goes on
/// waiting: the decision about it sends it to somebody else.
pub(crate) fn void(case: &mut Case<'_>, agent: AgentId) -> Result<(), Stop> {
    let list = List::ApprovalsOf { agent, limit: limits::EXPIRED_APPROVALS_MAX };
    let Fact::ApprovalRows(rows) = case.world.list(list)? else { return Ok(()) };
    case.world.want(rows.iter().map(|row| Need::Approval(row.id)))?;
    for id in rows.iter().map(|row| row.id) {
        let approval = case.world.approval(id)?;
        let is_void = match approval.state {
            ApprovalState::Approved { .. } => true,
            ApprovalState::Pending { .. } => approval.waiting.is_none(),
            ApprovalState::Rejected { .. }
            | ApprovalState::Expired { .. }
            | ApprovalState::Revoked { .. }
            | ApprovalState::Consumed { .. } => false,
        };
        if is_void {
            let reason = Some("its agent has unregistered; nobody can use it".to_owned());
            moved(case, approval, ApprovalState::Revoked { by: Actor::Engine, at: case.now, reason });
        }
    }
    Ok(())
}

pub(crate) fn expire(case: &mut Case<'_>, approval: &Approval) -> Result<(), Stop> {
    moved(case, approval, ApprovalState::Expired { at: case.now });
    // A gate's task waits on: whoever wants to claim it asks anew.
    if approval.is_gate() {
        return Ok(());
    }
    answer_task(case, approval, "expired: nobody decided in time")
}

pub(crate) fn expire_all(case: &mut Case<'_>) -> Result<Reply, Stop> {
    if case.caller.rights != Rights::Engine {
        return Err(Refusal::NotPermitted { problem: "approvals expire by themselves".to_owned() }.into());
    }
    let limit = limits::EXPIRED_APPROVALS_MAX;
    let list = List::OverdueApprovals { now: case.now, limit };
    let Fact::ApprovalRows(rows) = case.world.list(list)? else {
        return Ok(Reply::ApprovalsExpired { expired: 0, more: false });
    };
    let tasks = rows.iter().filter_map(|row| row.waiting).map(|waiting| Need::Task(waiting.task));
    case.world.want(rows.iter().map(|row| Need::Approval(row.id)).chain(tasks))?;
    let found: Vec<ApprovalId> = rows.iter().map(|row| row.id).collect();
    let mut expired = 0;
    for id in &found {
        // The list is a hint: somebody may have decided since.
        let approval = case.world.approval(*id)?;
        if approval.is_over(case.now) {
            expire(case, approval)?;
            expired += 1;
        }
    }
    Ok(Reply::ApprovalsExpired { expired, more: u32::try_from(found.len()).unwrap_or(u32::MAX) >= limit })
}
