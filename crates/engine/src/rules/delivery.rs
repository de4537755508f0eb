//! Deliveries: the work of completed tasks in git, which people merge, drop, and take back.

use crate::case::Case;
use crate::check;
use crate::command::Rights;
use crate::delivery::{
    CheckOutcome, DeliveredWork, Delivery, DeliveryMove, DeliveryReport, DeliveryState, DeliveryStatus,
    DeliverySubject, UncheckedReason, WorkflowDelivery,
};
use crate::event::Event;
use crate::id::{AgentId, WorkflowId};
use crate::limits;
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::task::Task;
use crate::world::DecisionStop;

/// Returns the delivery of a task that a runner completes.
pub(crate) fn reported(
    case: &Case<'_>,
    task: &Task,
    agent: AgentId,
    report: &DeliveryReport,
) -> Result<Delivery, DecisionStop> {
    if case.rights != Rights::Runner {
        let problem = "only the runner reports what became of a task's work in git".to_owned();
        return Err(Refusal::NotPermitted { problem }.into());
    }
    check_report(&report.check, &report.work)?;
    check::optional(report.in_plan.as_deref(), |text| check::label("in_plan", text))?;
    let state = report.in_plan.clone().map_or(DeliveryState::Waiting, |commit| DeliveryState::InPlan { commit });
    Ok(delivered(case, task, agent, (report.check.clone(), report.work.clone(), state)))
}

/// Returns a new delivery of a task.
pub(crate) fn delivered(
    case: &Case<'_>,
    task: &Task,
    agent: AgentId,
    (check, work, state): (CheckOutcome, DeliveredWork, DeliveryState),
) -> Delivery {
    let (task, workflow, attempt) = (task.id, task.workflow, task.attempt);
    Delivery { task, workflow, attempt, agent, check, work, state, created: case.now, updated: case.now }
}

/// Refuses texts of a report that are too long for the store.
pub(crate) fn check_report(check: &CheckOutcome, work: &DeliveredWork) -> Result<(), Refusal> {
    let texts = [("branch", &work.branch), ("base", &work.base), ("commit", &work.commit), ("tree", &work.tree)];
    texts.into_iter().try_for_each(|(field, text)| check::path(field, text))?;
    check::optional(work.base_branch.as_deref(), |text| check::path("base_branch", text))?;
    let said = match check {
        CheckOutcome::Checked { command, .. } | CheckOutcome::CheckedFlaky { command, .. } => Some(command),
        CheckOutcome::Unchecked { why } => match why {
            UncheckedReason::Baseline { command } | UncheckedReason::TimedOut { command } => Some(command),
            UncheckedReason::CheckChanged { script } => Some(script),
            UncheckedReason::TakenAsIs { reason } => Some(reason),
            UncheckedReason::NoCheck | UncheckedReason::NotRun => None,
        },
        CheckOutcome::NoChanges => None,
    };
    check::optional(said.map(String::as_str), |text| check::size("check", text, limits::SUMMARY_BYTES_MAX))
}

/// Refuses a caller that may not decide about work in git: an agent or a coordinator.
fn decides(case: &Case<'_>) -> Result<(), DecisionStop> {
    match case.rights {
        Rights::Person | Rights::Script | Rights::Runner | Rights::Engine => Ok(()),
        Rights::Agent | Rights::Coordinator => {
            case.names_an_agent(None)?;
            let problem = "only a person, a person's script or the runner merges and drops work".to_owned();
            Err(Refusal::NotPermitted { problem }.into())
        }
    }
}

/// Records the branch of a whole workflow, which waits for a person from now on.
pub(crate) fn deliver_workflow(
    case: &mut Case<'_>,
    id: WorkflowId,
    check: &CheckOutcome,
    work: &DeliveredWork,
) -> Result<Reply, DecisionStop> {
    decides(case)?;
    check_report(check, work)?;
    case.world.workflow(id)?;
    case.actor()?;
    let row = WorkflowDelivery {
        workflow: id,
        check: check.clone(),
        work: work.clone(),
        state: DeliveryState::Waiting,
        created: case.now,
        updated: case.now,
    };
    case.events.push(Event::WorkflowDelivered { delivery: Box::new(row) });
    Ok(Reply::DeliveryMoved { state: DeliveryState::Waiting })
}

/// Moves a delivery to another state. The caller names the state that it saw. When another caller was faster, the
/// reply has the present state, which names that caller.
pub(crate) fn move_delivery(
    case: &mut Case<'_>,
    subject: DeliverySubject,
    from: DeliveryStatus,
    to: &DeliveryMove,
) -> Result<Reply, DecisionStop> {
    decides(case)?;
    match to {
        DeliveryMove::Wait => {}
        DeliveryMove::Merge { into, before, commit } => {
            let texts = [("into", into), ("before", before), ("commit", commit)];
            texts.into_iter().try_for_each(|(field, text)| check::path(field, text))?;
        }
        DeliveryMove::Drop { kept_as } => check::optional(kept_as.as_deref(), |text| check::path("kept_as", text))?,
    }
    if !from.targets().contains(&to.status()) {
        let problem = format!("work that is {from} cannot become {}", to.status());
        return Err(Refusal::input("to", problem).into());
    }
    let by = case.actor()?;
    let state = match subject {
        DeliverySubject::Task(task) => {
            case.task(task)?;
            let found = case.world.delivery(task)?.ok_or_else(|| Refusal::state("the task has no work in git"))?;
            found.state.clone()
        }
        DeliverySubject::Workflow(workflow) => {
            case.world.workflow(workflow)?;
            let found = case.world.workflow_delivery(workflow)?;
            found.ok_or_else(|| Refusal::state("the workflow has no work in git"))?.state.clone()
        }
    };
    if state.status() != from {
        return Ok(Reply::DeliveryStands { state });
    }
    let state = to.state(by, case.now);
    let workflow = match subject {
        DeliverySubject::Task(task) => case.world.task(task)?.workflow,
        DeliverySubject::Workflow(workflow) => workflow,
    };
    case.events.push(Event::DeliveryMoved { subject, workflow, from, state: state.clone() });
    Ok(Reply::DeliveryMoved { state })
}
