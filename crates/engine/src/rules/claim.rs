//! The rules for claims. A claim is a lease: it ends at a certain time unless it is renewed. A task has at most one
//! live claim. Each claim has an attempt number that only grows, and writes with the number of an earlier attempt are
//! refused.

use crate::case::Case;
use crate::command::{Actor, Rights};
use crate::event::{Cause, Event};
use crate::id::{AgentId, ApprovalId, TaskId, WorkflowId};
use crate::limits;
use crate::offer::{self, OfferQuery};
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::rules::{gate, workflow};
use crate::task::{Status, Task, TaskState};
use crate::workflow::{Workflow, WorkflowStatus};
use crate::world::{BoolNeed, DecisionStop, Need, NumberNeed, TaskIdNeed, TaskRowNeed, UnmetNeed};

pub(crate) fn claim(case: &mut Case<'_>, id: TaskId) -> Result<Reply, DecisionStop> {
    let (task, workflow) = case.task(id)?;
    let agent = case.present(Some(task))?;
    if task.status().is_met() {
        return Err(cannot_claim(task).into());
    }
    if let Some(holder) = case.live_holder(task)? {
        if holder != agent {
            return Ok(Reply::AlreadyClaimedBy { agent: holder });
        }
        case.touch(agent)?;
        let until = case.renew(task, workflow);
        return Ok(Reply::Claimed { task: id, attempt: task.attempt, until, review: task.review });
    }
    // If the task still has a holder here, its lease has expired, but the timer that ends expired leases has not run
    // yet. This claim then ends the lease and takes the task.
    let failed = task.holder().and_then(|holder| case.end_lease(task, holder, Cause::Expired, None));
    if let Some(problem) = failed {
        return Err(DecisionStop::Recorded(Refusal::state(format!("Cannot claim task in 'failed' status: {problem}"))));
    }
    match &task.state {
        TaskState::Blocked(_) => return Err(cannot_claim(task).into()),
        TaskState::Failed { .. } if !task.has_attempts_left() => return Err(cannot_claim(task).into()),
        TaskState::Failed { .. }
        | TaskState::Pending { .. }
        | TaskState::Planning { .. }
        | TaskState::InProgress { .. }
        | TaskState::Paused { .. }
        | TaskState::Completed { .. }
        | TaskState::Skipped { .. } => {}
    }
    let start = may_start(case, task, workflow, agent)?;
    give(case, task, workflow, agent, &start)
}

/// Ends the expired claims of other tasks that would prevent a new claim. The checks of the new claim collected them in
/// `start`.
pub(crate) fn end_dead(case: &mut Case<'_>, start: &ClaimStart) {
    for (other, holder) in start.dead.iter().filter_map(|other| Some((other, other.holder()?))) {
        case.end_lease(other, holder, Cause::Expired, None);
    }
}

fn cannot_claim(task: &Task) -> Refusal {
    Refusal::state(format!("Cannot claim task in '{}' status", task.status()))
}

/// The changes to other tasks and to approvals that a new claim makes when it begins.
pub(crate) struct ClaimStart {
    /// Expired claims of other tasks. The new claim ends them.
    dead: Vec<Task>,
    /// The approval by which a person allowed the claim to begin. The claim consumes it.
    gate: Option<ApprovalId>,
}

/// Runs the checks of a new claim that do not depend on the task's present holder. The caller gets the refusal of the
/// first failed check. The gate (a person's approval of the claim) is checked last, so that no person is asked to
/// approve a task that could not begin anyway.
fn may_start(case: &Case<'_>, task: &Task, workflow: &Workflow, agent: AgentId) -> Result<ClaimStart, DecisionStop> {
    let start = may_go_on(case, task, workflow, agent)?;
    Ok(ClaimStart { gate: gate::passage(case, task)?, ..start })
}

/// Runs the checks of a claim except the gate (a person's approval of the claim). `regain` gives an expired claim back
/// to its agent and calls this function directly, because the attempt has already passed the gate.
pub(crate) fn may_go_on(
    case: &Case<'_>,
    task: &Task,
    workflow: &Workflow,
    agent: AgentId,
) -> Result<ClaimStart, DecisionStop> {
    let world = case.world;
    if !workflow.status.is_running() {
        return Err(Refusal::state(format!("the workflow is {}", workflow.status)).into());
    }
    case.unlocked(workflow)?;
    dependencies_met(case, task)?;
    if !world.agent(agent)?.can_do(task.role.as_deref(), &task.capabilities) {
        let (role, capabilities) = (task.role.clone(), task.capabilities.clone());
        return Err(Refusal::NotEligible { task: task.id, role, capabilities }.into());
    }
    let ExpiredClaims { kept, dead } = over(case, task, workflow)?;
    if !task.touches.is_empty() {
        let busy = world.ask(&TaskRowNeed::BusyFiles(workflow.id, case.now))?;
        if let Some(other) = offer::conflict(task, busy).or_else(|| offer::conflict(task, &kept)) {
            return Err(Refusal::FilesBusy { task: task.id, busy: other }.into());
        }
        if busy.len() >= limits::BUSY_FILES_MAX {
            return Err(Refusal::ParallelLimit { limit: u32::try_from(busy.len()).unwrap_or(u32::MAX) }.into());
        }
    }
    if let Some(limit) = workflow.parallel_max {
        let kept = u32::try_from(kept.len()).unwrap_or(u32::MAX);
        if world.ask(&NumberNeed::Running(workflow.id, case.now))?.saturating_add(kept) >= limit {
            return Err(Refusal::ParallelLimit { limit }.into());
        }
    }
    if *world.ask(&BoolNeed::HoldsMost(agent))? {
        return Err(Refusal::ParallelLimit { limit: u32::try_from(limits::HELD_TASKS_MAX).unwrap_or(u32::MAX) }.into());
    }
    Ok(ClaimStart { dead, gate: None })
}

/// Expired claims of other tasks that a new claim must take into account: they count against the parallel limit, or use
/// files that the new claim needs.
#[derive(Default)]
struct ExpiredClaims {
    /// Expired claims of agents whose connections are known to be alive. These claims continue, and no other claim may
    /// use their files.
    kept: Vec<Task>,
    /// Expired claims that the new claim ends. If the new claim did not end them, a holder whose clock is slow could
    /// renew its expired claim after the new claim began.
    dead: Vec<Task>,
}

fn over(case: &Case<'_>, task: &Task, workflow: &Workflow) -> Result<ExpiredClaims, DecisionStop> {
    let mut over = ExpiredClaims::default();
    if task.touches.is_empty() && workflow.parallel_max.is_none() {
        return Ok(over);
    }
    let found = case.world.ask(&TaskIdNeed::Expired(workflow.id, case.now))?;
    case.world.want(found.iter().map(|id| Need::Task(*id)))?;
    for id in found.iter().filter(|id| **id != task.id) {
        let other = case.world.task(*id)?;
        if workflow.parallel_max.is_none() && offer::conflict(task, std::slice::from_ref(other)).is_none() {
            continue;
        }
        let list = if case.is_live(other)? { &mut over.kept } else { &mut over.dead };
        list.push(other.clone());
    }
    Ok(over)
}

pub(crate) fn dependencies_met(case: &Case<'_>, task: &Task) -> Result<(), DecisionStop> {
    if task.unmet == 0 {
        return Ok(());
    }
    let waits = case.world.ask(&UnmetNeed(task.id))?;
    let waits_for: Vec<String> = waits.iter().take(limits::NAMED_MAX).map(|(_, name)| name.clone()).collect();
    let more = task.unmet.saturating_sub(u32::try_from(waits_for.len()).unwrap_or(u32::MAX));
    Err(Refusal::TaskBlocked { task: task.id, waits_for, more }.into())
}

fn give(
    case: &mut Case<'_>,
    task: &Task,
    workflow: &Workflow,
    agent: AgentId,
    start: &ClaimStart,
) -> Result<Reply, DecisionStop> {
    end_dead(case, start);
    if workflow.status == WorkflowStatus::Ready {
        workflow::moved(case, workflow, WorkflowStatus::InProgress, None);
    }
    if task.status() == Status::Failed {
        // Load the task's detail (its long texts). It has the outcome of the failed attempt, which this claim clears.
        case.world.detail(task.id)?;
    }
    let attempt = task.attempt + 1;
    let until = case.now + workflow.lease_ms;
    case.events.push(Event::Claimed { task: task.id, workflow: workflow.id, agent, attempt, until });
    if let Some(approval) = start.gate {
        gate::pass(case, approval, agent)?;
    }
    case.touch(agent)?;
    Ok(Reply::Claimed { task: task.id, attempt, until, review: task.review })
}

/// Picks a task and claims it in one decision, so that no other agent can claim it in between.
pub(crate) fn claim_next(case: &mut Case<'_>, id: WorkflowId, include_failed: bool) -> Result<Reply, DecisionStop> {
    let workflow = case.world.workflow(id)?;
    let agent = case.present(None)?;
    if !workflow.status.is_running() {
        if workflow.status == WorkflowStatus::Completed {
            return Ok(Reply::NoTask { limit_reached: false, all_done: true });
        }
        return Err(Refusal::state(format!("the workflow is {}", workflow.status)).into());
    }
    case.unlocked(workflow)?;
    let mut ask = OfferQuery { workflow: id, agent: Some(agent), include_failed, after: None, limit: 1 };
    let mut pages = 0;
    loop {
        let page = offer::next(case.world, &ask, case.now)?;
        if let Some(found) = page.tasks.first() {
            // Read the task's own row. The copy in the list may be out of date, so it must not be written back.
            let task = case.world.task(found.id)?;
            match may_start(case, task, workflow, agent) {
                Ok(start) => return give(case, task, workflow, agent, &start),
                // The list of claimable tasks does not show two obstacles. First, an agent whose lease has expired may
                // still work and use this task's files. Second, the approval for this claim may have ended after the
                // list was made. In both cases, the search continues after this task.
                Err(DecisionStop::Refused(Refusal::FilesBusy { .. } | Refusal::ApprovalRequired { .. })) => {
                    ask.after = Some(offer::position(task))
                }
                Err(DecisionStop::Refused(Refusal::ParallelLimit { limit }))
                    if Some(limit) == workflow.parallel_max =>
                {
                    return Ok(Reply::NoTask { limit_reached: true, all_done: false });
                }
                Err(stop) => return Err(stop),
            }
            continue;
        }
        match page.next {
            // The first page is short because usually its first task fits. If no task of the first page fits the agent,
            // the search continues with longer pages.
            Some(after) if pages < limits::CLAIM_PAGES_MAX => {
                (ask.after, ask.limit) = (Some(after), limits::CANDIDATES_MAX);
                pages += 1;
            }
            Some(_) | None => {
                let all_done = workflow.open == 0 && workflow.tasks > 0;
                return Ok(Reply::NoTask { limit_reached: page.limit_reached, all_done });
            }
        }
    }
}

pub(crate) fn release(
    case: &mut Case<'_>,
    id: TaskId,
    attempt: Option<u32>,
    reason: Option<&str>,
) -> Result<Reply, DecisionStop> {
    crate::check::optional(reason, |text| crate::check::summary("reason", text))?;
    let (task, workflow) = case.task(id)?;
    case.unlocked(workflow)?;
    let actor = case.owner(task, attempt)?;
    if let Actor::Agent(agent) = actor {
        case.touch(agent)?;
    }
    if let Some(holder) = task.holder() {
        case.end_lease(task, holder, Cause::Released, reason);
    }
    Ok(Reply::Released)
}

/// Ends a claim because the program of its agent crashed. The reply says whether the task failed because its attempts
/// are used up.
pub(crate) fn crash(case: &mut Case<'_>, id: TaskId, attempt: u32, reason: &str) -> Result<Reply, DecisionStop> {
    if case.rights != Rights::Runner {
        return Err(Refusal::NotPermitted { problem: "only the runner sees programs crash".to_owned() }.into());
    }
    crate::check::summary("reason", reason)?;
    let (task, _) = case.task(id)?;
    case.owner(task, Some(attempt))?;
    let failed = task.holder().and_then(|holder| case.end_lease(task, holder, Cause::Crashed, Some(reason)));
    Ok(Reply::Moved { status: if failed.is_some() { Status::Failed } else { Status::Pending } })
}

/// Ends the expired claims of one workflow, at most [`limits::SWEEP_TASKS_MAX`] in one call. If the holder's
/// connection is known to be alive, renews the lease instead.
pub(crate) fn sweep(case: &mut Case<'_>, id: WorkflowId) -> Result<Reply, DecisionStop> {
    let workflow = case.world.workflow(id)?;
    let expired = case.world.ask(&TaskIdNeed::Expired(id, case.now))?;
    case.world.want(expired.iter().map(|task| Need::Task(*task)))?;
    let (mut offered, mut failed) = (0, 0);
    for id in expired {
        let task = case.world.task(*id)?;
        let Some(lease) = task.state.running_lease().filter(|lease| lease.is_over(case.now)) else {
            continue;
        };
        if case.is_live(task)? {
            case.renew(task, workflow);
        } else if case.end_lease(task, lease.agent, Cause::Expired, None).is_some() {
            failed += 1;
        } else {
            offered += 1;
        }
    }
    Ok(Reply::Swept { offered, failed, more: expired.len() >= limits::SWEEP_TASKS_MAX })
}
