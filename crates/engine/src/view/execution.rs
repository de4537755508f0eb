//! The execution of a workflow: the agents that hold its tasks, the running programs, the cost so far, and the live
//! runners.

use super::{ListPosition, ListRows, is_planned, paged};
use crate::agent::Agent;
use crate::id::WorkflowId;
use crate::list::{CountQuery, RunnerQuery, SpentQuery, TaskQuery, TurnQuery, Whose};
use crate::runner::Runner;
use crate::task::Task;
use crate::time::Timestamp;
use crate::turn::{Spent, Turn};
use crate::workflow::Workflow;
use crate::world::{DecisionStop, Need, TypedQuestion, World};

#[derive(Debug, Clone, PartialEq)]
pub struct Execution {
    pub workflow: Workflow,
    pub by_status: Vec<(String, u32)>,
    pub spent: Spent,
    pub tasks: ListRows<Worked, ListPosition>,
    /// The turns (runs of agents' programs) of the workflow that have not ended, grouped by runner. The turns of one
    /// runner are in the order of time, oldest first.
    pub running: Vec<Turn>,
    /// The runners (processes that start agents' programs) that are alive.
    pub runners: Vec<Runner>,
}

/// A task, the agent that holds it, its running turn (the run of the agent's program) and its cost.
#[derive(Debug, Clone, PartialEq)]
pub struct Worked {
    pub task: Task,
    pub holder: Option<Agent>,
    pub turn: Option<Turn>,
    pub spent: Spent,
}

/// The maximum number of runners that are read, and the maximum number of running turns (runs of agents' programs) that
/// are read for each runner. Further runners and turns are left out.
const RUNNERS_MAX: u32 = 50;
const RUNNING_MAX: u32 = 500;

/// Returns the runners (processes that start agents' programs) that gave a sign of life recently.
pub fn runners(world: &World, now: Timestamp) -> Result<Vec<Runner>, DecisionStop> {
    let all = world.ask(&RunnerQuery { limit: RUNNERS_MAX })?;
    Ok(all.iter().filter(|runner| runner.is_alive(now)).cloned().collect())
}

/// Returns the turns (runs of agents' programs) of a workflow that have not ended. The function looks at the turns of
/// all known runners.
pub fn running(world: &World, id: WorkflowId) -> Result<Vec<Turn>, DecisionStop> {
    let all = world.ask(&RunnerQuery { limit: RUNNERS_MAX })?;
    let list = |runner: &Runner| TurnQuery::Running { runner: runner.name.clone(), limit: RUNNING_MAX };
    world.want(all.iter().map(list))?;
    let mut found = Vec::new();
    for runner in all {
        let turns = world.ask(&list(runner))?;
        found.extend(turns.iter().filter(|turn| turn.workflow == id).cloned());
    }
    Ok(found)
}

pub fn execution(
    world: &World,
    id: WorkflowId,
    after: Option<ListPosition>,
    limit: u32,
    now: Timestamp,
) -> Result<Execution, DecisionStop> {
    let workflow = world.workflow(id)?.clone();
    let list = TaskQuery::Planned { workflow: id, statuses: Vec::new(), after, limit: limit.saturating_add(1) };
    let spent = SpentQuery(Whose::Workflow(id));
    world.want([RunnerQuery { limit: RUNNERS_MAX }.need(), spent.need(), list.need()])?;
    // Show no tasks while the workflow's plan is not set, because its tasks are hidden until then.
    let found = if is_planned(&workflow) { world.ask(&list)?.as_slice() } else { &[] };
    let page = paged(found, limit, |task: &Task| (task.sequence, task.id));
    // Turns (runs of agents' programs) and costs are loaded only for some tasks: a task that was never claimed had no
    // turn, and a task without a holder has no running turn.
    let begun = page.rows.iter().filter(|task| task.attempt > 0);
    let needs = begun.flat_map(|task| {
        let held = task.holder().map(|agent| [Need::Agent(agent), Need::TurnRunning(task.id)]);
        held.into_iter().flatten().chain([SpentQuery(Whose::Task(task.id)).need()])
    });
    world.want(needs.chain(is_planned(&workflow).then_some(CountQuery::Statuses(id).need())))?;
    let worked = |task: &Task| {
        let holder = task.holder().map(|agent| world.agent(agent).cloned()).transpose()?;
        let turn = if holder.is_some() { world.running_turn(task.id)?.cloned() } else { None };
        let spent = if task.attempt > 0 { *world.ask(&SpentQuery(Whose::Task(task.id)))? } else { Spent::default() };
        Ok(Worked { task: task.clone(), holder, turn, spent })
    };
    let counts = CountQuery::Statuses(id);
    Ok(Execution {
        by_status: if is_planned(&workflow) { world.ask(&counts)?.clone() } else { Vec::new() },
        spent: *world.ask(&spent)?,
        running: running(world, id)?,
        runners: runners(world, now)?,
        tasks: ListRows {
            rows: page.rows.iter().map(worked).collect::<Result<_, DecisionStop>>()?,
            next: page.next,
            total: page.total,
        },
        workflow,
    })
}
