//! The reasons why tasks of a workflow cannot be claimed: which tasks wait for a skill, for files, for a person or for
//! other tasks, and whether a workflow is stalled.

use super::is_planned;
use crate::gate_state;
use crate::id::{TaskId, WorkflowId};
use crate::limits;
use crate::list::{CountQuery, TaskQuery};
use crate::offer;
use crate::task::{Status, Task};
use crate::time::Timestamp;
use crate::workflow::Workflow;
use crate::world::{Candidates, DecisionStop, NumberNeed, TaskRowNeed, TypedQuestion, World};

/// The open tasks of one workflow in groups: the tasks that can be claimed, and the tasks that cannot, by the reason.
/// Each list has at most [`limits::CANDIDATES_MAX`] tasks.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct WaitingTasks {
    /// Tasks that need a role or a capability which no agent has. The caller of [`waiting`] chooses the agents that
    /// count.
    pub unfit: Vec<Task>,
    /// Tasks whose next claim a person must approve first.
    pub gated: Vec<Task>,
    /// Tasks that would change the same files as another task, which an agent holds or which can be claimed. Each pair
    /// has the waiting task and the id of the other task.
    pub files: Vec<(Task, TaskId)>,
    /// Tasks that can be claimed.
    pub claimable: Vec<Task>,
    /// The number of tasks that wait for other tasks.
    pub dependent: u32,
    /// The number of tasks that wait for a person: paused, blocked and failed tasks.
    pub person: u32,
    /// The number of tasks that agents hold.
    pub working: u32,
}

/// Returns the open tasks of a workflow in groups, by the reason why they wait. `fits` returns true when an agent has
/// the skills for a task. A task with several reasons is listed under the first of these: skills, gate, files.
pub fn waiting(
    world: &World,
    id: WorkflowId,
    fits: &dyn Fn(&Task) -> bool,
    now: Timestamp,
) -> Result<WaitingTasks, DecisionStop> {
    let mut found = WaitingTasks::default();
    if !is_planned(world.workflow(id)?) {
        return Ok(found);
    }
    let limit = u32::try_from(limits::CANDIDATES_MAX).unwrap_or(u32::MAX);
    let candidates = TaskRowNeed::Candidates(Candidates { workflow: id, failed: false, after: None, limit });
    let (statuses, dependent) = (CountQuery::Statuses(id), TaskQuery::Waiting { workflow: id, after: None, limit });
    let running = NumberNeed::Running(id, now);
    world.want([candidates.clone().into(), statuses.need(), dependent.need(), running.clone().into()])?;
    let mut busy = world.ask(&TaskRowNeed::BusyFiles(id, now))?.clone();
    for task in world.ask(&candidates)? {
        if !fits(task) {
            found.unfit.push(task.clone());
        } else if !gate_state::is_passable(world, task, now)? {
            found.gated.push(task.clone());
        } else if let Some(other) = offer::conflict(task, &busy) {
            found.files.push((task.clone(), other));
        } else {
            if !task.touches.is_empty() {
                busy.push(task.clone());
            }
            found.claimable.push(task.clone());
        }
    }
    found.dependent = u32::try_from(world.ask(&dependent)?.len()).unwrap_or(u32::MAX);
    let needing = [Status::Paused, Status::Blocked, Status::Failed];
    found.person = needing.iter().map(|status| counted(world.ask(&statuses), *status)).sum::<Result<u32, _>>()?;
    found.working = *world.ask(&running)?;
    Ok(found)
}

/// The numbers of open tasks in a stalled workflow, by the reason why the tasks cannot continue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StallCauses {
    pub failed: u32,
    pub blocked: u32,
    /// The number of pending tasks. Each of them waits, directly or through other tasks, for a failed or blocked task.
    pub waiting: u32,
}

/// Returns for each workflow why it is stalled. A workflow is stalled when each of its open tasks is failed, is
/// blocked, or waits for a failed or blocked task. Returns `None` for a workflow that is not stalled, and for a
/// workflow that is paused or over.
pub fn stalls(
    world: &World,
    workflows: &[&Workflow],
    now: Timestamp,
) -> Result<Vec<Option<StallCauses>>, DecisionStop> {
    let can_stall = |row: &Workflow| is_planned(row) && row.status.is_running() && row.open > 0;
    let running = workflows.iter().filter(|row| can_stall(row));
    world.want(running.flat_map(|row| {
        let (candidates, statuses, running) = stall_needs(row.id, now);
        [candidates.into(), statuses.need(), running.into()]
    }))?;
    workflows.iter().map(|row| if can_stall(row) { stall(world, row.id, now) } else { Ok(None) }).collect()
}

/// Returns three questions to the store. Their answers show whether a workflow is stalled: a task that can be claimed,
/// the number of tasks in each status, and the number of tasks that agents work on.
fn stall_needs(id: WorkflowId, now: Timestamp) -> (TaskRowNeed, CountQuery, NumberNeed) {
    let candidates = TaskRowNeed::Candidates(Candidates { workflow: id, failed: false, after: None, limit: 1 });
    (candidates, CountQuery::Statuses(id), NumberNeed::Running(id, now))
}

fn stall(world: &World, id: WorkflowId, now: Timestamp) -> Result<Option<StallCauses>, DecisionStop> {
    let (candidates, statuses, running) = stall_needs(id, now);
    let count = |status| counted(world.ask(&statuses), status);
    let can_continue = !world.ask(&candidates)?.is_empty()
        || *world.ask(&running)? > 0
        || count(Status::Paused)? + count(Status::InProgress)? + count(Status::Planning)? > 0;
    let causes = StallCauses {
        failed: count(Status::Failed)?,
        blocked: count(Status::Blocked)?,
        waiting: count(Status::Pending)?,
    };
    Ok((!can_continue && causes.failed + causes.blocked > 0).then_some(causes))
}

fn counted(counts: Result<&Vec<(String, u32)>, DecisionStop>, status: Status) -> Result<u32, DecisionStop> {
    Ok(counts?.iter().find(|(word, _)| word == status.as_str()).map_or(0, |(_, count)| *count))
}
