//! The rules for setting a plan: in one command, or in pieces, each with some of the tasks. These tasks stay hidden
//! until the last piece is stored.
//!
//! The tasks of a workflow in the status `planning` are hidden from agents, so the pieces of a plan can be stored as
//! ordinary tasks. Each unfinished plan (a draft) has a token. A piece with another token is refused, so two planners
//! cannot mix their plans. If a planner dies, the next planner deletes the draft of the dead planner.

use std::sync::Arc;

use crate::case::Case;
use crate::check;
use crate::command::Actor;
use crate::event::Event;
use crate::id::{TaskId, WorkflowId};
use crate::limits;
use crate::plan::PlanPiece;
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::rules::workflow::open;
use crate::workflow::{PlanDraft, Workflow, WorkflowStatus};
use crate::world::{DecisionStop, NumberNeed, TaskRowNeed};

/// The values that describe a whole plan. When a large plan is set in several steps, the caller gives these values in
/// the last step.
pub(crate) struct PlanCommit<'a> {
    pub(crate) summary: &'a str,
    pub(crate) tasks: u32,
    pub(crate) groups: &'a [String],
    pub(crate) task_ids: &'a [(String, TaskId)],
}

fn in_planning(case: &Case<'_>, id: WorkflowId) -> Result<Workflow, DecisionStop> {
    let workflow = open(case, id)?;
    if workflow.status != WorkflowStatus::Planning {
        let problem = format!(
            "the workflow is {}, and workflow_set_plan works only while it is planning; use \
            workflow_replan",
            workflow.status
        );
        return Err(Refusal::state(problem).into());
    }
    Ok(workflow)
}

pub(crate) fn set(
    case: &mut Case<'_>,
    id: WorkflowId,
    summary: &str,
    piece: &Arc<PlanPiece>,
    groups: &[String],
) -> Result<Reply, DecisionStop> {
    check::summary("summary", summary)?;
    let workflow = in_planning(case, id)?;
    if let Some(draft) = &workflow.draft {
        replace_draft(case, id, draft)?;
    }
    case.world.workflow_detail(id)?;
    let author = case.author()?;
    let tasks = u32::try_from(piece.tasks.len()).unwrap_or(u32::MAX);
    let task_ids = piece.named();
    insert(case, id, Arc::clone(piece), author)?;
    case.events.push(Event::PlanSet { workflow: id, summary: summary.to_owned(), tasks });
    Ok(Reply::PlanSet { workflow: id, tasks, groups: groups.to_vec(), task_ids })
}

/// Inserts the tasks of a piece (a part of a plan) and gives them the next task numbers.
pub(crate) fn insert(
    case: &mut Case<'_>,
    workflow: WorkflowId,
    piece: Arc<PlanPiece>,
    author: Option<Actor>,
) -> Result<(), DecisionStop> {
    let first = next_number(case)?;
    case.events.push(Event::Staged { workflow, piece, author, first });
    Ok(())
}

/// Returns the number for the next new task. It is one higher than the last number that was given.
pub(crate) fn next_number(case: &Case<'_>) -> Result<u32, DecisionStop> {
    Ok(case.world.ask(&NumberNeed::LastTaskNumber)?.saturating_add(1))
}

/// Discards another planner's unfinished plan and deletes its tasks. Refuses while that planner still has time to send
/// its next tasks.
fn replace_draft(case: &mut Case<'_>, id: WorkflowId, draft: &PlanDraft) -> Result<(), DecisionStop> {
    if draft.until > case.now {
        return Err(Refusal::state("another plan of this workflow is being written; try again in a minute").into());
    }
    let left = case.world.ask(&TaskRowNeed::Removable(id))?;
    if left.len() > limits::PIECE_ROWS_MAX {
        let problem = "a large plan of this workflow was left unfinished, and a small plan cannot replace it; make a new workflow (workflow_create)";
        return Err(Refusal::state(problem).into());
    }
    case.events.push(Event::DraftCleared { workflow: id, tasks: left.iter().map(|task| task.id).collect() });
    Ok(())
}

pub(crate) fn begin(case: &mut Case<'_>, id: WorkflowId, token: &str) -> Result<Reply, DecisionStop> {
    check::key("token", token)?;
    let workflow = in_planning(case, id)?;
    let other = workflow.draft.as_ref().filter(|draft| draft.token != token);
    if other.is_some_and(|draft| draft.until > case.now) {
        return Err(Refusal::state("another plan of this workflow is being written; try again in a minute").into());
    }
    // The tasks of an earlier unfinished plan must be deleted, even if the same planner sent them: a planner that
    // begins again sends all tasks of its plan again.
    let stale = workflow.draft.is_some();
    drafting(case, id, token);
    Ok(Reply::PlanBegun { stale })
}

fn drafting(case: &mut Case<'_>, workflow: WorkflowId, token: &str) {
    let draft = PlanDraft { token: token.to_owned(), until: case.now + limits::DRAFT_MS };
    case.events.push(Event::Drafting { workflow, draft: Some(draft) });
}

/// Returns the workflow if this token belongs to its unfinished plan. Refuses any other token.
fn own_draft(case: &Case<'_>, id: WorkflowId, token: &str) -> Result<Workflow, DecisionStop> {
    let workflow = in_planning(case, id)?;
    if workflow.draft.as_ref().is_none_or(|draft| draft.token != token) {
        return Err(
            Refusal::state("another caller has started to set the plan of this workflow; set the plan again").into()
        );
    }
    Ok(workflow)
}

/// Deletes a bounded number of the tasks that an earlier unfinished plan left.
pub(crate) fn clear(case: &mut Case<'_>, id: WorkflowId, token: &str) -> Result<Reply, DecisionStop> {
    own_draft(case, id, token)?;
    let left = case.world.ask(&TaskRowNeed::Removable(id))?;
    let rows = left.len().min(limits::PIECE_ROWS_MAX);
    let more = left.len() > rows;
    case.events.push(Event::DraftCleared { workflow: id, tasks: left[..rows].iter().map(|task| task.id).collect() });
    drafting(case, id, token);
    Ok(Reply::DraftCleared { more })
}

pub(crate) fn stage(
    case: &mut Case<'_>,
    id: WorkflowId,
    token: &str,
    piece: &Arc<PlanPiece>,
) -> Result<Reply, DecisionStop> {
    own_draft(case, id, token)?;
    let author = case.author()?;
    insert(case, id, Arc::clone(piece), author)?;
    drafting(case, id, token);
    Ok(Reply::PlanStaged)
}

pub(crate) fn commit(
    case: &mut Case<'_>,
    id: WorkflowId,
    token: &str,
    plan: &PlanCommit<'_>,
) -> Result<Reply, DecisionStop> {
    check::summary("summary", plan.summary)?;
    own_draft(case, id, token)?;
    case.world.workflow_detail(id)?;
    case.events.push(Event::PlanSet { workflow: id, summary: plan.summary.to_owned(), tasks: plan.tasks });
    Ok(Reply::PlanSet {
        workflow: id,
        tasks: plan.tasks,
        groups: plan.groups.to_vec(),
        task_ids: plan.task_ids.to_vec(),
    })
}
