//! Turns the events of tasks into rows: claims, leases, changes of status.

use super::{Fold, Write};
use crate::event::{Event, Moved};
use crate::id::TaskId;
use crate::task::{Lease, Status, TaskState};

impl Fold<'_> {
    #[expect(clippy::wildcard_enum_match_arm, reason = "`apply` names every event and sends these five here")]
    pub(super) fn apply_to_task(&mut self, event: &Event) {
        match event {
            Event::Claimed { task, agent, attempt, until, .. } => {
                let lease = Lease { agent: *agent, since: self.now, until: *until };
                self.forget_failure(*task);
                self.task(*task, |task| {
                    task.attempt = *attempt;
                    task.state = TaskState::Pending { lease: Some(lease) };
                });
            }
            Event::Renewed { task, until, .. } => self.task(*task, |task| {
                if let Some(lease) = task.state.lease_mut() {
                    lease.until = lease.until.max(*until);
                }
            }),
            Event::LeaseEnded { task, cause, checkpoint, failed, .. } => {
                self.checkpoint(checkpoint);
                self.task(*task, |task| {
                    task.crashes += u32::from(cause.counts());
                    task.state = match failed {
                        None => TaskState::Pending { lease: None },
                        Some(error) => TaskState::Failed { by: checkpoint.by, error: error.clone() },
                    };
                });
            }
            Event::Regained { task, agent, until, .. } => {
                let lease = Lease { agent: *agent, since: self.now, until: *until };
                self.forget_failure(*task);
                self.task(*task, |task| {
                    task.crashes = task.crashes.saturating_sub(1);
                    task.state = TaskState::Pending { lease: Some(lease) };
                });
            }
            Event::Moved(moved) => self.moved(moved),
            _ => {}
        }
    }

    /// Clears the outcome of a failed attempt, so that the next attempt does not show it.
    fn forget_failure(&mut self, id: TaskId) {
        if self.world.details.get(&id).is_some_and(|detail| detail.outcome_detail.is_some()) {
            self.detail(id, |detail| detail.outcome_detail = None);
        }
    }

    fn moved(&mut self, moved: &Moved) {
        if let Some(checkpoint) = &moved.checkpoint {
            self.checkpoint(checkpoint);
        }
        if moved.plan.is_some() || moved.outcome_detail.is_some() {
            self.detail(moved.task, |detail| {
                if moved.plan.is_some() {
                    detail.plan.clone_from(&moved.plan);
                    detail.outcome_detail = None;
                }
                if moved.outcome_detail.is_some() {
                    detail.outcome_detail.clone_from(&moved.outcome_detail);
                }
            });
        }
        if moved.from == Status::Failed && moved.state.status() == Status::Pending {
            self.forget_failure(moved.task);
        }
        self.task(moved.task, |task| {
            task.state = moved.state.clone();
            if moved.forgiven {
                task.crashes = 0;
            }
        });
        if moved.state.status().is_met() {
            self.writes.push(Write::Met(moved.task));
            self.workflow(moved.workflow, |workflow| workflow.open = workflow.open.saturating_sub(1));
        }
    }
}
