//! Refusals: the reason why a command is refused, and the next step for the caller. A refusal keeps its code forever,
//! and no code is removed.

mod advice;
mod words;

use serde::{Deserialize, Serialize};

use crate::id::{
    AgentId, ApprovalId, MessageId, RepositoryId, ReviewId, TaskId, TokenId, TurnId, WorkflowId, WorkspaceId,
};
use crate::protection::Protection;
use crate::task::Status;
use crate::time::Timestamp;
use crate::workflow::WorkflowStatus;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "refusal", rename_all = "snake_case")]
pub enum Refusal {
    WorkflowNotFound {
        workflow: WorkflowId,
    },
    TaskNotFound {
        task: String,
    },
    AgentNotFound {
        agent: Option<AgentId>,
    },
    WorkspaceNotFound {
        workspace: WorkspaceId,
    },
    RepositoryNotFound {
        /// The id or the path of the repository, as the caller gave it.
        repository: String,
    },
    TemplateNotFound {
        template: String,
    },
    MessageNotFound {
        message: MessageId,
    },
    RecipientNotFound {
        recipient: String,
    },
    TokenNotFound {
        token: TokenId,
    },
    /// No code with this text can enrol a browser: it is wrong, used or old, or another machine made it.
    CodeInvalid,
    /// No browser has this key: it was never enrolled, it was revoked, or it was not used for too long.
    KeyUnknown,
    TurnNotFound {
        turn: TurnId,
    },
    ApprovalNotFound {
        approval: ApprovalId,
    },
    SectionNotFound {
        section: String,
    },

    /// The call names an agent whose last registration was on another connection.
    AgentElsewhere {
        agent: AgentId,
        name: String,
        runtime: String,
        home: ElsewhereHome,
    },
    /// Several agents registered on the connection, and the call does not say which of them acts.
    AgentRequired {
        agents: Vec<(AgentId, String)>,
    },
    /// A person set a protection (a gate, a review, limits or an output contract), and only a person may loosen it.
    Protected {
        /// The refused act, for example "skip `deploy` (tk_…)".
        act: String,
        by: Vec<Protection>,
        /// True when the caller is a person's script. From a terminal or with a person's token, the same call would
        /// have the person's rights.
        #[serde(default)]
        script: bool,
    },

    InvalidInput {
        field: String,
        problem: String,
    },
    InvalidTransition {
        from: Status,
        to: Status,
    },
    InvalidWorkflowTransition {
        from: WorkflowStatus,
        to: WorkflowStatus,
    },
    /// The task, workflow or other object of the command is in a state that does not allow the command.
    InvalidState {
        problem: String,
    },
    TaskBlocked {
        task: TaskId,
        waits_for: Vec<String>,
        more: u32,
    },
    MissingOutcome,
    MissingError,
    MissingReason,
    MissingMergeCommit,
    VerificationRequired {
        task: TaskId,
    },
    /// Another writer has changed the section of the project context since the caller read the section.
    SectionChanged {
        section: String,
        version: u32,
    },
    /// A person must approve the claim before the task begins. `approval` is the pending request; it is `None` when no
    /// person was asked.
    ApprovalRequired {
        task: TaskId,
        approval: Option<ApprovalId>,
    },
    /// The act that the caller wants to do differs from the act that was approved.
    FingerprintMismatch {
        approval: ApprovalId,
    },

    ClaimLost {
        task: TaskId,
        holder: Option<AgentId>,
        /// The attempt number of the task's current claim. If the caller holds the task itself, its call was refused
        /// because it named an earlier attempt.
        #[serde(default)]
        attempt: u32,
    },
    NotEligible {
        task: TaskId,
        role: Option<String>,
        capabilities: Vec<String>,
    },
    FilesBusy {
        task: TaskId,
        busy: TaskId,
    },
    ParallelLimit {
        limit: u32,
    },
    NotPermitted {
        problem: String,
    },
    WorkflowLocked {
        owner: String,
        until: Timestamp,
    },

    DependencyCycle {
        cycle: Vec<String>,
    },
    UnknownDependency {
        task: String,
        dependency: String,
    },
    SelfDependency {
        task: String,
    },
    DuplicateTaskName {
        name: String,
    },
    NameConflict {
        name: String,
    },
    TaskNotRemovable {
        task: TaskId,
        status: Status,
    },
    DuplicateTemplate {
        name: String,
    },
    MissingVariables {
        names: Vec<String>,
    },
    RepositoryInUse {
        repository: RepositoryId,
    },
    WorkflowMismatch {
        task: TaskId,
    },

    InboxFull {
        unread: u32,
    },
    IdempotencyConflict {
        key: String,
    },

    /// A person has already answered the agent's question.
    AlreadyAnswered {
        message: MessageId,
        answer: MessageId,
    },

    /// The workflow cannot be suspended, because it is not running.
    NotRunning {
        workflow: WorkflowId,
        status: WorkflowStatus,
    },
    /// The workflow cannot be resumed, because it is not suspended.
    NotSuspended {
        workflow: WorkflowId,
        status: WorkflowStatus,
    },

    ReviewNotFound {
        review: ReviewId,
    },
    FindingNotFound {
        review: ReviewId,
        finding: String,
    },
    /// The caller asked for a round of the review with a wrong number. `expected` is the number of the next round.
    WrongIteration {
        review: ReviewId,
        expected: u32,
    },
    /// The review has used all its rounds. A person must look at the review before it can continue.
    RoundsUsedUp {
        review: ReviewId,
        rounds: u32,
    },
    ReviewRequired {
        task: TaskId,
        /// The newest answered review, when the task's files have changed since that review. `None` when the task has
        /// no answered review.
        changed_since: Option<ReviewId>,
    },
    FindingsOpen {
        task: TaskId,
        review: ReviewId,
        open: u32,
    },

    // The engine itself never returns the refusals below. The transport (MCP, HTTP or the command line) returns them
    // before it calls the engine. They are in this enum so that the enum has the codes of all refusals.
    SenderNotFound {
        sender: String,
    },
    MissingPath,
    MissingRepoPath,
    /// No item (a thing that needs a person) has this name now. It was settled, or it never existed.
    ItemNotFound {
        item: String,
    },
}

/// The state of an agent's home (the connection that registered the agent last), when that home is not the caller's
/// connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ElsewhereHome {
    Alive,
    /// The connection that registered the agent last is dead, and the caller's user or token registered the agent. The
    /// caller can resume the agent by registering again.
    Resumable,
    /// The connection that registered the agent last is dead, and another user or token registered the agent.
    Foreign,
}

impl Refusal {
    pub fn code(&self) -> &'static str {
        self.row().0
    }

    /// Returns true when the refusal is about the arguments of the call, or about a thing that does not exist. The
    /// caller always gets such a refusal. Any other refusal is replaced when the caller may not act as the agent that
    /// it names; the new refusal says that it may not.
    pub(crate) fn comes_before_identity(&self) -> bool {
        matches!(
            self,
            Self::InvalidInput { .. }
                | Self::DependencyCycle { .. }
                | Self::UnknownDependency { .. }
                | Self::SelfDependency { .. }
                | Self::DuplicateTaskName { .. }
                | Self::MissingVariables { .. }
                | Self::IdempotencyConflict { .. }
                | Self::AgentElsewhere { .. }
                | Self::AgentRequired { .. }
                | Self::WorkflowNotFound { .. }
                | Self::TaskNotFound { .. }
                | Self::AgentNotFound { .. }
                | Self::WorkspaceNotFound { .. }
                | Self::RepositoryNotFound { .. }
                | Self::TemplateNotFound { .. }
                | Self::MessageNotFound { .. }
                | Self::RecipientNotFound { .. }
                | Self::SenderNotFound { .. }
                | Self::TokenNotFound { .. }
                | Self::TurnNotFound { .. }
                | Self::ApprovalNotFound { .. }
                | Self::SectionNotFound { .. }
                | Self::ReviewNotFound { .. }
                | Self::FindingNotFound { .. }
        )
    }

    /// Returns true when the caller can fix its own request and try again.
    pub fn is_recoverable(&self) -> bool {
        self.row().1
    }

    pub(crate) fn input(field: &str, problem: impl Into<String>) -> Self {
        Self::InvalidInput { field: field.to_owned(), problem: problem.into() }
    }

    pub(crate) fn state(problem: impl Into<String>) -> Self {
        Self::InvalidState { problem: problem.into() }
    }
}

impl std::error::Error for Refusal {}
