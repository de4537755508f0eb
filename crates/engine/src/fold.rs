//! Turns events into the database rows to write.

mod delivery;
mod review;
mod task;
mod workflow;

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::agent::Agent;
use crate::approval::Approval;
use crate::checkpoint::Checkpoint;
use crate::command::Actor;
use crate::condition::{Condition, ConditionKind};
use crate::delivery::{Delivery, WorkflowDelivery};
use crate::event::Event;
use crate::id::{AgentId, RepositoryId, TaskId, TemplateId, TokenId, WorkflowId};
use crate::inbox::{Mailbox, MailboxOwner, Message, MessageState};
use crate::key::StoredKey;
use crate::notice::{Notice, NoticeWay, ToldItem};
use crate::plan::PlanPiece;
use crate::put_off::PutOffItem;
use crate::reminder::Reminder;
use crate::review::{Finding, Review, ReviewRound};
use crate::runner::Runner;
use crate::section::{Section, SectionChange};
use crate::task::{Task, TaskDetail};
use crate::template::Template;
use crate::time::Timestamp;
use crate::token::Token;
use crate::turn::Turn;
use crate::verification::Verification;
use crate::workflow::{Workflow, WorkflowDetail};
use crate::workspace::{Attachment, Repository, Workspace};
use crate::world::World;

/// One write to the store. A database turns each write into one statement. A write only stores values that the decision
/// has already computed.
#[derive(Debug, Clone, PartialEq)]
pub enum Write {
    /// Inserts new tasks with their details and dependencies.
    Insert(TaskInsert),
    /// Writes the last task number that was given, so that the next task gets the next number.
    LastTaskNumber(u32),
    /// Writes all columns of a task except `unmet` (the number of unmet dependencies), which the store keeps up to
    /// date.
    Task(Box<Task>),
    /// Writes only the number of checkpoints of a task and the time of its last change. Agents add checkpoints more
    /// often than anything else, and writing the whole row with all its indexes each time would cost too much.
    Noted {
        task: TaskId,
        checkpoints: u32,
        at: Timestamp,
    },
    Detail(TaskId, Box<TaskDetail>),
    /// Records that this task is completed or skipped, so each task that waits for it waits for one task less.
    Met(TaskId),
    Waits(TaskId, u32),
    /// Records that this task is open again, so each task that depends on it waits for one task more.
    Reopened(TaskId),
    /// Removes all protections of a task (gate, review, limits and output contract).
    Unprotected(TaskId),
    Edges(Vec<(TaskId, TaskId)>),
    /// Deletes these tasks with all rows that belong to them.
    Drop(Vec<TaskId>),
    /// Adds 1 to the position of each task of the workflow at this position or after it, to make room for a new task.
    Shift(WorkflowId, u32),
    Workflow(Box<Workflow>),
    WorkflowDetail(WorkflowId, Box<WorkflowDetail>),
    Agent(Box<Agent>),
    Checkpoint(Box<Checkpoint>),
    Message(Box<Message>),
    Mark(crate::id::MessageId, MessageState),
    /// Stores the answer to a message. The first id belongs to the message, the second id to its answer.
    Answered(crate::id::MessageId, crate::id::MessageId),
    Mailbox(Mailbox),
    Workspace(Box<Workspace>),
    Repository(Repository),
    Attach(Attachment),
    Detach(WorkflowId, RepositoryId),
    Template(Box<Template>),
    DropTemplate(TemplateId),
    Token(Box<Token>),
    DropToken(TokenId),
    Turn(Box<Turn>),
    Verification(Box<Verification>),
    Reminder(Box<Reminder>),
    DropReminders(String),
    Runner(Box<Runner>),
    DropRunner(String),
    Section(Box<Section>),
    SectionChange(Box<SectionChange>),
    Approval(Box<Approval>),
    Review(Box<Review>),
    Round(Box<ReviewRound>),
    Finding(Box<Finding>),
    Notice(Box<Notice>),
    ToldItem(Box<ToldItem>),
    DropToldItem(NoticeWay, String),
    PutOff(Box<PutOffItem>),
    DropPutOff(String),
    Delivery(Box<Delivery>),
    DropDelivery(TaskId),
    Condition(Box<Condition>),
    DropCondition(ConditionKind, String),
    WorkflowDelivery(Box<WorkflowDelivery>),
    Key(Box<StoredKey>),
    /// Deletes the stored answers to idempotency keys, and the reminders of conversations (counts of missing handoffs),
    /// that are too old at this time.
    ForgetKeys(Timestamp),
    /// Deletes the idempotency keys of an agent.
    EndKeys(AgentId),
}

/// New tasks to insert: a piece of a plan, the author of all its tasks, and the number of its first task.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskInsert {
    pub piece: Arc<PlanPiece>,
    pub author: Option<Actor>,
    pub first: u32,
}

impl TaskInsert {
    /// Returns each new task with its number.
    pub fn numbered(&self) -> impl Iterator<Item = (u32, &(Task, TaskDetail))> {
        (self.first..).zip(&self.piece.tasks)
    }
}

/// Applies the events to the world (the loaded part of the state) and returns the changed rows. Each changed row is
/// listed once, with its last value.
pub fn fold(world: &mut World, events: &[Event], now: Timestamp) -> Vec<Write> {
    let mut fold = Fold {
        world,
        now,
        writes: Vec::new(),
        tasks: BTreeSet::new(),
        noted: BTreeSet::new(),
        details: BTreeSet::new(),
        workflows: BTreeSet::new(),
        workflow_details: BTreeSet::new(),
        agents: BTreeSet::new(),
        mailboxes: BTreeSet::new(),
        last_number: None,
    };
    for event in events {
        fold.apply(event);
    }
    fold.finish()
}

struct Fold<'a> {
    world: &'a mut World,
    now: Timestamp,
    writes: Vec<Write>,
    tasks: BTreeSet<TaskId>,
    /// Tasks that got a checkpoint. For such a task, only the number of checkpoints and the time are written, unless
    /// the task also changed in another way.
    noted: BTreeSet<TaskId>,
    details: BTreeSet<TaskId>,
    workflows: BTreeSet<WorkflowId>,
    workflow_details: BTreeSet<WorkflowId>,
    agents: BTreeSet<AgentId>,
    mailboxes: BTreeSet<MailboxOwner>,
    /// The last number that the applied events gave to a new task. `None` when these events created no task.
    last_number: Option<u32>,
}

impl Fold<'_> {
    fn finish(self) -> Vec<Write> {
        let Self { world, mut writes, .. } = self;
        let row = |found: Option<&Option<Task>>| found.and_then(Option::as_ref).cloned();
        writes.extend(
            self.tasks.iter().filter_map(|id| row(world.tasks.get(id))).map(|task| Write::Task(Box::new(task))),
        );
        let noted = self.noted.difference(&self.tasks).filter_map(|id| world.tasks.get(id)?.as_ref());
        writes.extend(noted.map(|task| Write::Noted {
            task: task.id,
            checkpoints: task.checkpoints,
            at: task.updated,
        }));
        let details = self.details.iter().filter_map(|id| Some((*id, world.details.get(id)?.clone())));
        writes.extend(details.map(|(id, detail)| Write::Detail(id, Box::new(detail))));
        let workflows = self.workflows.iter().filter_map(|id| world.workflows.get(id)?.clone());
        writes.extend(workflows.map(|workflow| Write::Workflow(Box::new(workflow))));
        let texts = self.workflow_details.iter().filter_map(|id| Some((*id, world.workflow_details.get(id)?.clone())));
        writes.extend(texts.map(|(id, detail)| Write::WorkflowDetail(id, Box::new(detail))));
        let agents = self.agents.iter().filter_map(|id| world.agents.get(id)?.clone());
        writes.extend(agents.map(|agent| Write::Agent(Box::new(agent))));
        let mailboxes = self.mailboxes.iter().filter_map(|owner| world.mailboxes.get(owner).cloned());
        writes.extend(mailboxes.map(Write::Mailbox));
        writes.extend(self.last_number.map(Write::LastTaskNumber));
        writes
    }

    fn task(&mut self, id: TaskId, change: impl FnOnce(&mut Task)) {
        if let Some(Some(task)) = self.world.tasks.get_mut(&id) {
            change(task);
            task.updated = task.updated.max(self.now);
            self.tasks.insert(id);
        }
    }

    fn detail(&mut self, id: TaskId, change: impl FnOnce(&mut TaskDetail)) {
        if let Some(detail) = self.world.details.get_mut(&id) {
            change(detail);
            self.details.insert(id);
        }
    }

    fn workflow(&mut self, id: WorkflowId, change: impl FnOnce(&mut Workflow)) {
        if let Some(Some(workflow)) = self.world.workflows.get_mut(&id) {
            change(workflow);
            workflow.updated = workflow.updated.max(self.now);
            self.workflows.insert(id);
        }
    }

    fn workflow_detail(&mut self, id: WorkflowId, change: impl FnOnce(&mut WorkflowDetail)) {
        if let Some(detail) = self.world.workflow_details.get_mut(&id) {
            change(detail);
            self.workflow_details.insert(id);
        }
    }

    fn agent(&mut self, id: AgentId, change: impl FnOnce(&mut Agent)) {
        if let Some(Some(agent)) = self.world.agents.get_mut(&id) {
            change(agent);
            agent.updated = agent.updated.max(self.now);
            self.agents.insert(id);
        }
    }

    fn mailbox(&mut self, owner: MailboxOwner, change: impl FnOnce(&mut Mailbox)) {
        if let Some(mailbox) = self.world.mailboxes.get_mut(&owner) {
            change(mailbox);
            self.mailboxes.insert(owner);
        }
    }

    fn checkpoint(&mut self, checkpoint: &Checkpoint) {
        if let Some(Some(task)) = self.world.tasks.get_mut(&checkpoint.task) {
            task.checkpoints = checkpoint.sequence;
            task.updated = task.updated.max(self.now);
            self.noted.insert(checkpoint.task);
        }
        self.writes.push(Write::Checkpoint(Box::new(checkpoint.clone())));
    }

    #[expect(clippy::too_many_lines, reason = "one match that names every event")]
    fn apply(&mut self, event: &Event) {
        match event {
            Event::Registered { agent } => {
                self.world.agents.insert(agent.id, Some((**agent).clone()));
                self.agents.insert(agent.id);
            }
            Event::AgentUpdated { agent, workspace_path, metadata, .. } => self.agent(*agent, |agent| {
                if workspace_path.is_some() {
                    agent.workspace_path.clone_from(workspace_path);
                }
                if metadata.is_some() {
                    agent.metadata.clone_from(metadata);
                }
            }),
            Event::Left { agent, .. } => {
                let now = self.now;
                self.agent(*agent, |agent| agent.left = Some(now));
            }
            Event::Seen { agent, at } => self.agent(*agent, |agent| agent.seen = agent.seen.max(*at)),
            Event::Resumed { agent, session, principal, renewed, .. } => {
                let now = self.now;
                self.agent(*agent, |agent| {
                    (agent.session, agent.left) = (*session, None);
                    agent.principal.clone_from(principal);
                    agent.registered = agent.registered.max(now);
                    agent.seen = agent.seen.max(now);
                    if let Some(renewed) = renewed {
                        agent.runtime.clone_from(&renewed.runtime);
                        agent.capabilities.clone_from(&renewed.capabilities);
                        agent.role = renewed.role.clone().unwrap_or_else(|| agent.role.clone());
                    }
                });
            }
            Event::KeysEnded { agent } => self.writes.push(Write::EndKeys(*agent)),
            Event::SessionClosed { agent, session, .. } => self.agent(*agent, |agent| {
                if agent.session == Some(*session) {
                    agent.session = None;
                }
            }),
            Event::Joined { agent, origin, .. } => self.agent(*agent, |agent| agent.origin.clone_from(origin)),
            Event::Reminded { reminder } => self.writes.push(Write::Reminder(reminder.clone())),
            Event::RemindersDropped { conversation } => self.writes.push(Write::DropReminders(conversation.clone())),
            Event::Claimed { task, agent, attempt, until, .. } => self.claimed(*task, *agent, *attempt, *until),
            Event::Renewed { task, until, .. } => self.renewed(*task, *until),
            Event::LeaseEnded { task, cause, checkpoint, failed, .. } => {
                self.lease_ended(*task, *cause, checkpoint, failed.as_deref());
            }
            Event::Regained { task, agent, until, sent_back, .. } => self.regained(*task, *agent, *until, *sent_back),
            Event::ProtectionsRemoved { task, .. } => self.unprotected(*task),
            Event::Moved(moved) => self.moved(moved),
            Event::TaskPlanned { task, plan, context, .. } => {
                self.detail(*task, |detail| {
                    detail.plan = Some(plan.clone());
                    if context.is_some() {
                        detail.context.clone_from(context);
                    }
                });
            }
            Event::CheckpointAdded { checkpoint, .. } => self.checkpoint(checkpoint),
            Event::WorkspaceAssigned { task, workspace, .. } => {
                self.task(*task, |task| task.workspace = Some(*workspace));
            }
            Event::RepositoryRegistered { repository } => self.writes.push(Write::Repository(repository.clone())),
            Event::RepositoryAttached { attachment } => self.writes.push(Write::Attach(attachment.clone())),
            Event::RepositoryDetached { workflow, repository } => {
                self.writes.push(Write::Detach(*workflow, *repository))
            }
            Event::WorkspaceCreated { workspace } | Event::WorkspaceUpdated { workspace } => {
                self.writes.push(Write::Workspace(workspace.clone()));
            }
            Event::TemplateCreated { template } => self.writes.push(Write::Template(template.clone())),
            Event::TemplateRemoved { template, .. } => self.writes.push(Write::DropTemplate(*template)),
            Event::Sent { message, .. } => {
                self.mailbox(message.to, |mailbox| {
                    mailbox.sequence = message.sequence;
                    mailbox.unread += 1;
                });
                self.writes.push(Write::Message(message.clone()));
            }
            Event::Marked { message, to, was_unread, state, .. } => {
                self.mailbox(*to, |mailbox| mailbox.unread = mailbox.unread.saturating_sub(u32::from(*was_unread)));
                self.writes.push(Write::Mark(*message, *state));
            }
            Event::Answered { message, answer } => self.writes.push(Write::Answered(*message, *answer)),
            Event::TokenCreated { token } | Event::TokenRevoked { token } | Event::BrowserKeyUsed { token } => {
                self.writes.push(Write::Token(token.clone()));
            }
            Event::CodeOffered { token, expired } => {
                self.writes.extend(expired.iter().copied().map(Write::DropToken));
                self.writes.push(Write::Token(token.clone()));
            }
            Event::BrowserEnrolled { code, token } => {
                self.writes.extend([Write::DropToken(*code), Write::Token(token.clone())]);
            }
            Event::TurnStarted { turn } | Event::TurnEnded { turn } => {
                self.world.turns.insert(turn.id, Some((**turn).clone()));
                self.writes.push(Write::Turn(turn.clone()));
            }
            Event::Verified { verification } => self.writes.push(Write::Verification(verification.clone())),
            Event::RunnerSeen { runner } => self.writes.push(Write::Runner(runner.clone())),
            Event::RunnerGone { name } => self.writes.push(Write::DropRunner(name.clone())),
            Event::SectionWritten { change } => {
                let SectionChange { section, version, by, at, after, .. } = &**change;
                let row =
                    Section { name: section.clone(), body: after.clone(), version: *version, by: *by, updated: *at };
                self.world.sections.insert(section.clone(), Some(row.clone()));
                self.writes.extend([Write::Section(Box::new(row)), Write::SectionChange(change.clone())]);
            }
            Event::ApprovalAsked { approval } | Event::ApprovalMoved { approval } => {
                self.world.approvals.insert(approval.id, Some((**approval).clone()));
                self.writes.push(Write::Approval(approval.clone()));
            }
            Event::ReviewOpened { review } => self.review_opened(review),
            Event::RoundStarted { review, round, decided: findings }
            | Event::RoundEnded { review, round, findings } => self.round_changed(review, round, findings),
            Event::FindingDecided { review, finding } => self.finding_decided(review, finding),
            Event::ApprovalShown { approval, via, .. } => {
                if let Some(Some(row)) = self.world.approvals.get_mut(approval) {
                    row.shown.push(*via);
                    self.writes.push(Write::Approval(Box::new(row.clone())));
                }
            }
            Event::NoticeMoved { notice } => self.writes.push(Write::Notice(notice.clone())),
            Event::ItemsTold { way, items } => {
                let at = self.now;
                let row = |item: &String| Write::ToldItem(Box::new(ToldItem { way: *way, item: item.clone(), at }));
                self.writes.extend(items.iter().map(row));
            }
            Event::ItemsUntold { way, items } => {
                self.writes.extend(items.iter().map(|item| Write::DropToldItem(*way, item.clone())));
            }
            Event::ItemPutOff { put_off, expired } => {
                self.writes.extend(expired.iter().cloned().map(Write::DropPutOff));
                // Forget the notices about the item, so that people are told again when its time is over.
                self.writes.extend(NoticeWay::ALL.iter().map(|way| Write::DropToldItem(*way, put_off.item.clone())));
                self.writes.push(Write::PutOff(put_off.clone()));
            }
            Event::ItemShown { item, expired } => {
                self.writes.extend(expired.iter().chain([item]).cloned().map(Write::DropPutOff));
            }
            Event::ConditionSet { condition } => {
                let key = (condition.kind, condition.subject.clone());
                self.world.conditions.insert(key, Some((**condition).clone()));
                self.writes.push(Write::Condition(condition.clone()));
            }
            Event::ConditionCleared { kind, subject } => {
                self.world.conditions.insert((*kind, subject.clone()), None);
                self.writes.push(Write::DropCondition(*kind, subject.clone()));
            }
            Event::Delivered { delivery } => self.delivered(delivery),
            Event::WorkflowDelivered { delivery } => self.workflow_delivered(delivery),
            Event::DeliveryMoved { subject, state, .. } => self.delivery_moved(*subject, state),
            Event::DeliveryWithdrawn { task, .. } => self.delivery_withdrawn(*task),
            Event::KeyKept { key } => self.writes.push(Write::Key(key.clone())),
            Event::KeysForgotten => self.writes.push(Write::ForgetKeys(self.now)),
            Event::WorkflowCreated { workflow, detail } => self.workflow_created(workflow, detail),
            Event::Drafting { workflow, draft } => {
                self.workflow(*workflow, |workflow| workflow.draft.clone_from(draft));
            }
            Event::Staged { piece, author, first, .. } => self.insert(Arc::clone(piece), *author, *first),
            Event::DraftCleared { tasks, .. } => self.writes.push(Write::Drop(tasks.clone())),
            Event::PlanSet { workflow, summary, tasks } => self.plan_set(*workflow, summary, *tasks),
            Event::TaskAdded { task, detail, depends_on, shift_from } => {
                self.task_added(task, detail, depends_on, *shift_from);
            }
            Event::TaskRemoved { workflow, task, rewired, waits, .. } => {
                self.task_removed(*workflow, *task, rewired, waits);
            }
            Event::DependenciesKept { edges, waits, .. } => self.rewired(edges, waits),
            Event::Replanned { workflow, summary, added, removed, .. } => {
                self.replanned(*workflow, summary, *added, removed);
            }
            Event::WorkflowMoved { workflow, to, .. } => self.workflow(*workflow, |workflow| {
                workflow.status = *to;
                workflow.archived &= to.is_over();
            }),
            Event::WorkflowArchived { workflow, archived } => {
                self.workflow(*workflow, |workflow| workflow.archived = *archived);
            }
            Event::BranchTaken { workflow, branch } => self.branch_taken(*workflow, branch),
            Event::WorkflowChanged { workflow, parallel_max, auto_workspaces, .. } => {
                self.workflow_changed(*workflow, *parallel_max, *auto_workspaces);
            }
            Event::Configured { workflow, config, .. } => {
                self.workflow_detail(*workflow, |detail| detail.config = Some(config.clone()));
            }
            Event::Locked { workflow, lock } => self.workflow(*workflow, |workflow| workflow.lock = Some(lock.clone())),
            Event::LockRenewed { workflow, until } => self.workflow(*workflow, |workflow| {
                if let Some(lock) = &mut workflow.lock {
                    lock.until = lock.until.max(*until);
                }
            }),
            Event::Unlocked { workflow, .. } => self.workflow(*workflow, |workflow| workflow.lock = None),
        }
    }
}
