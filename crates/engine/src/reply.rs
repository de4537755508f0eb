//! The replies of commands that the rules allow. Losing a race is a reply, too.

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
        /// A note about the agent that the caller acts as now.
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
    /// The conversation must send its handoff again. `count` is the number of such replies at this prompt.
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
    /// A plan in pieces began. `stale` says that rows of an earlier draft must be cleared first.
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
        /// Whether the task needs a review. The caller's transport then stores the state in which the work began.
        #[serde(default)]
        review: bool,
    },
    AlreadyClaimedBy {
        agent: AgentId,
    },
    /// No task can be claimed now.
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
    /// A verification was recorded. `failures` counts the failed verifications of this attempt, including this one.
    VerificationRecorded {
        number: u32,
        failures: u32,
    },
    RunnerSeen,
    RunnerForgotten,
    SectionWritten {
        version: u32,
    },
    /// An approval was asked for. Asking again for the same act while it is pending returns the same approval.
    ApprovalAsked {
        approval: ApprovalId,
        until: Timestamp,
    },
    ApprovalDecided {
        status: ApprovalStatus,
    },
    ApprovalConsumed,
    /// A person recently rejected exactly this act.
    ApprovalRefused {
        approval: ApprovalId,
        reason: Option<String>,
    },
    /// The number of approvals that are newly recorded as shown.
    ApprovalsShown {
        recorded: u32,
    },
    /// The notice to send. Without an `approval`, no notice is due.
    NoticeTaken {
        approval: Option<ApprovalId>,
        tries: u32,
    },
    /// The time of the next try, if there is one.
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
    /// A round of a review began. `issued` are the ids of all findings so far.
    RoundStarted {
        tries: u32,
        issued: Vec<String>,
    },
    /// A round of a review ended. `open` counts the undecided findings of the whole review.
    RoundEnded {
        found: u32,
        open: u32,
    },
    FindingDecided {
        open: u32,
    },

    /// A message was sent. `ahead` counts the recipient's unread messages before this one.
    Sent {
        message: MessageId,
        thread: ThreadId,
        sequence: u32,
        ahead: u32,
    },
    /// A broadcast was sent. `full` are the agents whose mailboxes were full.
    Broadcast {
        messages: Vec<MessageId>,
        thread: ThreadId,
        full: Vec<AgentId>,
    },
    /// An answer was delivered. It has the task that the question was about, and the task's status now.
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
