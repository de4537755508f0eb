//! The rules for approvals that end without a further decision by a person. An approval ends in this way when the
//! asking agent's session continues and uses it, when the claim that asked for it ends, when the asking agent
//! unregisters, or when the approval expires.

use crate::approval::{Approval, ApprovalState, ApprovalStatus, WaitingTask};
use crate::case::Case;
use crate::command::{Actor, Rights};
use crate::event::{Event, Moved};
use crate::id::{AgentId, ApprovalId, TaskId};
use crate::limits;
use crate::list::ApprovalQuery;
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::rules::approval::{PAST, answer_task, is_of_this_attempt, moved, open};
use crate::task::{Status, Task, TaskState};
use crate::world::{DecisionStop, Need, TaskRowNeed};

/// Revokes the approvals that are no longer needed after this command. When a claim ends, its pending requests and the
/// approvals that a person gave to it are revoked. When a claim continues without the answer that it waited for, only
/// its pending requests are revoked.
#[expect(clippy::wildcard_enum_match_arm, reason = "few events end the waiting for an answer")]
pub(crate) fn withdraw(case: &mut Case<'_>) -> Result<(), DecisionStop> {
    let mut moot: Vec<(TaskId, Moot)> = Vec::new();
    for event in &case.events {
        match event {
            Event::Moved(moved) => moot.extend(by_move(case, moved)?),
            Event::LeaseEnded { task, .. } if matches!(case.world.task(*task)?.state, TaskState::Paused { .. }) => {
                moot.push((*task, Moot { why: "the claim of its task ended".to_owned(), goes_on: false }));
            }
            Event::TaskRemoved { task, .. } => moot.extend(by_removal(case.world.task(*task)?)),
            Event::Replanned { workflow, .. } => {
                let removed = case.world.ask(&TaskRowNeed::Removable(*workflow))?;
                moot.extend(removed.iter().filter_map(by_removal));
            }
            _ => {}
        }
    }
    for (task, moot) in moot {
        end_open(case, task, &moot)?;
    }
    Ok(())
}

/// The reason why a task's requests for approvals need no decision any more, and whether the task's claim continues.
struct Moot {
    why: String,
    goes_on: bool,
}

fn by_move(case: &Case<'_>, moved: &Moved) -> Result<Option<(TaskId, Moot)>, DecisionStop> {
    let (from, to) = (moved.from, moved.state.status());
    // A gated task that is completed or skipped will not be claimed again, so the request to a person to allow its next
    // claim ends.
    let over = to.is_met() && case.world.task(moved.task)?.gate;
    let goes_on = matches!(to, Status::Planning | Status::InProgress);
    let moot = Moot { why: format!("its task became {to} without a decision"), goes_on };
    Ok((over || from == Status::Paused).then_some((moved.task, moot)))
}

fn by_removal(task: &Task) -> Option<(TaskId, Moot)> {
    task.gate.then(|| (task.id, Moot { why: "its task was removed".to_owned(), goes_on: false }))
}

fn end_open(case: &mut Case<'_>, task: TaskId, moot: &Moot) -> Result<(), DecisionStop> {
    for approval in open(case, task)? {
        let is_moot = match approval.state.status() {
            ApprovalStatus::Pending => true,
            ApprovalStatus::Approved => !moot.goes_on,
            ApprovalStatus::Rejected | ApprovalStatus::Expired | ApprovalStatus::Revoked | ApprovalStatus::Consumed => {
                false
            }
        };
        // Do not revoke an approval that this command has already changed, for example by a person's decision.
        let by_itself =
            |event: &Event| matches!(event, Event::ApprovalMoved { approval: moved } if moved.id == approval.id);
        if is_moot && !case.events.iter().any(by_itself) {
            let reason = Some(moot.why.clone());
            moved(case, approval, ApprovalState::Revoked { by: Actor::Engine, at: case.now, reason });
        }
    }
    Ok(())
}

/// Consumes the approvals that a person gave while the agent's program did not run, because the program continues now.
/// With `only`, consumes only the approvals of this task. Revokes an approval that belongs to an earlier attempt.
pub(crate) fn take_up(case: &mut Case<'_>, agent: AgentId, only: Option<TaskId>) -> Result<(), DecisionStop> {
    let list = ApprovalQuery::OpenOfAgent { agent, limit: limits::EXPIRED_APPROVALS_MAX };
    let rows = case.world.ask(&list)?;
    let of = |row: &Approval| only.is_none_or(|task| row.waiting.is_some_and(|waiting| waiting.task == task));
    let waits = |row: &&Approval| of(row) && matches!(row.state, ApprovalState::Approved { until: None, .. });
    let ids: Vec<ApprovalId> = rows.iter().filter(waits).map(|row| row.id).collect();
    case.world.want(ids.iter().map(|id| Need::Approval(*id)))?;
    for id in ids {
        let approval = case.world.approval(id)?;
        if matches!(approval.state, ApprovalState::Approved { until: None, .. }) {
            let (by, at) = (Actor::Agent(agent), case.now);
            let state = if is_of_this_attempt(case, approval)? {
                approval.state.used(by, at)
            } else {
                ApprovalState::Revoked { by: Actor::Engine, at, reason: Some(PAST.to_owned()) }
            };
            moved(case, approval, state);
        }
    }
    Ok(())
}

/// Revokes approvals of an agent that unregisters: the approvals that a person gave, and the pending requests without a
/// task. No other agent could use them. A pending request of a paused task stays, because another agent can claim the
/// task after the decision.
pub(crate) fn void(case: &mut Case<'_>, agent: AgentId) -> Result<(), DecisionStop> {
    let list = ApprovalQuery::OpenOfAgent { agent, limit: limits::EXPIRED_APPROVALS_MAX };
    let rows = case.world.ask(&list)?;
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
            let reason = Some("its agent has unregistered, so it cannot be used".to_owned());
            moved(case, approval, ApprovalState::Revoked { by: Actor::Engine, at: case.now, reason });
        }
    }
    Ok(())
}

pub(crate) fn expire(case: &mut Case<'_>, approval: &Approval) -> Result<(), DecisionStop> {
    moved(case, approval, ApprovalState::Expired { at: case.now });
    // When the request to let a gated task begin expires, no task changes: the task stays pending, and a person is
    // asked again before an agent claims it.
    if approval.is_gate() || is_answered(case, approval) {
        return Ok(());
    }
    answer_task(case, approval, "expired: no person decided in time")
}

/// Returns true when this command already gave the task an answer. When several requests of one claim expire together,
/// only the first one resumes the task.
fn is_answered(case: &Case<'_>, approval: &Approval) -> bool {
    let Some(WaitingTask { task, .. }) = approval.waiting else { return false };
    let moved = |event: &Event| matches!(event, Event::Moved(moved) if moved.task == task);
    let noted = |event: &Event| matches!(event, Event::CheckpointAdded { checkpoint, .. } if checkpoint.task == task);
    case.events.iter().any(|event| moved(event) || noted(event))
}

pub(crate) fn expire_all(case: &mut Case<'_>) -> Result<Reply, DecisionStop> {
    if case.rights != Rights::Engine {
        return Err(Refusal::NotPermitted { problem: "approvals expire by themselves".to_owned() }.into());
    }
    let limit = limits::EXPIRED_APPROVALS_MAX;
    let list = ApprovalQuery::Overdue { now: case.now, limit };
    let rows = case.world.ask(&list)?;
    let tasks = rows.iter().filter_map(|row| row.waiting).map(|waiting| Need::Task(waiting.task));
    case.world.want(rows.iter().map(|row| Need::Approval(row.id)).chain(tasks))?;
    let found: Vec<ApprovalId> = rows.iter().map(|row| row.id).collect();
    let mut expired = 0;
    for id in &found {
        // Read the approval again, because the list may be out of date: a person may already have decided about it.
        let approval = case.world.approval(*id)?;
        if approval.is_over(case.now) {
            expire(case, approval)?;
            expired += 1;
        }
    }
    Ok(Reply::ApprovalsExpired { expired, more: u32::try_from(found.len()).unwrap_or(u32::MAX) >= limit })
}
