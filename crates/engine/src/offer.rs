//! Finds the tasks that an agent can claim now, ordered by priority and then by position in the plan.

use crate::gate_state;
use crate::id::{AgentId, TaskId, WorkflowId};
use crate::limits;
use crate::task::{Status, Task};
use crate::time::Timestamp;
use crate::touches;
use crate::world::{Candidates, DecisionStop, NumberNeed, TaskRowNeed, World};

/// A position in the list of claimable tasks: the priority, sequence and id of the last task of a page. The next page
/// begins after that task.
pub type OfferPosition = (u8, u32, TaskId);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OfferQuery {
    pub workflow: WorkflowId,
    /// The agent that looks for a task. When it is `None`, role and capabilities are not checked.
    pub agent: Option<AgentId>,
    pub include_failed: bool,
    pub after: Option<OfferPosition>,
    pub limit: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub struct OfferPage {
    pub tasks: Vec<Task>,
    /// The position after which the next page begins. `None` when there are no more tasks.
    pub next: Option<OfferPosition>,
    pub limit_reached: bool,
}

/// Returns one page of tasks that can be claimed. The function reads a bounded number of tasks, so its cost does not
/// grow with the size of the workflow.
pub fn next(world: &World, ask: &OfferQuery, now: Timestamp) -> Result<OfferPage, DecisionStop> {
    let workflow = world.workflow(ask.workflow)?;
    let nothing = |limit_reached| OfferPage { tasks: Vec::new(), next: None, limit_reached };
    if !workflow.status.is_running() {
        return Ok(nothing(false));
    }
    if let Some(limit) = workflow.parallel_max
        && *world.ask(&NumberNeed::Running(ask.workflow, now))? >= limit
    {
        return Ok(nothing(true));
    }
    let agent = ask.agent.map(|agent| world.agent(agent)).transpose()?;
    // Usually the agent can claim one of the first tasks, so this code reads few rows: one row more than the caller
    // asked for, and at least 32 rows. When the agent can claim none of them, the caller asks for the next page.
    let limit = (ask.limit.saturating_add(1)).clamp(32, limits::CANDIDATES_MAX);
    let candidates = candidates(world, ask, u32::try_from(limit).unwrap_or(u32::MAX))?;
    let mut busy: Option<Vec<Task>> = None;
    let mut page = nothing(false);
    let more = candidates.len() >= limit;
    for (seen, task) in candidates.iter().enumerate() {
        if page.tasks.len() == ask.limit {
            page.next = seen.checked_sub(1).and_then(|last| candidates.get(last)).map(|task| position(task));
            return Ok(page);
        }
        // Skip a failed task without attempts left. The flag `more` (whether another page follows) is computed from all
        // candidates, including the skipped ones. Otherwise a page with only skipped tasks would look like the last
        // page.
        if task.status() == Status::Failed && !task.has_attempts_left() {
            continue;
        }
        if agent.is_some_and(|agent| !agent.can_do(task.role.as_deref(), &task.capabilities)) {
            continue;
        }
        if !gate_state::is_passable(world, task, now)? {
            continue;
        }
        if !task.touches.is_empty() {
            let busy = match &mut busy {
                Some(busy) => busy,
                None => busy.insert(world.ask(&TaskRowNeed::BusyFiles(ask.workflow, now))?.clone()),
            };
            if conflict(task, busy).is_some() {
                continue;
            }
            // Count this task as busy from now on, so that no later task of this page changes the same files. So agents
            // can claim all tasks of the page at the same time.
            busy.push((*task).clone());
        }
        page.tasks.push((*task).clone());
    }
    page.next = if more { candidates.last().map(|task| position(task)) } else { None };
    Ok(page)
}

/// Returns pending tasks and, if the query includes them, failed tasks. The pending and the failed tasks are merged
/// into one order.
fn candidates<'w>(world: &'w World, ask: &OfferQuery, limit: u32) -> Result<Vec<&'w Task>, DecisionStop> {
    let need = |failed| TaskRowNeed::Candidates(Candidates { workflow: ask.workflow, failed, after: ask.after, limit });
    let mut found: Vec<&Task> = world.ask(&need(false))?.iter().collect();
    if ask.include_failed {
        found.extend(world.ask(&need(true))?);
        found.sort_by_key(|task| position(task));
        found.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    }
    Ok(found)
}

pub(crate) fn position(task: &Task) -> OfferPosition {
    (task.priority.get(), task.sequence, task.id)
}

/// Returns a task of `busy` that changes a file which `task` changes, too. Two tasks of different repositories never
/// change the same file.
pub(crate) fn conflict(task: &Task, busy: &[Task]) -> Option<TaskId> {
    let meets = |other: &&Task| {
        other.id != task.id
            && (other.repository == task.repository || other.repository.is_none() || task.repository.is_none())
            && touches::overlap(&task.touches, &other.touches)
    };
    busy.iter().find(meets).map(|other| other.id)
}
