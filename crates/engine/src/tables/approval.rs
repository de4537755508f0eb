//! Answers needs (questions of a decision about the state) on approvals and gates from the maps in memory, with the
//! same results as a database.

use std::cmp::Reverse;

use super::Tables;
use super::list::page;
use super::need::{first, size};
use crate::approval::{Approval, ApprovalStatus};
use crate::list::ApprovalQuery;
use crate::task::{Task, TaskState};
use crate::world::ApprovalNeed;

impl Tables {
    pub(super) fn approvals(&self, need: &ApprovalNeed) -> Vec<Approval> {
        match need {
            ApprovalNeed::Sealed(fingerprint) => {
                self.approvals_in_order(|row| is_open(row) && row.fingerprint == *fingerprint, 10)
            }
            ApprovalNeed::Refused(fingerprint) => {
                let refused = self.approvals.values().filter(|row| is_refused(row) && row.fingerprint == *fingerprint);
                let newest = refused.max_by_key(|row| (row.asked, row.id));
                newest.cloned().into_iter().collect()
            }
        }
    }

    pub(super) fn list_approvals(&self, query: &ApprovalQuery) -> Vec<Approval> {
        match query {
            ApprovalQuery::WithStatus { statuses, before, limit } => {
                let fits = |row: &&Approval| statuses.is_empty() || statuses.contains(&row.state.status());
                let mut rows: Vec<&Approval> = self.approvals.values().filter(fits).collect();
                rows.sort_by_key(|row| Reverse((row.asked, row.id)));
                rows.retain(|row| before.is_none_or(|before| (row.asked, row.id) < before));
                first(rows.into_iter().cloned(), size(*limit))
            }
            ApprovalQuery::OfTask { task, limit } => {
                let of = |row: &&Approval| row.waiting.is_some_and(|waiting| waiting.task == *task);
                let mut rows: Vec<&Approval> = self.approvals.values().filter(of).collect();
                rows.sort_by_key(|row| Reverse((row.asked, row.id)));
                first(rows.into_iter().cloned(), size(*limit))
            }
            ApprovalQuery::OpenOfTask { task, limit } => {
                let of = |row: &Approval| row.waiting.is_some_and(|waiting| waiting.task == *task);
                self.approvals_in_order(|row| is_open(row) && of(row), *limit)
            }
            ApprovalQuery::OpenOfAgent { agent, limit } => {
                self.approvals_in_order(|row| is_open(row) && row.agent() == Some(*agent), *limit)
            }
            ApprovalQuery::Gates { workflow, limit } => {
                let of = |row: &Approval| row.waiting.is_some_and(|waiting| waiting.workflow == *workflow);
                self.approvals_in_order(|row| is_open(row) && row.is_gate() && of(row), *limit)
            }
            ApprovalQuery::Overdue { now, limit } => {
                self.approvals_in_order(|row| is_open(row) && row.is_over(*now), *limit)
            }
            ApprovalQuery::DueNotices { channel, now, limit } => {
                let due = |row: &Approval| {
                    self.notices.get(&(row.id, *channel)).is_none_or(|notice| notice.is_due(*now)) && !row.is_over(*now)
                };
                let pending = |row: &Approval| row.state.status() == ApprovalStatus::Pending;
                self.approvals_in_order(|row| pending(row) && due(row), *limit)
            }
        }
    }

    fn approvals_in_order(&self, fits: impl Fn(&Approval) -> bool, limit: u32) -> Vec<Approval> {
        let rows = self.approvals.values().filter(|row| fits(row));
        let rows = page(rows, |row| (row.asked, row.id), |_| true, limit);
        rows.into_iter().cloned().collect()
    }

    /// Returns the gated tasks (a person must approve each claim) for which a person must be asked now. Only the
    /// approval is missing, and no person was asked for it yet.
    pub(super) fn gated(&self, limit: u32) -> Vec<&Task> {
        let asked = |task: &Task| {
            let of = |row: &Approval| row.waiting.is_some_and(|waiting| waiting.task == task.id);
            self.approvals.values().any(|row| is_open(row) && row.is_gate() && of(row))
        };
        let runs = |task: &Task| self.workflows.get(&task.workflow).is_some_and(|row| row.status.is_running());
        let begins = |task: &Task| matches!(task.state, TaskState::Pending { lease: None }) && task.unmet == 0;
        let rows = self.tasks.values().filter(|task| task.gate && begins(task) && runs(task) && !asked(task));
        first(rows, size(limit))
    }
}

fn is_open(row: &Approval) -> bool {
    matches!(row.state.status(), ApprovalStatus::Pending | ApprovalStatus::Approved)
}

fn is_refused(row: &Approval) -> bool {
    matches!(row.state.status(), ApprovalStatus::Rejected | ApprovalStatus::Revoked)
}
