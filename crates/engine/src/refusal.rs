//! The rules say no: why, and what to do next. Codes are stable and append-only.

mod words;

use std::borrow::Cow;

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

/// Code, whether trying again can help, and what to do next.
struct Row(&'static str, bool, &'static str);

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

    /// What the caller can do instead.
    #[expect(clippy::wildcard_enum_match_arm, reason = "the other suggestions are the same for every value")]
    pub fn suggestion(&self) -> Cow<'static, str> {
        match self {
            Self::AgentElsewhere { name, runtime, home: ElsewhereHome::Resumable, .. } => {
                let (name, runtime) = (quoted(name), quoted(runtime));
                format!("call agent_register {{\"name\": {name}, \"runtime\": {runtime}}}: it resumes that agent here")
                    .into()
            }
            Self::Protected { script: true, .. } => {
                "give the command in a terminal, or put a token of scope person into HANDOVER_TOKEN (made in a terminal: \
                 `handover token create NAME --scope person`)"
                    .into()
            }
            Self::AgentRequired { agents } => {
                let named: Vec<String> = agents.iter().map(|(id, slug)| format!("{id} ({slug})")).collect();
                format!("give `agent_id`, one of: {}", named.join(", ")).into()
            }
            _ => self.row().2.into(),
        }
    }

    #[expect(clippy::too_many_lines, reason = "one match that names every refusal")]
    fn row(&self) -> Row {
        match self {
            Self::WorkflowNotFound { .. } => {
                Row("WORKFLOW_NOT_FOUND", false, "list the workflows and use an id from there")
            }
            Self::TaskNotFound { .. } => {
                Row("TASK_NOT_FOUND", false, "ask for the next tasks and use an id from there")
            }
            Self::AgentNotFound { .. } => Row(
                "AGENT_NOT_FOUND",
                false,
                "register first (agent_register), then give `agent_id`: the id of that reply",
            ),
            Self::AgentElsewhere { .. } => Row(
                "AGENT_ELSEWHERE",
                false,
                "leave `agent_id` out: you act as the agent that you registered (agent_register)",
            ),
            Self::AgentRequired { .. } => Row("AGENT_REQUIRED", true, "give `agent_id`"),
            Self::Protected { .. } => Row(
                "PROTECTED",
                false,
                "ask a person: send `human` a message (message_send) that names it and says why; work on other tasks meanwhile",
            ),
            Self::WorkspaceNotFound { .. } => Row("WORKSPACE_NOT_FOUND", false, "list the workspaces of the workflow"),
            Self::RepositoryNotFound { .. } => Row("REPOSITORY_NOT_FOUND", false, "register the repository first"),
            Self::TemplateNotFound { .. } => Row("TEMPLATE_NOT_FOUND", false, "list the templates"),
            Self::MessageNotFound { .. } => Row("MESSAGE_NOT_FOUND", false, "list the messages"),
            Self::RecipientNotFound { .. } => Row("RECIPIENT_NOT_FOUND", false, "list the agents and use one of them"),
            Self::TokenNotFound { .. } => Row("TOKEN_NOT_FOUND", false, "list the tokens"),
            Self::TurnNotFound { .. } => Row("TURN_NOT_FOUND", false, "list the turns of the task"),
            Self::ApprovalNotFound { .. } => Row("APPROVAL_NOT_FOUND", false, "list the approvals"),
            Self::SectionNotFound { .. } => Row("SECTION_NOT_FOUND", false, "list the sections of the project context"),
            Self::SectionChanged { .. } => Row("SECTION_CHANGED", true, "read the section again and merge into that"),
            Self::FingerprintMismatch { .. } => {
                Row("FINGERPRINT_MISMATCH", false, "do exactly what was approved, or ask again for what you want now")
            }
            Self::ApprovalRequired { .. } => Row(
                "APPROVAL_REQUIRED",
                true,
                "wait until a person has decided about it (`handover approval show` and its id), or take another task",
            ),
            Self::InvalidInput { .. } => Row("INVALID_INPUT", true, "correct the named field and call again"),
            Self::InvalidTransition { from, .. } if from.targets().is_empty() => {
                Row("INVALID_TRANSITION", false, "it is over and stays as it is; add a task for what is left to do")
            }
            Self::InvalidWorkflowTransition { from, .. } if from.targets().is_empty() => {
                Row("INVALID_TRANSITION", false, "it is over and stays as it is; make a new workflow")
            }
            Self::InvalidTransition { .. } | Self::InvalidWorkflowTransition { .. } => {
                Row("INVALID_TRANSITION", false, "choose one of the legal targets in the message")
            }
            Self::InvalidState { .. } => {
                Row("INVALID_STATE", false, "look at the present state and choose another step")
            }
            Self::TaskBlocked { .. } => {
                Row("TASK_BLOCKED", true, "finish the tasks it waits for, or take another task")
            }
            Self::MissingOutcome => Row("MISSING_OUTCOME", true, "give `outcome`: what was done, in a sentence"),
            Self::MissingError => Row("MISSING_ERROR", true, "give `error`: what went wrong, in a sentence"),
            Self::MissingReason => Row("MISSING_REASON", true, "give `reason`: why, in a sentence"),
            Self::MissingMergeCommit => Row("MISSING_MERGE_COMMIT", true, "give `merge_commit`"),
            Self::VerificationRequired { .. } => Row(
                "VERIFICATION_REQUIRED",
                true,
                "have the output verified, which completes the task: run `handover task verify TASK --output-ref REF` in its folder",
            ),
            Self::ClaimLost { holder: Some(_), .. } => {
                Row("CLAIM_LOST", false, "stop working on this task and claim another")
            }
            Self::ClaimLost { holder: None, .. } => {
                Row("CLAIM_LOST", false, "claim it first (task_claim), if you still want to work on it")
            }
            Self::NotEligible { .. } => {
                Row("NOT_ELIGIBLE", false, "leave it to an agent with that role and capabilities")
            }
            Self::FilesBusy { .. } => Row("FILES_BUSY", true, "take another task, or try again when that one is done"),
            Self::ParallelLimit { .. } => Row("PARALLEL_LIMIT", true, "wait until a running task ends"),
            Self::NotPermitted { .. } => Row("NOT_PERMITTED", false, "ask a person or the coordinator"),
            Self::WorkflowLocked { .. } => {
                Row("WORKFLOW_LOCKED", true, "wait until it is unlocked or the lock expires")
            }
            Self::DependencyCycle { .. } => Row("DEPENDENCY_CYCLE", true, "remove one dependency of the named cycle"),
            Self::UnknownDependency { .. } => Row("UNKNOWN_DEPENDENCY", true, "name a task of this plan or workflow"),
            Self::SelfDependency { .. } => Row("SELF_DEPENDENCY", true, "remove the dependency on itself"),
            Self::DuplicateTaskName { .. } => Row("DUPLICATE_TASK_NAME", true, "give each task its own name"),
            Self::NameConflict { .. } => Row("NAME_CONFLICT", true, "choose a name that no kept task has"),
            Self::TaskNotRemovable { .. } => {
                Row("TASK_NOT_REMOVABLE", false, "only tasks nobody has begun can be removed")
            }
            Self::DuplicateTemplate { .. } => Row("DUPLICATE_TEMPLATE", true, "choose another name"),
            Self::MissingVariables { .. } => Row("MISSING_VARIABLES", true, "give a value for each named variable"),
            Self::RepositoryInUse { .. } => Row("REPOSITORY_IN_USE", false, "tasks or workspaces still refer to it"),
            Self::WorkflowMismatch { .. } => Row("WORKFLOW_MISMATCH", false, "use tasks of the same workflow"),
            Self::NotRunning { .. } => {
                Row("NOT_RUNNING", false, "only a workflow that is ready or in progress is suspended")
            }
            Self::NotSuspended { .. } => {
                Row("NOT_SUSPENDED", false, "only a suspended workflow is resumed; look at its status")
            }
            Self::AlreadyAnswered { .. } => {
                Row("ALREADY_ANSWERED", false, "look at the answer; write a message if there is more to say")
            }
            Self::InboxFull { .. } => Row("INBOX_FULL", true, "wait until the recipient has read some messages"),
            Self::IdempotencyConflict { .. } => {
                Row("IDEMPOTENCY_CONFLICT", true, "use a new key for a request with other arguments")
            }
            Self::ReviewNotFound { .. } => Row("REVIEW_NOT_FOUND", false, "list the reviews and use an id from there"),
            Self::FindingNotFound { .. } => {
                Row("FINDING_NOT_FOUND", false, "look at the review (review_status) and use an id from there")
            }
            Self::WrongIteration { .. } => Row("WRONG_ITERATION", true, "send the request with the expected iteration"),
            Self::RoundsUsedUp { .. } => Row(
                "ROUNDS_USED_UP",
                false,
                "put the work back to what was reviewed last and complete it, or ask a person (message_send to `human`), who \
                 decides about open findings and may complete the task",
            ),
            Self::ReviewRequired { changed_since: Some(_), .. } => Row(
                "REVIEW_REQUIRED",
                true,
                "have it reviewed again (review_request with its task_id), then complete it without changing it",
            ),
            Self::ReviewRequired { changed_since: None, .. } => Row(
                "REVIEW_REQUIRED",
                true,
                "have the work reviewed (review_request with its task_id), then complete it",
            ),
            Self::FindingsOpen { .. } => {
                Row("FINDINGS_OPEN", true, "decide on each finding (review_answer), and have the work reviewed again")
            }
            Self::SenderNotFound { .. } => Row("SENDER_NOT_FOUND", false, "register first and send as that agent"),
            Self::MissingPath => Row("MISSING_PATH", true, "give `path`, or `create_worktree: true` with `repo_path`"),
            Self::MissingRepoPath => Row("MISSING_REPO_PATH", true, "give `repo_path`: a folder of the repository"),
        }
    }

    pub(crate) fn input(field: &str, problem: impl Into<String>) -> Self {
        Self::InvalidInput { field: field.to_owned(), problem: problem.into() }
    }

    pub(crate) fn state(problem: impl Into<String>) -> Self {
        Self::InvalidState { problem: problem.into() }
    }
}

impl std::error::Error for Refusal {}

/// A text as JSON has it, so that the suggested call can be sent as it stands.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
