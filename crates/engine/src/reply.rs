//! The replies to commands that the rules allow. A caller that wants to claim a task which another agent holds gets
//! such a reply, not a refusal.

use serde::{Deserialize, Serialize};

use crate::approval::ApprovalStatus;
use crate::delivery::DeliveryState;
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
        /// A message for the caller about its agent, for example that another agent has the same name.
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
    /// The agent must write its handoff (closing report) again. `count` is the number of times that the agent had to
    /// write it again at this prompt.
    SentBack {
        count: u32,
    },

    WorkflowCreated {
        workflow: WorkflowId,
        status: WorkflowStatus,
        parallel_max: Option<u32>,
    },
    /// The reply has the standing list, which is the one workflow for single tasks. `made` is true when this command
    /// created it.
    ListOpened {
        workflow: WorkflowId,
        status: WorkflowStatus,
        made: bool,
    },
    WorkflowArchived {
        archived: bool,
    },
    /// The git branch that the workflow has now. If the workflow already had a branch, it keeps that branch, which may
    /// differ from the branch that the caller asked for.
    BranchTaken {
        branch: String,
    },
    /// Another workflow of the store has the branch that was asked for.
    BranchOfOther {
        workflow: WorkflowId,
    },
    PlanSet {
        workflow: WorkflowId,
        tasks: u32,
        groups: Vec<String>,
        task_ids: Vec<(String, TaskId)>,
    },
    /// The caller may now send its plan in pieces, each with some of the tasks. When `stale` is true, the caller must
    /// first delete the tasks of an earlier unfinished plan.
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
        /// The short number of the task. 0 in an answer that an older version stored under an idempotency key.
        #[serde(default)]
        number: u32,
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
        /// True when the task needs a review. For such a task, the transport (MCP, HTTP or the command line) stores the
        /// state of the task's files at the beginning of the claim.
        #[serde(default)]
        review: bool,
    },
    AlreadyClaimedBy {
        agent: AgentId,
    },
    /// The agent can claim no task now.
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
    CodeOffered {
        token: TokenId,
    },
    BrowserEnrolled {
        token: TokenId,
    },
    /// The key is valid. `name` is the name of the browser.
    BrowserKeyUsed {
        token: TokenId,
        name: String,
    },

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
    /// A person is asked for an approval. If the caller asks again for the same act while the request is pending, it
    /// gets the same approval id.
    ApprovalAsked {
        approval: ApprovalId,
        until: Timestamp,
    },
    ApprovalDecided {
        status: ApprovalStatus,
    },
    ApprovalConsumed,
    /// A person rejected exactly this act recently, so the act is refused without asking again.
    ApprovalRefused {
        approval: ApprovalId,
        reason: Option<String>,
    },
    /// Approvals were recorded as seen by a person. `recorded` is the number of approvals that this command recorded.
    /// An approval that the person already saw in the same way, for example on the command line, is not recorded again.
    ApprovalsShown {
        recorded: u32,
    },
    /// The notice (a message to a person about a pending approval) that the caller must send. When `approval` is
    /// `None`, no notice is due.
    NoticeTaken {
        approval: Option<ApprovalId>,
        tries: u32,
    },
    /// The time of the next try to send the notice (a message to a person about a pending approval). `None` when there
    /// is no further try.
    NoticeSettled {
        next: Option<Timestamp>,
    },
    /// The items (things that need a person) about which the caller must send one notice now. Empty when no notice is
    /// due.
    ItemsToTell {
        items: Vec<String>,
    },
    ItemsUntold,
    ItemPutOff {
        until: Timestamp,
    },
    ItemShown,
    ApprovalsExpired {
        expired: u32,
        more: bool,
    },

    ReviewOpened {
        review: ReviewId,
    },
    /// A round of a review began. `issued` are the ids of all findings that the review has so far.
    RoundStarted {
        tries: u32,
        issued: Vec<String>,
    },
    /// A round of a review ended. `open` counts the findings of the whole review that have no decision.
    RoundEnded {
        found: u32,
        open: u32,
    },
    FindingDecided {
        open: u32,
    },

    /// A condition (a fact about the project that needs a person) is recorded. `new` is false when it was recorded
    /// before.
    ConditionSet {
        new: bool,
    },
    ConditionCleared {
        was_set: bool,
    },
    /// The work of a task or a workflow in git was moved to this state.
    DeliveryMoved {
        state: DeliveryState,
    },
    /// Another caller moved the work of the task or workflow first, so nothing was changed. `state` is the present
    /// state, which names that caller.
    DeliveryStands {
        state: DeliveryState,
    },

    /// The caller's message was sent. `ahead` counts the unread messages that the recipient has before this one.
    Sent {
        message: MessageId,
        thread: ThreadId,
        sequence: u32,
        ahead: u32,
    },
    /// A broadcast was sent. `full` are the agents that did not get the message because their mailboxes were full.
    Broadcast {
        messages: Vec<MessageId>,
        thread: ThreadId,
        full: Vec<AgentId>,
    },
    /// A person's answer was delivered. The reply has the task that the question was about, and the status of the task
    /// after the answer.
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
