//! The events. They are appended to the log in the transaction that changes the state that they describe.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::agent::{Agent, Origin, Renewed};
use crate::approval::{Approval, Via, WaitingTask};
use crate::checkpoint::Checkpoint;
use crate::command::{Actor, SessionEnd};
use crate::id::{AgentId, ApprovalId, RepositoryId, SessionId, TaskId, TemplateId, WorkflowId, WorkspaceId};
use crate::inbox::{MailboxOwner, Message, MessageState};
use crate::json::Json;
use crate::key::StoredKey;
use crate::notice::Notice;
use crate::plan::PlanPiece;
use crate::reminder::Reminder;
use crate::review::{Finding, Review, ReviewRound};
use crate::runner::Runner;
use crate::section::SectionChange;
use crate::task::{Status, Task, TaskDetail, TaskState};
use crate::template::Template;
use crate::time::Timestamp;
use crate::token::Token;
use crate::turn::Turn;
use crate::verification::Verification;
use crate::workflow::{Lock, PlanDraft, Workflow, WorkflowDetail, WorkflowStatus};
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
    /// An agent unregistered. This is final.
    Left {
        agent: AgentId,
        slug: String,
    },
    /// A sign of life of an agent. Not logged.
    Seen {
        agent: AgentId,
        at: Timestamp,
    },
    /// An existing agent registered again, on this connection.
    Resumed {
        agent: AgentId,
        slug: String,
        session: Option<SessionId>,
        principal: Option<String>,
        /// The new values of a token's own agent. Other agents keep their values.
        renewed: Option<Box<Renewed>>,
    },
    /// The idempotency keys of an agent end with it. Not logged.
    KeysEnded {
        agent: AgentId,
    },
    SessionClosed {
        agent: AgentId,
        slug: String,
        session: SessionId,
        end: SessionEnd,
    },

    /// An agent's client reported the agent's conversation.
    Joined {
        agent: AgentId,
        slug: String,
        origin: Origin,
    },
    /// The reminder of a conversation changed. Not logged: the text is in a checkpoint.
    Reminded {
        reminder: Box<Reminder>,
    },
    /// The reminders of a conversation were dropped. Not logged.
    RemindersDropped {
        conversation: String,
    },

    WorkflowCreated {
        workflow: Box<Workflow>,
        detail: Box<WorkflowDetail>,
    },
    /// A plan is being written in pieces, or was given up. Not logged.
    Drafting {
        workflow: WorkflowId,
        draft: Option<PlanDraft>,
    },
    /// A piece of a plan was stored, which stays hidden until the plan is set. Not logged.
    Staged {
        workflow: WorkflowId,
        piece: Arc<PlanPiece>,
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
        detail: Box<TaskDetail>,
        depends_on: Vec<TaskId>,
        shift_from: Option<u32>,
    },
    /// A task was removed. `waits` has, for each dependent, the number of tasks that it waits for now.
    TaskRemoved {
        workflow: WorkflowId,
        task: TaskId,
        name: String,
        rewired: Vec<(TaskId, TaskId)>,
        waits: Vec<(TaskId, u32)>,
    },
    /// A task was skipped that waited for protected tasks. Its dependents wait for the protected tasks instead.
    DependenciesKept {
        workflow: WorkflowId,
        skipped: TaskId,
        edges: Vec<(TaskId, TaskId)>,
        /// The number of tasks that each dependent waits for, including the skipped one.
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
        /// The parallel limit before the change.
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
    /// A workflow's lock was renewed. Not logged.
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
    /// A lease was renewed. Not logged.
    Renewed {
        task: TaskId,
        workflow: WorkflowId,
        until: Timestamp,
    },
    /// A claim ended without a result. The task is offered again, or fails when its attempts are used up.
    LeaseEnded {
        task: TaskId,
        workflow: WorkflowId,
        agent: AgentId,
        cause: Cause,
        checkpoint: Box<Checkpoint>,
        failed: Option<String>,
    },
    /// A claim that expired continues with the same attempt, and the expiry does not count against the attempts.
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
    /// Carries the whole token: the log needs its name and its agent.
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
    /// A runner gave a sign of life. Not logged.
    RunnerSeen {
        runner: Box<Runner>,
    },
    /// A runner ended. Not logged.
    RunnerGone {
        name: String,
    },
    SectionWritten {
        change: Box<SectionChange>,
    },
    ApprovalAsked {
        approval: Box<Approval>,
    },
    /// An approval was decided or used, or its time passed.
    ApprovalMoved {
        approval: Box<Approval>,
    },

    ReviewOpened {
        review: Box<Review>,
    },
    /// A round of a review began. `decided` are the findings whose decisions it sends.
    RoundStarted {
        review: Box<Review>,
        round: Box<ReviewRound>,
        decided: Vec<Finding>,
    },
    /// A round of a review ended. `findings` are the findings that it gave.
    RoundEnded {
        review: Box<Review>,
        round: Box<ReviewRound>,
        findings: Vec<Finding>,
    },
    FindingDecided {
        review: Box<Review>,
        finding: Box<Finding>,
    },

    /// A person saw an approval, or was notified of it.
    ApprovalShown {
        approval: ApprovalId,
        waiting: Option<WaitingTask>,
        via: Via,
    },
    /// A notice was taken or settled. Not logged.
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
        to: MailboxOwner,
        slug: String,
        was_unread: bool,
        state: MessageState,
    },

    /// An answer was stored under an idempotency key. Not logged.
    KeyKept {
        key: Box<StoredKey>,
    },
    /// Expired idempotency keys were deleted. Not logged.
    KeysForgotten,
}

/// The cause that ended a claim without a result. Only the first three count against the attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    Expired,
    Killed,
    /// The runner saw the agent's program end without an answer.
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

/// A change of a task's state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Moved {
    pub task: TaskId,
    pub workflow: WorkflowId,
    pub attempt: u32,
    pub from: Status,
    pub state: TaskState,
    pub outcome_detail: Option<Json>,
    /// A plan that replaces the task's earlier plan.
    pub plan: Option<Json>,
    pub checkpoint: Option<Checkpoint>,
    /// Whether the count of used attempts is reset.
    pub forgiven: bool,
    /// The tasks that wait for no other task now (the first hundred). `freed_count` is their total number.
    pub freed: Vec<TaskId>,
    pub freed_count: u32,
}
