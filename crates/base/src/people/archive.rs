//! Archives completed or abandoned plans, so that lists hide them, and undoes the archiving. Nothing is deleted.

use std::collections::BTreeSet;

use engine::delivery::DeliveryState;
use engine::id::WorkflowId;
use engine::list::{DeliveryQuery, WorkflowDeliveryQuery, WorkflowFilter, WorkflowQuery};
use engine::workflow::{Workflow, WorkflowStatus};
use engine::{Caller, Command, DecisionStop, World};

use crate::error::Error;
use crate::service::Service;

/// The maximum number of plans, newest first, that [`over`] reads. It reads at most as many rows of unmerged work.
const PLANS_MAX: u32 = 500;

/// The completed and abandoned plans that can be archived, and the number of plans that cannot be archived yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchivedPlans {
    pub over: Vec<Workflow>,
    /// The number of completed or abandoned plans that are not in `over`, because their work still waits for a person.
    pub waiting: usize,
}

/// Returns the plans that are completed or abandoned and not archived yet. Failed plans are left out, because a person
/// can still retry their tasks.
pub async fn over(service: &Service) -> Result<ArchivedPlans, Error> {
    service
        .view(|world| {
            let statuses = vec![WorkflowStatus::Completed, WorkflowStatus::Abandoned];
            let filter = WorkflowFilter { statuses, ..WorkflowFilter::default() };
            let query = WorkflowQuery { filter, after: None, offset: 0, limit: PLANS_MAX };
            let all = world.ask(&query)?;
            let unmerged = unmerged(world)?;
            let (waiting, over): (Vec<Workflow>, Vec<Workflow>) =
                all.iter().cloned().partition(|plan| unmerged.contains(&plan.id));
            Ok(ArchivedPlans { over, waiting: waiting.len() })
        })
        .await
}

/// Archives a plan when `archived` is true. Otherwise undoes the archiving of the plan.
pub async fn set(service: &Service, caller: Caller, workflow: WorkflowId, archived: bool) -> Result<(), Error> {
    service.execute(caller, Command::ArchiveWorkflow { workflow, archived }).await.map(drop)
}

/// Returns the plans with work that waits for a person.
fn unmerged(world: &World) -> Result<BTreeSet<WorkflowId>, DecisionStop> {
    let plans = world.ask(&WorkflowDeliveryQuery::Waiting { after: None, limit: PLANS_MAX })?;
    let tasks = world.ask(&DeliveryQuery::Waiting { after: None, limit: PLANS_MAX })?;
    let plans = plans.iter().filter(|row| row.state == DeliveryState::Waiting).map(|row| row.workflow);
    let tasks = tasks.iter().filter(|row| row.state == DeliveryState::Waiting).map(|row| row.workflow);
    Ok(plans.chain(tasks).collect())
}
