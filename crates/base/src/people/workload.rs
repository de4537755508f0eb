//! The work of all plans as a person sees it: the tasks that run, the tasks that are ready, and the work that was
//! finished today.

use engine::delivery::DeliveryState;
use engine::id::{TaskId, TurnId, WorkflowId};
use engine::list::{DeliveryQuery, SpentQuery, TaskQuery, Whose, WorkflowFilter};
use engine::offer::{self, OfferQuery};
use engine::task::{Status, Task};
use engine::turn::Purpose;
use engine::view::{self, StallCauses, is_planned};
use engine::workflow::WorkflowStatus;
use engine::world::UnmetNeed;
use engine::{DecisionStop, Need, Timestamp, TypedQuestion as _, World};

use crate::error::Error;
use crate::ground::words::count;
use crate::service::Service;

/// The maximum number of registered agents whose roles and capabilities are compared with the ready tasks.
pub const AGENTS_MAX: u32 = 500;
/// The maximum number of plans whose ready tasks are listed. The newest plans are used.
const PLANS_MAX: u32 = 20;
/// The maximum number of ready tasks, and of tasks that wait for other tasks, that are listed for one plan.
const READY_MAX: u32 = 50;
/// The maximum number of tasks that are shown as running. The same limit holds for the rows of finished work that one
/// read from the store returns.
const ROWS: u32 = 200;

/// A task that an agent works on.
#[derive(Debug, Clone, PartialEq)]
pub struct RunningTask {
    pub task: Task,
    pub agent: String,
    /// The time at which the running turn (run of the agent's program) started. Without a turn, the time of the claim.
    pub since: Timestamp,
    /// The purpose of the running turn, such as a first turn or a repair. `None` when no runner started the agent.
    pub purpose: Option<Purpose>,
    /// The running turn (run of the agent's program). `None` when no runner started the agent.
    pub turn: Option<TurnId>,
    /// The cost of the task in millionths of a dollar. `None` when no program reported a cost.
    pub usd_micros: Option<u64>,
}

/// A task that an agent can claim now, or later when other tasks are done.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadyTask {
    pub task: Task,
    /// The numbers of the tasks that must be done first. Empty for a task that can start now.
    pub after: Vec<u32>,
}

/// A task whose work was finished or merged today.
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

/// The running, ready and finished tasks of all plans at one moment.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Workload {
    pub running: Vec<RunningTask>,
    pub ready: Vec<ReadyTask>,
    /// The work that was finished today, oldest first. Dropped work is left out.
    pub done: Vec<DoneTask>,
    pub stalled: Vec<StalledPlan>,
}

/// A plan in which nothing can continue: all its open tasks are failed, blocked, or wait for such a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StalledPlan {
    pub id: WorkflowId,
    pub name: String,
    pub causes: StallCauses,
}

impl StalledPlan {
    /// Returns the number of tasks for each cause: `1 task failed, 2 tasks wait for it`.
    pub fn words(&self) -> String {
        let StallCauses { failed, blocked, waiting } = self.causes;
        let stopped = failed.saturating_add(blocked);
        let failed = (failed > 0).then(|| format!("{} failed", count(failed, "task")));
        let is = if blocked == 1 { "is" } else { "are" };
        let blocked = (blocked > 0).then(|| format!("{} {is} blocked", count(blocked, "task")));
        let wait = if waiting == 1 { "waits" } else { "wait" };
        let them = if stopped == 1 { "it" } else { "them" };
        let waiting = (waiting > 0).then(|| format!("{} {wait} for {them}", count(waiting, "task")));
        [failed, blocked, waiting].into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

/// Reads the work of all plans from the store. `today` is the start of the current day in the person's time zone.
pub async fn read(service: &Service, today: Timestamp) -> Result<Workload, Error> {
    let now = service.now();
    service
        .view(move |world| {
            let (running, done) = (running(world)?, done(world, today)?);
            let mut listed: Vec<ReadyTask> =
                ready(world, now)?.into_iter().map(|task| ReadyTask { task, after: Vec::new() }).collect();
            listed.extend(waiting(world)?);
            let stalled = stalled(world, now)?;
            Ok(Workload { running, ready: listed, done, stalled })
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
            turn: turn.map(|turn| turn.id),
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

/// Returns the plans in which nothing can continue.
fn stalled(world: &World, now: Timestamp) -> Result<Vec<StalledPlan>, DecisionStop> {
    let plans = plans(world)?;
    world.want(plans.iter().map(|id| Need::Workflow(*id)))?;
    let rows = plans.iter().map(|id| world.workflow(*id)).collect::<Result<Vec<_>, _>>()?;
    let causes = view::stalls(world, &rows, now)?;
    let plan = |(row, causes): (&&engine::workflow::Workflow, Option<StallCauses>)| {
        Some(StalledPlan { id: row.id, name: row.name.clone(), causes: causes? })
    };
    Ok(rows.iter().zip(causes).filter_map(plan).collect())
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
