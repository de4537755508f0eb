//! Reads from the store where the work of a task starts. A task of a plan starts from the plan's branch. A task of the
//! standing list starts from the person's branch, or from the unmerged work on which it depends.

use engine::delivery::{Delivery, DeliveryState};
use engine::task::Task;
use engine::world::TaskIdNeed;
use engine::{DecisionStop, Need, World};

use super::AttemptError;
use super::place::{AttemptPlace, ListPlace, WorkLine};
use super::shared::RunnerShared;

impl RunnerShared {
    /// Returns the facts by which the worktree of an attempt is prepared or found.
    pub(crate) async fn attempt_place(&self, task: &Task, attempt: u32) -> Result<AttemptPlace, AttemptError> {
        let continues = self.attempt_folder(task.id, attempt).join(super::setup::BASE).exists();
        let line = self.work_line(task, attempt).await?;
        Ok(AttemptPlace { task: task.id, attempt, continues, line })
    }

    async fn work_line(&self, task: &Task, attempt: u32) -> Result<WorkLine, AttemptError> {
        if !self.ground.is_repository() {
            return Ok(WorkLine::NoGit);
        }
        let id = task.workflow;
        let workflow = self.service.view(move |world| world.workflow(id).cloned()).await?;
        if !workflow.standing {
            return Ok(WorkLine::Plan { branch: self.plan_branch(&workflow).await? });
        }
        let row = task.clone();
        let list = self.service.view(move |world| {
            let own = world.delivery(row.id)?;
            let delivered = own.filter(|own| own.attempt == attempt).map(|own| own.work.branch.clone());
            Ok(ListPlace { number: row.number, name: row.name.clone(), after: after(world, &row)?, delivered })
        });
        Ok(WorkLine::List(list.await?))
    }
}

/// Returns the branch of the first task on which this task depends and whose work still waits for a person to merge it.
fn after(world: &World, task: &Task) -> Result<Option<String>, DecisionStop> {
    let on = world.ask(&TaskIdNeed::Dependencies(task.id))?.clone();
    world.want(on.iter().map(|task| Need::Delivery(*task)))?;
    for id in on {
        let waits = |delivery: &&Delivery| delivery.state == DeliveryState::Waiting;
        if let Some(delivery) = world.delivery(id)?.filter(waits) {
            return Ok(Some(delivery.work.branch.clone()));
        }
    }
    Ok(None)
}
