//! Answers needs from the maps in memory, with the same results as a database.

use std::collections::BTreeSet;
use std::ops::Bound;

use super::{Tables, edges};
use crate::agent::Agent;
use crate::id::{TaskId, WorkflowId, WorkspaceId};
use crate::inbox::{Mailbox, Message, MessageState};
use crate::limits;
use crate::task::{Task, TaskState};
use crate::time::Timestamp;
use crate::workflow::Workflow;
use crate::workspace::{Workspace, WorkspaceStatus};
use crate::world::{Candidates, Fact, Need, World};

impl Tables {
    /// Stores the answer to a need in the world.
    #[expect(clippy::wildcard_enum_match_arm, reason = "`World::knows` names every need; what has no row is a fact")]
    pub fn answer(&self, need: &Need, world: &mut World) {
        match need {
            Need::Task(id) => drop(world.tasks.insert(*id, self.tasks.get(id).cloned())),
            Need::Detail(id) => drop(world.details.insert(*id, self.details.get(id).cloned().unwrap_or_default())),
            Need::Workflow(id) => drop(world.workflows.insert(*id, self.workflows.get(id).cloned())),
            Need::WorkflowDetail(id) => {
                let detail = self.workflow_details.get(id).cloned().unwrap_or_default();
                world.workflow_details.insert(*id, detail);
            }
            Need::Agent(id) => drop(world.agents.insert(*id, self.agents.get(id).cloned())),
            Need::Mailbox(owner) => {
                let empty = Mailbox { owner: *owner, sequence: 0, unread: 0 };
                world.mailboxes.insert(*owner, self.mailboxes.get(owner).cloned().unwrap_or(empty));
            }
            Need::Message(id) => drop(world.messages.insert(*id, self.messages.get(id).cloned())),
            Need::Workspace(id) => drop(world.workspaces.insert(*id, self.workspaces.get(id).cloned())),
            Need::Repository(id) => drop(world.repositories.insert(*id, self.repositories.get(id).cloned())),
            Need::RepositoryAt(path) => {
                let found = self.repositories.values().find(|repository| repository.path == *path);
                world.paths.insert(path.clone(), found.map(|repository| repository.id));
            }
            Need::Template(id) => drop(world.templates.insert(*id, self.templates.get(id).cloned())),
            Need::Key(id) => drop(world.keys.insert(id.clone(), self.keys.get(id).cloned())),
            Need::Token(id) => drop(world.tokens.insert(*id, self.tokens.get(id).cloned())),
            Need::Turn(id) => drop(world.turns.insert(*id, self.turns.get(id).cloned())),
            Need::Section(name) => drop(world.sections.insert(name.clone(), self.sections.get(name).cloned())),
            Need::Approval(id) => drop(world.approvals.insert(*id, self.approvals.get(id).cloned())),
            Need::Review(id) => drop(world.reviews.insert(*id, self.reviews.get(id).cloned())),
            Need::Round(..) | Need::Finding(..) => drop(world.facts.insert(need.clone(), self.review_fact(need))),
            Need::Notice(id, channel) => {
                world.notices.insert((*id, *channel), self.notices.get(&(*id, *channel)).cloned());
            }
            Need::TurnCount(_)
            | Need::TurnRunning(_)
            | Need::VerificationCount(_)
            | Need::ApprovalSealed(_)
            | Need::ApprovalRefused(_)
            | Need::Reminder(..)
            | Need::Runner(_) => drop(world.facts.insert(need.clone(), self.turn_fact(need))),
            Need::TokenHashed(hash) => {
                let found = self.tokens.values().filter(|token| token.hash == *hash).cloned().collect();
                world.facts.insert(need.clone(), Fact::TokenRows(found));
            }
            Need::List(list) => drop(world.facts.insert(need.clone(), self.list(list))),
            Need::Slug(_)
            | Need::SlugNumber(_)
            | Need::SessionAgents(_)
            | Need::ConversationAgents(_)
            | Need::CalledAgents(_)
            | Need::SameAgents { .. }
            | Need::RoleHolders(_)
            | Need::Agents(_) => drop(world.facts.insert(need.clone(), self.agent_fact(need))),
            _ => drop(world.facts.insert(need.clone(), self.fact(need))),
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "`answer` sends the needs of agents here")]
    fn agent_fact(&self, need: &Need) -> Fact {
        let ids = |found: Vec<&Agent>| Fact::Agents(found.into_iter().map(|agent| agent.id).collect());
        let here = || self.agents.values().filter(|agent| agent.left.is_none());
        match need {
            Need::Slug(slug) => ids(first(self.agents.values().filter(|agent| agent.slug == *slug), 1)),
            Need::SlugNumber(base) => {
                let number = |agent: &Agent| agent.slug.strip_prefix(base.as_str())?.strip_prefix('-')?.parse().ok();
                Fact::Number(self.agents.values().filter_map(number).max().unwrap_or(0))
            }
            Need::SessionAgents(session) => ids(last(here().filter(|agent| agent.session == Some(*session)))),
            Need::ConversationAgents(name) => {
                ids(last(here().filter(|agent| agent.origin.conversation.as_ref() == Some(name))))
            }
            Need::CalledAgents(call) => ids(last(here().filter(|agent| agent.origin.call.as_ref() == Some(call)))),
            Need::SameAgents { name, runtime } => {
                let same = |agent: &&Agent| agent.name == *name && agent.runtime == *runtime;
                let mut found = last(here().filter(same));
                found.truncate(limits::SAME_AGENTS_MAX);
                ids(found)
            }
            Need::RoleHolders(role) => ids(first(here().filter(|agent| agent.role == *role), limits::ROLE_HOLDERS_MAX)),
            Need::Agents(filter) => {
                let fits = |agent: &&Agent| {
                    filter.role.as_ref().is_none_or(|role| *role == agent.role)
                        && filter.runtime.as_ref().is_none_or(|runtime| *runtime == agent.runtime)
                        && filter.workflow.is_none_or(|workflow| agent.workflow == Some(workflow))
                };
                ids(first(here().filter(fits), limits::BROADCAST_MAX + 1))
            }
            _ => Fact::Agents(Vec::new()),
        }
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "`World::knows` names every need; `answer` sends here what has no row"
    )]
    #[expect(clippy::too_many_lines, reason = "one match that names every fact")]
    fn fact(&self, need: &Need) -> Fact {
        let tasks = |found: Vec<&Task>| Fact::Tasks(found.into_iter().map(|task| task.id).collect());
        let of = |id: WorkflowId| self.tasks.values().filter(move |task| task.workflow == id);
        match need {
            Need::TemplateNamed(name) => Fact::Yes(self.templates.values().any(|template| template.name == *name)),
            Need::HoldsMost(agent) => {
                let held = self.tasks.values().filter(|task| task.holder() == Some(*agent));
                Fact::Yes(held.take(limits::HELD_TASKS_MAX).count() == limits::HELD_TASKS_MAX)
            }
            Need::Held(agent) => {
                let held = self.tasks.values().filter(|task| task.holder() == Some(*agent));
                tasks(first(held, limits::HELD_TASKS_MAX))
            }
            Need::HeldIn(id, workspace) => {
                let here = |task: &&Task| task.workspace == Some(*workspace) && task.holder().is_some();
                let mut found: Vec<&Task> = of(*id).filter(here).collect();
                found.sort_by_key(|task| (task.holder(), task.id));
                found.truncate(limits::HELD_TASKS_MAX);
                tasks(found)
            }
            Need::LockedBy(owner) => {
                let owned = |workflow: &&Workflow| workflow.lock.as_ref().is_some_and(|lock| lock.owner == *owner);
                let found = self.workflows.values().filter(owned).map(|workflow| workflow.id);
                Fact::Workflows(first(found, limits::HELD_TASKS_MAX))
            }
            Need::Running(id, now) => {
                let running = |task: &&Task| task.state.running_lease().is_some_and(|lease| !lease.is_over(*now));
                Fact::Number(
                    u32::try_from(of(*id).filter(running).count()).unwrap_or(u32::MAX).min(limits::PARALLEL_MAX + 1),
                )
            }
            Need::BusyFiles(id, now) => {
                let live = |task: &&Task| {
                    let paused = matches!(task.state, TaskState::Paused { .. });
                    !task.touches.is_empty() && task.state.lease().is_some_and(|lease| paused || !lease.is_over(*now))
                };
                Fact::Full(first(of(*id).filter(live).cloned(), limits::BUSY_FILES_MAX))
            }
            Need::Expired(id, now) => {
                let mut over: Vec<(Timestamp, TaskId)> = of(*id).filter_map(|task| expired(task, *now)).collect();
                over.sort_unstable();
                Fact::Tasks(first(over.into_iter().map(|(_, id)| id), limits::SWEEP_TASKS_MAX))
            }
            Need::ExpiredAnywhere(now) => {
                let over = self.tasks.values().filter(|task| expired(task, *now).is_some());
                let workflows: BTreeSet<WorkflowId> = over.map(|task| task.workflow).collect();
                Fact::Workflows(first(workflows.into_iter(), limits::SWEEP_TASKS_MAX))
            }
            Need::TaskNamed(id, name) => tasks(first(of(*id).filter(|task| task.name == *name), 1)),
            Need::Removable(id) => {
                Fact::Full(first(of(*id).filter(|task| task.is_removable()).cloned(), limits::REPLAN_ROWS_MAX + 1))
            }
            Need::Candidates(ask) => Fact::Full(self.candidates(ask)),
            Need::Unmet(_)
            | Need::Freed(_)
            | Need::Dependencies(_)
            | Need::Dependents(_)
            | Need::OpenAncestors(_)
            | Need::OpenTasks(_)
            | Need::OpenEdges(_) => self.graph_fact(need),
            Need::UnmergedRequest(id) => Fact::Yes(self.unmerged(*id, None)),
            Need::OtherUnmergedRequest(id, but) => Fact::Yes(self.unmerged(*id, Some(*but))),
            Need::RepositoryUsed(id, repository) => {
                let places = self.workspaces.values().filter(|place| place.workflow == *id);
                let by_task = of(*id).any(|task| task.repository == Some(*repository));
                Fact::Yes(by_task || places.into_iter().any(|place| place.repository == Some(*repository)))
            }
            Need::Attached(id, repository) => Fact::Time(self.attachments.get(&(*id, *repository)).copied()),
            Need::Checkpoints { task, after, limit } => {
                let found = self
                    .checkpoints
                    .range((Bound::Excluded((*task, *after)), Bound::Included((*task, u32::MAX))))
                    .map(|(_, found)| found.clone());
                Fact::Checkpoints(first(found, usize::try_from(*limit).unwrap_or(usize::MAX)))
            }
            Need::Inbox { owner, unread, after, limit } => {
                let wanted = |message: &&Message| {
                    let open = !*unread || message.state == MessageState::Unread;
                    message.to == *owner && message.sequence > *after && open
                };
                let mut found: Vec<Message> = self.messages.values().filter(wanted).cloned().collect();
                found.sort_by_key(|message| (if *unread { message.draft.priority.get() } else { 0 }, message.sequence));
                found.truncate(usize::try_from(*limit).unwrap_or(usize::MAX));
                Fact::Messages(found)
            }
            _ => Fact::Yes(false),
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "`fact` sends the needs of the graph here")]
    fn graph_fact(&self, need: &Need) -> Fact {
        let waits_for = |id: TaskId| edges(&self.dependencies, id);
        let waiting = |id: TaskId| edges(&self.dependents, id);
        match need {
            Need::Unmet(id) => {
                let open = waits_for(*id).filter_map(|id| self.tasks.get(&id)).filter(|task| !task.status().is_met());
                let mut open: Vec<&Task> = open.collect();
                open.sort_by_key(|task| (task.sequence, task.id));
                Fact::Named(first(open.into_iter().map(|task| (task.id, task.name.clone())), limits::NAMED_MAX))
            }
            Need::Freed(id) => {
                let last = waiting(*id).filter_map(|id| self.tasks.get(&id)).filter(|task| task.unmet == 1);
                let mut last: Vec<_> = last.map(|task| (task.status().as_str(), task.id)).collect();
                last.sort_unstable();
                let named = last.into_iter().map(|(status, id)| (id, status.to_owned()));
                Fact::Named(first(named, limits::REPLAN_ROWS_MAX))
            }
            Need::Dependencies(id) => Fact::Tasks(first(waits_for(*id), limits::REPLAN_ROWS_MAX + 1)),
            Need::Dependents(id) => Fact::Tasks(first(waiting(*id), limits::REPLAN_ROWS_MAX + 1)),
            Need::OpenAncestors(id) => Fact::Full(self.open_ancestors(*id)),
            Need::OpenTasks(id) => {
                let open = self.tasks.values().filter(|task| task.workflow == *id && !task.status().is_met());
                Fact::Full(first(open.cloned(), limits::REPLAN_ROWS_MAX + 1))
            }
            Need::OpenEdges(id) => {
                let is_open = |task: &TaskId| {
                    self.tasks.get(task).is_some_and(|task| task.workflow == *id && !task.status().is_met())
                };
                let open = self.dependencies.iter().filter(|(task, dependency)| is_open(task) && is_open(dependency));
                Fact::Edges(first(open.copied(), limits::OPEN_EDGES_MAX + 1))
            }
            _ => Fact::Tasks(Vec::new()),
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

fn expired(task: &Task, now: Timestamp) -> Option<(Timestamp, TaskId)> {
    let lease = task.state.running_lease().filter(|lease| lease.is_over(now))?;
    Some((lease.until, task.id))
}

/// Returns the agents in the order of their registration, the last one first: at most as many as one connection may
/// have.
fn last<'a>(agents: impl Iterator<Item = &'a Agent>) -> Vec<&'a Agent> {
    let mut found: Vec<&Agent> = agents.collect();
    found.sort_by_key(|agent| std::cmp::Reverse((agent.registered, agent.created, agent.id)));
    found.truncate(limits::SESSION_AGENTS_MAX);
    found
}
