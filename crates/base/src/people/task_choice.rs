//! Finds the task, plan or agent that a person means by a number, a name or an id.

use engine::agent::Agent;
use engine::delivery::DeliveryState;
use engine::id::{AgentId, TaskId, WorkflowId};
use engine::list::{
    AgentFilter, AgentQuery, ApprovalQuery, DeliveryQuery, MessageQuery, TaskQuery, WorkflowDeliveryQuery,
    WorkflowFilter, WorkflowQuery,
};
use engine::task::{Status, Task, TaskState};
use engine::view::is_planned;
use engine::workflow::Workflow;
use engine::{DecisionStop, Need, World};

use crate::error::Error;
use crate::service::Service;

/// The maximum number of rows in a list from which a person chooses. A longer list is cut, because people do not read
/// more.
pub const CHOICES_MAX: usize = 50;
/// The maximum number of workflows, newest first, in which a task or plan is searched by its name.
const WORKFLOWS_SEARCHED: u32 = 50;
/// The maximum number of tasks of one workflow that are searched by the beginning of their name. The same limit holds
/// for the agents that are searched.
const TASKS_SEARCHED: u32 = 500;

/// The task or the plan that a person named in a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NamedWork {
    Task(Box<Task>),
    Plan(Box<Workflow>),
}

/// The things that a text names: exactly one, several, or none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskChoice<T> {
    One(T),
    /// The text is the beginning of several names or ids, or several things have this name.
    Several(Vec<T>),
    Nothing,
}

/// The purpose of a command that needs a task. When the person names no task, the command takes the only task for which
/// a command of this purpose can be given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskPurpose {
    /// The command shows or merges finished work.
    Finished,
    /// The command drops work: finished work, or a task that cannot continue.
    Drop,
    /// The command gives a task back to its agent.
    SendBack,
    /// The command answers the question of an agent.
    Answer,
    /// The command lets a blocked or failed task start again.
    Retry,
    /// The command accepts a blocked task, or a task without changes, as it is.
    Take,
    /// The command ends a running turn.
    Stop,
    /// The command decides about an approval request.
    Approve,
    /// The command shows the output of a task's turns. The candidates are the running tasks. When no task is running,
    /// the candidates are the tasks that need a person.
    Logs,
}

impl<T> TaskChoice<T> {
    fn of(mut found: Vec<T>) -> Self {
        match found.len() {
            0 => Self::Nothing,
            1 => found.pop().map_or(Self::Nothing, Self::One),
            _ => {
                found.truncate(CHOICES_MAX);
                Self::Several(found)
            }
        }
    }

    fn map<U>(self, map: impl Fn(T) -> U) -> TaskChoice<U> {
        match self {
            Self::One(found) => TaskChoice::One(map(found)),
            Self::Several(found) => TaskChoice::Several(found.into_iter().map(map).collect()),
            Self::Nothing => TaskChoice::Nothing,
        }
    }
}

/// Returns the task that a text names: by its number, its id, its exact name, or the beginning of an id or a name. Only
/// the best kind of match counts. An exact name wins over longer names that begin with it.
pub async fn find_task(service: &Service, text: &str) -> Result<TaskChoice<Task>, Error> {
    let text = text.trim().to_owned();
    service.view(move |world| tasks_named(world, &text)).await
}

/// Returns the task or the plan that a text names. When a task and a plan have the same name, returns the task.
pub async fn find_work(service: &Service, text: &str) -> Result<TaskChoice<NamedWork>, Error> {
    let text = text.trim().to_owned();
    service
        .view(move |world| {
            let tasks = tasks_named(world, &text)?;
            if tasks != TaskChoice::Nothing {
                return Ok(tasks.map(|task| NamedWork::Task(Box::new(task))));
            }
            Ok(plans_named(world, &text)?.map(|plan| NamedWork::Plan(Box::new(plan))))
        })
        .await
}

/// Returns the plan (workflow) that a text names: by its id, its exact name, or the beginning of either.
pub async fn find_plan(service: &Service, text: &str) -> Result<TaskChoice<Workflow>, Error> {
    let text = text.trim().to_owned();
    service.view(move |world| plans_named(world, &text)).await
}

/// Returns the agent that a text names: by its slug or its exact name, its id, or the beginning of one of them. Several
/// agents can have one name. An agent that has unregistered is found only by its id.
pub async fn find_agent(service: &Service, text: &str) -> Result<TaskChoice<Agent>, Error> {
    let text = text.trim().to_owned();
    service.view(move |world| agents_named(world, &text)).await
}

/// Returns the tasks for which a command of this purpose can be given, oldest first.
pub async fn candidates(service: &Service, purpose: TaskPurpose) -> Result<Vec<Task>, Error> {
    service.view(move |world| waiting_for(world, purpose)).await
}

/// Returns the plans whose finished work waits for a person, oldest first.
pub async fn waiting_plans(service: &Service) -> Result<Vec<Workflow>, Error> {
    service
        .view(move |world| {
            let limit = u32::try_from(CHOICES_MAX).unwrap_or(u32::MAX);
            let rows = world.ask(&WorkflowDeliveryQuery::Waiting { after: None, limit })?.clone();
            world.want(rows.iter().map(|row| Need::Workflow(row.workflow)))?;
            rows.iter().map(|row| Ok(world.workflow(row.workflow)?.clone())).collect()
        })
        .await
}

fn tasks_named(world: &World, text: &str) -> Result<TaskChoice<Task>, DecisionStop> {
    if text.is_empty() {
        return Ok(TaskChoice::Nothing);
    }
    if let Some(number) = number(text) {
        let found = visible(world, world.ask(&TaskQuery::Numbered { number })?.clone())?;
        if !found.is_empty() {
            return Ok(TaskChoice::of(found));
        }
    }
    if let Ok(id) = text.parse::<TaskId>() {
        return Ok(TaskChoice::of(visible(world, world.ask(&id_beginning(&id.to_string()))?.clone())?));
    }
    let limit = u32::try_from(CHOICES_MAX).unwrap_or(u32::MAX);
    let named = visible(world, world.ask(&TaskQuery::Named { name: text.to_owned(), limit })?.clone())?;
    if !named.is_empty() {
        return Ok(TaskChoice::of(named));
    }
    let mut found =
        if text.starts_with("tk_") { visible(world, world.ask(&id_beginning(text))?.clone())? } else { Vec::new() };
    let workflows = searched(world)?;
    let of = |workflow: WorkflowId| TaskQuery::Planned {
        workflow,
        statuses: Vec::new(),
        after: None,
        limit: TASKS_SEARCHED,
    };
    world.want(workflows.iter().map(|row| of(row.id)))?;
    let begins = text.to_lowercase();
    for workflow in workflows.iter().filter(|row| is_planned(row)) {
        let tasks = world.ask(&of(workflow.id))?;
        found.extend(tasks.iter().filter(|task| task.name.to_lowercase().starts_with(&begins)).cloned());
    }
    found.sort_by_key(|task| task.number);
    Ok(TaskChoice::of(found))
}

fn id_beginning(text: &str) -> TaskQuery {
    TaskQuery::IdBeginning { text: text.to_owned(), limit: u32::try_from(CHOICES_MAX).unwrap_or(u32::MAX) }
}

/// Reads a text such as `12` or `#12` as the number of a task.
fn number(text: &str) -> Option<u32> {
    text.strip_prefix('#').unwrap_or(text).parse().ok()
}

/// Removes the tasks of plans that are still drafts, because people do not see them yet.
fn visible(world: &World, tasks: Vec<Task>) -> Result<Vec<Task>, DecisionStop> {
    world.want(tasks.iter().map(|task| Need::Workflow(task.workflow)))?;
    let mut shown = Vec::new();
    for task in tasks {
        if is_planned(world.workflow(task.workflow)?) {
            shown.push(task);
        }
    }
    Ok(shown)
}

fn searched(world: &World) -> Result<Vec<Workflow>, DecisionStop> {
    let filter = WorkflowFilter { archived: true, ..WorkflowFilter::default() };
    Ok(world.ask(&WorkflowQuery { filter, after: None, offset: 0, limit: WORKFLOWS_SEARCHED })?.clone())
}

fn plans_named(world: &World, text: &str) -> Result<TaskChoice<Workflow>, DecisionStop> {
    if text.is_empty() {
        return Ok(TaskChoice::Nothing);
    }
    if let Ok(id) = text.parse::<WorkflowId>() {
        return match world.workflow(id) {
            Ok(found) => Ok(TaskChoice::One(found.clone())),
            Err(DecisionStop::Refused(_)) => Ok(TaskChoice::Nothing),
            Err(stop) => Err(stop),
        };
    }
    let all = searched(world)?;
    let exact: Vec<Workflow> = all.iter().filter(|row| row.name == text).cloned().collect();
    if !exact.is_empty() {
        return Ok(TaskChoice::of(exact));
    }
    let begins = text.to_lowercase();
    let fits = |row: &&Workflow| {
        row.name.to_lowercase().starts_with(&begins)
            || (text.starts_with("wf_") && row.id.to_string().starts_with(text))
    };
    Ok(TaskChoice::of(all.iter().filter(fits).cloned().collect()))
}

fn agents_named(world: &World, text: &str) -> Result<TaskChoice<Agent>, DecisionStop> {
    if text.is_empty() {
        return Ok(TaskChoice::Nothing);
    }
    if let Ok(id) = text.parse::<AgentId>() {
        return match world.agent(id) {
            Ok(found) => Ok(TaskChoice::One(found.clone())),
            Err(DecisionStop::Refused(_)) => Ok(TaskChoice::Nothing),
            Err(stop) => Err(stop),
        };
    }
    let query = AgentQuery { filter: AgentFilter::default(), after: None, limit: TASKS_SEARCHED };
    let mut all: Vec<Agent> = world.ask(&query)?.iter().map(|(agent, _)| agent.clone()).collect();
    // Sort by name, because the ids are random and would give a random order.
    all.sort_by(|one, other| one.slug.cmp(&other.slug));
    let present = || all.iter().filter(|agent| agent.left.is_none());
    let begins = text.to_lowercase();
    // Two agents of one name have different slugs, and the first one has its name as its slug. A person who types the
    // name can mean each of them.
    for fits in
        [&(|agent: &Agent| agent.slug == text || agent.name == text) as &dyn Fn(&Agent) -> bool, &|agent: &Agent| {
            agent.slug.starts_with(&begins) || agent.name.to_lowercase().starts_with(&begins)
        }]
    {
        let found: Vec<Agent> = present().filter(|agent| fits(agent)).cloned().collect();
        if !found.is_empty() {
            return Ok(TaskChoice::of(found));
        }
    }
    Ok(TaskChoice::Nothing)
}

fn waiting_for(world: &World, purpose: TaskPurpose) -> Result<Vec<Task>, DecisionStop> {
    let limit = u32::try_from(CHOICES_MAX).unwrap_or(u32::MAX);
    let mut found = Vec::new();
    let delivered = matches!(purpose, TaskPurpose::Finished | TaskPurpose::Drop | TaskPurpose::SendBack);
    if delivered {
        let rows = world.ask(&DeliveryQuery::Waiting { after: None, limit })?.clone();
        world.want(rows.iter().map(|row| Need::Task(row.task)))?;
        for row in rows.iter().filter(|row| row.state == DeliveryState::Waiting) {
            found.push(world.task(row.task)?.clone());
        }
    }
    let is_stuck = |task: &Task| match purpose {
        TaskPurpose::Drop | TaskPurpose::SendBack | TaskPurpose::Retry | TaskPurpose::Logs => {
            matches!(task.status(), Status::Blocked | Status::Failed)
        }
        TaskPurpose::Take => matches!(&task.state, TaskState::Blocked(_)),
        TaskPurpose::Finished | TaskPurpose::Answer | TaskPurpose::Stop | TaskPurpose::Approve => false,
    };
    let stuck = world.ask(&TaskQuery::Stuck { limit })?.clone();
    found.extend(stuck.into_iter().filter(is_stuck));
    match purpose {
        TaskPurpose::Stop | TaskPurpose::Logs => {
            let held = world.ask(&TaskQuery::Held { limit })?.clone();
            let running: Vec<Task> = held.into_iter().filter(|task| task.status() != Status::Paused).collect();
            // When a task runs, leave out the tasks that stopped, because a person who follows logs wants the running
            // task.
            if purpose == TaskPurpose::Stop || !running.is_empty() {
                found = running;
            }
        }
        TaskPurpose::Answer => {
            let asked = world.ask(&MessageQuery::Questions { after: 0, limit })?.clone();
            found = of_ids(world, asked.iter().filter_map(|question| question.draft.task))?;
        }
        TaskPurpose::Approve => {
            let query = ApprovalQuery::WithStatus {
                statuses: vec![engine::approval::ApprovalStatus::Pending],
                before: None,
                limit,
            };
            let asked = world.ask(&query)?.clone();
            found = of_ids(world, asked.iter().filter_map(|row| row.waiting.map(|waiting| waiting.task)))?;
        }
        TaskPurpose::Finished | TaskPurpose::Drop | TaskPurpose::SendBack | TaskPurpose::Retry | TaskPurpose::Take => {}
    }
    let mut found = visible(world, found)?;
    found.sort_by_key(|task| task.number);
    found.dedup_by_key(|task| task.id);
    found.truncate(CHOICES_MAX);
    Ok(found)
}

fn of_ids(world: &World, ids: impl Iterator<Item = TaskId>) -> Result<Vec<Task>, DecisionStop> {
    let ids: Vec<TaskId> = ids.collect();
    world.want(ids.iter().map(|id| Need::Task(*id)))?;
    ids.into_iter().map(|id| Ok(world.task(id)?.clone())).collect()
}

#[cfg(test)]
#[path = "task_choice_tests.rs"]
mod tests;
