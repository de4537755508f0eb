//! Answers list queries for workflows, tasks, agents, workspaces, repositories, templates, messages and tokens from the
//! maps in memory, with the same results as a database.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::Tables;
use super::need::{count, first, size};
use crate::agent::Agent;
use crate::id::TaskId;
use crate::inbox::{MailboxOwner, Message, MessageKind, MessageState};
use crate::list::{
    AgentFilter, AgentQuery, CountQuery, GroupQuery, MessageQuery, RepositoryQuery, TaskQuery, TemplateQuery,
    TokenQuery, TotalQuery, WorkflowFilter, WorkflowQuery, WorkspaceQuery,
};
use crate::task::{Status, Task, TaskState};
use crate::template::Template;
use crate::time::Timestamp;
use crate::token::Token;
use crate::workflow::Workflow;
use crate::workspace::{Repository, Workspace};

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
    pub(super) fn list_workflows(&self, query: &WorkflowQuery) -> Vec<Workflow> {
        let WorkflowQuery { filter, after, offset, limit } = query;
        let mut found: Vec<&Workflow> = self.workflows.values().filter(|row| self.fits(row, filter)).collect();
        found.sort_by_key(|row| Reverse((row.created, row.id)));
        found.retain(|row| after.is_none_or(|after| (row.created, row.id) < after));
        first(found.into_iter().skip(size(*offset)).cloned(), size(*limit))
    }

    fn fits(&self, row: &Workflow, filter: &WorkflowFilter) -> bool {
        let attached = |repository| self.attachments.contains_key(&(row.id, repository));
        (filter.statuses.is_empty() || filter.statuses.contains(&row.status))
            && filter.repository.is_none_or(attached)
            && (filter.archived || !row.archived)
    }

    pub(super) fn list_tasks(&self, query: &TaskQuery) -> Vec<Task> {
        let place = |task: &&Task| (task.sequence, task.id);
        let found = match query {
            TaskQuery::Planned { workflow, statuses, after, limit } => {
                let rows = self.of_workflow(*workflow);
                let rows = rows.filter(|task| statuses.is_empty() || statuses.contains(&task.status()));
                page(rows, place, |key| after.is_none_or(|after| *key > after), *limit)
            }
            TaskQuery::Waiting { workflow, after, limit } => {
                let waits = |task: &&Task| task.status() == Status::Pending && task.unmet > 0;
                let rows = self.of_workflow(*workflow).filter(waits);
                page(rows, place, |key| after.is_none_or(|after| *key > after), *limit)
            }
            TaskQuery::Finished { workflow, before, limit } => {
                let rows = self.of_workflow(*workflow).filter(|task| task.status().is_met());
                let mut rows: Vec<&Task> = rows.filter(|task| task.sequence < *before).collect();
                rows.sort_by_key(|task| Reverse(place(task)));
                rows.truncate(size(*limit));
                rows
            }
            TaskQuery::Group { workflow, group, limit } => {
                let rows = self.of_workflow(*workflow).filter(|task| task.group.as_ref() == Some(group));
                page(rows, place, |_| true, *limit)
            }
            TaskQuery::Numbered { number } => {
                page(self.tasks.values().filter(|task| task.number == *number), |task| task.id, |_| true, 1)
            }
            TaskQuery::IdBeginning { text, limit } => {
                let rows = self.tasks.values().filter(|task| task.id.to_string().starts_with(text.as_str()));
                page(rows, |task| task.id, |_| true, *limit)
            }
            TaskQuery::Named { name, limit } => {
                page(self.tasks.values().filter(|task| task.name == *name), |task| task.id, |_| true, *limit)
            }
            TaskQuery::Recent { statuses, before, limit } => {
                let is_wanted = |task: &&Task| statuses.is_empty() || statuses.contains(&task.status());
                let rows = self.tasks.values().filter(is_wanted);
                page(rows, |task| Reverse(task.number), |Reverse(number)| number < before, *limit)
            }
            TaskQuery::Held { limit } => {
                let rows = self.tasks.values().filter(|task| task.holder().is_some());
                page(rows, |task| (task.state.lease().map(|lease| lease.since), task.id), |_| true, *limit)
            }
            TaskQuery::Stuck { limit } => {
                let stuck = |task: &&Task| {
                    matches!(task.state, TaskState::Paused { .. } | TaskState::Blocked(_) | TaskState::Failed { .. })
                };
                page(self.tasks.values().filter(stuck), |task| (task.updated, task.id), |_| true, *limit)
            }
            TaskQuery::Gated { limit } => self.gated(*limit),
        };
        found.into_iter().cloned().collect()
    }

    pub(super) fn list_agents(&self, query: &AgentQuery) -> Vec<(Agent, Option<TaskId>)> {
        let AgentQuery { filter, after, limit } = query;
        let rows = self.agents.values().filter(|row| is_wanted(row, filter));
        let rows = page(rows, |row| (row.created, row.id), |key| after.is_none_or(|after| *key > after), *limit);
        rows.into_iter().map(|row| (row.clone(), self.claimed_last(row))).collect()
    }

    fn claimed_last(&self, agent: &Agent) -> Option<TaskId> {
        let held = self.tasks.values().filter(|task| task.holder() == Some(agent.id));
        held.max_by_key(|task| (task.state.lease().map(|lease| lease.since), task.id)).map(|task| task.id)
    }

    pub(super) fn list_workspaces(&self, query: &WorkspaceQuery) -> Vec<Workspace> {
        let WorkspaceQuery { workflow, statuses, after, limit } = query;
        let here = self.workspaces.values().filter(|row| row.workflow == *workflow);
        let here = here.filter(|row| statuses.is_empty() || statuses.contains(&row.status));
        let rows = page(here, |row| (row.created, row.id), |key| after.is_none_or(|after| *key > after), *limit);
        rows.into_iter().cloned().collect()
    }

    pub(super) fn list_repositories(&self, query: &RepositoryQuery) -> Vec<(Repository, Timestamp)> {
        match query {
            RepositoryQuery::Attached { workflow, limit } => {
                let here = self.attachments.iter().filter(|((id, _), _)| id == workflow);
                let rows = here.filter_map(|((_, id), added)| Some((self.repositories.get(id)?, *added)));
                let rows = page(rows, |(row, added)| (*added, row.id), |_| true, *limit);
                rows.into_iter().map(|(row, added)| (row.clone(), added)).collect()
            }
            RepositoryQuery::All { after, offset, limit } => {
                let mut found: Vec<_> = self.repositories.values().collect();
                found.sort_by_key(|row| Reverse((row.created, row.id)));
                found.retain(|row| after.is_none_or(|after| (row.created, row.id) < after));
                let rows = found.into_iter().skip(size(*offset)).map(|row| (row.clone(), row.created));
                first(rows, size(*limit))
            }
        }
    }

    pub(super) fn list_templates(&self, query: &TemplateQuery) -> Vec<Template> {
        let rows = page(self.templates.values(), |row| row.name.clone(), |name| *name > query.after, query.limit);
        rows.into_iter().cloned().collect()
    }

    fn mail(&self, owner: MailboxOwner) -> impl Iterator<Item = &Message> {
        self.messages.values().filter(move |row| row.to == owner)
    }

    pub(super) fn list_messages(&self, query: &MessageQuery) -> Vec<Message> {
        match query {
            MessageQuery::Mail { owner, before, limit } => {
                let mut found: Vec<&Message> = self.mail(*owner).filter(|row| row.sequence < *before).collect();
                found.sort_by_key(|row| Reverse(row.sequence));
                first(found.into_iter().cloned(), size(*limit))
            }
            MessageQuery::QuestionsOfTask { task, limit } => {
                let asked = |row: &&Message| row.draft.task == Some(*task) && row.draft.kind == MessageKind::Question;
                let mut found: Vec<&Message> = self.mail(MailboxOwner::Human).filter(asked).collect();
                found.sort_by_key(|row| Reverse(row.sequence));
                first(found.into_iter().cloned(), size(*limit))
            }
            MessageQuery::Questions { after, limit } => {
                let open = self.mail(MailboxOwner::Human).filter(|row| row.is_open_question() && row.sequence > *after);
                let rows = page(open, |row| row.sequence, |_| true, *limit);
                rows.into_iter().cloned().collect()
            }
        }
    }

    pub(super) fn list_tokens(&self, query: &TokenQuery) -> Vec<Token> {
        let TokenQuery { revoked, after, limit } = *query;
        let rows = self.tokens.values().filter(|row| revoked || row.revoked.is_none());
        let rows = page(rows, |row| (row.created, row.id), |key| after.is_none_or(|after| *key > after), limit);
        rows.into_iter().cloned().collect()
    }

    pub(super) fn total(&self, query: &TotalQuery) -> u32 {
        match query {
            TotalQuery::Workflows(filter) => count(self.workflows.values().filter(|row| self.fits(row, filter))),
            TotalQuery::Repositories => count(self.repositories.values()),
            TotalQuery::FirstOpen(workflow) => {
                let open = self.of_workflow(*workflow).filter(|task| !task.status().is_met());
                open.map(|task| task.sequence).min().unwrap_or(0)
            }
        }
    }

    pub(super) fn counts(&self, query: &CountQuery) -> Vec<(String, u32)> {
        let words: Vec<String> = match query {
            CountQuery::Statuses(workflow) => {
                self.of_workflow(*workflow).map(|task| task.status().to_string()).collect()
            }
            CountQuery::Unread(owner) => {
                let unread = self.mail(*owner).filter(|row| row.state == MessageState::Unread);
                unread.map(|row| row.draft.priority.get().to_string()).collect()
            }
        };
        let mut counts = BTreeMap::new();
        for word in words {
            *counts.entry(word).or_insert(0) += 1;
        }
        counts.into_iter().collect()
    }

    pub(super) fn groups(&self, query: &GroupQuery) -> Vec<(String, u32, u32)> {
        let mut counts = BTreeMap::new();
        for (group, task) in self.of_workflow(query.workflow).filter_map(|task| Some((task.group.clone()?, task))) {
            let (all, done) = counts.entry(group).or_insert((0, 0));
            *all += 1;
            *done += u32::from(task.status().is_met());
        }
        let counts = counts.into_iter().map(|(group, (all, done))| (group, all, done));
        first(counts, size(query.limit))
    }
}

fn is_wanted(row: &Agent, filter: &AgentFilter) -> bool {
    filter.role.as_ref().is_none_or(|role| *role == row.role)
        && filter.runtime.as_ref().is_none_or(|runtime| *runtime == row.runtime)
        && filter.workflow.is_none_or(|workflow| row.workflow == Some(workflow))
}
