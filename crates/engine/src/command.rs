//! The commands that a caller can give to the engine, such as registering an agent or claiming a task.

mod newcomer;
mod review;
mod session;
mod turn;
mod workspace;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::agent::Origin;
use crate::approval::{self, ApprovalDecision, Source, Via};
pub use crate::caller::{Actor, Caller, Key, KeyOwner, Rights, Standing};
pub use crate::checkpoint::Note;
use crate::condition::ConditionKind;
use crate::delivery::{CheckOutcome, DeliveredWork, DeliveryMove, DeliveryReport, DeliveryStatus, DeliverySubject};
use crate::id::{ApprovalId, MessageId, ReviewId, SessionId, TaskId, TemplateId, TurnId, WorkflowId, WorkspaceId};
use crate::inbox::{MessageDraft, Recipients};
use crate::json::Json;
use crate::notice::{Channel, ItemTelling, ItemUntelling};
use crate::plan::{PlanPiece, PlanTask};
use crate::review::FindingDecision;
use crate::sent_back::SendBackNote;
use crate::task::{BlockKind, Status};
use crate::template::TemplateBody;
use crate::turn::TurnResult;
use crate::workflow::WorkflowStatus;

pub use newcomer::{CreateWorkflow, Register};
pub use review::{EndRound, FoundProblem, OpenReview, RoundAnswer, RoundEnd, StartRound};
pub use session::{PassGate, PromptReport, SendBack};
pub use turn::{RecordVerification, StartTurn};
pub use workspace::{CreateWorkspace, UpdateWorkspace};

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "act", rename_all = "snake_case")]
pub enum Command {
    // Commands about agents.
    Register(Register),
    Heartbeat {
        current_task: Option<TaskId>,
    },
    UpdateAgent {
        workspace_path: Option<String>,
        metadata: Option<Json>,
    },
    Unregister,
    /// Records a sign of life of an agent and renews its leases. The agent does not send this command itself. The
    /// runner sends it while the agent's process runs. The process that serves the agent's connection sends it while
    /// the connection counts as alive. Handover also sends it after a call by which the agent only reads.
    Renew,
    CloseSession {
        session: SessionId,
        end: SessionEnd,
    },
    /// A client's hook reports that the client made a call. The call is a sign of life of every agent that belongs to
    /// the reported sub-agent, or to the conversation itself when no sub-agent is reported.
    Hear {
        origin: Origin,
    },
    /// A client's hook reports that a conversation (a session of the client) has ended.
    EndConversation {
        conversation: String,
    },
    /// A client's hook reports that an agent stopped without a handoff (its closing report), or with a wrong one. The
    /// agent must then write a correct handoff.
    SendBack(Box<SendBack>),
    /// A client's hook reports a handoff (an agent's closing report) which says that the agent continues its work.
    GoOn {
        report: PromptReport,
        note: Note,
    },

    // Commands about workflows.
    CreateWorkflow(CreateWorkflow),
    /// Returns the standing list, the one workflow that takes single tasks at any time. Creates it if the store has
    /// none.
    OpenList,
    /// Archives a workflow that is completed, failed or abandoned, so that lists no longer show it. With `archived:
    /// false`, takes the workflow out of the archive again. Nothing is deleted.
    ArchiveWorkflow {
        workflow: WorkflowId,
        archived: bool,
    },
    /// Gives a workflow the git branch into which the work of its tasks is merged. A workflow keeps its first branch.
    TakeBranch {
        workflow: WorkflowId,
        branch: String,
    },
    /// Sets a plan that is small enough for one transaction.
    SetPlan {
        workflow: WorkflowId,
        summary: String,
        piece: Arc<PlanPiece>,
        groups: Vec<String>,
    },
    /// Starts to set a plan that is too large for one transaction. The caller sends such a plan in pieces, each with
    /// some of the tasks. This takes four steps: begin, delete the tasks that an earlier unfinished plan left, store
    /// the pieces, commit.
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
        piece: Arc<PlanPiece>,
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
    /// Starts, suspends or resumes a workflow. The engine finds the workflow's new status from `course` and the present
    /// status.
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

    // Commands about tasks.
    Claim {
        task: TaskId,
    },
    /// Claims the first task of the workflow that the agent can claim.
    ClaimNext {
        workflow: WorkflowId,
        include_failed: bool,
    },
    Release {
        task: TaskId,
        attempt: Option<u32>,
        reason: Option<String>,
    },
    /// A runner, which starts agents' programs, ends the claim of a task because the agent's program ended without an
    /// answer. The claim counts as a used attempt.
    Crash {
        task: TaskId,
        attempt: u32,
        reason: String,
    },
    /// Gives an agent its claim back after the claim's lease expired (the agent's machine slept, for example), or after
    /// the task was sent back to the agent. This command is refused when another agent holds the task, or when the
    /// claim ended for another reason.
    Regain {
        task: TaskId,
        attempt: u32,
    },
    Move {
        task: TaskId,
        attempt: Option<u32>,
        to: Target,
    },
    /// Gives a task back to the agent that worked on it last. The task is blocked or failed, or it is completed and its
    /// work waits to be merged. The text and the notes say what the agent must change.
    SendTaskBack {
        task: TaskId,
        text: String,
        notes: Vec<SendBackNote>,
    },
    /// A person completes a task as it is, although its verification failed or it changed no files. `work` is the
    /// task's work in git. It is `None` when the task has no work in git.
    TakeAsIs {
        task: TaskId,
        reason: String,
        work: Option<Box<DeliveredWork>>,
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

    // Commands about repositories and worktrees.
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

    // Commands about templates.
    CreateTemplate {
        name: String,
        description: Option<String>,
        body: TemplateBody,
    },
    RemoveTemplate {
        template: TemplateId,
    },

    // Commands about tokens.
    CreateToken {
        name: String,
        hash: String,
        scope: crate::token::Scope,
        agent: Option<crate::id::AgentId>,
    },
    RevokeToken {
        token: crate::id::TokenId,
    },
    /// Stores a one-time code that enrols a browser. `hash` is the hash of the code.
    OfferCode {
        hash: String,
    },
    /// Uses up a code and stores the key of a browser. `code` is the hash of the code, `key` the hash of the public key.
    EnrolBrowser {
        code: String,
        key: String,
        name: String,
    },
    /// Finds the valid key of a browser by the hash of its public key, and records the use at most once an hour.
    UseBrowserKey {
        key: String,
    },

    // Commands about turns, which are runs of an agent's program.
    /// Starts a turn. The turn is recorded before the agent's program starts.
    StartTurn(StartTurn),
    EndTurn {
        turn: TurnId,
        ended: Box<TurnResult>,
    },
    RecordVerification(Box<RecordVerification>),
    /// Records a sign of life of a runner, which is a process that starts agents' programs.
    SeeRunner {
        name: String,
        host: String,
        pid: u32,
        agents: Vec<String>,
    },
    ForgetRunner {
        name: String,
    },

    // Commands about the project context, which is the shared knowledge about the project.
    /// Writes the new body of a section of the project context. The caller computed the body from the version that it
    /// names; the write is refused when the section has a newer version.
    WriteSection {
        name: String,
        version: u32,
        body: Json,
        task: Option<TaskId>,
    },

    // Commands about approvals.
    AskApproval(Box<AskApproval>),
    DecideApproval {
        approval: ApprovalId,
        decision: ApprovalDecision,
    },
    ConsumeApproval {
        approval: ApprovalId,
        fingerprint: String,
    },
    /// A rule of a client's hook stopped a call. This command uses up a person's approval of exactly this call, or asks
    /// a person for such an approval.
    PassGate(Box<PassGate>),
    /// Ends the approvals that have expired by the clock. One command ends at most
    /// [`crate::limits::EXPIRED_APPROVALS_MAX`] of them.
    ExpireApprovals,
    /// Records that a person saw these approvals. `via` is the way in which the person saw them.
    ShowApprovals {
        approvals: Vec<ApprovalId>,
        via: Via,
    },
    /// Returns the notice (a message to a person about a pending approval) that has been due longest, and lets the
    /// caller send it.
    TakeNotice {
        channel: Channel,
    },
    /// Records the result of sending a notice about an approval. `problem` is `None` when the notice arrived.
    SettleNotice {
        approval: ApprovalId,
        channel: Channel,
        tries: u32,
        problem: Option<String>,
    },
    /// Returns the items (things that need a person) that the caller must tell people about now.
    TellItems(ItemTelling),
    /// Records that the notice about these items could not be sent, so that another process may send it.
    UntellItems(ItemUntelling),
    /// Puts off an item (a thing that needs a person) until a time, or shows it again.
    PutOff(crate::put_off::ItemDelay),

    // Commands about reviews.
    OpenReview(OpenReview),
    /// Starts a round of a review. The round is recorded before the reviewing agent is asked.
    StartRound(Box<StartRound>),
    EndRound(Box<EndRound>),
    DecideFinding {
        review: ReviewId,
        finding: String,
        decision: FindingDecision,
    },

    // Commands about conditions, which are facts about the project that need a person.
    /// Records a condition of the project, for example that an agent has no login. If a condition with the same kind
    /// and subject exists, its text is replaced.
    SetCondition {
        kind: ConditionKind,
        subject: String,
        title: String,
        detail: Json,
    },
    ClearCondition {
        kind: ConditionKind,
        subject: String,
    },

    // Commands about deliveries, which record what happened in git to the work of tasks and workflows.
    /// Records that the work of a task or of a workflow was merged, was dropped, or waits for a person again. `from` is
    /// the state that the caller saw. Nothing changes when the work is no longer in that state.
    MoveDelivery {
        subject: DeliverySubject,
        from: DeliveryStatus,
        to: DeliveryMove,
    },
    /// Records the branch that has the work of a whole workflow. From now on the work waits for a person.
    DeliverWorkflow {
        workflow: WorkflowId,
        check: CheckOutcome,
        work: Box<DeliveredWork>,
    },

    // Commands about messages.
    Send {
        to: Recipients,
        draft: MessageDraft,
    },
    /// A person answers an agent's message. The task that waits for the answer resumes.
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

    // Commands that the timers of Handover give.
    Sweep {
        workflow: WorkflowId,
    },
    ForgetKeys,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AskApproval {
    pub source: Source,
    /// The task that waits for the person's decision, and the number of its attempt. `None` when no task waits.
    pub waits: Option<(TaskId, u32)>,
    pub request: approval::ApprovalRequest,
    pub fingerprint: String,
}

/// A request to start, suspend or resume a workflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Course {
    /// Let agents claim tasks of the workflow: for the first time, or again after the workflow was suspended or failed.
    Start,
    /// Suspend the workflow: agents cannot claim further tasks, but finish the tasks that they hold.
    Suspend,
    /// Let agents claim tasks again after the workflow was suspended. This is refused for a workflow that failed or has
    /// not started.
    Resume,
}

/// The way in which a client's connection ended. The claims of its agents end after `Closed` and after `Killed`. Only
/// after `Killed` do they count as used attempts, because the killed program may have been in the middle of its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionEnd {
    Closed,
    Killed,
}

/// The status to which a command moves a task, with the data of the new state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "to", rename_all = "snake_case")]
pub enum Target {
    Planning,
    /// `answer` is the answer that a paused task waited for. `None` when this move does not resume a paused task with
    /// an answer.
    InProgress {
        answer: Option<String>,
    },
    Completed {
        outcome: Option<String>,
        detail: Option<Json>,
        /// The work of the task in git. Only a runner reports it.
        delivery: Option<Box<DeliveryReport>>,
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
