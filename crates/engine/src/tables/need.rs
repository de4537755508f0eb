//! Answers needs (questions of a decision about the state) from the maps in memory, with the same results as a
//! database. This file has the needs whose answer is a list, a number, or true or false.

use std::collections::BTreeSet;
use std::ops::Bound;

use super::{Tables, edges};
use crate::agent::Agent;
use crate::checkpoint::Checkpoint;
use crate::id::{AgentId, TaskId, WorkflowId, WorkspaceId};
use crate::inbox::{Message, MessageState};
use crate::limits;
use crate::task::{Status, Task, TaskState};
use crate::time::Timestamp;
use crate::workflow::Workflow;
use crate::workspace::{Workspace, WorkspaceStatus};
use crate::world::{
    AgentIdNeed, BoolNeed, Candidates, CheckpointNeed, FreedNeed, InboxNeed, NumberNeed, OpenEdgeNeed, TaskIdNeed,
    TaskRowNeed, UnmetNeed, WorkflowIdNeed,
};

impl Tables {
    pub(super) fn of_workflow(&self, id: WorkflowId) -> impl Iterator<Item = &Task> {
        self.tasks.values().filter(move |task| task.workflow == id)
    }

    fn held_by(&self, agent: AgentId) -> impl Iterator<Item = &Task> {
        self.tasks.values().filter(move |task| task.holder() == Some(agent))
    }

    pub(super) fn task_ids(&self, need: &TaskIdNeed) -> Vec<TaskId> {
        match need {
            TaskIdNeed::HeldBy(agent) => first(self.held_by(*agent).map(|task| task.id), limits::HELD_TASKS_MAX),
            TaskIdNeed::HeldIn(id, workspace) => {
                let here = |task: &&Task| task.workspace == Some(*workspace) && task.holder().is_some();
                let mut found: Vec<&Task> = self.of_workflow(*id).filter(here).collect();
                found.sort_by_key(|task| (task.holder(), task.id));
                first(found.into_iter().map(|task| task.id), limits::HELD_TASKS_MAX)
            }
            TaskIdNeed::Dependencies(id) => first(edges(&self.dependencies, *id), limits::REPLAN_ROWS_MAX + 1),
            TaskIdNeed::Dependents(id) => first(edges(&self.dependents, *id), limits::REPLAN_ROWS_MAX + 1),
            TaskIdNeed::Named(id, name) => {
                let named = self.of_workflow(*id).filter(|task| task.name == *name);
                first(named.map(|task| task.id), 1)
            }
            TaskIdNeed::Expired(id, now) => {
                let over = self.of_workflow(*id).filter_map(|task| expired(task, *now));
                let mut over: Vec<(Timestamp, TaskId)> = over.collect();
                over.sort_unstable();
                first(over.into_iter().map(|(_, id)| id), limits::SWEEP_TASKS_MAX)
            }
        }
    }

    pub(super) fn task_rows(&self, need: &TaskRowNeed) -> Vec<Task> {
        match need {
            TaskRowNeed::BusyFiles(id, now) => {
                let live = |task: &&Task| {
                    let paused = matches!(task.state, TaskState::Paused { .. });
                    !task.touches.is_empty() && task.state.lease().is_some_and(|lease| paused || !lease.is_over(*now))
                };
                first(self.of_workflow(*id).filter(live).cloned(), limits::BUSY_FILES_MAX)
            }
            TaskRowNeed::Removable(id) => {
                let removable = self.of_workflow(*id).filter(|task| task.is_removable());
                first(removable.cloned(), limits::REPLAN_ROWS_MAX + 1)
            }
            TaskRowNeed::Candidates(ask) => self.candidates(ask),
            TaskRowNeed::OpenAncestors(id) => self.open_ancestors(*id),
            TaskRowNeed::Open(id) => {
                let open = self.of_workflow(*id).filter(|task| !task.status().is_met());
                first(open.cloned(), limits::REPLAN_ROWS_MAX + 1)
            }
        }
    }

    /// Returns the open tasks that a task waits for, directly or through other tasks. Open means neither completed nor
    /// skipped.
    fn open_ancestors(&self, id: TaskId) -> Vec<Task> {
        let (mut found, mut ahead) = (BTreeSet::new(), vec![id]);
        while let Some(next) = ahead.pop() {
            for dependency in edges(&self.dependencies, next) {
                let is_open = self.tasks.get(&dependency).is_some_and(|task| !task.status().is_met());
                if is_open && found.insert(dependency) {
                    ahead.push(dependency);
                }
            }
        }
        let rows = found.iter().filter_map(|id| self.tasks.get(id)).cloned();
        first(rows, limits::REPLAN_ROWS_MAX + 1)
    }

    fn candidates(&self, ask: &Candidates) -> Vec<Task> {
        let ready = |task: &&Task| {
            let wanted = match &task.state {
                TaskState::Pending { lease } => !ask.failed && lease.is_none(),
                TaskState::Failed { .. } => ask.failed,
                TaskState::Planning { .. }
                | TaskState::InProgress { .. }
                | TaskState::Paused { .. }
                | TaskState::Blocked(_)
                | TaskState::Completed { .. }
                | TaskState::Skipped { .. } => false,
            };
            wanted && task.unmet == 0 && task.workflow == ask.workflow
        };
        let place = |task: &Task| (task.priority.get(), task.sequence, task.id);
        let mut found: Vec<Task> = self.tasks.values().filter(ready).cloned().collect();
        found.retain(|task| ask.after.is_none_or(|after| place(task) > after));
        found.sort_by_key(place);
        found.truncate(usize::try_from(ask.limit).unwrap_or(usize::MAX));
        found
    }

    pub(super) fn unmet(&self, UnmetNeed(id): UnmetNeed) -> Vec<(TaskId, String)> {
        let waits_for = edges(&self.dependencies, id).filter_map(|id| self.tasks.get(&id));
        let mut open: Vec<&Task> = waits_for.filter(|task| !task.status().is_met()).collect();
        open.sort_by_key(|task| (task.sequence, task.id));
        first(open.into_iter().map(|task| (task.id, task.name.clone())), limits::NAMED_MAX)
    }

    pub(super) fn freed(&self, FreedNeed(id): FreedNeed) -> Vec<(TaskId, Status)> {
        let waiting = edges(&self.dependents, id).filter_map(|id| self.tasks.get(&id));
        let mut last: Vec<_> = waiting.filter(|task| task.unmet == 1).map(|task| (task.id, task.status())).collect();
        // Sort the statuses as texts, because a database sorts them as texts, too.
        last.sort_unstable_by_key(|(id, status)| (status.as_str(), *id));
        first(last.into_iter(), limits::REPLAN_ROWS_MAX)
    }

    pub(super) fn open_edges(&self, OpenEdgeNeed(id): OpenEdgeNeed) -> Vec<(TaskId, TaskId)> {
        let is_open =
            |task: &TaskId| self.tasks.get(task).is_some_and(|task| task.workflow == id && !task.status().is_met());
        let open = self.dependencies.iter().filter(|(task, dependency)| is_open(task) && is_open(dependency));
        first(open.copied(), limits::OPEN_EDGES_MAX + 1)
    }

    pub(super) fn agent_ids(&self, need: &AgentIdNeed) -> Vec<AgentId> {
        let here = || self.agents.values().filter(|agent| agent.left.is_none());
        let found = match need {
            AgentIdNeed::WithSlug(slug) => first(self.agents.values().filter(|agent| agent.slug == *slug), 1),
            AgentIdNeed::OfSession(session) => last(here().filter(|agent| agent.session == Some(*session))),
            AgentIdNeed::OfConversation(name) => {
                last(here().filter(|agent| agent.origin.conversation.as_ref() == Some(name)))
            }
            AgentIdNeed::OfCall(call) => last(here().filter(|agent| agent.origin.call.as_ref() == Some(call))),
            AgentIdNeed::Same { name, runtime } => {
                let same = |agent: &&Agent| agent.name == *name && agent.runtime == *runtime;
                let mut found = last(here().filter(same));
                found.truncate(limits::SAME_AGENTS_MAX);
                found
            }
            AgentIdNeed::WithRole(role) => first(here().filter(|agent| agent.role == *role), limits::ROLE_HOLDERS_MAX),
            AgentIdNeed::Matching(filter) => {
                let fits = |agent: &&Agent| {
                    filter.role.as_ref().is_none_or(|role| *role == agent.role)
                        && filter.runtime.as_ref().is_none_or(|runtime| *runtime == agent.runtime)
                        && filter.workflow.is_none_or(|workflow| agent.workflow == Some(workflow))
                };
                first(here().filter(fits), limits::BROADCAST_MAX + 1)
            }
        };
        found.into_iter().map(|agent| agent.id).collect()
    }

    pub(super) fn workflow_ids(&self, need: &WorkflowIdNeed) -> Vec<WorkflowId> {
        match need {
            WorkflowIdNeed::Standing => {
                first(self.workflows.values().filter(|workflow| workflow.standing).map(|workflow| workflow.id), 1)
            }
            WorkflowIdNeed::WithBranch(branch) => {
                let has = |workflow: &&Workflow| workflow.branch.as_ref() == Some(branch);
                first(self.workflows.values().filter(has).map(|workflow| workflow.id), 1)
            }
            WorkflowIdNeed::LockedBy(owner) => {
                let owned = |workflow: &&Workflow| workflow.lock.as_ref().is_some_and(|lock| lock.owner == *owner);
                let found = self.workflows.values().filter(owned).map(|workflow| workflow.id);
                first(found, limits::HELD_TASKS_MAX)
            }
            WorkflowIdNeed::WithExpired(now) => {
                let over = self.tasks.values().filter(|task| expired(task, *now).is_some());
                let workflows: BTreeSet<WorkflowId> = over.map(|task| task.workflow).collect();
                first(workflows.into_iter(), limits::SWEEP_TASKS_MAX)
            }
        }
    }

    pub(super) fn checkpoints(&self, CheckpointNeed { task, after, limit }: CheckpointNeed) -> Vec<Checkpoint> {
        let found = self.checkpoints.range((Bound::Excluded((task, after)), Bound::Included((task, u32::MAX))));
        first(found.map(|(_, found)| found.clone()), size(limit))
    }

    pub(super) fn inbox(&self, InboxNeed { owner, unread, after, limit }: InboxNeed) -> Vec<Message> {
        let wanted = |message: &&Message| {
            let open = !unread || message.state == MessageState::Unread;
            message.to == owner && message.sequence > after && open
        };
        let mut found: Vec<&Message> = self.messages.values().filter(wanted).collect();
        found.sort_by_key(|message| (if unread { message.draft.priority.get() } else { 0 }, message.sequence));
        first(found.into_iter().cloned(), size(limit))
    }

    pub(super) fn number(&self, need: &NumberNeed) -> u32 {
        match need {
            NumberNeed::SlugNumber(base) => {
                let number = |agent: &Agent| agent.slug.strip_prefix(base.as_str())?.strip_prefix('-')?.parse().ok();
                self.agents.values().filter_map(number).max().unwrap_or(0)
            }
            NumberNeed::Running(id, now) => {
                let running = |task: &&Task| task.state.running_lease().is_some_and(|lease| !lease.is_over(*now));
                count(self.of_workflow(*id).filter(running)).min(limits::PARALLEL_MAX + 1)
            }
            NumberNeed::Conditions => count(self.conditions.values()),
            NumberNeed::LastTaskNumber => self.last_task_number,
            NumberNeed::Turns(task) => count(self.turns.values().filter(|turn| turn.task == *task)),
            NumberNeed::Verifications(task) => count(self.verifications.range((*task, 0)..=(*task, u32::MAX))),
        }
    }

    pub(super) fn is_so(&self, need: &BoolNeed) -> bool {
        match need {
            BoolNeed::TemplateNamed(name) => self.templates.values().any(|template| template.name == *name),
            BoolNeed::HoldsMost(agent) => {
                self.held_by(*agent).take(limits::HELD_TASKS_MAX).count() == limits::HELD_TASKS_MAX
            }
            BoolNeed::UnmergedRequest(id) => self.unmerged(*id, None),
            BoolNeed::OtherUnmergedRequest(id, but) => self.unmerged(*id, Some(*but)),
            BoolNeed::RepositoryUsed(id, repository) => {
                let mut places = self.workspaces.values().filter(|place| place.workflow == *id);
                let by_task = self.of_workflow(*id).any(|task| task.repository == Some(*repository));
                by_task || places.any(|place| place.repository == Some(*repository))
            }
        }
    }

    fn unmerged(&self, workflow: WorkflowId, but: Option<WorkspaceId>) -> bool {
        let waits = |place: &Workspace| {
            place.workflow == workflow
                && place.status == WorkspaceStatus::Active
                && place.pr_url.is_some()
                && Some(place.id) != but
        };
        self.workspaces.values().any(waits)
    }
}

pub(super) fn first<T>(found: impl Iterator<Item = T>, limit: usize) -> Vec<T> {
    found.take(limit).collect()
}

pub(super) fn size(limit: u32) -> usize {
    usize::try_from(limit).unwrap_or(usize::MAX)
}

pub(super) fn count(rows: impl Iterator) -> u32 {
    u32::try_from(rows.count()).unwrap_or(u32::MAX)
}

fn expired(task: &Task, now: Timestamp) -> Option<(Timestamp, TaskId)> {
    let lease = task.state.running_lease().filter(|lease| lease.is_over(now))?;
    Some((lease.until, task.id))
}

/// Returns the agents in the order of their last registration, the newest first. Returns at most as many agents as one
/// connection may have.
fn last<'a>(agents: impl Iterator<Item = &'a Agent>) -> Vec<&'a Agent> {
    let mut found: Vec<&Agent> = agents.collect();
    found.sort_by_key(|agent| std::cmp::Reverse((agent.registered, agent.created, agent.id)));
    found.truncate(limits::SESSION_AGENTS_MAX);
    found
}
