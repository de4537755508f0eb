//! Answers lists from the maps in memory, with the same results as a database.

use std::collections::BTreeMap;

use super::Tables;
use super::answer::first;
use crate::agent::Agent;
use crate::id::{TaskId, WorkflowId};
use crate::inbox::{MailboxOwner, Message, MessageState};
use crate::list::{AgentFilter, List, WorkflowFilter};
use crate::task::{Status, Task, TaskState};
use crate::workflow::Workflow;
use crate::world::Fact;

pub(super) fn size(limit: u32) -> usize {
    usize::try_from(limit).unwrap_or(usize::MAX)
}

fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Returns the rows whose keys `from` accepts, in the order of their keys. Returns at most `limit` rows.
pub(super) fn page<T, K: Ord>(
    rows: impl Iterator<Item = T>,
    key: impl Fn(&T) -> K,
    from: impl Fn(&K) -> bool,
    limit: u32,
) -> Vec<T> {
    let mut rows: Vec<T> = rows.filter(|row| from(&key(row))).collect();
    rows.sort_by_key(|row| key(row));
    rows.truncate(size(limit));
    rows
}

impl Tables {
    #[expect(clippy::too_many_lines, reason = "one match that names every list")]
    pub(super) fn list(&self, list: &List) -> Fact {
        match list {
            List::Workflows { filter, after, offset, limit } => {
                let mut found: Vec<&Workflow> = self.workflows.values().filter(|row| self.fits(row, filter)).collect();
                found.sort_by_key(|row| std::cmp::Reverse((row.created, row.id)));
                found.retain(|row| after.is_none_or(|after| (row.created, row.id) < after));
                Fact::WorkflowRows(first(found.into_iter().skip(size(*offset)).cloned(), size(*limit)))
            }
            List::WorkflowTotal(filter) => {
                Fact::Number(number(self.workflows.values().filter(|row| self.fits(row, filter)).count()))
            }
            List::Tasks { .. }
            | List::Waiting { .. }
            | List::Finished { .. }
            | List::Group { .. }
            | List::Held { .. }
            | List::Stuck { .. } => Fact::Full(self.task_list(list)),
            List::Statuses(_) | List::Groups { .. } | List::FirstOpen(_) => self.task_count(list),
            List::Agents { filter, after, limit } => {
                let rows = self.agents.values().filter(|row| is_wanted(row, filter));
                let rows =
                    page(rows, |row| (row.created, row.id), |key| after.is_none_or(|after| *key > after), *limit);
                Fact::AgentRows(rows.into_iter().map(|row| (row.clone(), self.claimed_last(row))).collect())
            }
            List::Workspaces { workflow, statuses, after, limit } => {
                let here = self.workspaces.values().filter(|row| row.workflow == *workflow);
                let here = here.filter(|row| statuses.is_empty() || statuses.contains(&row.status));
                let rows =
                    page(here, |row| (row.created, row.id), |key| after.is_none_or(|after| *key > after), *limit);
                Fact::WorkspaceRows(rows.into_iter().cloned().collect())
            }
            List::Attached { workflow, limit } => {
                let here = self.attachments.iter().filter(|((id, _), _)| id == workflow);
                let rows = here.filter_map(|((_, id), added)| Some((self.repositories.get(id)?, *added)));
                let rows = page(rows, |(row, added)| (*added, row.id), |_| true, *limit);
                Fact::RepositoryRows(rows.into_iter().map(|(row, added)| (row.clone(), added)).collect())
            }
            List::Repositories { after, offset, limit } => {
                let mut found: Vec<_> = self.repositories.values().collect();
                found.sort_by_key(|row| std::cmp::Reverse((row.created, row.id)));
                found.retain(|row| after.is_none_or(|after| (row.created, row.id) < after));
                let rows = found.into_iter().skip(size(*offset)).map(|row| (row.clone(), row.created));
                Fact::RepositoryRows(first(rows, size(*limit)))
            }
            List::RepositoryTotal => Fact::Number(number(self.repositories.len())),
            List::Templates { after, limit } => {
                let rows = page(self.templates.values(), |row| row.name.clone(), |name| name > after, *limit);
                Fact::TemplateRows(rows.into_iter().cloned().collect())
            }
            List::Mail { owner, before, limit } => {
                let mut found: Vec<&Message> = self.mail(*owner).filter(|row| row.sequence < *before).collect();
                found.sort_by_key(|row| std::cmp::Reverse(row.sequence));
                Fact::Messages(first(found.into_iter().cloned(), size(*limit)))
            }
            List::Questions { after, limit } => {
                let open = self.mail(MailboxOwner::Human).filter(|row| row.is_open_question() && row.sequence > *after);
                let rows = page(open, |row| row.sequence, |_| true, *limit);
                Fact::Messages(rows.into_iter().cloned().collect())
            }
            List::Unread(owner) => {
                let mut counts = BTreeMap::new();
                for row in self.mail(*owner).filter(|row| row.state == MessageState::Unread) {
                    *counts.entry(row.draft.priority.get().to_string()).or_insert(0) += 1;
                }
                Fact::Counts(counts.into_iter().map(|(word, count)| (word, count, 0)).collect())
            }
            List::Turns { .. }
            | List::Running { .. }
            | List::Spent(_)
            | List::Verifications { .. }
            | List::Runners { .. }
            | List::Sections { .. }
            | List::SectionChanges { .. }
            | List::Approvals { .. }
            | List::OpenApprovals { .. }
            | List::OverdueApprovals { .. }
            | List::ApprovalsOf { .. }
            | List::Gates { .. }
            | List::Gated { .. }
            | List::DueNotices { .. } => self.turn_list(list),
            List::Reviews { .. } | List::TaskReviews { .. } | List::Rounds { .. } | List::Findings { .. } => {
                self.review_list(list)
            }
            List::Tokens { revoked, after, limit } => {
                let rows = self.tokens.values().filter(|row| *revoked || row.revoked.is_none());
                let rows =
                    page(rows, |row| (row.created, row.id), |key| after.is_none_or(|after| *key > after), *limit);
                Fact::TokenRows(rows.into_iter().cloned().collect())
            }
        }
    }

    fn fits(&self, row: &Workflow, filter: &WorkflowFilter) -> bool {
        let attached = |repository| self.attachments.contains_key(&(row.id, repository));
        (filter.statuses.is_empty() || filter.statuses.contains(&row.status)) && filter.repository.is_none_or(attached)
    }

    fn mail(&self, owner: MailboxOwner) -> impl Iterator<Item = &Message> {
        self.messages.values().filter(move |row| row.to == owner)
    }

    fn claimed_last(&self, agent: &Agent) -> Option<TaskId> {
        let held = self.tasks.values().filter(|task| task.holder() == Some(agent.id));
        held.max_by_key(|task| (task.state.lease().map(|lease| lease.since), task.id)).map(|task| task.id)
    }

    fn of_workflow(&self, id: WorkflowId) -> impl Iterator<Item = &Task> {
        self.tasks.values().filter(move |task| task.workflow == id)
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "`list` sends the lists of tasks here")]
    fn task_list(&self, list: &List) -> Vec<Task> {
        let place = |task: &&Task| (task.sequence, task.id);
        let found = match list {
            List::Tasks { workflow, statuses, after, limit } => {
                let rows = self.of_workflow(*workflow);
                let rows = rows.filter(|task| statuses.is_empty() || statuses.contains(&task.status()));
                page(rows, place, |key| after.is_none_or(|after| *key > after), *limit)
            }
            List::Waiting { workflow, after, limit } => {
                let rows =
                    self.of_workflow(*workflow).filter(|task| task.status() == Status::Pending && task.unmet > 0);
                page(rows, place, |key| after.is_none_or(|after| *key > after), *limit)
            }
            List::Finished { workflow, before, limit } => {
                let rows = self.of_workflow(*workflow).filter(|task| task.status().is_met());
                let mut rows: Vec<&Task> = rows.filter(|task| task.sequence < *before).collect();
                rows.sort_by_key(|task| std::cmp::Reverse(place(task)));
                rows.truncate(size(*limit));
                rows
            }
            List::Group { workflow, group, limit } => {
                let rows = self.of_workflow(*workflow).filter(|task| task.group.as_ref() == Some(group));
                page(rows, place, |_| true, *limit)
            }
            List::Held { limit } => {
                let rows = self.tasks.values().filter(|task| task.holder().is_some());
                page(rows, |task| (task.state.lease().map(|lease| lease.since), task.id), |_| true, *limit)
            }
            List::Stuck { limit } => {
                let stuck = |task: &&Task| {
                    matches!(task.state, TaskState::Paused { .. } | TaskState::Blocked(_) | TaskState::Failed { .. })
                };
                page(self.tasks.values().filter(stuck), |task| (task.updated, task.id), |_| true, *limit)
            }
            _ => Vec::new(),
        };
        found.into_iter().cloned().collect()
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "`list` sends the counts of tasks here")]
    fn task_count(&self, list: &List) -> Fact {
        match list {
            List::Statuses(workflow) => {
                let mut counts = BTreeMap::new();
                for task in self.of_workflow(*workflow) {
                    *counts.entry(task.status().as_str()).or_insert(0) += 1;
                }
                Fact::Counts(counts.into_iter().map(|(word, count)| (word.to_owned(), count, 0)).collect())
            }
            List::Groups { workflow, limit } => {
                let mut counts = BTreeMap::new();
                for (group, task) in self.of_workflow(*workflow).filter_map(|task| Some((task.group.clone()?, task))) {
                    let (all, done) = counts.entry(group).or_insert((0, 0));
                    *all += 1;
                    *done += u32::from(task.status().is_met());
                }
                let counts = counts.into_iter().map(|(group, (all, done))| (group, all, done));
                Fact::Counts(first(counts, size(*limit)))
            }
            List::FirstOpen(workflow) => {
                let open = self.of_workflow(*workflow).filter(|task| !task.status().is_met());
                Fact::Number(open.map(|task| task.sequence).min().unwrap_or(0))
            }
            _ => Fact::Number(0),
        }
    }
}

fn is_wanted(row: &Agent, filter: &AgentFilter) -> bool {
    filter.role.as_ref().is_none_or(|role| *role == row.role)
        && filter.runtime.as_ref().is_none_or(|runtime| *runtime == row.runtime)
        && filter.workflow.is_none_or(|workflow| row.workflow == Some(workflow))
}
