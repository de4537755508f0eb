//! What can be asked.

mod newcomer;
mod review;
mod session;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::agent::Origin;
use crate::approval::{self, Decision, Source, Via};
pub use crate::caller::{Actor, Caller, Key, KeyOwner, Rights, Standing};
pub use crate::checkpoint::Note;
use crate::id::{
    AgentId, ApprovalId, MessageId, ReviewId, SessionId, TaskId, TemplateId, TurnId, WorkflowId, WorkspaceId,
};
use crate::inbox::{Draft as MessageDraft, Recipients};
use crate::json::Json;
use crate::notice::Channel;
use crate::plan::{Piece, PlanTask};
use crate::review::Decision as FindingDecision;
use crate::task::{BlockKind, Status};
use crate::template::TemplateBody;
use crate::turn::{Ended, Purpose};
use crate::verification::Verdict;
use crate::workflow::WorkflowStatus;
use crate::workspace::{Cleaned, WorkspaceStatus};

pub use newcomer::{CreateWorkflow, Register};
pub use review::{EndRound, Found, OpenReview, RoundAnswer, RoundEnd, StartRound};
pub use session::{PassGate, Report, SendBack};

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "act", rename_all = "snake_case")]
pub enum Command {
    // Agents
    Register(Register),
    Heartbeat {
        current_task: Option<TaskId>,
    },
    UpdateAgent {
        workspace_path: Option<String>,
        metadata: Option<Json>,
    },
    Unregister,
    /// Evidence of life from outside a call: a live process under the runner, a read. An open connection that says
    /// nothing is told by [`Caller::alive`] instead, because its door counts for how long that may be.
    Renew,
    CloseSession {
        session: SessionId,
        end: SessionEnd,
    },
    /// A client's hook tells of a call: a sign of life of everybody in that part of the conversation.
    Hear {
        origin: Origin,
    },
    /// A client's hook tells that a conversation is over.
    EndConversation {
        conversation: String,
    },
    /// The handoff of a conversation is missing or wrong.
    SendBack(Box<SendBack>),
    /// The handoff of a conversation says that it goes on.
    GoOn {
        report: Report,
        note: Note,
    },

    // Workflows
    CreateWorkflow(CreateWorkflow),
    /// A plan that fits one transaction.
    SetPlan {
        workflow: WorkflowId,
        summary: String,
        piece: Arc<Piece>,
        groups: Vec<String>,
    },
    /// Larger plans: begin, clear what an earlier one left, stage pieces, commit.
    BeginPlan {
        workflow: WorkflowId,
        token: String,
    },
    ClearDraft {
        workflow: WorkflowId,
        token: String,
    },
    StagePlan {
        workflow: WorkflowId,
        token: String,
        piece: Arc<Piece>,
    },
    CommitPlan {
        workflow: WorkflowId,
        token: String,
        summary: String,
        tasks: u32,
        groups: Vec<String>,
        task_ids: Vec<(String, TaskId)>,
    },
    AddTask {
        workflow: WorkflowId,
        task: Box<PlanTask>,
        after: Option<String>,
    },
    RemoveTask {
        workflow: WorkflowId,
        task: TaskId,
    },
    Replan {
        workflow: WorkflowId,
        summary: String,
        reason: String,
        tasks: Vec<PlanTask>,
    },
    SetWorkflowStatus {
        workflow: WorkflowId,
        status: WorkflowStatus,
        reason: Option<String>,
    },
    /// What whoever conducts a workflow says, instead of naming a status.
    Steer {
        workflow: WorkflowId,
        course: Course,
    },
    SetParallelism {
        workflow: WorkflowId,
        parallel_max: Option<u32>,
        auto_workspaces: Option<bool>,
    },
    SetConfig {
        workflow: WorkflowId,
        config: Json,
    },
    LockWorkflow {
        workflow: WorkflowId,
        owner: String,
    },
    UnlockWorkflow {
        workflow: WorkflowId,
        owner: String,
    },
    AttachRepository {
        workflow: WorkflowId,
        path: String,
    },
    DetachRepository {
        workflow: WorkflowId,
        repository: crate::id::RepositoryId,
    },

    // Tasks
    Claim {
        task: TaskId,
    },
    /// Picks what comes first and claims it.
    ClaimNext {
        workflow: WorkflowId,
        include_failed: bool,
    },
    Release {
        task: TaskId,
        attempt: Option<u32>,
        reason: Option<String>,
    },
    /// The runner gives back a task whose program ended without an answer. It counts against the attempts.
    Crash {
        task: TaskId,
        attempt: u32,
        reason: String,
    },
    /// Takes back a claim that ended by the clock while the holder's machine slept. Refused when another agent has the task,
    /// or the claim ended in another way.
    Regain {
        task: TaskId,
        attempt: u32,
    },
    Move {
        task: TaskId,
        attempt: Option<u32>,
        to: Target,
    },
    SetTaskPlan {
        task: TaskId,
        attempt: Option<u32>,
        plan: Json,
        context: Option<Json>,
    },
    ReplanTask {
        task: TaskId,
        attempt: Option<u32>,
        reason: String,
        plan: Json,
    },
    AddCheckpoint {
        task: TaskId,
        attempt: Option<u32>,
        note: Note,
    },

    // Places
    RegisterRepository {
        path: String,
        name: Option<String>,
    },
    CreateWorkspace(CreateWorkspace),
    UpdateWorkspace(UpdateWorkspace),
    AssignWorkspace {
        task: TaskId,
        workspace: WorkspaceId,
    },

    // Templates
    CreateTemplate {
        name: String,
        description: Option<String>,
        body: TemplateBody,
    },
    RemoveTemplate {
        template: TemplateId,
    },

    // Tokens
    CreateToken {
        name: String,
        hash: String,
        scope: crate::token::Scope,
        agent: Option<crate::id::AgentId>,
    },
    RevokeToken {
        token: crate::id::TokenId,
    },

    // Turns
    /// Recorded before the program starts.
    StartTurn(StartTurn),
    EndTurn {
        turn: TurnId,
        ended: Box<Ended>,
    },
    RecordVerification(Box<RecordVerification>),
    /// A runner shows that it is there.
    SeeRunner {
        name: String,
        host: String,
        pid: u32,
        agents: Vec<String>,
    },
    ForgetRunner {
        name: String,
    },

    // Project context
    /// A section as it shall be, made of the version that is named.
    WriteSection {
        name: String,
        version: u32,
        body: Json,
        task: Option<TaskId>,
    },

    // Approvals
    AskApproval(Box<AskApproval>),
    DecideApproval {
        approval: ApprovalId,
        decision: Decision,
    },
    ConsumeApproval {
        approval: ApprovalId,
        fingerprint: String,
    },
    /// Uses up an approval of exactly this, or asks for one.
    PassGate(Box<PassGate>),
    /// Those whose time is over, a bounded number at a time.
    ExpireApprovals,
    /// A person sees them.
    ShowApprovals {
        approvals: Vec<ApprovalId>,
        via: Via,
    },
    /// Whoever calls sends the notice that has been due longest.
    TakeNotice {
        channel: Channel,
    },
    /// How that went; `problem` is missing when it arrived.
    SettleNotice {
        approval: ApprovalId,
        channel: Channel,
        tries: u32,
        problem: Option<String>,
    },

    // Reviews
    OpenReview(OpenReview),
    /// Recorded before the provider is asked.
    StartRound(Box<StartRound>),
    EndRound(Box<EndRound>),
    DecideFinding {
        review: ReviewId,
        finding: String,
        decision: FindingDecision,
    },

    // Messages
    Send {
        to: Recipients,
        draft: MessageDraft,
    },
    /// A person answers an agent, and the task that waits for that goes on.
    Answer {
        message: MessageId,
        text: String,
    },
    MarkRead {
        messages: Vec<MessageId>,
    },
    Archive {
        messages: Vec<MessageId>,
    },

    // Timers
    Sweep {
        workflow: WorkflowId,
    },
    ForgetKeys,
}

/// A turn that is about to begin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StartTurn {
    pub task: TaskId,
    pub attempt: u32,
    /// Whose program runs, when it is not the holder's.
    pub agent: Option<AgentId>,
    pub purpose: Purpose,
    pub adapter: String,
    pub runner: String,
}

/// What was found about a task's output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RecordVerification {
    pub task: TaskId,
    pub attempt: u32,
    pub turn: Option<TurnId>,
    pub mechanical: Verdict,
    pub semantic: Verdict,
    pub output_ref: Option<String>,
    pub evidence: Json,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AskApproval {
    pub source: Source,
    /// The task that shall wait for the answer, and its claim.
    pub waits: Option<(TaskId, u32)>,
    pub request: approval::Request,
    pub fingerprint: String,
}

/// Where a workflow shall go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Course {
    /// Begin, or go on: whoever works may take its tasks.
    Start,
    /// Nobody takes a task any more; what is under way is finished.
    Suspend,
    /// Go on after that.
    Resume,
}

/// How a connection ended: a program that was killed may have been half-way, so its attempts count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionEnd {
    Closed,
    Killed,
}

/// Where a task shall go, with what the new state carries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "to", rename_all = "snake_case")]
pub enum Target {
    Planning,
    /// With the answer, when it resumes a paused task.
    InProgress {
        answer: Option<String>,
    },
    Completed {
        outcome: Option<String>,
        detail: Option<Json>,
    },
    Failed {
        error: Option<String>,
        detail: Option<Json>,
    },
    Paused {
        reason: Option<String>,
    },
    Blocked {
        kind: BlockKind,
        reason: String,
        role: Option<String>,
    },
    Skipped {
        reason: Option<String>,
    },
    Pending {
        reason: Option<String>,
    },
}

impl Target {
    pub fn status(&self) -> Status {
        match self {
            Self::Planning => Status::Planning,
            Self::InProgress { .. } => Status::InProgress,
            Self::Completed { .. } => Status::Completed,
            Self::Failed { .. } => Status::Failed,
            Self::Paused { .. } => Status::Paused,
            Self::Blocked { .. } => Status::Blocked,
            Self::Skipped { .. } => Status::Skipped,
            Self::Pending { .. } => Status::Pending,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CreateWorkspace {
    pub workflow: WorkflowId,
    pub path: String,
    pub branch: String,
    pub base_branch: Option<String>,
    pub repository_path: Option<String>,
    pub tasks: Vec<TaskId>,
    /// We made the worktree, so we may remove it.
    pub created_by_us: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UpdateWorkspace {
    pub workspace: WorkspaceId,
    pub status: Option<WorkspaceStatus>,
    pub merge_commit: Option<String>,
    pub pr_url: Option<String>,
    pub config: Option<Json>,
    /// The worktree was cleaned up before this is recorded.
    pub cleaned: Option<Cleaned>,
}
