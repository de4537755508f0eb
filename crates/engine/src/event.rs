//! What happened. Events are appended to the log in the transaction that changes the state they describe.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::agent::{Agent, Origin, Renewed};
use crate::approval::{Approval, Via, Waiting};
use crate::checkpoint::Checkpoint;
use crate::command::{Actor, SessionEnd};
use crate::id::{AgentId, ApprovalId, RepositoryId, SessionId, TaskId, TemplateId, WorkflowId, WorkspaceId};
use crate::inbox::{Message, MessageState, Owner};
use crate::json::Json;
use crate::key::StoredKey;
use crate::notice::Notice;
use crate::plan::Piece;
use crate::reminder::Reminder;
use crate::review::{Finding, Review, Round};
use crate::runner::Runner;
use crate::section::SectionChange;
use crate::task::{Detail, State, Status, Task};
use crate::template::Template;
use crate::time::Timestamp;
use crate::token::Token;
use crate::turn::Turn;
use crate::verification::Verification;
use crate::workflow::{Draft, Lock, Workflow, WorkflowDetail, WorkflowStatus};
use crate::workspace::{Attachment, Repository, Workspace};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    Registered {
        agent: Box<Agent>,
    },
    AgentUpdated {
        agent: AgentId,
        slug: String,
        workspace_path: Option<String>,
        metadata: Option<Json>,
    },
    /// Final.
    Left {
        agent: AgentId,
        slug: String,
    },
    /// A sign of life. Not logged.
    Seen {
        agent: AgentId,
        at: Timestamp,
    },
    /// An agent that exists registered again, on this connection.
    Resumed {
        agent: AgentId,
        slug: String,
        session: Option<SessionId>,
        principal: Option<String>,
        /// What a token's own agent says of itself; other agents stay what they were.
        renewed: Option<Box<Renewed>>,
    },
    /// An agent's idempotency keys end with it. Not logged.
    KeysEnded {
        agent: AgentId,
    },
    SessionClosed {
        agent: AgentId,
        slug: String,
        session: SessionId,
        end: SessionEnd,
    },

    /// An agent's client said where it lives.
    Joined {
        agent: AgentId,
        slug: String,
        origin: Origin,
    },
    /// Not logged: what was said is in a checkpoint.
    Reminded {
        reminder: Box<Reminder>,
    },
    /// Not logged.
    RemindersDropped {
        conversation: String,
    },

    WorkflowCreated {
        workflow: Box<Workflow>,
        detail: Box<WorkflowDetail>,
    },
    /// A plan is being written in pieces, or is given up. Not logged.
    Drafting {
        workflow: WorkflowId,
        draft: Option<Draft>,
    },
    /// A piece of a plan that nobody can see yet. Not logged.
    Staged {
        workflow: WorkflowId,
        piece: Arc<Piece>,
        author: Option<Actor>,
    },
    /// A bounded part of a draft was removed. Not logged.
    DraftCleared {
        workflow: WorkflowId,
        tasks: Vec<TaskId>,
    },
    PlanSet {
        workflow: WorkflowId,
        summary: String,
        tasks: u32,
    },
    TaskAdded {
        task: Box<Task>,
        detail: Box<Detail>,
        depends_on: Vec<TaskId>,
        shift_from: Option<u32>,
    },
    /// `waits` says what each dependent waits for afterwards.
    TaskRemoved {
        workflow: WorkflowId,
        task: TaskId,
        name: String,
        rewired: Vec<(TaskId, TaskId)>,
        waits: Vec<(TaskId, u32)>,
    },
    /// A task is skipped that waited for protected ones: its dependents wait for those instead.
    DependenciesKept {
        workflow: WorkflowId,
        skipped: TaskId,
        edges: Vec<(TaskId, TaskId)>,
        /// How many tasks each dependent waits for, the skipped one counted.
        waits: Vec<(TaskId, u32)>,
    },
    Replanned {
        workflow: WorkflowId,
        summary: String,
        reason: String,
        added: u32,
        removed: Vec<TaskId>,
    },
    WorkflowMoved {
        workflow: WorkflowId,
        from: WorkflowStatus,
        to: WorkflowStatus,
        reason: Option<String>,
    },
    WorkflowChanged {
        workflow: WorkflowId,
        parallel_max: Option<u32>,
        auto_workspaces: Option<bool>,
        /// The parallel limit before.
        #[serde(default)]
        before: Option<u32>,
    },
    Configured {
        workflow: WorkflowId,
        config: Json,
        #[serde(default)]
        before: Option<Json>,
    },
    Locked {
        workflow: WorkflowId,
        lock: Lock,
    },
    /// Not logged.
    LockRenewed {
        workflow: WorkflowId,
        until: Timestamp,
    },
    Unlocked {
        workflow: WorkflowId,
        owner: String,
    },
    RepositoryAttached {
        attachment: Attachment,
    },
    RepositoryDetached {
        workflow: WorkflowId,
        repository: RepositoryId,
    },

    Claimed {
        task: TaskId,
        workflow: WorkflowId,
        agent: AgentId,
        attempt: u32,
        until: Timestamp,
    },
    /// Not logged.
    Renewed {
        task: TaskId,
        workflow: WorkflowId,
        until: Timestamp,
    },
    /// A claim ended without a result; the task is offered again, or failed when its attempts are used up.
    LeaseEnded {
        task: TaskId,
        workflow: WorkflowId,
        agent: AgentId,
        cause: Cause,
        checkpoint: Box<Checkpoint>,
        failed: Option<String>,
    },
    /// A claim that ended by the clock goes on with the same attempt, and counts for nothing.
    Regained {
        task: TaskId,
        workflow: WorkflowId,
        agent: AgentId,
        attempt: u32,
        until: Timestamp,
    },
    Moved(Box<Moved>),
    TaskPlanned {
        task: TaskId,
        workflow: WorkflowId,
        plan: Json,
        context: Option<Json>,
    },
    CheckpointAdded {
        workflow: WorkflowId,
        checkpoint: Box<Checkpoint>,
    },

    RepositoryRegistered {
        repository: Repository,
    },
    WorkspaceCreated {
        workspace: Box<Workspace>,
    },
    WorkspaceUpdated {
        workspace: Box<Workspace>,
    },
    WorkspaceAssigned {
        task: TaskId,
        workflow: WorkflowId,
        workspace: WorkspaceId,
    },
    TemplateCreated {
        template: Box<Template>,
    },
    TemplateRemoved {
        template: TemplateId,
        name: String,
    },

    TokenCreated {
        token: Box<Token>,
    },
    /// `agent` stands in the token; the log needs the name.
    TokenRevoked {
        token: Box<Token>,
    },

    TurnStarted {
        turn: Box<Turn>,
    },
    TurnEnded {
        turn: Box<Turn>,
    },
    Verified {
        verification: Box<Verification>,
    },
    /// Not logged.
    RunnerSeen {
        runner: Box<Runner>,
    },
    /// Not logged.
    RunnerGone {
        name: String,
    },
    SectionWritten {
        change: Box<SectionChange>,
    },
    ApprovalAsked {
        approval: Box<Approval>,
    },
    /// Decided, used, or its time is over.
    ApprovalMoved {
        approval: Box<Approval>,
    },

    ReviewOpened {
        review: Box<Review>,
    },
    /// With the findings that were decided on by it.
    RoundStarted {
        review: Box<Review>,
        round: Box<Round>,
        decided: Vec<Finding>,
    },
    /// With the findings it gave.
    RoundEnded {
        review: Box<Review>,
        round: Box<Round>,
        findings: Vec<Finding>,
    },
    FindingDecided {
        review: Box<Review>,
        finding: Box<Finding>,
    },

    /// A person saw it, or was told of it.
    ApprovalShown {
        approval: ApprovalId,
        waiting: Option<Waiting>,
        via: Via,
    },
    /// Not logged.
    NoticeMoved {
        notice: Box<Notice>,
    },

    Sent {
        message: Box<Message>,
        slug: String,
    },
    /// A person answered a message to people.
    Answered {
        message: crate::id::MessageId,
        answer: crate::id::MessageId,
    },
    Marked {
        message: crate::id::MessageId,
        to: Owner,
        slug: String,
        was_unread: bool,
        state: MessageState,
    },

    /// Not logged.
    KeyKept {
        key: Box<StoredKey>,
    },
    /// Not logged.
    KeysForgotten,
}

/// Why a claim ended without a result. Only the first three count against the attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    Expired,
    Killed,
    /// The runner saw its program end without an answer.
    Crashed,
    Closed,
    Released,
    Unregistered,
}

impl Cause {
    pub fn counts(self) -> bool {
        match self {
            Self::Expired | Self::Killed | Self::Crashed => true,
            Self::Closed | Self::Released | Self::Unregistered => false,
        }
    }
}

/// A task took a new state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Moved {
    pub task: TaskId,
    pub workflow: WorkflowId,
    pub attempt: u32,
    pub from: Status,
    pub state: State,
    pub outcome_detail: Option<Json>,
    /// A plan that replaces the old one.
    pub plan: Option<Json>,
    pub checkpoint: Option<Checkpoint>,
    /// Its attempts begin anew.
    pub forgiven: bool,
    /// Tasks that wait for nothing else now (the first hundred), and how many there are.
    pub freed: Vec<TaskId>,
    pub freed_count: u32,
}
