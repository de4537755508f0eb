//! The events: the changes that a decision makes. Each event is appended to a log, in the same transaction that changes
//! the state. If an event is not logged, its comment says so.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::agent::{Agent, Origin, Renewed};
use crate::approval::{Approval, Via, WaitingTask};
use crate::checkpoint::Checkpoint;
use crate::command::{Actor, SessionEnd};
use crate::condition::{Condition, ConditionKind};
use crate::delivery::{Delivery, DeliveryState, DeliveryStatus, DeliverySubject, WorkflowDelivery};
use crate::id::{AgentId, ApprovalId, RepositoryId, SessionId, TaskId, TemplateId, TokenId, WorkflowId, WorkspaceId};
use crate::inbox::{MailboxOwner, Message, MessageState};
use crate::json::Json;
use crate::key::StoredKey;
use crate::notice::{Notice, NoticeWay};
use crate::plan::PlanPiece;
use crate::protection::Protection;
use crate::put_off::PutOffItem;
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
    /// An agent unregistered. Only a registration with the agent's own token brings it back.
    Left {
        agent: AgentId,
        slug: String,
    },
    /// A sign of life of an agent. This event is not logged.
    Seen {
        agent: AgentId,
        at: Timestamp,
    },
    /// An existing agent registered again, on the connection `session`.
    Resumed {
        agent: AgentId,
        slug: String,
        session: Option<SessionId>,
        principal: Option<String>,
        /// The new values of the agent, if it registered with its own token. `None` if it registered without that
        /// token: then it keeps its old values.
        renewed: Option<Box<Renewed>>,
    },
    /// The idempotency keys of an agent were deleted, because the agent unregistered. This event is not logged.
    KeysEnded {
        agent: AgentId,
    },
    SessionClosed {
        agent: AgentId,
        slug: String,
        session: SessionId,
        end: SessionEnd,
    },

    /// An agent's client reported which conversation the agent belongs to.
    Joined {
        agent: AgentId,
        slug: String,
        origin: Origin,
    },
    /// The reminder of a conversation changed. A reminder counts how often an agent had to repeat its handoff (closing
    /// report), and how often it reported progress instead of a result. This event is not logged; the checkpoint that
    /// the same command adds is logged.
    Reminded {
        reminder: Box<Reminder>,
    },
    /// The reminders of a conversation (the counts of its missing handoffs and progress reports) were deleted. This
    /// event is not logged.
    RemindersDropped {
        conversation: String,
    },

    WorkflowCreated {
        workflow: Box<Workflow>,
        detail: Box<WorkflowDetail>,
    },
    /// A workflow that is completed, failed or abandoned was archived, or it was taken out of the archive again.
    WorkflowArchived {
        workflow: WorkflowId,
        archived: bool,
    },
    /// A workflow got the git branch into which the work of its tasks is merged.
    BranchTaken {
        workflow: WorkflowId,
        branch: String,
    },
    /// A caller began to send a plan in pieces, each with some of the tasks, or got more time to send the next piece.
    /// This event is not logged.
    Drafting {
        workflow: WorkflowId,
        draft: Option<PlanDraft>,
    },
    /// A piece of a plan (some of its tasks) was stored. These tasks stay hidden until the whole plan is set. This
    /// event is not logged.
    Staged {
        workflow: WorkflowId,
        piece: Arc<PlanPiece>,
        author: Option<Actor>,
        /// The task number of the first task in this piece of the plan. The other tasks get the next numbers, in their
        /// order.
        first: u32,
    },
    /// Some tasks of an unfinished plan were deleted. The number of tasks in one such event is limited. This event is
    /// not logged.
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
    /// A task was removed. For each task that waited for the removed task, `waits` has the number of tasks that it
    /// waits for now.
    TaskRemoved {
        workflow: WorkflowId,
        task: TaskId,
        name: String,
        rewired: Vec<(TaskId, TaskId)>,
        waits: Vec<(TaskId, u32)>,
    },
    /// A task was skipped while it waited for protected tasks (tasks on which a person put a gate, a review, limits or
    /// an output contract). So that no task begins too early, the tasks that waited for the skipped task now wait for
    /// the protected tasks.
    DependenciesKept {
        workflow: WorkflowId,
        skipped: TaskId,
        edges: Vec<(TaskId, TaskId)>,
        /// For each task that got a new dependency, the number of tasks that it waits for now. This number still
        /// includes the skipped task.
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
        /// The workflow's limit for tasks that run at the same time, as it was before the change. `None` when there was
        /// no limit, or when an older version of Handover wrote the event.
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
    /// A workflow's lock was renewed. This event is not logged.
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
    /// A lease was renewed. This event is not logged.
    Renewed {
        task: TaskId,
        workflow: WorkflowId,
        until: Timestamp,
    },
    /// A claim ended without a result. Agents can claim the task again, unless its attempts are used up: then the task
    /// fails.
    LeaseEnded {
        task: TaskId,
        workflow: WorkflowId,
        agent: AgentId,
        cause: Cause,
        checkpoint: Box<Checkpoint>,
        failed: Option<String>,
    },
    /// An agent got back its claim with the same attempt number: the lease had expired, or the task was sent back. The
    /// expiry does not count as a used attempt.
    Regained {
        task: TaskId,
        workflow: WorkflowId,
        agent: AgentId,
        attempt: u32,
        until: Timestamp,
        /// True when the task was sent back to the agent. False when the agent's lease had expired.
        #[serde(default)]
        sent_back: bool,
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
    /// A token was revoked. The event contains the whole token, because its log entry needs the token's name and agent.
    TokenRevoked {
        token: Box<Token>,
    },
    /// A person's terminal wrote a one-time code for a browser. Codes and keys that have expired are deleted.
    CodeOffered {
        token: Box<Token>,
        expired: Vec<TokenId>,
    },
    /// A browser used up a code and has a key. The row of the code is deleted.
    BrowserEnrolled {
        code: TokenId,
        token: Box<Token>,
    },
    /// A browser used its key. This event is not logged.
    BrowserKeyUsed {
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
    /// A runner (a process that starts agents' programs) gave a sign of life. This event is not logged.
    RunnerSeen {
        runner: Box<Runner>,
    },
    /// A runner (a process that starts agents' programs) ended. This event is not logged.
    RunnerGone {
        name: String,
    },
    SectionWritten {
        change: Box<SectionChange>,
    },
    ApprovalAsked {
        approval: Box<Approval>,
    },
    /// An approval was decided, used or revoked, or it expired.
    ApprovalMoved {
        approval: Box<Approval>,
    },

    ReviewOpened {
        review: Box<Review>,
    },
    /// A round of a review began. `decided` are the findings whose decisions this round sends to the reviewing agent.
    RoundStarted {
        review: Box<Review>,
        round: Box<ReviewRound>,
        decided: Vec<Finding>,
    },
    /// A round of a review ended. `findings` are the findings that the reviewing agent gave in it.
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
    /// A sender took a notice (a message to a person about a pending approval), or reported the result of sending it.
    /// This event is not logged.
    NoticeMoved {
        notice: Box<Notice>,
    },
    /// A sender took items (things that need a person), to tell people about them. This event is not logged.
    ItemsTold {
        way: NoticeWay,
        items: Vec<String>,
    },
    /// The store forgets that people were told about these items, because the notice could not be sent, or because the
    /// items no longer need a person. This event is not logged.
    ItemsUntold {
        way: NoticeWay,
        items: Vec<String>,
    },
    /// A person put an item off. The rows of other items whose time is over are deleted.
    ItemPutOff {
        put_off: Box<PutOffItem>,
        expired: Vec<String>,
    },
    /// A person no longer puts an item off. The rows of other items whose time is over are deleted.
    ItemShown {
        item: String,
        expired: Vec<String>,
    },

    /// A condition (a fact about the project that needs a person) was recorded, or its text changed.
    ConditionSet {
        condition: Box<Condition>,
    },
    ConditionCleared {
        kind: ConditionKind,
        subject: String,
    },
    /// A person took a task as it is. So the protections of the task, for example a required review, were removed.
    ProtectionsRemoved {
        task: TaskId,
        workflow: WorkflowId,
        removed: Vec<Protection>,
    },
    /// A runner completed a task and reported its work in git.
    Delivered {
        delivery: Box<Delivery>,
    },
    /// The work of a whole workflow is on one branch and waits for a person to merge or drop it.
    WorkflowDelivered {
        delivery: Box<WorkflowDelivery>,
    },
    /// The work of a task or of a workflow in git was merged or dropped, or it waits for a person again.
    DeliveryMoved {
        subject: DeliverySubject,
        workflow: WorkflowId,
        from: DeliveryStatus,
        state: DeliveryState,
    },
    /// The finished work of a task no longer waits for a person, because an agent works on the task again.
    DeliveryWithdrawn {
        task: TaskId,
        workflow: WorkflowId,
    },

    Sent {
        message: Box<Message>,
        slug: String,
    },
    /// A person answered a message that was sent to people.
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

    /// An answer was stored under an idempotency key. This event is not logged.
    KeyKept {
        key: Box<StoredKey>,
    },
    /// Expired idempotency keys were deleted. This event is not logged.
    KeysForgotten,
}

/// The cause that ended a claim without a result. Only `Expired`, `Killed` and `Crashed` count as a used attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    Expired,
    Killed,
    /// The runner saw that the agent's program ended without an answer.
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

/// A change of a task's state, for example from pending to completed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Moved {
    pub task: TaskId,
    pub workflow: WorkflowId,
    pub attempt: u32,
    pub from: Status,
    pub state: TaskState,
    pub outcome_detail: Option<Json>,
    /// A plan that replaces the task's earlier plan. `None` when the task keeps its plan.
    pub plan: Option<Json>,
    pub checkpoint: Option<Checkpoint>,
    /// True when this move sets the number of attempts that count as used back to 0.
    pub forgiven: bool,
    /// The tasks that waited only for this task and can begin now. The list has at most a hundred of them;
    /// `freed_count` counts all.
    pub freed: Vec<TaskId>,
    pub freed_count: u32,
}
