//! The work of all plans as a person sees it: the tasks that run, the tasks that are ready, and the work that was
//! finished today.

use engine::delivery::DeliveryState;
use engine::id::{TaskId, WorkflowId};
use engine::list::{DeliveryQuery, SpentQuery, TaskQuery, Whose, WorkflowFilter};
use engine::offer::{self, OfferQuery};
use engine::task::{Status, Task};
use engine::turn::Purpose;
use engine::view::{self, is_planned};
use engine::workflow::WorkflowStatus;
use engine::world::UnmetNeed;
use engine::{DecisionStop, Need, Timestamp, TypedQuestion as _, World};

use crate::error::Error;
use crate::service::Service;

/// The most registered agents whose skills are compared with ready tasks.
pub const AGENTS_MAX: u32 = 500;
/// The most plans whose ready tasks are listed, the newest ones.
const PLANS_MAX: u32 = 20;
/// The most ready tasks, and the most tasks that wait for others, of one plan.
const READY_MAX: u32 = 50;
/// The most tasks that are shown as running, and the most deliveries that are read at once.
const ROWS: u32 = 200;

/// A task that an agent works on.
#[derive(Debug, Clone, PartialEq)]
pub struct RunningTask {
    pub task: Task,
    pub agent: String,
    /// The time at which the running turn started. Without a turn, the time of the claim.
    pub since: Timestamp,
    /// The reason why the running turn began. `None` when no runner started the agent.
    pub purpose: Option<Purpose>,
    /// The known cost of the task in millionths of a dollar.
    pub usd_micros: Option<u64>,
}

/// A task that an agent can claim, now or after other tasks.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadyTask {
    pub task: Task,
    /// The numbers of the tasks that it waits for. Empty for a task that can start now.
    pub after: Vec<u32>,
}

/// Work that was finished or merged today.
#[derive(Debug, Clone, PartialEq)]
pub struct DoneTask {
    pub task: TaskId,
    pub number: u32,
    pub name: String,
    /// The time of the merge. `None` for work that is not merged.
    pub merged: Option<Timestamp>,
    pub usd_micros: Option<u64>,
    pub at: Timestamp,
}

/// The work that a person sees at one moment.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Workload {
    pub running: Vec<RunningTask>,
    pub ready: Vec<ReadyTask>,
    /// The work of today, oldest first. Dropped work is left out.
    pub done: Vec<DoneTask>,
}

/// Reads the work of all plans. `today` is the time at which the day of the person began.
pub async fn read(service: &Service, today: Timestamp) -> Result<Workload, Error> {
    let now = service.now();
    service
        .view(move |world| {
            let (running, done) = (running(world)?, done(world, today)?);
            let mut listed: Vec<ReadyTask> =
                ready(world, now)?.into_iter().map(|task| ReadyTask { task, after: Vec::new() }).collect();
            listed.extend(waiting(world)?);
            Ok(Workload { running, ready: listed, done })
        })
        .await
}

fn running(world: &World) -> Result<Vec<RunningTask>, DecisionStop> {
    let held = world.ask(&TaskQuery::Held { limit: ROWS })?;
    let held: Vec<&Task> = held.iter().filter(|task| task.status() != Status::Paused).collect();
    world.want(held.iter().flat_map(|task| {
        let agent = task.holder().map(Need::Agent);
        agent.into_iter().chain([
            Need::Workflow(task.workflow),
            Need::TurnRunning(task.id),
            SpentQuery(Whose::Task(task.id)).need(),
        ])
    }))?;
    let mut found = Vec::new();
    for task in held {
        let Some(lease) = task.state.lease() else { continue };
        if !is_planned(world.workflow(task.workflow)?) {
            continue;
        }
        let turn = world.running_turn(task.id)?;
        found.push(RunningTask {
            task: task.clone(),
            agent: world.agent(lease.agent)?.slug.clone(),
            since: turn.map_or(lease.since, |turn| turn.started),
            purpose: turn.map(|turn| turn.purpose),
            usd_micros: world.ask(&SpentQuery(Whose::Task(task.id)))?.usd_micros,
        });
    }
    found.sort_by_key(|row| row.task.number);
    Ok(found)
}

fn plans(world: &World) -> Result<Vec<WorkflowId>, DecisionStop> {
    let statuses = vec![WorkflowStatus::InProgress, WorkflowStatus::Ready];
    let filter = WorkflowFilter { statuses, ..WorkflowFilter::default() };
    let page = view::workflows(world, &filter, None, 0, PLANS_MAX)?;
    Ok(page.rows.iter().filter(|(row, _)| is_planned(row)).map(|(row, _)| row.id).collect())
}

/// Returns the tasks of all plans that an agent with the right skills can claim now, ordered by number.
pub(super) fn ready(world: &World, now: Timestamp) -> Result<Vec<Task>, DecisionStop> {
    let limit = usize::try_from(READY_MAX).unwrap_or(usize::MAX);
    let mut found = Vec::new();
    for workflow in plans(world)? {
        let ask = OfferQuery { workflow, agent: None, include_failed: false, after: None, limit };
        found.extend(offer::next(world, &ask, now)?.tasks);
    }
    found.sort_by_key(|task| task.number);
    Ok(found)
}

/// Returns the tasks of all plans that wait for other tasks, ordered by number.
fn waiting(world: &World) -> Result<Vec<ReadyTask>, DecisionStop> {
    let plans = plans(world)?;
    let list = |workflow: &WorkflowId| TaskQuery::Waiting { workflow: *workflow, after: None, limit: READY_MAX };
    world.want(plans.iter().map(list))?;
    let mut tasks = Vec::new();
    for workflow in &plans {
        tasks.extend(world.ask(&list(workflow))?.iter().cloned());
    }
    world.want(tasks.iter().map(|task: &Task| UnmetNeed(task.id)))?;
    let mut found = Vec::new();
    for task in tasks {
        let unmet = world.ask(&UnmetNeed(task.id))?;
        world.want(unmet.iter().map(|(id, _)| Need::Task(*id)))?;
        let numbers: Result<Vec<u32>, DecisionStop> = unmet.iter().map(|(id, _)| Ok(world.task(*id)?.number)).collect();
        let mut after = numbers?;
        after.sort_unstable();
        found.push(ReadyTask { task, after });
    }
    found.sort_by_key(|row| row.task.number);
    Ok(found)
}

fn done(world: &World, today: Timestamp) -> Result<Vec<DoneTask>, DecisionStop> {
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let page = world.ask(&DeliveryQuery::ChangedSince { since: today, after, limit: ROWS })?;
        let each = |id: TaskId| [Need::Task(id), SpentQuery(Whose::Task(id)).need()];
        world.want(page.iter().flat_map(|row| each(row.task)))?;
        for row in page {
            let merged = match &row.state {
                DeliveryState::Merged { at, .. } => Some(*at),
                DeliveryState::Waiting | DeliveryState::InPlan { .. } => None,
                DeliveryState::Dropped { .. } => continue,
            };
            let task = world.task(row.task)?;
            found.push(DoneTask {
                task: row.task,
                number: task.number,
                name: task.name.clone(),
                merged,
                usd_micros: world.ask(&SpentQuery(Whose::Task(row.task)))?.usd_micros,
                at: row.updated,
            });
        }
        match page.last().filter(|_| page.len() >= usize::try_from(ROWS).unwrap_or(usize::MAX)) {
            Some(last) => after = Some((last.updated, last.task)),
            None => return Ok(found),
        }
    }
}
