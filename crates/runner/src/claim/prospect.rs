//! Finds out how a workflow can continue: the tasks that can be claimed, the tasks that agents hold, and the reasons
//! why the workflow is stuck.

use engine::approval::Approval;
use engine::id::WorkflowId;
use engine::list::{ApprovalQuery, TaskQuery};
use engine::offer::{self, OfferQuery};
use engine::task::Task;
use engine::workflow::WorkflowStatus;
use engine::world::{NumberNeed, TaskIdNeed};
use engine::{DecisionStop, Need, Timestamp, TypedQuestion, World};

use crate::verify::stored_brief;
use base::Service;
use base::error::Error;
use base::people::untaken;
use base::project::task_extra::TaskExtra;

/// The largest number of claimable tasks that the runner looks at when it claims. It sees further tasks the next time,
/// after some of these are claimed.
const OFFERED_MAX: usize = 200;

/// The facts about a workflow that decide whether the workflow can continue without help from a person.
#[derive(Debug)]
pub(crate) struct Prospect {
    pub(crate) status: WorkflowStatus,
    /// The number of tasks of the workflow that an agent holds.
    pub(crate) held: u32,
    pub(crate) offered: Vec<Offered>,
}

/// A task that an agent could claim now.
#[derive(Debug)]
pub(crate) struct Offered {
    pub(crate) task: Task,
    /// True when the evaluator (the agent that judges outputs) must judge the task's output. The evaluator may then not
    /// claim the task itself.
    pub(crate) judged: bool,
    /// The reviewer that the plan names for the task, or `None`. This agent may not claim the task itself.
    pub(crate) review: Option<String>,
}

/// Reads the state of a workflow in one read. With two reads, a task that another runner claims or finishes in between
/// could seem to be neither held nor open.
pub(crate) async fn of(service: &Service, id: WorkflowId) -> Result<Prospect, Error> {
    let now = service.now();
    let view = service.view(move |world| {
        let (running, expired) = (NumberNeed::Running(id, now), TaskIdNeed::Expired(id, now));
        world.want([Need::Workflow(id), running.need(), expired.need()])?;
        // A task with an expired lease counts as held: the store ends the lease soon and offers the task again.
        let expired = u32::try_from(world.ask(&expired)?.len()).unwrap_or(u32::MAX);
        let held = world.ask(&running)?.saturating_add(expired);
        Ok(Prospect { status: world.workflow(id)?.status, held, offered: offers(world, id, now)? })
    });
    view.await
}

pub(crate) async fn why_stuck(service: &Service, id: WorkflowId) -> Result<String, Error> {
    let progress = service.view(move |world| engine::view::progress(world, id)).await?;
    let statuses = [
        engine::task::Status::Paused,
        engine::task::Status::Blocked,
        engine::task::Status::Failed,
        engine::task::Status::Pending,
    ];
    let list = TaskQuery::Planned { workflow: id, statuses: statuses.to_vec(), after: None, limit: 500 };
    let rows = service.ask(list).await?;
    let gates = service.view(move |world| Ok(gates(world, id)?.to_vec())).await?;
    let waits = |task: &Task| {
        let of = |gate: &&Approval| gate.waiting.is_some_and(|waiting| waiting.task == task.id);
        let gate = gates.iter().find(of)?;
        Some(format!("{} waits for your approval: `handover approval show {}`", task.name, gate.id))
    };
    let tasks: Vec<String> = rows.iter().filter_map(|task| waits(task).or_else(|| stuck(task))).collect();
    let first = match tasks.len() {
        0 => format!("the workflow is {}", progress.workflow.status),
        1 => "1 task needs you:".to_owned(),
        count => format!("{count} tasks need you:"),
    };
    Ok(std::iter::once(first).chain(tasks.into_iter().take(20)).collect::<Vec<_>>().join("\n"))
}

/// Returns the approvals of the workflow's gated tasks, which may start only after a person approves.
fn gates(world: &World, workflow: WorkflowId) -> Result<&[Approval], DecisionStop> {
    let list = ApprovalQuery::Gates { workflow, limit: engine::limits::GATES_MAX };
    Ok(world.ask(&list)?)
}

/// Returns the tasks that are open for any agent to claim now.
pub(crate) async fn offered(service: &Service, workflow: WorkflowId) -> Result<Vec<Offered>, Error> {
    let now = service.now();
    service.view(move |world| offers(world, workflow, now)).await
}

fn offers(world: &World, workflow: WorkflowId, now: Timestamp) -> Result<Vec<Offered>, DecisionStop> {
    let ask = OfferQuery { workflow, agent: None, include_failed: false, after: None, limit: OFFERED_MAX };
    let tasks = offer::next(world, &ask, now)?.tasks;
    world.want(tasks.iter().filter(|task| task.verify || task.review).map(|task| Need::Detail(task.id)))?;
    let judged = |task: &Task| -> Result<bool, DecisionStop> {
        let brief = if task.verify { stored_brief(world.detail(task.id)?).ok().flatten() } else { None };
        Ok(brief.is_some_and(|brief| brief.output_contract.evaluate.get().is_some()))
    };
    let review = |task: &Task| -> Result<Option<String>, DecisionStop> {
        Ok(if task.review { TaskExtra::of(world.detail(task.id)?).review } else { None })
    };
    tasks.into_iter().map(|task| Ok(Offered { judged: judged(&task)?, review: review(&task)?, task })).collect()
}

/// Returns the reason why a task is stuck, as one line. Returns `None` for a task that is not stuck.
pub(crate) fn stuck(task: &Task) -> Option<String> {
    use engine::task::TaskState;
    let name = &task.name;
    match &task.state {
        TaskState::Paused { reason, .. } => {
            Some(format!("{name} is paused: {}", reason.as_deref().unwrap_or("waiting for an answer")))
        }
        TaskState::Blocked(block) => Some(format!("{name} is blocked ({}): {}", block.kind, block.reason)),
        TaskState::Failed { error, .. } => Some(format!("{name} failed: {error}")),
        TaskState::Pending { .. } if task.unmet == 0 => untaken::needs(task).map(|why| format!("{name} {why}")),
        TaskState::Pending { .. }
        | TaskState::Planning { .. }
        | TaskState::InProgress { .. }
        | TaskState::Completed { .. }
        | TaskState::Skipped { .. } => None,
    }
}
