//! What a command answers when the rules allow it. Losing a race is an answer, too.

use serde::{Deserialize, Serialize};

use crate::approval::ApprovalStatus;
use crate::id::{
    AgentId, ApprovalId, CheckpointId, MessageId, RepositoryId, ReviewId, TaskId, TemplateId, ThreadId, TokenId,
    TurnId, WorkflowId, WorkspaceId,
};
use crate::task::Status;
use crate::time::{Millis, Timestamp};
use crate::workflow::WorkflowStatus;
use crate::workspace::Cleaned;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reply", rename_all = "snake_case")]
pub enum Reply {
    Registered {
        agent: AgentId,
        slug: String,
        name: String,
        resumed: bool,
        /// What the caller should know about which agent it is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
        holds: Vec<TaskId>,
    },
    Alive {
        next_heartbeat_ms: Millis,
    },
    AgentUpdated,
    Unregistered {
        released: u32,
    },
    Renewed {
        tasks: u32,
    },
    SessionClosed {
        released: u32,
    },
    /// The handoff of a conversation is wanted again; how often that was said at this prompt.
    SentBack {
        count: u32,
    },

    WorkflowCreated {
        workflow: WorkflowId,
        status: WorkflowStatus,
        parallel_max: Option<u32>,
    },
    PlanSet {
        workflow: WorkflowId,
        tasks: u32,
        groups: Vec<String>,
        task_ids: Vec<(String, TaskId)>,
    },
    /// `stale` says that rows of an earlier draft must be cleared first.
    PlanBegun {
        stale: bool,
    },
    DraftCleared {
        more: bool,
    },
    PlanStaged,
    TaskAdded {
        task: TaskId,
        sequence: u32,
    },
    TaskRemoved {
        task: TaskId,
        rewired: u32,
    },
    Replanned {
        added: u32,
        removed: u32,
        preserved: u32,
        status: WorkflowStatus,
    },
    WorkflowMoved {
        status: WorkflowStatus,
    },
    WorkflowChanged,
    Configured,
    Locked {
        owner: String,
        since: Timestamp,
        until: Timestamp,
    },
    LockHeldBy {
        owner: String,
        since: Timestamp,
        until: Timestamp,
    },
    Unlocked,
    RepositoryAttached {
        repository: RepositoryId,
        added: Timestamp,
    },
    RepositoryDetached,

    Claimed {
        task: TaskId,
        attempt: u32,
        until: Timestamp,
        /// It is to be reviewed, so the door keeps where its work began.
        #[serde(default)]
        review: bool,
    },
    AlreadyClaimedBy {
        agent: AgentId,
    },
    /// Nothing can be claimed now.
    NoTask {
        limit_reached: bool,
        all_done: bool,
    },
    Released,
    Moved {
        status: Status,
    },
    TaskPlanned,
    TaskReplanned {
        checkpoint: CheckpointId,
    },
    CheckpointAdded {
        checkpoint: CheckpointId,
        sequence: u32,
    },

    RepositoryRegistered {
        repository: RepositoryId,
    },
    WorkspaceCreated {
        workspace: WorkspaceId,
    },
    WorkspaceUpdated {
        #[serde(default)]
        cleaned: Option<Cleaned>,
    },
    WorkspaceAssigned,
    TemplateCreated {
        template: TemplateId,
    },
    TemplateRemoved,
    TokenCreated {
        token: TokenId,
    },
    TokenRevoked,

    TurnStarted {
        turn: TurnId,
        number: u32,
    },
    TurnEnded,
    /// `failures` counts the verifications of this attempt that failed, this one included.
    VerificationRecorded {
        number: u32,
        failures: u32,
    },
    RunnerSeen,
    RunnerForgotten,
    SectionWritten {
        version: u32,
    },
    /// The same again while it is pending is the same approval.
    ApprovalAsked {
        approval: ApprovalId,
        until: Timestamp,
    },
    ApprovalDecided {
        status: ApprovalStatus,
    },
    ApprovalConsumed,
    /// A person said no to exactly this, not long ago.
    ApprovalRefused {
        approval: ApprovalId,
        reason: Option<String>,
    },
    /// How many of them were not recorded before.
    ApprovalsShown {
        recorded: u32,
    },
    /// Nothing is due when it is missing.
    NoticeTaken {
        approval: Option<ApprovalId>,
        tries: u32,
    },
    /// When it is tried again, if it is.
    NoticeSettled {
        next: Option<Timestamp>,
    },
    ApprovalsExpired {
        expired: u32,
        more: bool,
    },

    ReviewOpened {
        review: ReviewId,
    },
    /// `issued` are the ids of all findings so far.
    RoundStarted {
        tries: u32,
        issued: Vec<String>,
    },
    /// `open` counts the findings of the whole review that nobody has decided on.
    RoundEnded {
        found: u32,
        open: u32,
    },
    FindingDecided {
        open: u32,
    },

    /// `ahead` is what the recipient has unread before this one.
    Sent {
        message: MessageId,
        thread: ThreadId,
        sequence: u32,
        ahead: u32,
    },
    /// `full` are agents whose mailboxes took no more.
    Broadcast {
        messages: Vec<MessageId>,
        thread: ThreadId,
        full: Vec<AgentId>,
    },
    /// The task it was asked for, and where that stands now.
    Answered {
        answer: MessageId,
        task: Option<TaskId>,
        status: Option<Status>,
    },
    Marked {
        changed: u32,
    },

    Swept {
        offered: u32,
        failed: u32,
        more: bool,
    },
    KeysForgotten,
}
