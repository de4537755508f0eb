//! Needs: the questions that a decision asks the store.
//!
//! A need for one row names the row by its key, and the [`World`](super::World) has a function for each kind of row.
//! All other needs are grouped by the type of their answer: every question of a group has an answer of the same type,
//! which [`World::ask`](super::World::ask) returns.

use crate::condition::ConditionKind;
use crate::id::{
    AgentId, ApprovalId, MessageId, RepositoryId, ReviewId, SessionId, TaskId, TemplateId, TokenId, TurnId, WorkflowId,
    WorkspaceId,
};
use crate::inbox::{MailboxOwner, RecipientMatch};
use crate::key::KeyId;
use crate::list::ListQuery;
use crate::notice::{Channel, NoticeWay};
use crate::time::Timestamp;

/// One question to the store, with a limit on the size of its answer. A question about leases includes the time, so
/// within one decision the same question always has the same answer. The world (the loaded state that a decision reads)
/// stores each answer under its question.
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
    /// The id of the repository with this path.
    RepositoryAt(String),
    /// The time at which a repository was attached to a workflow.
    Attached(WorkflowId, RepositoryId),
    Template(TemplateId),
    Key(KeyId),
    Token(TokenId),
    /// The token whose secret has this hash.
    TokenHashed(String),
    Turn(TurnId),
    /// The task's running turn (a run of an agent's program that has not ended). If there are several, the newest one.
    /// Evaluations and reviews are left out.
    TurnRunning(TaskId),
    Section(String),
    Approval(ApprovalId),
    /// The notice (a message to a person about an approval) that is sent over this channel.
    Notice(ApprovalId, Channel),
    /// The items (things that need a person) about which a notice of this kind (command, screen or webhook) was sent,
    /// sorted by name.
    ToldItems(NoticeWay),
    /// The reminder (the counts of missing handoffs and progress reports) of a conversation (first text) and of a
    /// sub-agent in it (second text, empty for the conversation itself).
    Reminder(String, String),
    Runner(String),
    Review(ReviewId),
    Round(ReviewId, u32),
    /// One finding of a review, by the id that the reviewing agent gave to the finding.
    Finding(ReviewId, String),
    /// The condition (a fact about the project that needs a person) with this kind and subject.
    Condition(ConditionKind, String),
    /// The delivery of a task, which is the record of its work in git.
    Delivery(TaskId),
    /// The delivery of a whole workflow, which is the record of its work in git.
    WorkflowDelivery(WorkflowId),

    TaskIds(TaskIdNeed),
    TaskRows(TaskRowNeed),
    Unmet(UnmetNeed),
    Freed(FreedNeed),
    OpenEdges(OpenEdgeNeed),
    AgentIds(AgentIdNeed),
    WorkflowIds(WorkflowIdNeed),
    Checkpoints(CheckpointNeed),
    Inbox(InboxNeed),
    Approvals(ApprovalNeed),
    PutOffs(PutOffNeed),
    Number(NumberNeed),
    Bool(BoolNeed),
    List(ListQuery),
}

impl From<ListQuery> for Need {
    fn from(query: ListQuery) -> Self {
        Self::List(query)
    }
}

/// A need (a question to the store) for the ids of tasks.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum TaskIdNeed {
    /// Tasks that an agent holds, including paused ones.
    HeldBy(AgentId),
    /// The tasks of a workflow that are held by agents and whose work is in this workspace.
    HeldIn(WorkflowId, WorkspaceId),
    Dependencies(TaskId),
    Dependents(TaskId),
    /// The task of the workflow that has this name.
    Named(WorkflowId, String),
    /// Tasks of a workflow whose lease has expired at this time.
    Expired(WorkflowId, Timestamp),
}

/// A need (a question to the store) for tasks with all their columns.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum TaskRowNeed {
    /// Tasks of a workflow that name the files that they change, and that an agent holds at this time. A task counts
    /// while its lease has not expired, or while it is paused.
    BusyFiles(WorkflowId, Timestamp),
    /// Pending tasks that no agent holds, and blocked tasks. A new plan of the workflow would remove these tasks.
    Removable(WorkflowId),
    Candidates(Candidates),
    /// The tasks that a task waits for, directly or through other tasks, and that are neither completed nor skipped.
    OpenAncestors(TaskId),
    /// Tasks of a workflow that are neither completed nor skipped.
    Open(WorkflowId),
}

/// A query for tasks that no agent holds and whose dependencies are met, ordered by priority and then by sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Candidates {
    pub workflow: WorkflowId,
    pub failed: bool,
    /// The priority, sequence and id of the task after which the answer begins. `None` begins at the first task.
    pub after: Option<(u8, u32, TaskId)>,
    pub limit: u32,
}

/// A need (a question to the store) for the ids and names of the tasks that a task still waits for: its dependencies
/// that are neither completed nor skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnmetNeed(pub TaskId);

/// A need (a question to the store) for the ids and statuses of the tasks that wait for this task and for no other
/// task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct FreedNeed(pub TaskId);

/// A need (a question to the store) for the dependencies between open tasks of a workflow. The answer is a list of
/// pairs: a task, and a task that it waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct OpenEdgeNeed(pub WorkflowId);

/// A need (a question to the store) for the ids of agents.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum AgentIdNeed {
    /// The agent with this slug, which is an agent's short, unique name.
    WithSlug(String),
    /// Agents whose last registration was on this connection, the last registered agent first.
    OfSession(SessionId),
    /// Agents that belong to a conversation of a client, the last registered agent first.
    OfConversation(String),
    /// Agents whose last registration was the client's tool call with this id.
    OfCall(String),
    /// Agents with this name and runtime, the last registered agent first.
    Same { name: String, runtime: String },
    /// Registered agents that have this role.
    WithRole(String),
    /// Registered agents that this filter of a broadcast selects.
    Matching(RecipientMatch),
}

/// A need (a question to the store) for the ids of workflows.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum WorkflowIdNeed {
    /// The standing list, which is the one workflow for single tasks. The answer is empty until the list is created.
    Standing,
    /// The workflow whose work is merged into this git branch.
    WithBranch(String),
    /// Workflows whose lock has this owner.
    LockedBy(String),
    /// Workflows that have tasks with an expired lease.
    WithExpired(Timestamp),
}

/// A need (a question to the store) for the checkpoints of a task with a higher number than `after`, in ascending
/// order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct CheckpointNeed {
    pub task: TaskId,
    pub after: u32,
    pub limit: u32,
}

/// A need (a question to the store) for messages of a mailbox. If `unread` is true, the answer has the unread messages,
/// ordered by priority and then by number. Otherwise the answer has all messages with a higher number than `after`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct InboxNeed {
    pub owner: MailboxOwner,
    pub unread: bool,
    pub after: u32,
    pub limit: u32,
}

/// A need (a question to the store) for the approvals with a given fingerprint, which is the hash of the request.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum ApprovalNeed {
    /// The approvals with this fingerprint that are pending, or approved and not used yet.
    Sealed(String),
    /// The newest approval with this fingerprint that a person rejected or revoked.
    Refused(String),
}

/// A need (a question to the store) for all items (things that need a person) that a person put off, sorted by name. Rows
/// whose time is over can be among them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PutOffNeed;

/// A question to the store whose answer is a number.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum NumberNeed {
    /// The last number that was given to a task, even if that task was removed. 0 when the store never had a task.
    LastTaskNumber,
    /// The number of conditions, which are facts about the project that need a person.
    Conditions,
    /// The highest number `n` among the slugs (short names of agents) of the form `slug-n`.
    SlugNumber(String),
    /// The number of tasks of a workflow whose lease runs and has not expired at this time. Paused tasks are not
    /// counted.
    Running(WorkflowId, Timestamp),
    /// The number of turns (runs of an agent's program) that a task had.
    Turns(TaskId),
    /// The number of verifications (recorded checks of the output) that a task had.
    Verifications(TaskId),
}

/// A question to the store whose answer is true or false.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum BoolNeed {
    /// Asks whether a template has this name.
    TemplateNamed(String),
    /// Asks whether an agent already holds as many tasks as one agent may hold.
    HoldsMost(AgentId),
    /// Asks whether an active worktree of the workflow has a pull request.
    UnmergedRequest(WorkflowId),
    /// Asks whether a worktree of the workflow is active and has a pull request. The given worktree does not count.
    OtherUnmergedRequest(WorkflowId, WorkspaceId),
    /// Asks whether a task or a workspace of the workflow uses this repository.
    RepositoryUsed(WorkflowId, RepositoryId),
}
