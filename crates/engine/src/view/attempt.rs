//! The complete state of an attempt (one claim of a task). With this state, a runner can take over the attempt and
//! continue exactly where the previous runner stopped.

use super::{Reviewed, gating};
use crate::approval::Approval;
use crate::checkpoint::Checkpoint;
use crate::id::TaskId;
use crate::inbox::Message;
use crate::list::{ApprovalQuery, MessageQuery, SpentQuery, TurnQuery, VerificationQuery, Whose};
use crate::task::{Task, TaskDetail};
use crate::turn::{Spent, Turn};
use crate::verification::Verification;
use crate::workflow::{Workflow, WorkflowDetail};
use crate::world::{CheckpointNeed, DecisionStop, Need, NumberNeed, TypedQuestion, World};

/// The maximum number of turns (runs of an agent's program) of one attempt that are read. Other limits stop an attempt
/// before it reaches this number.
const TURN_ROWS: u32 = 500;
/// The maximum number of checkpoints of the task that are read. The newest checkpoints are read. This is enough,
/// because the last question and its answer are among them.
const CHECKPOINT_ROWS: u32 = 50;
/// The maximum numbers of the newest verifications, approvals and questions of the task that are read. The runner needs
/// only the rows of the task's last attempt, and one attempt has fewer rows than this.
const VERIFICATION_ROWS: u32 = 500;
const APPROVAL_ROWS: u32 = 500;
const QUESTION_ROWS: u32 = 500;

#[derive(Debug, Clone, PartialEq)]
pub struct AttemptView {
    pub task: Task,
    pub detail: TaskDetail,
    pub workflow: Workflow,
    pub workflow_detail: WorkflowDetail,
    /// The turns (runs of an agent's program) of this attempt, oldest first.
    pub turns: Vec<Turn>,
    pub verifications: Vec<Verification>,
    /// The approvals that were asked for in this task, newest first.
    pub approvals: Vec<Approval>,
    /// The questions that this task's agent asked a person, newest first.
    pub questions: Vec<Message>,
    /// The newest checkpoints of the task, in the order of time, oldest first.
    pub checkpoints: Vec<Checkpoint>,
    /// The newest review without which the task cannot be completed in this claim. `None` when there is no such review.
    pub review: Option<Reviewed>,
    pub spent: Spent,
    pub spent_workflow: Spent,
}

pub fn attempt(world: &World, id: TaskId) -> Result<AttemptView, DecisionStop> {
    let recorded = NumberNeed::Verifications(id);
    world.want([Need::Task(id), recorded.need()])?;
    let task = world.task(id)?;
    let before = world.ask(&recorded)?.saturating_sub(VERIFICATION_ROWS);
    let after = task.checkpoints.saturating_sub(CHECKPOINT_ROWS);
    let newest = CheckpointNeed { task: id, after, limit: CHECKPOINT_ROWS };
    let turns = TurnQuery::Of { of: Whose::Task(id), before: None, limit: TURN_ROWS };
    let verifications = VerificationQuery { task: id, after: before, limit: VERIFICATION_ROWS };
    let approvals = ApprovalQuery::OfTask { task: id, limit: APPROVAL_ROWS };
    let asked = MessageQuery::QuestionsOfTask { task: id, limit: QUESTION_ROWS };
    let (own, whole) = (SpentQuery(Whose::Task(id)), SpentQuery(Whose::Workflow(task.workflow)));
    let lists = [turns.need(), verifications.need(), approvals.need(), asked.need(), own.need(), whole.need()];
    let rows = [Need::Workflow(task.workflow), Need::WorkflowDetail(task.workflow), Need::Detail(id), newest.need()];
    world.want(lists.into_iter().chain(rows))?;
    let of_attempt = |turn: &&Turn| turn.attempt == task.attempt;
    // Leave out the approval by which a person allowed this claim to begin, because the claim has already used it up.
    let from_here = |approval: &&Approval| !approval.is_gate();
    Ok(AttemptView {
        task: task.clone(),
        detail: world.detail(id)?.clone(),
        workflow: world.workflow(task.workflow)?.clone(),
        workflow_detail: world.workflow_detail(task.workflow)?.clone(),
        turns: world.ask(&turns)?.iter().filter(of_attempt).rev().cloned().collect(),
        verifications: world.ask(&verifications)?.clone(),
        approvals: world.ask(&approvals)?.iter().filter(from_here).cloned().collect(),
        questions: world.ask(&asked)?.clone(),
        checkpoints: world.ask(&newest)?.clone(),
        review: if task.review { gating(world, id, task.attempt)? } else { None },
        spent: *world.ask(&own)?,
        spent_workflow: *world.ask(&whole)?,
    })
}
