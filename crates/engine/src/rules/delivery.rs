//! The rules for deliveries, which record the work of completed tasks in git. People merge the work, drop it, or take
//! dropped work back.

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

/// Makes the delivery (the record of a task's work in git) from the report of a runner that completes the task.
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

/// Makes a new delivery, which is the record of a task's work in git.
pub(crate) fn delivered(
    case: &Case<'_>,
    task: &Task,
    agent: AgentId,
    (check, work, state): (CheckOutcome, DeliveredWork, DeliveryState),
) -> Delivery {
    let (task, workflow, attempt) = (task.id, task.workflow, task.attempt);
    Delivery { task, workflow, attempt, agent, check, work, state, created: case.now, updated: case.now }
}

/// Refuses a report about work in git when one of its texts is too long to be stored.
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

/// Refuses an agent or a coordinator, because they may not decide about the work in git.
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

/// Records the branch with the work of a whole workflow. From now on the work waits for a person to merge or drop it.
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

/// Moves the work of a task or workflow to another state, for example to merged. `from` is the state that the caller
/// saw. If another caller moved the work first, changes nothing and returns the present state.
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
