//! The list of all tasks as a person reads it: each task with its state in plain words, its agent and its plan.

use engine::delivery::{CheckOutcome, Delivery, DeliveryState};
use engine::id::{AgentId, WorkflowId};
use engine::list::TaskQuery;
use engine::task::{Status, Task, TaskState};
use engine::view::is_planned;
use engine::workflow::{Workflow, WorkflowStatus};
use engine::world::UnmetNeed;
use engine::{Actor, DecisionStop, Need, Timestamp, World};
use wire::json::{Value, object};

use super::workload;
use crate::error::Error;
use crate::service::Service;

/// The maximum number of tasks in one list. A person does not read more.
pub const ROWS_MAX: usize = 100;
/// The maximum number of tasks that one read from the store returns (one page). `PAGE_ROWS` is the same number.
const PAGE: u32 = 200;
const PAGE_ROWS: usize = 200;
/// The maximum number of pages that are read for one list. A person finds tasks of further pages with a filter or by
/// their number.
const PAGES_MAX: u32 = 20;
/// The maximum number of tasks that are named as the reason why a task waits.
const AFTER_SHOWN: usize = 3;

/// The tasks that a person wants to see.
#[derive(Debug, Clone, Default)]
pub struct TaskListFilter {
    /// Only tasks that an agent can claim now.
    pub ready: bool,
    pub plan: Option<WorkflowId>,
    /// Only tasks with one of these statuses. Empty for all statuses.
    pub statuses: Vec<Status>,
    /// Only tasks that this agent holds or finished.
    pub agent: Option<AgentId>,
    /// True when the list also has the tasks of archived plans.
    pub archived: bool,
    /// Only tasks whose number is lower than this one. `None` for the newest tasks.
    pub before: Option<u32>,
}

/// One row of the task list: a task with its state, its agent and its plan.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedTask {
    pub task: Task,
    /// The state in plain words, such as `ready`, `after 12` or `merged`.
    pub state: String,
    /// The agent that holds the task, else the agent that worked on it last, if it is known.
    pub agent: Option<(AgentId, String)>,
    /// The time since which the task is in this state. For a held task, the time of the claim.
    pub since: Timestamp,
    pub plan: String,
}

/// The newest tasks that fit a filter, ordered by number.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TaskListPage {
    pub rows: Vec<ListedTask>,
    /// True when there are further tasks with lower numbers.
    pub has_older: bool,
}

/// Reads the tasks that fit a filter. Leaves out the tasks of a plan that is still being written or is still a draft.
pub async fn read(service: &Service, filter: TaskListFilter) -> Result<TaskListPage, Error> {
    let now = service.now();
    service.view(move |world| page(world, &filter, now)).await
}

/// Returns all tasks of a plan in the order of the plan, at most `most`. Also returns true when the plan has more.
pub async fn whole_plan(service: &Service, plan: WorkflowId, most: usize) -> Result<(Vec<ListedTask>, bool), Error> {
    let (mut rows, mut after) = (Vec::new(), None);
    loop {
        let found = service
            .view(move |world| {
                world.workflow(plan)?;
                let filter = TaskListFilter { archived: true, ..TaskListFilter::default() };
                let page = TaskQuery::Planned { workflow: plan, statuses: Vec::new(), after, limit: PAGE };
                listed(world, world.ask(&page)?, &filter)
            })
            .await?;
        let is_last = found.len() < PAGE_ROWS;
        after = found.last().map(|row| (row.task.sequence, row.task.id));
        rows.extend(found);
        if rows.len() > most {
            rows.truncate(most);
            return Ok((rows, true));
        }
        if is_last {
            return Ok((rows, false));
        }
    }
}

/// Returns the state of one task in plain words, such as `ready`, `after 12` or `merged`.
pub async fn state_of(service: &Service, task: &Task) -> Result<String, Error> {
    let task = task.clone();
    let filter = TaskListFilter { archived: true, ..TaskListFilter::default() };
    let rows = service.view(move |world| listed(world, std::slice::from_ref(&task), &filter)).await?;
    Ok(rows.into_iter().next().map(|row| row.state).unwrap_or_default())
}

fn page(world: &World, filter: &TaskListFilter, now: Timestamp) -> Result<TaskListPage, DecisionStop> {
    let mut rows = match (filter.ready, filter.plan) {
        (true, _) => listed(world, &workload::ready(world, now)?, filter)?,
        (false, Some(plan)) => of_plan(world, plan, filter)?,
        (false, None) => of_all_plans(world, filter)?,
    };
    rows.sort_by_key(|row| row.task.number);
    let older = rows.len().saturating_sub(ROWS_MAX);
    rows.drain(..older);
    Ok(TaskListPage { rows, has_older: older > 0 })
}

/// Returns the newest tasks of all plans. Reads pages until it has more rows than a list shows, because the caller must
/// know whether there are older tasks.
fn of_all_plans(world: &World, filter: &TaskListFilter) -> Result<Vec<ListedTask>, DecisionStop> {
    let (mut rows, mut before) = (Vec::new(), filter.before.unwrap_or(u32::MAX));
    for _ in 0..PAGES_MAX {
        let found = world.ask(&TaskQuery::Recent { statuses: filter.statuses.clone(), before, limit: PAGE })?;
        rows.extend(listed(world, found, filter)?);
        match found.last() {
            Some(last) if found.len() >= PAGE_ROWS && rows.len() <= ROWS_MAX => before = last.number,
            Some(_) | None => break,
        }
    }
    Ok(rows)
}

fn of_plan(world: &World, plan: WorkflowId, filter: &TaskListFilter) -> Result<Vec<ListedTask>, DecisionStop> {
    let (mut rows, mut after) = (Vec::new(), None);
    for _ in 0..PAGES_MAX {
        let statuses = filter.statuses.clone();
        let found = world.ask(&TaskQuery::Planned { workflow: plan, statuses, after, limit: PAGE })?;
        rows.extend(listed(world, found, filter)?);
        match found.last() {
            Some(last) if found.len() >= PAGE_ROWS => after = Some((last.sequence, last.id)),
            Some(_) | None => break,
        }
    }
    Ok(rows)
}

/// Returns the rows of the tasks that fit the filter.
fn listed(world: &World, tasks: &[Task], filter: &TaskListFilter) -> Result<Vec<ListedTask>, DecisionStop> {
    let is_of_plan = |task: &&Task| filter.plan.is_none_or(|plan| task.workflow == plan);
    let has_status = |task: &&Task| filter.statuses.is_empty() || filter.statuses.contains(&task.status());
    let is_older = |task: &&Task| filter.before.is_none_or(|before| task.number < before);
    let tasks: Vec<&Task> = tasks.iter().filter(is_of_plan).filter(has_status).filter(is_older).collect();
    world.want(tasks.iter().map(|task| Need::Workflow(task.workflow)))?;
    let mut shown = Vec::new();
    for task in tasks {
        let plan = world.workflow(task.workflow)?;
        if is_planned(plan) && (filter.archived || !plan.archived || filter.plan == Some(plan.id)) {
            shown.push((task, plan));
        }
    }
    let needs = |task: &Task| match task.status() {
        Status::Completed => Some(Need::Delivery(task.id)),
        Status::Pending if task.unmet > 0 => Some(UnmetNeed(task.id).into()),
        Status::Pending
        | Status::Planning
        | Status::InProgress
        | Status::Paused
        | Status::Blocked
        | Status::Failed
        | Status::Skipped => None,
    };
    world.want(shown.iter().filter_map(|(task, _)| needs(task)))?;
    let mut rows = Vec::new();
    for (task, plan) in shown {
        let row = row(world, task, plan)?;
        let fits = filter.agent.is_none_or(|agent| row.agent.as_ref().is_some_and(|(id, _)| *id == agent));
        rows.extend(fits.then_some(row));
    }
    Ok(rows)
}

fn row(world: &World, task: &Task, plan: &Workflow) -> Result<ListedTask, DecisionStop> {
    let delivery = if task.status() == Status::Completed { world.delivery(task.id)? } else { None };
    let is_waiting = task.status() == Status::Pending && task.unmet > 0;
    let state = if is_waiting { after(world, task)? } else { state_words(task, delivery, plan).to_owned() };
    let lease = task.state.lease();
    let agent = lease.map(|lease| lease.agent).or_else(|| delivery.map(|row| row.agent)).or_else(|| actor(task));
    let agent = agent.map(|id| Ok::<_, DecisionStop>((id, world.agent(id)?.slug.clone()))).transpose()?;
    let changed = delivery.map_or(task.updated, |row| row.updated);
    let since = lease.map_or(changed, |lease| lease.since);
    Ok(ListedTask { task: task.clone(), state, agent, since, plan: plan.name.clone() })
}

/// Returns the tasks that a task waits for, by their numbers: `after 12, 13`.
fn after(world: &World, task: &Task) -> Result<String, DecisionStop> {
    let unmet = world.ask(&UnmetNeed(task.id))?;
    world.want(unmet.iter().map(|(id, _)| Need::Task(*id)))?;
    let mut numbers =
        unmet.iter().map(|(id, _)| Ok(world.task(*id)?.number)).collect::<Result<Vec<_>, DecisionStop>>()?;
    numbers.sort_unstable();
    let more = if numbers.len() > AFTER_SHOWN { ", …" } else { "" };
    let shown: Vec<String> = numbers.iter().take(AFTER_SHOWN).map(u32::to_string).collect();
    Ok(format!("after {}{more}", shown.join(", ")))
}

/// Returns the state of a task in plain words. The caller handles a task that waits for other tasks (`after 12`)
/// itself.
fn state_words(task: &Task, delivery: Option<&Delivery>, plan: &Workflow) -> &'static str {
    match &task.state {
        TaskState::Pending { lease: Some(_) } => "claimed",
        TaskState::Pending { lease: None } => match plan.status {
            WorkflowStatus::Paused => "plan paused",
            WorkflowStatus::Completed | WorkflowStatus::Failed | WorkflowStatus::Abandoned => "plan over",
            WorkflowStatus::Planning
            | WorkflowStatus::Ready
            | WorkflowStatus::InProgress
            | WorkflowStatus::AwaitingMerge => "ready",
        },
        TaskState::Planning { .. } | TaskState::InProgress { .. } => "working",
        TaskState::Paused { .. } => "asks you",
        TaskState::Blocked(_) => "blocked",
        TaskState::Failed { .. } => "failed",
        TaskState::Skipped { .. } => "skipped",
        TaskState::Completed { .. } => delivery.map_or("done", delivered_words),
    }
}

/// Returns what became of finished work, in plain words.
fn delivered_words(delivery: &Delivery) -> &'static str {
    match (&delivery.state, &delivery.check) {
        (DeliveryState::Merged { .. }, _) => "merged",
        (DeliveryState::Dropped { .. }, _) => "dropped",
        (DeliveryState::InPlan { .. }, CheckOutcome::Checked { .. } | CheckOutcome::CheckedFlaky { .. }) => {
            "checked, in plan"
        }
        (DeliveryState::InPlan { .. }, CheckOutcome::Unchecked { .. }) => "unchecked, in plan",
        (DeliveryState::Waiting, CheckOutcome::Checked { .. } | CheckOutcome::CheckedFlaky { .. }) => "checked",
        (DeliveryState::Waiting, CheckOutcome::Unchecked { .. }) => "unchecked",
        (DeliveryState::Waiting | DeliveryState::InPlan { .. }, CheckOutcome::NoChanges) => "no changes",
    }
}

/// Returns the agent that ended the work on a task.
fn actor(task: &Task) -> Option<AgentId> {
    let by = match &task.state {
        TaskState::Blocked(block) => &block.by,
        TaskState::Failed { by, .. } | TaskState::Completed { by, .. } | TaskState::Skipped { by, .. } => by,
        TaskState::Pending { .. }
        | TaskState::Planning { .. }
        | TaskState::InProgress { .. }
        | TaskState::Paused { .. } => return None,
    };
    match by {
        Actor::Agent(agent) => Some(*agent),
        Actor::Runner | Actor::Coordinator | Actor::Person | Actor::Engine => None,
    }
}

impl ListedTask {
    /// Returns the row as JSON, for programs and for tables.
    pub fn to_value(&self) -> Value {
        let task = &self.task;
        object([
            ("number", u64::from(task.number).into()),
            ("id", task.id.to_string().into()),
            ("name", task.name.as_str().into()),
            ("status", task.status().as_str().into()),
            ("state", self.state.as_str().into()),
            ("agent", self.agent.as_ref().map(|(_, slug)| slug.as_str()).into()),
            ("agent_id", self.agent.as_ref().map(|(id, _)| id.to_string()).into()),
            ("since", Value::Number(self.since.0.into())),
            ("plan", self.plan.as_str().into()),
            ("workflow_id", task.workflow.to_string().into()),
        ])
    }
}

#[cfg(test)]
#[path = "task_list_tests.rs"]
mod tests;
