//! The world: the part of the state that a decision has loaded. A need names a part of the state that is missing.
//!
//! When a decision reads a part of the state that is not loaded, it stops and returns needs. The store loads the parts
//! that the needs name, and runs the decision again. This is safe because a decision has no side effects. Every need is
//! one bounded query.

mod answer;
mod loaded;
mod need;

use std::collections::BTreeMap;

use crate::agent::Agent;
use crate::approval::Approval;
use crate::condition::{Condition, ConditionKind};
use crate::delivery::{Delivery, WorkflowDelivery};
use crate::id::{
    AgentId, ApprovalId, MessageId, RepositoryId, ReviewId, TaskId, TemplateId, TokenId, TurnId, WorkflowId,
    WorkspaceId,
};
use crate::inbox::{Mailbox, MailboxOwner, Message};
use crate::key::{KeyId, StoredKey};
use crate::notice::{Channel, Notice, NoticeWay, ToldItem};
use crate::refusal::Refusal;
use crate::reminder::Reminder;
use crate::review::{Finding, Review, ReviewRound};
use crate::runner::Runner;
use crate::section::Section;
use crate::task::{Task, TaskDetail};
use crate::template::Template;
use crate::time::Timestamp;
use crate::token::Token;
use crate::turn::Turn;
use crate::workflow::{Workflow, WorkflowDetail};
use crate::workspace::{Repository, Workspace};

pub use answer::{AnswerMaps, LoadedAnswers, TypedQuestion};
pub use need::{
    AgentIdNeed, ApprovalNeed, BoolNeed, Candidates, CheckpointNeed, FreedNeed, InboxNeed, Need, NumberNeed,
    OpenEdgeNeed, PutOffNeed, TaskIdNeed, TaskRowNeed, UnmetNeed, WorkflowIdNeed,
};

/// The loaded part of the state. A value `None` in a map means that the store looked for the row and the row does not
/// exist.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct World {
    pub tasks: BTreeMap<TaskId, Option<Task>>,
    pub details: BTreeMap<TaskId, TaskDetail>,
    pub workflows: BTreeMap<WorkflowId, Option<Workflow>>,
    pub workflow_details: BTreeMap<WorkflowId, WorkflowDetail>,
    pub agents: BTreeMap<AgentId, Option<Agent>>,
    pub mailboxes: BTreeMap<MailboxOwner, Mailbox>,
    pub messages: BTreeMap<MessageId, Option<Message>>,
    pub workspaces: BTreeMap<WorkspaceId, Option<Workspace>>,
    pub repositories: BTreeMap<RepositoryId, Option<Repository>>,
    /// The id of the repository at each path that the store looked up. A value `None` means that no repository has this
    /// path.
    pub paths: BTreeMap<String, Option<RepositoryId>>,
    /// The time at which a repository was attached to a workflow. A value `None` means that the repository is not
    /// attached.
    pub attachments: BTreeMap<(WorkflowId, RepositoryId), Option<Timestamp>>,
    pub templates: BTreeMap<TemplateId, Option<Template>>,
    pub keys: BTreeMap<KeyId, Option<StoredKey>>,
    pub tokens: BTreeMap<TokenId, Option<Token>>,
    /// The token for each hash of a secret that the store looked up. A value `None` means that no token has this hash.
    pub hashed_tokens: BTreeMap<String, Option<Token>>,
    pub turns: BTreeMap<TurnId, Option<Turn>>,
    pub running_turns: BTreeMap<TaskId, Option<Turn>>,
    pub sections: BTreeMap<String, Option<Section>>,
    pub approvals: BTreeMap<ApprovalId, Option<Approval>>,
    pub notices: BTreeMap<(ApprovalId, Channel), Option<Notice>>,
    pub told_items: BTreeMap<NoticeWay, Vec<ToldItem>>,
    /// Reminders (counts of missing handoffs and progress reports), by conversation and sub-agent. The second text of
    /// the key is empty for the conversation itself.
    pub reminders: BTreeMap<(String, String), Option<Reminder>>,
    pub runners: BTreeMap<String, Option<Runner>>,
    pub reviews: BTreeMap<ReviewId, Option<Review>>,
    pub rounds: BTreeMap<(ReviewId, u32), Option<ReviewRound>>,
    pub findings: BTreeMap<(ReviewId, String), Option<Finding>>,
    pub conditions: BTreeMap<(ConditionKind, String), Option<Condition>>,
    pub deliveries: BTreeMap<TaskId, Option<Delivery>>,
    pub workflow_deliveries: BTreeMap<WorkflowId, Option<WorkflowDelivery>>,
    pub answers: LoadedAnswers,
}

/// The reason why a decision stopped before it had a reply.
#[derive(Debug, Clone, PartialEq)]
pub enum DecisionStop {
    Missing(Vec<Need>),
    /// The command is refused, and its events are dropped.
    Refused(Refusal),
    /// The command is refused, but the events that it produced so far are recorded.
    Recorded(Refusal),
}

impl From<Refusal> for DecisionStop {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

fn missing<T>(need: Need) -> Result<T, DecisionStop> {
    Err(DecisionStop::Missing(vec![need]))
}

impl World {
    /// Returns the answer to a question about the state, or stops the decision when the answer is not loaded.
    ///
    /// ```
    /// use engine::id::{AgentId, TaskId};
    /// use engine::world::TaskIdNeed;
    /// use engine::{DecisionStop, World};
    ///
    /// fn held(world: &World, agent: AgentId) -> Result<&Vec<TaskId>, DecisionStop> {
    ///     world.ask(&TaskIdNeed::HeldBy(agent))
    /// }
    /// ```
    ///
    /// The question fixes the type of the answer, so a wrong type does not compile:
    ///
    /// ```compile_fail,E0308
    /// use engine::id::AgentId;
    /// use engine::world::TaskIdNeed;
    /// use engine::{DecisionStop, World};
    ///
    /// fn held(world: &World, agent: AgentId) -> Result<&Vec<AgentId>, DecisionStop> {
    ///     world.ask(&TaskIdNeed::HeldBy(agent))
    /// }
    /// ```
    pub fn ask<Q: TypedQuestion>(&self, question: &Q) -> Result<&Q::Answer, DecisionStop> {
        self.answers.get(question).map_or_else(|| missing(question.need()), Ok)
    }

    /// Adds the answer to a question to this loaded state, so that [`World::ask`] finds it.
    pub fn learn<Q: TypedQuestion>(&mut self, question: &Q, answer: Q::Answer) {
        self.answers.insert(question.clone(), answer);
    }

    /// Stops the decision if some of these needs (questions to the store) are not answered yet. The returned stop lists
    /// all unanswered needs, so that the store answers them in one step.
    pub fn want<N: Into<Need>>(&self, needs: impl IntoIterator<Item = N>) -> Result<(), DecisionStop> {
        let lacking: Vec<Need> = needs.into_iter().map(N::into).filter(|need| !self.knows(need)).collect();
        if lacking.is_empty() { Ok(()) } else { Err(DecisionStop::Missing(lacking)) }
    }

    pub fn task(&self, id: TaskId) -> Result<&Task, DecisionStop> {
        match self.tasks.get(&id) {
            Some(Some(task)) => Ok(task),
            Some(None) => Err(Refusal::TaskNotFound { task: id.to_string() }.into()),
            None => missing(Need::Task(id)),
        }
    }

    pub fn detail(&self, id: TaskId) -> Result<&TaskDetail, DecisionStop> {
        self.details.get(&id).map_or_else(|| missing(Need::Detail(id)), Ok)
    }

    pub fn workflow(&self, id: WorkflowId) -> Result<&Workflow, DecisionStop> {
        match self.workflows.get(&id) {
            Some(Some(workflow)) => Ok(workflow),
            Some(None) => Err(Refusal::WorkflowNotFound { workflow: id }.into()),
            None => missing(Need::Workflow(id)),
        }
    }

    pub fn workflow_detail(&self, id: WorkflowId) -> Result<&WorkflowDetail, DecisionStop> {
        self.workflow_details.get(&id).map_or_else(|| missing(Need::WorkflowDetail(id)), Ok)
    }

    /// Returns the agent with this id, even if it has unregistered. Refuses an unknown id.
    pub fn agent(&self, id: AgentId) -> Result<&Agent, DecisionStop> {
        match self.agents.get(&id) {
            Some(Some(agent)) => Ok(agent),
            Some(None) => Err(Refusal::AgentNotFound { agent: Some(id) }.into()),
            None => missing(Need::Agent(id)),
        }
    }

    pub fn mailbox(&self, owner: MailboxOwner) -> Result<&Mailbox, DecisionStop> {
        self.mailboxes.get(&owner).map_or_else(|| missing(Need::Mailbox(owner)), Ok)
    }

    pub fn message(&self, id: MessageId) -> Result<Option<&Message>, DecisionStop> {
        self.messages.get(&id).map_or_else(|| missing(Need::Message(id)), |found| Ok(found.as_ref()))
    }

    pub fn workspace(&self, id: WorkspaceId) -> Result<&Workspace, DecisionStop> {
        match self.workspaces.get(&id) {
            Some(Some(workspace)) => Ok(workspace),
            Some(None) => Err(Refusal::WorkspaceNotFound { workspace: id }.into()),
            None => missing(Need::Workspace(id)),
        }
    }

    pub fn repository(&self, id: RepositoryId) -> Result<&Repository, DecisionStop> {
        match self.repositories.get(&id) {
            Some(Some(repository)) => Ok(repository),
            Some(None) => Err(Refusal::RepositoryNotFound { repository: id.to_string() }.into()),
            None => missing(Need::Repository(id)),
        }
    }

    pub fn repository_at(&self, path: &str) -> Result<Option<RepositoryId>, DecisionStop> {
        self.paths.get(path).map_or_else(|| missing(Need::RepositoryAt(path.to_owned())), |found| Ok(*found))
    }

    /// Returns the time at which a repository was attached to a workflow, or `None` when it is not attached.
    pub fn attached(&self, workflow: WorkflowId, repository: RepositoryId) -> Result<Option<Timestamp>, DecisionStop> {
        let found = self.attachments.get(&(workflow, repository));
        found.map_or_else(|| missing(Need::Attached(workflow, repository)), |found| Ok(*found))
    }

    pub fn template(&self, id: TemplateId) -> Result<&Template, DecisionStop> {
        match self.templates.get(&id) {
            Some(Some(template)) => Ok(template),
            Some(None) => Err(Refusal::TemplateNotFound { template: id.to_string() }.into()),
            None => missing(Need::Template(id)),
        }
    }

    pub fn key(&self, id: &KeyId) -> Result<Option<&StoredKey>, DecisionStop> {
        self.keys.get(id).map_or_else(|| missing(Need::Key(id.clone())), |found| Ok(found.as_ref()))
    }

    pub fn token(&self, id: TokenId) -> Result<&Token, DecisionStop> {
        match self.tokens.get(&id) {
            Some(Some(token)) => Ok(token),
            Some(None) => Err(Refusal::TokenNotFound { token: id }.into()),
            None => missing(Need::Token(id)),
        }
    }

    pub fn token_hashed(&self, hash: &str) -> Result<Option<&Token>, DecisionStop> {
        let found = self.hashed_tokens.get(hash);
        found.map_or_else(|| missing(Need::TokenHashed(hash.to_owned())), |found| Ok(found.as_ref()))
    }

    pub fn turn(&self, id: TurnId) -> Result<&Turn, DecisionStop> {
        match self.turns.get(&id) {
            Some(Some(turn)) => Ok(turn),
            Some(None) => Err(Refusal::TurnNotFound { turn: id }.into()),
            None => missing(Need::Turn(id)),
        }
    }

    /// Returns the task's running turn (a run of an agent's program that has not ended). If there are several, returns
    /// the newest one. Evaluations and reviews are left out.
    pub fn running_turn(&self, task: TaskId) -> Result<Option<&Turn>, DecisionStop> {
        let found = self.running_turns.get(&task);
        found.map_or_else(|| missing(Need::TurnRunning(task)), |found| Ok(found.as_ref()))
    }

    pub fn section(&self, name: &str) -> Result<Option<&Section>, DecisionStop> {
        self.sections.get(name).map_or_else(|| missing(Need::Section(name.to_owned())), |found| Ok(found.as_ref()))
    }

    pub fn approval(&self, id: ApprovalId) -> Result<&Approval, DecisionStop> {
        match self.approvals.get(&id) {
            Some(Some(approval)) => Ok(approval),
            Some(None) => Err(Refusal::ApprovalNotFound { approval: id }.into()),
            None => missing(Need::Approval(id)),
        }
    }

    pub fn review(&self, id: ReviewId) -> Result<&Review, DecisionStop> {
        match self.reviews.get(&id) {
            Some(Some(review)) => Ok(review),
            Some(None) => Err(Refusal::ReviewNotFound { review: id }.into()),
            None => missing(Need::Review(id)),
        }
    }

    pub fn round(&self, review: ReviewId, number: u32) -> Result<Option<&ReviewRound>, DecisionStop> {
        let found = self.rounds.get(&(review, number));
        found.map_or_else(|| missing(Need::Round(review, number)), |found| Ok(found.as_ref()))
    }

    pub fn finding(&self, review: ReviewId, name: &str) -> Result<Option<&Finding>, DecisionStop> {
        let found = self.findings.get(&(review, name.to_owned()));
        found.map_or_else(|| missing(Need::Finding(review, name.to_owned())), |found| Ok(found.as_ref()))
    }

    /// Returns the condition (a fact about the project that needs a person) with this kind and subject. Returns `None`
    /// when there is no such condition.
    pub fn condition(&self, kind: ConditionKind, subject: &str) -> Result<Option<&Condition>, DecisionStop> {
        let key = (kind, subject.to_owned());
        match self.conditions.get(&key) {
            Some(found) => Ok(found.as_ref()),
            None => missing(Need::Condition(key.0, key.1)),
        }
    }

    /// Returns the delivery of a task (the record of its work in git). Returns `None` when the task has no delivery.
    pub fn delivery(&self, task: TaskId) -> Result<Option<&Delivery>, DecisionStop> {
        let found = self.deliveries.get(&task);
        found.map_or_else(|| missing(Need::Delivery(task)), |found| Ok(found.as_ref()))
    }

    /// Returns the delivery of a workflow (the record of its work in git as a whole). Returns `None` when the workflow
    /// has no delivery.
    pub fn workflow_delivery(&self, workflow: WorkflowId) -> Result<Option<&WorkflowDelivery>, DecisionStop> {
        let found = self.workflow_deliveries.get(&workflow);
        found.map_or_else(|| missing(Need::WorkflowDelivery(workflow)), |found| Ok(found.as_ref()))
    }

    pub fn notice(&self, id: ApprovalId, channel: Channel) -> Result<Option<&Notice>, DecisionStop> {
        let found = self.notices.get(&(id, channel));
        found.map_or_else(|| missing(Need::Notice(id, channel)), |found| Ok(found.as_ref()))
    }

    /// Returns the items (things that need a person) about which a notice of this kind was sent: by a command, on the
    /// screen or by a webhook.
    pub fn told_items(&self, way: NoticeWay) -> Result<&[ToldItem], DecisionStop> {
        self.told_items.get(&way).map_or_else(|| missing(Need::ToldItems(way)), |found| Ok(found.as_slice()))
    }

    pub fn reminder(&self, conversation: &str, part: &str) -> Result<Option<&Reminder>, DecisionStop> {
        let (conversation, part) = (conversation.to_owned(), part.to_owned());
        match self.reminders.get(&(conversation.clone(), part.clone())) {
            Some(found) => Ok(found.as_ref()),
            None => missing(Need::Reminder(conversation, part)),
        }
    }

    pub fn runner(&self, name: &str) -> Result<Option<&Runner>, DecisionStop> {
        self.runners.get(name).map_or_else(|| missing(Need::Runner(name.to_owned())), |found| Ok(found.as_ref()))
    }
}
