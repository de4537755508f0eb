//! The rules for a person's decision about the result of a task: send the task back to its agent, or take its work as
//! it is.

use crate::case::Case;
use crate::check;
use crate::checkpoint::{Checkpoint, Kind};
use crate::command::{Actor, Note, Rights};
use crate::delivery::{CheckOutcome, DeliveredWork, Delivery, DeliveryState, UncheckedReason};
use crate::event::Event;
use crate::id::{AgentId, TaskId};
use crate::limits;
use crate::list::{TurnQuery, Whose};
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::rules::delivery::{check_report, delivered};
use crate::rules::protect::{self, Loosening};
use crate::rules::status::{StatusStep, blank, finish};
use crate::rules::workflow;
use crate::sent_back::{SendBackNote, SentBack};
use crate::task::{BlockKind, Status, Task, TaskState};
use crate::workflow::WorkflowStatus;
use crate::world::DecisionStop;

/// The maximum number of turns (runs of agents' programs) that are searched for the agent that worked on the task last.
/// The newest turns are searched.
const TURNS_MAX: u32 = 20;

/// Gives a task back to the agent that worked on it, with the same attempt number. Stores the text, which says what the
/// agent must change, as a checkpoint of the task.
pub(crate) fn send_back(
    case: &mut Case<'_>,
    id: TaskId,
    text: &str,
    notes: &[SendBackNote],
) -> Result<Reply, DecisionStop> {
    check::summary("text", text)?;
    check::count("notes", notes.len(), limits::SEND_BACK_NOTES_MAX)?;
    for note in notes {
        check::path("notes.file", &note.file)?;
        check::summary("notes.text", &note.text)?;
    }
    let (task, workflow) = case.task(id)?;
    may_send_back(case, task)?;
    case.unlocked(workflow)?;
    let delivery = returnable(case, task)?.cloned();
    if workflow.status == WorkflowStatus::Abandoned {
        return Err(Refusal::state("the workflow is abandoned, so no agent works on its tasks").into());
    }
    let agent = last_agent(case, task)?;
    // Load the task's detail (its long texts). It has the outcome of the ended attempt, which this command clears.
    case.world.detail(id)?;
    let by = case.actor()?;
    let record = SentBack { agent, notes: notes.to_vec(), work: delivery.as_ref().map(|row| row.work.clone()) };
    let detail = record.json();
    check::json("notes", detail.as_ref())?;
    let note = Note { kind: Kind::Decision, summary: text.to_owned(), detail, files: Vec::new() };
    let mut moved = blank(task);
    moved.forgiven = task.status() == Status::Failed;
    moved.checkpoint = Some(Checkpoint::after(task, &mut case.ids, by, note, case.now));
    case.events.push(Event::Moved(Box::new(moved)));
    if delivery.is_some() {
        case.events.push(Event::DeliveryWithdrawn { task: id, workflow: workflow.id });
    }
    if matches!(workflow.status, WorkflowStatus::Completed | WorkflowStatus::AwaitingMerge) {
        workflow::moved(case, workflow, WorkflowStatus::InProgress, Some("a task was sent back"));
    }
    Ok(Reply::Moved { status: Status::Pending })
}

/// Refuses a caller that may not send this task back. An agent or a runner may not send any task back. A coordinator
/// may send back only a task without protections (such as a required review).
fn may_send_back(case: &Case<'_>, task: &Task) -> Result<(), DecisionStop> {
    let may = match case.rights {
        Rights::Person | Rights::Script | Rights::Engine => true,
        Rights::Coordinator => task.protections().is_empty(),
        Rights::Agent | Rights::Runner => false,
    };
    if may { Ok(()) } else { Err(protect::persons_act(case, task, Loosening::SendBack)?) }
}

/// Returns the delivery of a completed task, whose work in git waits for a person. Returns `None` for a blocked or
/// failed task. Refuses a task that cannot be sent back; the refusal says what the caller can do instead.
fn returnable<'a>(case: &Case<'a>, task: &Task) -> Result<Option<&'a Delivery>, DecisionStop> {
    let refused = |problem: &str| Err(Refusal::state(problem).into());
    match &task.state {
        TaskState::Completed { .. } => {
            let found = case.world.delivery(task.id)?;
            match found.map(|row| &row.state) {
                Some(DeliveryState::Waiting) => Ok(found),
                Some(DeliveryState::Merged { .. }) => refused(
                    "the work is merged; undo the merge first, or add a task for the change (workflow_add_task)",
                ),
                Some(DeliveryState::Dropped { .. }) => {
                    refused("the work was dropped; take it back first, or add a new task (workflow_add_task)")
                }
                Some(DeliveryState::InPlan { .. }) => {
                    refused("other tasks build on this work; add a task for the change (workflow_add_task)")
                }
                None => refused("the task has no work that waits; add a task for the change (workflow_add_task)"),
            }
        }
        TaskState::Blocked(_) | TaskState::Failed { .. } if task.attempt == 0 => {
            refused("no agent has worked on this task; make it pending (task_update)")
        }
        TaskState::Blocked(_) | TaskState::Failed { .. } => Ok(None),
        TaskState::Pending { .. }
        | TaskState::Planning { .. }
        | TaskState::InProgress { .. }
        | TaskState::Paused { .. }
        | TaskState::Skipped { .. } => {
            let problem = format!(
                "the task is {}; only a blocked, a failed or a completed task whose work waits is sent back",
                task.status()
            );
            refused(&problem)
        }
    }
}

/// Returns the agent that worked on the task last. Returns `None` when the store does not know that agent.
fn last_agent(case: &Case<'_>, task: &Task) -> Result<Option<AgentId>, DecisionStop> {
    let by = match &task.state {
        TaskState::Completed { by, .. } | TaskState::Failed { by, .. } => Some(*by),
        TaskState::Blocked(block) => Some(block.by),
        TaskState::Pending { .. }
        | TaskState::Planning { .. }
        | TaskState::InProgress { .. }
        | TaskState::Paused { .. }
        | TaskState::Skipped { .. } => None,
    };
    if let Some(Actor::Agent(agent)) = by {
        return Ok(Some(agent));
    }
    let turns = case.world.ask(&TurnQuery::Of { of: Whose::Task(task.id), before: None, limit: TURNS_MAX })?;
    let last = turns.iter().find(|turn| turn.attempt == task.attempt && !turn.purpose.is_a_look());
    Ok(last.map(|turn| turn.agent))
}

/// Completes a task as it is, under a person's name. This is possible for a task whose verification failed, or that
/// changed no files.
pub(crate) fn take_as_is(
    case: &mut Case<'_>,
    id: TaskId,
    reason: &str,
    work: Option<&DeliveredWork>,
) -> Result<Reply, DecisionStop> {
    check::summary("reason", reason)?;
    let check = CheckOutcome::Unchecked { why: UncheckedReason::TakenAsIs { reason: reason.to_owned() } };
    if let Some(work) = work {
        check_report(&check, work)?;
    }
    let (task, workflow) = case.task(id)?;
    if case.rights != Rights::Person {
        return Err(protect::persons_act(case, task, Loosening::TakeAsIs)?);
    }
    case.unlocked(workflow)?;
    let actor = case.actor()?;
    match &task.state {
        TaskState::Blocked(block) if block.kind == BlockKind::VerificationFail => {
            let agent = last_agent(case, task)?;
            let agent =
                agent.ok_or_else(|| Refusal::state("no agent has worked on this task; skip it (task_update)"))?;
            case.world.detail(id)?;
            let removed = task.protections();
            if !removed.is_empty() {
                case.events.push(Event::ProtectionsRemoved { task: id, workflow: workflow.id, removed });
            }
            let mut moved = blank(task);
            moved.state = TaskState::Completed { by: actor, outcome: reason.to_owned() };
            let reply = finish(case, &StatusStep { task, workflow, actor }, moved)?;
            if let Some(work) = work {
                let delivery = delivered(case, task, agent, (check, work.clone(), DeliveryState::Waiting));
                case.events.push(Event::Delivered { delivery: Box::new(delivery) });
            }
            Ok(reply)
        }
        TaskState::Completed { .. } => {
            let found = case.world.delivery(id)?.cloned();
            let Some(row) = found.filter(|row| row.check == CheckOutcome::NoChanges) else {
                return Err(
                    Refusal::state("the task is completed; only a task without changes is taken as it is").into()
                );
            };
            // The task changed no files, so there is nothing to merge. Record its work as dropped, so that it no longer
            // waits for a person.
            let state = DeliveryState::Dropped { by: actor, at: case.now, kept_as: None };
            let delivery = Delivery { check, state, updated: case.now, ..row };
            case.events.push(Event::Delivered { delivery: Box::new(delivery) });
            Ok(Reply::Moved { status: Status::Completed })
        }
        TaskState::Blocked(_)
        | TaskState::Pending { .. }
        | TaskState::Planning { .. }
        | TaskState::InProgress { .. }
        | TaskState::Paused { .. }
        | TaskState::Failed { .. }
        | TaskState::Skipped { .. } => {
            let problem = format!(
                "the task is {}; only a task whose verification failed, or that changed no files, is taken as it is",
                task.status()
            );
            Err(Refusal::state(problem).into())
        }
    }
}
