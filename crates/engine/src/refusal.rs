//! The rules say no: why, and what to do next. Codes are stable and append-only.

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
        /// Its id or its path, as it was asked for.
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
    TurnNotFound {
        turn: TurnId,
    },
    ApprovalNotFound {
        approval: ApprovalId,
    },
    SectionNotFound {
        section: String,
    },

    /// The named agent is at home on another connection.
    AgentElsewhere {
        agent: AgentId,
        name: String,
        runtime: String,
        home: ElsewhereHome,
    },
    /// Several agents are at home on the connection, and the call names none.
    AgentRequired {
        agents: Vec<(AgentId, String)>,
    },
    /// A person set something that only a person may loosen.
    Protected {
        /// What was asked, for example "skip `deploy` (tk_…)".
        act: String,
        by: Vec<Protection>,
        /// The caller is a person's script: a terminal or a token makes it the person.
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
    /// The thing is in a state in which this cannot be done.
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
    /// Somebody else has written the section meanwhile.
    SectionChanged {
        section: String,
        version: u32,
    },
    /// A person must let it begin. Without an approval nobody has been asked yet.
    ApprovalRequired {
        task: TaskId,
        approval: Option<ApprovalId>,
    },
    /// What shall be done is not what was approved.
    FingerprintMismatch {
        approval: ApprovalId,
    },

    ClaimLost {
        task: TaskId,
        holder: Option<AgentId>,
        /// The present claim's: who is its holder and was refused came with an earlier one.
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

    /// A question is answered once.
    AlreadyAnswered {
        message: MessageId,
        answer: MessageId,
    },

    /// There is nothing to suspend.
    NotRunning {
        workflow: WorkflowId,
        status: WorkflowStatus,
    },
    /// There is nothing to resume.
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
    /// A round is asked for that is not the next one.
    WrongIteration {
        review: ReviewId,
        expected: u32,
    },
    /// More rounds than a gate may have without a person.
    RoundsUsedUp {
        review: ReviewId,
        rounds: u32,
    },
    ReviewRequired {
        task: TaskId,
        /// The review that was answered, when the work is no longer what it reviewed.
        changed_since: Option<ReviewId>,
    },
    FindingsOpen {
        task: TaskId,
        review: ReviewId,
        open: u32,
    },

    // Found by the door that does it, and kept with the others so that there is one list.
    SenderNotFound {
        sender: String,
    },
    MissingPath,
    MissingRepoPath,
}

/// What is known of the home of an agent that is not at home on the caller's connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ElsewhereHome {
    Alive,
    /// It is dead, and the caller's user or token registered the agent: registering again resumes it.
    Resumable,
    /// It is dead, and the agent belongs to another user or token.
    Foreign,
}

impl Refusal {
    pub fn code(&self) -> &'static str {
        self.row().0
    }

    /// Returns whether the refusal is about the arguments, or about something that does not exist. Such a refusal is reported
    /// before one about who calls; every other refusal after it.
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

    /// The caller can mend its own request and try again.
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
