//! The whole state in memory: each table of a database as a plain map. These maps answer needs (questions of a decision
//! about the state), and writes are applied to them. This module contains no rules.
//!
//! The simulator, the model checker and the memory store run on these maps. The tests of the databases compare each
//! database's answers with the answers of these maps.

mod answer;
mod approval;
mod delivery;
mod list;
mod need;
mod review;
mod turn;

use std::collections::{BTreeMap, BTreeSet};

use crate::agent::Agent;
use crate::approval::Approval;
use crate::checkpoint::Checkpoint;
use crate::condition::{Condition, ConditionKind};
use crate::delivery::{Delivery, WorkflowDelivery};
use crate::fold::Write;
use crate::id::{
    AgentId, ApprovalId, MessageId, RepositoryId, ReviewId, TaskId, TemplateId, TokenId, TurnId, WorkflowId,
    WorkspaceId,
};
use crate::inbox::{Mailbox, MailboxOwner, Message};
use crate::key::{KeyId, StoredKey};
use crate::notice::{Channel, Notice, NoticeWay, ToldItem};
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
use crate::workspace::{Repository, Workspace};

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tables {
    /// The last number that was given to a task. 0 when the store never had a task.
    pub last_task_number: u32,
    pub tasks: BTreeMap<TaskId, Task>,
    pub details: BTreeMap<TaskId, TaskDetail>,
    /// The dependencies: each pair has a task and a task that it waits for. `dependents` has the same pairs with the
    /// two ids swapped.
    pub dependencies: BTreeSet<(TaskId, TaskId)>,
    pub dependents: BTreeSet<(TaskId, TaskId)>,
    pub workflows: BTreeMap<WorkflowId, Workflow>,
    pub workflow_details: BTreeMap<WorkflowId, WorkflowDetail>,
    pub agents: BTreeMap<AgentId, Agent>,
    pub checkpoints: BTreeMap<(TaskId, u32), Checkpoint>,
    pub messages: BTreeMap<MessageId, Message>,
    pub mailboxes: BTreeMap<MailboxOwner, Mailbox>,
    pub workspaces: BTreeMap<WorkspaceId, Workspace>,
    pub repositories: BTreeMap<RepositoryId, Repository>,
    pub attachments: BTreeMap<(WorkflowId, RepositoryId), Timestamp>,
    pub templates: BTreeMap<TemplateId, Template>,
    pub keys: BTreeMap<KeyId, StoredKey>,
    pub tokens: BTreeMap<TokenId, Token>,
    pub turns: BTreeMap<TurnId, Turn>,
    pub verifications: BTreeMap<(TaskId, u32), Verification>,
    /// Reminders (counts of missing handoffs and progress reports), by conversation and sub-agent. The second text of
    /// the key is empty for the conversation itself.
    pub reminders: BTreeMap<(String, String), Reminder>,
    pub runners: BTreeMap<String, Runner>,
    pub sections: BTreeMap<String, Section>,
    pub section_changes: BTreeMap<(String, u32), SectionChange>,
    pub approvals: BTreeMap<ApprovalId, Approval>,
    pub reviews: BTreeMap<ReviewId, Review>,
    pub rounds: BTreeMap<(ReviewId, u32), ReviewRound>,
    pub findings: BTreeMap<(ReviewId, String), Finding>,
    pub notices: BTreeMap<(ApprovalId, Channel), Notice>,
    pub told_items: BTreeMap<(NoticeWay, String), ToldItem>,
    /// Items (things that need a person) that a person put off, by the name of the item.
    pub put_off: BTreeMap<String, PutOffItem>,
    pub conditions: BTreeMap<(ConditionKind, String), Condition>,
    pub deliveries: BTreeMap<TaskId, Delivery>,
    pub workflow_deliveries: BTreeMap<WorkflowId, WorkflowDelivery>,
}

impl Tables {
    fn message(&mut self, id: MessageId, change: impl FnOnce(&mut Message)) {
        if let Some(message) = self.messages.get_mut(&id) {
            change(message);
        }
    }

    /// Applies one write to these tables in memory. The function `fold` makes the writes from events.
    #[expect(clippy::too_many_lines, reason = "one match that names every write")]
    pub fn write(&mut self, write: Write) {
        match write {
            Write::Insert(insert) => {
                for (number, (task, detail)) in insert.numbered() {
                    self.tasks.insert(task.id, Task { author: insert.author, number, ..task.clone() });
                    if *detail != TaskDetail::default() {
                        self.details.insert(task.id, detail.clone());
                    }
                }
                self.connect(&insert.piece.edges);
            }
            Write::LastTaskNumber(number) => self.last_task_number = number,
            Write::Task(task) => {
                if let Some(row) = self.tasks.get_mut(&task.id) {
                    let (unmet, sequence) = (row.unmet, row.sequence);
                    *row = Task { unmet, sequence, ..*task };
                }
            }
            Write::Noted { task, checkpoints, at } => self.note(task, checkpoints, at),
            Write::Detail(id, detail) => drop(self.details.insert(id, *detail)),
            Write::Met(id) => {
                for waiting in edges(&self.dependents, id).collect::<Vec<_>>() {
                    if let Some(task) = self.tasks.get_mut(&waiting) {
                        task.unmet = task.unmet.saturating_sub(1);
                    }
                }
            }
            Write::Reopened(id) => {
                for waiting in edges(&self.dependents, id).collect::<Vec<_>>() {
                    if let Some(task) = self.tasks.get_mut(&waiting) {
                        task.unmet += 1;
                    }
                }
            }
            Write::Unprotected(id) => {
                if let Some(task) = self.tasks.get_mut(&id) {
                    (task.gate, task.review, task.limited, task.verify) = (false, false, false, false);
                }
            }
            Write::Waits(id, unmet) => {
                if let Some(task) = self.tasks.get_mut(&id) {
                    task.unmet = unmet;
                }
            }
            Write::Edges(edges) => self.connect(&edges),
            Write::Drop(ids) => ids.into_iter().for_each(|id| self.drop_task(id)),
            Write::Shift(workflow, from) => {
                for task in self.tasks.values_mut().filter(|task| task.workflow == workflow && task.sequence >= from) {
                    task.sequence += 1;
                }
            }
            Write::Workflow(workflow) => drop(self.workflows.insert(workflow.id, *workflow)),
            Write::WorkflowDetail(id, detail) => drop(self.workflow_details.insert(id, *detail)),
            Write::Agent(agent) => drop(self.agents.insert(agent.id, *agent)),
            Write::Checkpoint(checkpoint) => {
                self.checkpoints.insert((checkpoint.task, checkpoint.sequence), *checkpoint);
            }
            Write::Message(message) => drop(self.messages.insert(message.id, *message)),
            Write::Answered(id, answer) => self.message(id, |message| message.answer = Some(answer)),
            Write::Mark(id, state) => self.message(id, |message| message.state = state),
            Write::Mailbox(mailbox) => drop(self.mailboxes.insert(mailbox.owner, mailbox)),
            Write::Workspace(workspace) => drop(self.workspaces.insert(workspace.id, *workspace)),
            Write::Repository(repository) => drop(self.repositories.insert(repository.id, repository)),
            Write::Attach(made) => drop(self.attachments.insert((made.workflow, made.repository), made.added)),
            Write::Detach(workflow, repository) => drop(self.attachments.remove(&(workflow, repository))),
            Write::Template(template) => drop(self.templates.insert(template.id, *template)),
            Write::DropTemplate(id) => drop(self.templates.remove(&id)),
            Write::Token(token) => drop(self.tokens.insert(token.id, *token)),
            Write::DropToken(id) => drop(self.tokens.remove(&id)),
            Write::Turn(turn) => drop(self.turns.insert(turn.id, *turn)),
            Write::Verification(row) => drop(self.verifications.insert((row.task, row.number), *row)),
            Write::Reminder(row) => {
                drop(self.reminders.insert((row.conversation.clone(), row.part.clone()), *row));
            }
            Write::DropReminders(conversation) => self.reminders.retain(|(whose, _), _| *whose != conversation),
            Write::Runner(runner) => drop(self.runners.insert(runner.name.clone(), *runner)),
            Write::DropRunner(name) => drop(self.runners.remove(&name)),
            Write::Section(section) => drop(self.sections.insert(section.name.clone(), *section)),
            Write::SectionChange(change) => {
                self.section_changes.insert((change.section.clone(), change.version), *change);
            }
            Write::Approval(approval) => drop(self.approvals.insert(approval.id, *approval)),
            Write::Review(review) => drop(self.reviews.insert(review.id, *review)),
            Write::Round(round) => drop(self.rounds.insert((round.review, round.number), *round)),
            Write::Finding(row) => drop(self.findings.insert((row.review, row.name.clone()), *row)),
            Write::Notice(notice) => drop(self.notices.insert((notice.approval, notice.channel), *notice)),
            Write::ToldItem(row) => drop(self.told_items.insert((row.way, row.item.clone()), *row)),
            Write::DropToldItem(way, item) => drop(self.told_items.remove(&(way, item))),
            Write::PutOff(row) => drop(self.put_off.insert(row.item.clone(), *row)),
            Write::DropPutOff(item) => drop(self.put_off.remove(&item)),
            Write::Condition(row) => drop(self.conditions.insert((row.kind, row.subject.clone()), *row)),
            Write::DropCondition(kind, subject) => drop(self.conditions.remove(&(kind, subject))),
            Write::Delivery(row) => drop(self.deliveries.insert(row.task, *row)),
            Write::DropDelivery(task) => drop(self.deliveries.remove(&task)),
            Write::WorkflowDelivery(row) => drop(self.workflow_deliveries.insert(row.workflow, *row)),
            Write::Key(key) => drop(self.keys.insert(key.id.clone(), *key)),
            Write::EndKeys(agent) => {
                let owner = format!("{agent} ");
                self.keys.retain(|id, _| !id.owner.starts_with(&owner));
            }
            Write::ForgetKeys(now) => {
                self.keys.retain(|_, key| key.until > now);
                self.reminders.retain(|_, row| row.at + crate::limits::REMINDER_MS > now);
            }
        }
    }

    fn note(&mut self, task: TaskId, checkpoints: u32, at: Timestamp) {
        if let Some(row) = self.tasks.get_mut(&task) {
            (row.checkpoints, row.updated) = (checkpoints, at);
        }
    }

    fn connect(&mut self, edges: &[(TaskId, TaskId)]) {
        for (task, dependency) in edges {
            self.dependencies.insert((*task, *dependency));
            self.dependents.insert((*dependency, *task));
        }
    }

    fn drop_task(&mut self, id: TaskId) {
        self.tasks.remove(&id);
        self.details.remove(&id);
        for dependency in edges(&self.dependencies, id).collect::<Vec<_>>() {
            self.dependencies.remove(&(id, dependency));
            self.dependents.remove(&(dependency, id));
        }
        for waiting in edges(&self.dependents, id).collect::<Vec<_>>() {
            self.dependencies.remove(&(waiting, id));
            self.dependents.remove(&(id, waiting));
        }
        self.checkpoints.retain(|(task, _), _| *task != id);
    }
}

fn edges(set: &BTreeSet<(TaskId, TaskId)>, from: TaskId) -> impl Iterator<Item = TaskId> {
    set.range((from, TaskId::FIRST)..=(from, TaskId::LAST)).map(|(_, to)| *to)
}
