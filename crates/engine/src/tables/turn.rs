//! Answers needs about turns, verifications, runners, sections and approvals from the maps in memory, with the same
//! results as a database.

use std::cmp::Reverse;

use super::Tables;
use super::answer::first;
use super::list::{page, size};
use crate::approval::{Approval, ApprovalStatus};
use crate::list::{List, Whose};
use crate::task::{Task, TaskState};
use crate::turn::{Spent, Turn};
use crate::world::{Fact, Need};

impl Tables {
    #[expect(clippy::wildcard_enum_match_arm, reason = "`list` sends these lists here")]
    pub(super) fn turn_list(&self, list: &List) -> Fact {
        match list {
            List::Turns { of, before, limit } => {
                let mut rows: Vec<&Turn> = self.turns.values().filter(|turn| is_of(turn, *of)).collect();
                rows.sort_by_key(|turn| Reverse((turn.started, turn.id)));
                rows.retain(|turn| before.is_none_or(|before| (turn.started, turn.id) < before));
                Fact::TurnRows(first(rows.into_iter().cloned(), size(*limit)))
            }
            List::Running { runner, limit } => {
                let rows = self.turns.values().filter(|turn| turn.runner == *runner && turn.ended().is_none());
                let rows = page(rows, |turn| (turn.started, turn.id), |_| true, *limit);
                Fact::TurnRows(rows.into_iter().cloned().collect())
            }
            List::Spent(of) => {
                let rows = self.turns.values().filter(|turn| is_of(turn, *of));
                let ended = rows.filter_map(Turn::ended).map(|ended| ended.spent);
                Fact::Spent(ended.fold(Spent::default(), Spent::and))
            }
            List::Verifications { task, after, limit } => {
                let rows = self.verifications.range((*task, after.saturating_add(1))..=(*task, u32::MAX));
                Fact::VerificationRows(first(rows.map(|(_, row)| row.clone()), size(*limit)))
            }
            List::Runners { limit } => Fact::RunnerRows(first(self.runners.values().cloned(), size(*limit))),
            List::Sections { after, limit } => {
                let rows = self.sections.values().filter(|row| row.name > *after);
                Fact::SectionRows(first(rows.cloned(), size(*limit)))
            }
            List::SectionChanges { section, before, limit } => {
                let rows = self.section_changes.values();
                let mut rows: Vec<_> =
                    rows.filter(|row| row.section == *section && row.version < *before).cloned().collect();
                rows.sort_by_key(|row| Reverse(row.version));
                rows.truncate(size(*limit));
                Fact::SectionChanges(rows)
            }
            _ => self.approval_list(list),
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "`turn_list` sends these lists here")]
    fn approval_list(&self, list: &List) -> Fact {
        match list {
            List::Approvals { statuses, before, limit } => {
                let fits = |row: &&Approval| statuses.is_empty() || statuses.contains(&row.state.status());
                let mut rows: Vec<&Approval> = self.approvals.values().filter(fits).collect();
                rows.sort_by_key(|row| Reverse((row.asked, row.id)));
                rows.retain(|row| before.is_none_or(|before| (row.asked, row.id) < before));
                Fact::ApprovalRows(first(rows.into_iter().cloned(), size(*limit)))
            }
            List::OpenApprovals { task, limit } => {
                let fits = |row: &&Approval| is_open(row) && row.waiting.is_some_and(|waiting| waiting.task == *task);
                self.approvals_in_order(fits, *limit)
            }
            List::OverdueApprovals { now, limit } => {
                self.approvals_in_order(|row: &&Approval| is_open(row) && row.is_over(*now), *limit)
            }
            List::ApprovalsOf { agent, limit } => {
                self.approvals_in_order(|row: &&Approval| is_open(row) && row.agent() == Some(*agent), *limit)
            }
            List::Gates { workflow, limit } => {
                let of = |row: &Approval| row.waiting.is_some_and(|waiting| waiting.workflow == *workflow);
                self.approvals_in_order(|row: &&Approval| is_open(row) && row.is_gate() && of(row), *limit)
            }
            List::Gated { limit } => {
                let asked = |task: &Task| {
                    let of = |row: &Approval| row.waiting.is_some_and(|waiting| waiting.task == task.id);
                    self.approvals.values().any(|row| is_open(row) && row.is_gate() && of(row))
                };
                let runs = |task: &Task| self.workflows.get(&task.workflow).is_some_and(|row| row.status.is_running());
                let begins = |task: &Task| matches!(task.state, TaskState::Pending { lease: None }) && task.unmet == 0;
                let rows = self.tasks.values().filter(|task| task.gate && begins(task) && runs(task) && !asked(task));
                Fact::Full(first(rows.cloned(), size(*limit)))
            }
            List::DueNotices { channel, now, limit } => {
                let due = |row: &Approval| {
                    self.notices.get(&(row.id, *channel)).is_none_or(|notice| notice.is_due(*now)) && !row.is_over(*now)
                };
                let pending = |row: &Approval| row.state.status() == ApprovalStatus::Pending;
                self.approvals_in_order(|row: &&Approval| pending(row) && due(row), *limit)
            }
            _ => Fact::Number(0),
        }
    }

    fn approvals_in_order(&self, fits: impl Fn(&&Approval) -> bool, limit: u32) -> Fact {
        let rows = page(self.approvals.values().filter(fits), |row| (row.asked, row.id), |_| true, limit);
        Fact::ApprovalRows(rows.into_iter().cloned().collect())
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "`fact` sends these needs here")]
    pub(super) fn turn_fact(&self, need: &Need) -> Fact {
        let number = |count: usize| Fact::Number(u32::try_from(count).unwrap_or(u32::MAX));
        match need {
            Need::TurnCount(task) => number(self.turns.values().filter(|turn| turn.task == *task).count()),
            Need::TurnRunning(task) => {
                let running = |turn: &&Turn| turn.task == *task && turn.ended().is_none() && !turn.purpose.is_a_look();
                let newest = self.turns.values().filter(running).max_by_key(|turn| turn.number);
                Fact::TurnRows(newest.cloned().into_iter().collect())
            }
            Need::VerificationCount(task) => number(self.verifications.range((*task, 0)..=(*task, u32::MAX)).count()),
            Need::ApprovalSealed(fingerprint) => {
                self.approvals_in_order(|row: &&Approval| is_open(row) && row.fingerprint == *fingerprint, 10)
            }
            Need::ApprovalRefused(fingerprint) => {
                let refused = self.approvals.values().filter(|row| is_refused(row) && row.fingerprint == *fingerprint);
                let newest = refused.max_by_key(|row| (row.asked, row.id));
                Fact::ApprovalRows(newest.cloned().into_iter().collect())
            }
            Need::Reminder(conversation, part) => {
                let found = self.reminders.get(&(conversation.clone(), part.clone()));
                Fact::ReminderRows(found.cloned().into_iter().collect())
            }
            Need::Runner(name) => Fact::RunnerRows(self.runners.get(name).cloned().into_iter().collect()),
            _ => Fact::Number(0),
        }
    }
}

fn is_of(turn: &Turn, whose: Whose) -> bool {
    match whose {
        Whose::Task(task) => turn.task == task,
        Whose::Workflow(workflow) => turn.workflow == workflow,
    }
}

fn is_open(row: &Approval) -> bool {
    matches!(row.state.status(), ApprovalStatus::Pending | ApprovalStatus::Approved)
}

fn is_refused(row: &Approval) -> bool {
    matches!(row.state.status(), ApprovalStatus::Rejected | ApprovalStatus::Revoked)
}
