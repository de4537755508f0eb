//! The records that the holder of a task makes while it works: its first plan for the task, later plans, and
//! checkpoints.

use crate::case::Case;
use crate::check;
use crate::checkpoint::{Checkpoint, Kind};
use crate::command::{Actor, Note};
use crate::event::{Event, Moved};
use crate::id::TaskId;
use crate::json::Json;
use crate::limits;
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::rules::status::{blank, not_asked};
use crate::task::Status;
use crate::world::DecisionStop;

pub(crate) fn set_plan(
    case: &mut Case<'_>,
    id: TaskId,
    attempt: Option<u32>,
    plan: &Json,
    context: Option<&Json>,
) -> Result<Reply, DecisionStop> {
    check::json("plan", Some(plan))?;
    check::json("context", context)?;
    let (task, workflow) = case.task(id)?;
    case.names_an_agent(Some(task))?;
    case.unlocked(workflow)?;
    match task.status() {
        Status::Pending | Status::Planning | Status::InProgress | Status::Paused => {}
        status @ (Status::Blocked | Status::Failed | Status::Completed | Status::Skipped) => {
            return Err(Refusal::state(format!("the task is {status}, so its plan cannot be changed")).into());
        }
    }
    let actor = case.owner(task, attempt)?;
    let detail = case.world.detail(id)?;
    let context = context.map(|patch| Json::merged(detail.context.as_ref(), patch));
    check::json("context", context.as_ref())?;
    case.sign_of_life(actor, task, workflow)?;
    case.events.push(Event::TaskPlanned { task: id, workflow: task.workflow, plan: plan.clone(), context });
    Ok(Reply::TaskPlanned)
}

/// Sets a new plan for one task. Agents can claim the task again, and its earlier crashes no longer count as used
/// attempts.
pub(crate) fn replan(
    case: &mut Case<'_>,
    id: TaskId,
    attempt: Option<u32>,
    reason: &str,
    plan: &Json,
) -> Result<Reply, DecisionStop> {
    check::summary("reason", reason)?;
    check::json("new_plan", Some(plan))?;
    let (task, workflow) = case.task(id)?;
    case.names_an_agent(Some(task))?;
    case.unlocked(workflow)?;
    let actor = match task.status() {
        Status::Failed => case.actor()?,
        Status::InProgress | Status::Planning => case.owner(task, attempt)?,
        Status::Paused => {
            let actor = case.owner(task, attempt)?;
            not_asked(case, task)?;
            actor
        }
        status @ (Status::Pending | Status::Blocked | Status::Completed | Status::Skipped) => {
            return Err(Refusal::state(format!(
                "the task is {status}; only a task that is failed, planning, in_progress or \
                    paused can be replanned"
            ))
            .into());
        }
    };
    case.world.detail(id)?;
    let checkpoint = Checkpoint::after(task, &mut case.ids, actor, Note::plain(Kind::Replan, reason), case.now);
    let reply = Reply::TaskReplanned { checkpoint: checkpoint.id };
    if let Actor::Agent(agent) = actor {
        case.touch(agent)?;
    }
    let moved = Moved { plan: Some(plan.clone()), checkpoint: Some(checkpoint), forgiven: true, ..blank(task) };
    case.events.push(Event::Moved(Box::new(moved)));
    Ok(reply)
}

pub(crate) fn add_checkpoint(
    case: &mut Case<'_>,
    id: TaskId,
    attempt: Option<u32>,
    note: &Note,
) -> Result<Reply, DecisionStop> {
    check::summary("summary", &note.summary)?;
    check::json("detail", note.detail.as_ref())?;
    check::count("files_changed", note.files.len(), limits::FILES_MAX)?;
    note.files.iter().try_for_each(|file| check::path("files_changed", file))?;
    let (task, workflow) = case.task(id)?;
    case.unlocked(workflow)?;
    let actor = case.owner(task, attempt)?;
    let checkpoint = Checkpoint::after(task, &mut case.ids, actor, note.clone(), case.now);
    let reply = Reply::CheckpointAdded { checkpoint: checkpoint.id, sequence: checkpoint.sequence };
    case.sign_of_life(actor, task, workflow)?;
    case.events.push(Event::CheckpointAdded { workflow: task.workflow, checkpoint: Box::new(checkpoint) });
    Ok(reply)
}
