//! The codes of refusals, and the next step for the caller: a tool for a model to call, or a command for a person.

use std::borrow::Cow;

use super::{ElsewhereHome, Refusal};

/// The refusal's code, whether the caller can fix the request and try again, and the next step.
pub(super) struct AdviceRow(pub(super) &'static str, pub(super) bool, &'static str);

impl Refusal {
    /// Returns the next step that the caller can take after this refusal.
    pub fn suggestion(&self) -> Cow<'static, str> {
        // Two refusals suggest a step that contains their own values, such as a name. All other steps are fixed texts.
        if let Self::AgentElsewhere { name, runtime, home: ElsewhereHome::Resumable, .. } = self {
            let (name, runtime) = (quoted(name), quoted(runtime));
            return format!(
                "call agent_register {{\"name\": {name}, \"runtime\": {runtime}}}: it resumes that agent here"
            )
            .into();
        }
        if let Self::AgentRequired { agents } = self {
            let named: Vec<String> = agents.iter().map(|(id, slug)| format!("{id} ({slug})")).collect();
            return format!("give `agent_id`, one of: {}", named.join(", ")).into();
        }
        self.row().2.into()
    }

    #[expect(clippy::too_many_lines, reason = "one match that names every refusal")]
    pub(super) fn row(&self) -> AdviceRow {
        match self {
            Self::WorkflowNotFound { .. } => {
                AdviceRow("WORKFLOW_NOT_FOUND", false, "call workflow_list and use an id from there")
            }
            Self::TaskNotFound { .. } => AdviceRow(
                "TASK_NOT_FOUND",
                false,
                "call workflow_get with the workflow's id and `include_tasks: true`, and use an id from there",
            ),
            Self::AgentNotFound { agent: Some(_) } => AdviceRow(
                "AGENT_NOT_FOUND",
                false,
                "call agent_list and use an id from there; if it should be you, register first (agent_register)",
            ),
            Self::AgentNotFound { agent: None } => AdviceRow(
                "AGENT_NOT_FOUND",
                false,
                "register first (agent_register), then give `agent_id`: the id of that reply",
            ),
            Self::AgentElsewhere { .. } => AdviceRow(
                "AGENT_ELSEWHERE",
                false,
                "leave that id out: you act as the agent that you registered (agent_register)",
            ),
            Self::AgentRequired { .. } => AdviceRow("AGENT_REQUIRED", true, "give `agent_id`"),
            Self::Protected { script: true, .. } => AdviceRow(
                "PROTECTED",
                false,
                "run the command in a terminal, or put a token of scope person into HANDOVER_TOKEN (create it in a \
                 terminal: `handover token create NAME --scope person`)",
            ),
            Self::Protected { script: false, .. } => AdviceRow(
                "PROTECTED",
                false,
                "ask a person: send `human` a message (message_send) that names it and says why; get another task meanwhile (task_next)",
            ),
            Self::WorkspaceNotFound { .. } => AdviceRow(
                "WORKSPACE_NOT_FOUND",
                false,
                "use the id that workspace_create returned, or the workspace of its task (task_get)",
            ),
            Self::RepositoryNotFound { .. } => {
                AdviceRow("REPOSITORY_NOT_FOUND", false, "call repository_list and use an id from there")
            }
            Self::TemplateNotFound { .. } => {
                AdviceRow("TEMPLATE_NOT_FOUND", false, "call template_list and use an id from there")
            }
            Self::MessageNotFound { .. } => {
                AdviceRow("MESSAGE_NOT_FOUND", false, "call inbox_read and use an id from there")
            }
            Self::RecipientNotFound { .. } => AdviceRow(
                "RECIPIENT_NOT_FOUND",
                false,
                "call agent_list and use an id from there, or `human` for a person",
            ),
            Self::TokenNotFound { .. } => {
                AdviceRow("TOKEN_NOT_FOUND", false, "list the tokens with `handover token list`")
            }
            Self::CodeInvalid => AdviceRow(
                "CODE_INVALID",
                false,
                "run `handover open` in a terminal on this machine, and open the link within a minute",
            ),
            Self::KeyUnknown => AdviceRow(
                "KEY_UNKNOWN",
                false,
                "run `handover open` in a terminal on this machine: its link connects the browser with a new key",
            ),
            Self::TurnNotFound { .. } => AdviceRow("TURN_NOT_FOUND", false, "list the turns with `handover turn list`"),
            Self::ItemNotFound { .. } => {
                AdviceRow("ITEM_NOT_FOUND", false, "list what needs a person with `handover status --json`")
            }
            Self::ApprovalNotFound { .. } => {
                AdviceRow("APPROVAL_NOT_FOUND", false, "list the approvals with `handover approval list`")
            }
            Self::SectionNotFound { .. } => {
                AdviceRow("SECTION_NOT_FOUND", false, "list the sections with `handover project show`")
            }
            Self::SectionChanged { .. } => AdviceRow(
                "SECTION_CHANGED",
                true,
                "read the section again with `handover project show`, and merge into that",
            ),
            Self::FingerprintMismatch { .. } => AdviceRow(
                "FINGERPRINT_MISMATCH",
                false,
                "do exactly what was approved, or ask again for what you want now",
            ),
            Self::ApprovalRequired { .. } => AdviceRow(
                "APPROVAL_REQUIRED",
                true,
                "get another task (task_next), or wait until a person has decided about it (task_wait)",
            ),
            Self::InvalidInput { .. } => AdviceRow("INVALID_INPUT", true, "correct the named field and call again"),
            Self::InvalidTransition { from, .. } if from.targets().is_empty() => AdviceRow(
                "INVALID_TRANSITION",
                false,
                "the task has ended and cannot be changed; add a task for the work that is left (workflow_add_task)",
            ),
            Self::InvalidWorkflowTransition { from, .. } if from.targets().is_empty() => AdviceRow(
                "INVALID_TRANSITION",
                false,
                "the workflow has ended and cannot be changed; make a new workflow (workflow_create)",
            ),
            Self::InvalidTransition { .. } | Self::InvalidWorkflowTransition { .. } => {
                AdviceRow("INVALID_TRANSITION", false, "choose one of the legal targets in the message")
            }
            Self::InvalidState { .. } => AdviceRow(
                "INVALID_STATE",
                false,
                "read the current state (workflow_get, task_get) and choose another step",
            ),
            Self::TaskBlocked { .. } => {
                AdviceRow("TASK_BLOCKED", true, "get another task (task_next), or finish the tasks it waits for")
            }
            Self::MissingOutcome => AdviceRow("MISSING_OUTCOME", true, "give `outcome`: what was done, in a sentence"),
            Self::MissingError => AdviceRow("MISSING_ERROR", true, "give `error`: what went wrong, in a sentence"),
            Self::MissingReason => AdviceRow("MISSING_REASON", true, "give `reason`: why, in a sentence"),
            Self::MissingMergeCommit => AdviceRow("MISSING_MERGE_COMMIT", true, "give `merge_commit`"),
            Self::VerificationRequired { .. } => AdviceRow(
                "VERIFICATION_REQUIRED",
                true,
                "have the output checked, which completes the task: run `handover task verify TASK --output-ref REF` in its folder",
            ),
            Self::ClaimLost { holder: Some(_), .. } => {
                AdviceRow("CLAIM_LOST", false, "stop working on this task and get another (task_next)")
            }
            Self::ClaimLost { holder: None, .. } => {
                AdviceRow("CLAIM_LOST", false, "claim it first (task_claim), if you still want to work on it")
            }
            Self::NotEligible { .. } => AdviceRow(
                "NOT_ELIGIBLE",
                false,
                "leave it to an agent with that role and capabilities, and get another task (task_next)",
            ),
            Self::FilesBusy { .. } => AdviceRow(
                "FILES_BUSY",
                true,
                "get another task (task_next), or wait until that one is done (task_wait) and try again",
            ),
            Self::ParallelLimit { .. } => {
                AdviceRow("PARALLEL_LIMIT", true, "wait until a running task ends (task_wait), then try again")
            }
            Self::NotPermitted { .. } => AdviceRow(
                "NOT_PERMITTED",
                false,
                "ask a person: send `human` a message (message_send) that says what you need and why",
            ),
            Self::WorkflowLocked { .. } => AdviceRow(
                "WORKFLOW_LOCKED",
                true,
                "try again when its owner has unlocked it or the lock has expired; get a task of another workflow meanwhile (task_next)",
            ),
            Self::DependencyCycle { .. } => {
                AdviceRow("DEPENDENCY_CYCLE", true, "remove one dependency of the named cycle")
            }
            Self::UnknownDependency { .. } => {
                AdviceRow("UNKNOWN_DEPENDENCY", true, "name a task of this plan or workflow")
            }
            Self::SelfDependency { .. } => AdviceRow("SELF_DEPENDENCY", true, "remove the dependency on itself"),
            Self::DuplicateTaskName { .. } => AdviceRow("DUPLICATE_TASK_NAME", true, "give each task its own name"),
            Self::NameConflict { .. } => AdviceRow("NAME_CONFLICT", true, "choose a name that no kept task has"),
            Self::TaskNotRemovable { .. } => AdviceRow(
                "TASK_NOT_REMOVABLE",
                false,
                "leave it in the plan: only a task that no agent has started can be removed; skip it instead \
                 (task_update_status)",
            ),
            Self::DuplicateTemplate { .. } => {
                AdviceRow("DUPLICATE_TEMPLATE", true, "choose another name (template_list shows those in use)")
            }
            Self::MissingVariables { .. } => {
                AdviceRow("MISSING_VARIABLES", true, "give a value for each named variable")
            }
            Self::RepositoryInUse { .. } => AdviceRow(
                "REPOSITORY_IN_USE",
                false,
                "take the tasks that name it out of the plan first (workflow_remove_task)",
            ),
            Self::WorkflowMismatch { .. } => AdviceRow(
                "WORKFLOW_MISMATCH",
                false,
                "use tasks of the same workflow (workflow_get with `include_tasks: true`)",
            ),
            Self::NotRunning { .. } => AdviceRow(
                "NOT_RUNNING",
                false,
                "only a workflow that is ready or in progress can be suspended; read its status (workflow_get)",
            ),
            Self::NotSuspended { .. } => AdviceRow(
                "NOT_SUSPENDED",
                false,
                "only a suspended workflow can be resumed; read its status (workflow_get)",
            ),
            Self::AlreadyAnswered { .. } => AdviceRow(
                "ALREADY_ANSWERED",
                false,
                "read the answer with `handover inbox show`; send a message if there is more to say (message_send)",
            ),
            Self::InboxFull { .. } => AdviceRow(
                "INBOX_FULL",
                true,
                "wait until the recipient has read some messages, or send it to another agent (agent_list)",
            ),
            Self::IdempotencyConflict { .. } => {
                AdviceRow("IDEMPOTENCY_CONFLICT", true, "use a new key for a request with other arguments")
            }
            Self::ReviewNotFound { .. } => {
                AdviceRow("REVIEW_NOT_FOUND", false, "use the id that review_request returned")
            }
            Self::FindingNotFound { .. } => {
                AdviceRow("FINDING_NOT_FOUND", false, "read the review (review_status) and use an id from there")
            }
            Self::WrongIteration { .. } => {
                AdviceRow("WRONG_ITERATION", true, "send the request with the expected iteration")
            }
            Self::RoundsUsedUp { .. } => AdviceRow(
                "ROUNDS_USED_UP",
                false,
                "put the work back to what was reviewed last and complete it, or ask a person (message_send to `human`), who \
                 decides about open findings and may complete the task",
            ),
            Self::ReviewRequired { changed_since: Some(_), .. } => AdviceRow(
                "REVIEW_REQUIRED",
                true,
                "have it reviewed again (review_request with `task_id`), then complete it without changing it",
            ),
            Self::ReviewRequired { changed_since: None, .. } => AdviceRow(
                "REVIEW_REQUIRED",
                true,
                "have the work reviewed (review_request with `task_id`), then complete it",
            ),
            Self::FindingsOpen { .. } => AdviceRow(
                "FINDINGS_OPEN",
                true,
                "decide on each finding (review_answer), and have the work reviewed again",
            ),
            Self::SenderNotFound { .. } => AdviceRow(
                "SENDER_NOT_FOUND",
                false,
                "leave `sender_id` out: you send as the agent that you registered (agent_register)",
            ),
            Self::MissingPath => {
                AdviceRow("MISSING_PATH", true, "give `path`, or `create_worktree: true` with `repo_path`")
            }
            Self::MissingRepoPath => {
                AdviceRow("MISSING_REPO_PATH", true, "give `repo_path`: a folder of the repository")
            }
        }
    }
}

/// Returns the text as a JSON string, so that the suggested call can be sent unchanged.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
