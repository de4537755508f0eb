//! The world: the part of the state that a decision has loaded. A need names a part that is missing.
//!
//! When a decision reads a part of the state that is not loaded, it stops and returns needs. The store loads them and
//! runs the decision again. This is safe because a decision has no side effects. Every need is one bounded query.

mod fact;

use std::collections::BTreeMap;

use crate::agent::Agent;
use crate::approval::Approval;
use crate::checkpoint::Checkpoint;
use crate::id::{
    AgentId, ApprovalId, MessageId, RepositoryId, ReviewId, SessionId, TaskId, TemplateId, TokenId, TurnId, WorkflowId,
    WorkspaceId,
};
use crate::inbox::{Mailbox, MailboxOwner, Message, RecipientMatch};
use crate::key::{KeyId, StoredKey};
use crate::list::List;
use crate::notice::{Channel, Notice};
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

pub use fact::Fact;

/// One bounded question to the store. A question about leases includes the time. So the same question always has the
/// same answer, and the world keeps the answer under the question.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    Task(TaskId),
    Detail(TaskId),
    Workflow(WorkflowId),
    WorkflowDetail(WorkflowId),
    Agent(AgentId),
    Mailbox(MailboxOwner),
    Message(MessageId),
    Workspace(WorkspaceId),
    Repository(RepositoryId),
    RepositoryAt(String),
    Template(TemplateId),
    TemplateNamed(String),
    Key(KeyId),
    Token(TokenId),
    Turn(TurnId),
    Section(String),
    Approval(ApprovalId),
    /// The notice about an approval that is sent over this channel.
    Notice(ApprovalId, Channel),
    /// The approval with this fingerprint that is pending, or approved and not used yet.
    ApprovalSealed(String),
    /// The newest approval with this fingerprint that a person rejected or revoked.
    ApprovalRefused(String),
    /// The reminder of a conversation (first text) and a part of it (second text).
    Reminder(String, String),
    Runner(String),
    Review(ReviewId),
    Round(ReviewId, u32),
    /// One finding of a review, by the id that the reviewing agent gave it.
    Finding(ReviewId, String),
    /// The number of turns that a task had.
    TurnCount(TaskId),
    /// The newest turn of a task that has not ended. Evaluations and reviews are left out.
    TurnRunning(TaskId),
    /// The number of verifications that a task had.
    VerificationCount(TaskId),
    /// The token whose secret has this hash.
    TokenHashed(String),
    List(List),

    /// The agent with this slug.
    Slug(String),
    /// The highest number `n` among the slugs of the form `slug-n`.
    SlugNumber(String),
    /// Agents whose last registration was on this connection, the last registered agent first.
    SessionAgents(SessionId),
    /// Agents that belong to a conversation of a client, the last registered first.
    ConversationAgents(String),
    /// Agents that registered by the client's call with this id.
    CalledAgents(String),
    /// Agents with this name and runtime, the last registered first.
    SameAgents {
        name: String,
        runtime: String,
    },
    /// Registered agents with a role.
    RoleHolders(String),
    Agents(RecipientMatch),
    /// Tasks that an agent holds, including paused ones.
    Held(AgentId),
    /// Whether an agent holds the maximum number of tasks.
    HoldsMost(AgentId),
    /// Workflows whose lock has this owner.
    LockedBy(String),
    /// The number of tasks of a workflow whose lease runs and has not expired at this time. Paused tasks are not
    /// counted.
    Running(WorkflowId, Timestamp),
    /// Tasks of a workflow that have globs of files and a claim in force at this time, paused tasks included.
    BusyFiles(WorkflowId, Timestamp),
    /// Tasks of the workflow that an agent holds and whose work is in this workspace.
    HeldIn(WorkflowId, WorkspaceId),
    /// The dependencies of a task that are neither completed nor skipped.
    Unmet(TaskId),
    /// Tasks that wait for this task and for no other.
    Freed(TaskId),
    Dependencies(TaskId),
    Dependents(TaskId),
    /// The tasks that a task waits for, directly or through others, and that are neither completed nor skipped.
    OpenAncestors(TaskId),
    /// Tasks of a workflow that are neither completed nor skipped.
    OpenTasks(WorkflowId),
    /// Dependencies between open tasks of a workflow. Each pair has a task and a task that it waits for.
    OpenEdges(WorkflowId),
    TaskNamed(WorkflowId, String),
    /// Tasks that a new plan of the workflow would remove.
    Removable(WorkflowId),
    /// Tasks whose lease has expired.
    Expired(WorkflowId, Timestamp),
    /// Workflows that have tasks with an expired lease.
    ExpiredAnywhere(Timestamp),
    Candidates(Candidates),
    /// Whether an active worktree of the workflow has a pull request.
    UnmergedRequest(WorkflowId),
    /// Whether a worktree of the workflow, other than this one, is active and has a pull request.
    OtherUnmergedRequest(WorkflowId, WorkspaceId),
    RepositoryUsed(WorkflowId, RepositoryId),
    Attached(WorkflowId, RepositoryId),
    Checkpoints {
        task: TaskId,
        after: u32,
        limit: u32,
    },
    /// Messages of a mailbox. With `unread`: the unread messages by priority and number. Otherwise: all messages after
    /// a number.
    Inbox {
        owner: MailboxOwner,
        unread: bool,
        after: u32,
        limit: u32,
    },
}

/// A query for tasks that no agent holds and whose dependencies are met, ordered by priority and then by sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Candidates {
    pub workflow: WorkflowId,
    pub failed: bool,
    /// The priority, sequence and id of a task. The answer begins after this task.
    pub after: Option<(u8, u32, TaskId)>,
    pub limit: u32,
}

/// The loaded part of the state. An inner `None` means that the store looked for the row and the row does not exist.
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
    pub paths: BTreeMap<String, Option<RepositoryId>>,
    pub templates: BTreeMap<TemplateId, Option<Template>>,
    pub keys: BTreeMap<KeyId, Option<StoredKey>>,
    pub tokens: BTreeMap<TokenId, Option<Token>>,
    pub turns: BTreeMap<TurnId, Option<Turn>>,
    pub sections: BTreeMap<String, Option<Section>>,
    pub approvals: BTreeMap<ApprovalId, Option<Approval>>,
    pub reviews: BTreeMap<ReviewId, Option<Review>>,
    pub notices: BTreeMap<(ApprovalId, Channel), Option<Notice>>,
    pub facts: BTreeMap<Need, Fact>,
}

/// The reason why a decision stopped.
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
    pub fn knows(&self, need: &Need) -> bool {
        match need {
            Need::Task(id) => self.tasks.contains_key(id),
            Need::Detail(id) => self.details.contains_key(id),
            Need::Workflow(id) => self.workflows.contains_key(id),
            Need::WorkflowDetail(id) => self.workflow_details.contains_key(id),
            Need::Agent(id) => self.agents.contains_key(id),
            Need::Mailbox(owner) => self.mailboxes.contains_key(owner),
            Need::Message(id) => self.messages.contains_key(id),
            Need::Workspace(id) => self.workspaces.contains_key(id),
            Need::Repository(id) => self.repositories.contains_key(id),
            Need::RepositoryAt(path) => self.paths.contains_key(path),
            Need::Template(id) => self.templates.contains_key(id),
            Need::Key(id) => self.keys.contains_key(id),
            Need::Token(id) => self.tokens.contains_key(id),
            Need::Turn(id) => self.turns.contains_key(id),
            Need::Section(name) => self.sections.contains_key(name),
            Need::Approval(id) => self.approvals.contains_key(id),
            Need::Review(id) => self.reviews.contains_key(id),
            Need::Notice(id, channel) => self.notices.contains_key(&(*id, *channel)),
            Need::TemplateNamed(_)
            | Need::TokenHashed(_)
            | Need::ApprovalSealed(_)
            | Need::ApprovalRefused(_)
            | Need::Reminder(..)
            | Need::Runner(_)
            | Need::Round(..)
            | Need::Finding(..)
            | Need::TurnCount(_)
            | Need::TurnRunning(_)
            | Need::VerificationCount(_)
            | Need::List(_)
            | Need::Slug(_)
            | Need::SlugNumber(_)
            | Need::SessionAgents(_)
            | Need::ConversationAgents(_)
            | Need::CalledAgents(_)
            | Need::SameAgents { .. }
            | Need::RoleHolders(_)
            | Need::Agents(_)
            | Need::Held(_)
            | Need::HeldIn(..)
            | Need::HoldsMost(_)
            | Need::LockedBy(_)
            | Need::Running(..)
            | Need::BusyFiles(..)
            | Need::Unmet(_)
            | Need::Freed(_)
            | Need::Dependencies(_)
            | Need::Dependents(_)
            | Need::OpenAncestors(_)
            | Need::OpenTasks(_)
            | Need::OpenEdges(_)
            | Need::TaskNamed(..)
            | Need::Removable(_)
            | Need::Expired(..)
            | Need::ExpiredAnywhere(_)
            | Need::Candidates(_)
            | Need::UnmergedRequest(_)
            | Need::OtherUnmergedRequest(..)
            | Need::RepositoryUsed(..)
            | Need::Attached(..)
            | Need::Checkpoints { .. }
            | Need::Inbox { .. } => self.facts.contains_key(need),
        }
    }

    /// Stops with all needs of the list that are not loaded yet, so that the store loads them in one step.
    pub fn want(&self, needs: impl IntoIterator<Item = Need>) -> Result<(), DecisionStop> {
        let lacking: Vec<Need> = needs.into_iter().filter(|need| !self.knows(need)).collect();
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

    /// Returns an agent, even if it has unregistered.
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
        let need = Need::TokenHashed(hash.to_owned());
        match self.facts.get(&need) {
            Some(Fact::TokenRows(rows)) => Ok(rows.first()),
            Some(_) | None => missing(need),
        }
    }

    pub fn turn(&self, id: TurnId) -> Result<&Turn, DecisionStop> {
        match self.turns.get(&id) {
            Some(Some(turn)) => Ok(turn),
            Some(None) => Err(Refusal::TurnNotFound { turn: id }.into()),
            None => missing(Need::Turn(id)),
        }
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

    pub fn rounds(&self, need: &Need) -> Result<&[ReviewRound], DecisionStop> {
        self.fact(need, |fact| if let Fact::RoundRows(rows) = fact { Some(rows.as_slice()) } else { None })
    }

    pub fn findings(&self, need: &Need) -> Result<&[Finding], DecisionStop> {
        self.fact(need, |fact| if let Fact::FindingRows(rows) = fact { Some(rows.as_slice()) } else { None })
    }

    pub fn notice(&self, id: ApprovalId, channel: Channel) -> Result<Option<&Notice>, DecisionStop> {
        let found = self.notices.get(&(id, channel));
        found.map_or_else(|| missing(Need::Notice(id, channel)), |found| Ok(found.as_ref()))
    }

    pub fn turns(&self, need: &Need) -> Result<&[Turn], DecisionStop> {
        self.fact(need, |fact| if let Fact::TurnRows(rows) = fact { Some(rows.as_slice()) } else { None })
    }

    pub fn approvals(&self, need: &Need) -> Result<&[Approval], DecisionStop> {
        self.fact(need, |fact| if let Fact::ApprovalRows(rows) = fact { Some(rows.as_slice()) } else { None })
    }

    pub fn reminders(&self, need: &Need) -> Result<&[Reminder], DecisionStop> {
        self.fact(need, |fact| if let Fact::ReminderRows(rows) = fact { Some(rows.as_slice()) } else { None })
    }

    pub fn runners(&self, need: &Need) -> Result<&[Runner], DecisionStop> {
        self.fact(need, |fact| if let Fact::RunnerRows(rows) = fact { Some(rows.as_slice()) } else { None })
    }

    /// Returns the answer to a list. The kind of rows in the answer depends on the list.
    pub fn list(&self, list: List) -> Result<&Fact, DecisionStop> {
        let need = Need::List(list);
        self.facts.get(&need).map_or_else(|| missing(need), Ok)
    }

    pub fn task_ids(&self, need: &Need) -> Result<&[TaskId], DecisionStop> {
        self.fact(need, |fact| if let Fact::Tasks(ids) = fact { Some(ids.as_slice()) } else { None })
    }

    pub fn agent_ids(&self, need: &Need) -> Result<&[AgentId], DecisionStop> {
        self.fact(need, |fact| if let Fact::Agents(ids) = fact { Some(ids.as_slice()) } else { None })
    }

    pub fn workflow_ids(&self, need: &Need) -> Result<&[WorkflowId], DecisionStop> {
        self.fact(need, |fact| if let Fact::Workflows(ids) = fact { Some(ids.as_slice()) } else { None })
    }

    pub fn named(&self, need: &Need) -> Result<&[(TaskId, String)], DecisionStop> {
        self.fact(need, |fact| if let Fact::Named(named) = fact { Some(named.as_slice()) } else { None })
    }

    pub fn full_tasks(&self, need: &Need) -> Result<&[Task], DecisionStop> {
        self.fact(need, |fact| if let Fact::Full(tasks) = fact { Some(tasks.as_slice()) } else { None })
    }

    pub fn edges(&self, need: &Need) -> Result<&[(TaskId, TaskId)], DecisionStop> {
        self.fact(need, |fact| if let Fact::Edges(edges) = fact { Some(edges.as_slice()) } else { None })
    }

    pub fn number(&self, need: &Need) -> Result<u32, DecisionStop> {
        self.fact(need, |fact| if let Fact::Number(number) = fact { Some(number) } else { None }).copied()
    }

    pub fn time(&self, need: &Need) -> Result<Option<Timestamp>, DecisionStop> {
        self.fact(need, |fact| if let Fact::Time(time) = fact { Some(time) } else { None }).copied()
    }

    pub fn yes(&self, need: &Need) -> Result<bool, DecisionStop> {
        self.fact(need, |fact| if let Fact::Yes(yes) = fact { Some(yes) } else { None }).copied()
    }

    pub fn checkpoints(&self, need: &Need) -> Result<&[Checkpoint], DecisionStop> {
        self.fact(need, |fact| if let Fact::Checkpoints(list) = fact { Some(list.as_slice()) } else { None })
    }

    pub fn messages(&self, need: &Need) -> Result<&[Message], DecisionStop> {
        self.fact(need, |fact| if let Fact::Messages(list) = fact { Some(list.as_slice()) } else { None })
    }

    /// Returns the answer to a need. An answer of the wrong kind counts as missing: then the store is broken, and it
    /// reports that when it is asked the same need again.
    fn fact<'a, T: ?Sized>(
        &'a self,
        need: &Need,
        pick: impl Fn(&'a Fact) -> Option<&'a T>,
    ) -> Result<&'a T, DecisionStop> {
        self.facts.get(need).and_then(pick).map_or_else(|| missing(need.clone()), Ok)
    }
}
