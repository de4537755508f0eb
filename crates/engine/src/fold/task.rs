//! Turns the events of tasks into database rows to write: claims, leases, changes of status.

use super::{Fold, Write};
use crate::checkpoint::Checkpoint;
use crate::event::{Cause, Moved};
use crate::id::{AgentId, TaskId};
use crate::task::{Lease, Status, TaskState};
use crate::time::Timestamp;

impl Fold<'_> {
    pub(super) fn claimed(&mut self, task: TaskId, agent: AgentId, attempt: u32, until: Timestamp) {
        let lease = Lease { agent, since: self.now, until };
        self.forget_failure(task);
        self.task(task, |task| {
            task.attempt = attempt;
            task.state = TaskState::Pending { lease: Some(lease) };
        });
    }

    pub(super) fn renewed(&mut self, task: TaskId, until: Timestamp) {
        self.task(task, |task| {
            if let Some(lease) = task.state.lease_mut() {
                lease.until = lease.until.max(until);
            }
        });
    }

    pub(super) fn lease_ended(&mut self, task: TaskId, cause: Cause, checkpoint: &Checkpoint, failed: Option<&str>) {
        self.checkpoint(checkpoint);
        self.task(task, |task| {
            task.crashes += u32::from(cause.counts());
            task.state = match failed {
                None => TaskState::Pending { lease: None },
                Some(error) => TaskState::Failed { by: checkpoint.by, error: error.to_owned() },
            };
        });
    }

    pub(super) fn unprotected(&mut self, task: TaskId) {
        self.task(task, |task| (task.gate, task.review, task.limited, task.verify) = (false, false, false, false));
        self.writes.push(Write::Unprotected(task));
    }

    pub(super) fn regained(&mut self, task: TaskId, agent: AgentId, until: Timestamp, sent_back: bool) {
        let lease = Lease { agent, since: self.now, until };
        self.forget_failure(task);
        self.task(task, |task| {
            // Take back the crash that was counted when the lease expired. For a task that was sent back, no crash was
            // counted, because its claim had ended with a result.
            task.crashes = task.crashes.saturating_sub(u32::from(!sent_back));
            task.state = TaskState::Pending { lease: Some(lease) };
        });
    }

    /// Clears the outcome of a failed attempt, so that the next attempt does not show it.
    fn forget_failure(&mut self, id: TaskId) {
        if self.world.details.get(&id).is_some_and(|detail| detail.outcome_detail.is_some()) {
            self.detail(id, |detail| detail.outcome_detail = None);
        }
    }

    pub(super) fn moved(&mut self, moved: &Moved) {
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
        let reopened = moved.from.is_met() && !moved.state.status().is_met();
        if (moved.from == Status::Failed || reopened) && moved.state.status() == Status::Pending {
            self.forget_failure(moved.task);
        }
        self.task(moved.task, |task| {
            task.state = moved.state.clone();
            if moved.forgiven {
                task.crashes = 0;
            }
        });
        if reopened {
            self.writes.push(Write::Reopened(moved.task));
            self.workflow(moved.workflow, |workflow| workflow.open += 1);
        }
        if moved.state.status().is_met() {
            self.writes.push(Write::Met(moved.task));
            self.workflow(moved.workflow, |workflow| workflow.open = workflow.open.saturating_sub(1));
        }
    }
}
