//! Reads from the store where the work of a task starts. A task of the standing list starts from the person's branch, or
//! from the unmerged work on which it depends.

use base::Error;
use engine::delivery::{Delivery, DeliveryState};
use engine::task::Task;
use engine::world::TaskIdNeed;
use engine::{DecisionStop, Need, World};

use super::place::{AttemptPlace, ListPlace};
use super::shared::RunnerShared;

impl RunnerShared {
    /// Returns the facts by which the worktree of an attempt is prepared or found.
    pub(crate) async fn attempt_place(&self, task: &Task, attempt: u32) -> Result<AttemptPlace, Error> {
        let (row, workflow) = (task.clone(), task.workflow);
        let list = self.service.view(move |world| {
            if !world.workflow(workflow)?.standing {
                return Ok(None);
            }
            let own = world.delivery(row.id)?;
            let delivered = own.filter(|own| own.attempt == attempt).map(|own| own.work.branch.clone());
            Ok(Some(ListPlace { number: row.number, name: row.name.clone(), after: after(world, &row)?, delivered }))
        });
        let continues = self.attempt_folder(task.id, attempt).join(super::setup::BASE).exists();
        Ok(AttemptPlace { workflow, task: task.id, attempt, continues, list: list.await? })
    }
}

/// Returns the branch of the first dependency whose work waits for a person.
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
