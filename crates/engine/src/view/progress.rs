//! The progress of a workflow: the number of tasks in each status, the first open task, and the tasks that wait for
//! others.

use super::{is_planned, paged};
use crate::id::{TaskId, WorkflowId};
use crate::limits;
use crate::list::{CountQuery, GroupQuery, TaskQuery, TotalQuery};
use crate::task::Task;
use crate::workflow::Workflow;
use crate::world::{DecisionStop, TypedQuestion, UnmetNeed, World};

#[derive(Debug, Clone, PartialEq)]
pub struct ProgressView {
    pub workflow: Workflow,
    pub by_status: Vec<(String, u32)>,
    /// The last position in the plan up to which all tasks are completed or skipped.
    pub completed_sequence: u32,
    /// The first position in the plan whose task is neither completed nor skipped. 0 when there is no such task.
    pub current_sequence: u32,
    pub blocked: Vec<BlockedByTasks>,
    pub blocked_more: bool,
    /// The name of each parallel group (tasks that are planned to run at the same time), its number of tasks, and its
    /// number of completed or skipped tasks.
    pub groups: Vec<(String, u32, u32)>,
}

/// A task that waits for other tasks.
#[derive(Debug, Clone, PartialEq)]
pub struct BlockedByTasks {
    pub task: TaskId,
    pub name: String,
    pub blocked_by: Vec<String>,
}

pub fn progress(world: &World, id: WorkflowId) -> Result<ProgressView, DecisionStop> {
    let workflow = world.workflow(id)?.clone();
    let nothing = ProgressView {
        workflow: workflow.clone(),
        by_status: Vec::new(),
        completed_sequence: 0,
        current_sequence: 0,
        blocked: Vec::new(),
        blocked_more: false,
        groups: Vec::new(),
    };
    if !is_planned(&workflow) {
        return Ok(nothing);
    }
    let rows = u32::try_from(limits::PAGE_ROWS_DEFAULT).unwrap_or(u32::MAX);
    let waiting = TaskQuery::Waiting { workflow: id, after: None, limit: rows + 1 };
    let groups = GroupQuery { workflow: id, limit: rows };
    let (statuses, first_open) = (CountQuery::Statuses(id), TotalQuery::FirstOpen(id));
    world.want([statuses.need(), first_open.need(), waiting.need(), groups.need()])?;
    let page = paged(world.ask(&waiting)?, rows, |task: &Task| task.id);
    world.want(page.rows.iter().map(|task| UnmetNeed(task.id)))?;
    let wait = |task: &Task| {
        let names = world.ask(&UnmetNeed(task.id))?.iter().map(|(_, name)| name.clone());
        Ok(BlockedByTasks { task: task.id, name: task.name.clone(), blocked_by: names.collect() })
    };
    let current = *world.ask(&first_open)?;
    Ok(ProgressView {
        by_status: world.ask(&statuses)?.clone(),
        completed_sequence: if current == 0 { workflow.sequence } else { current - 1 },
        current_sequence: current,
        blocked: page.rows.iter().map(wait).collect::<Result<_, DecisionStop>>()?,
        blocked_more: page.next.is_some(),
        groups: world.ask(&groups)?.clone(),
        ..nothing
    })
}
