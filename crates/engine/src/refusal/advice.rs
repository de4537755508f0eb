//! The codes of refusals, and the next step for the caller: a tool for a model to call, or a command for a person.

use std::borrow::Cow;

use super::{ElsewhereHome, Refusal};

/// The code, whether a retry can help, and the next step.
pub(super) struct Row(pub(super) &'static str, pub(super) bool, &'static str);

impl Refusal {
    /// Returns the next step for the caller.
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
    pub(super) fn row(&self) -> Row {
        match self {
            Self::WorkflowNotFound { .. } => {
                Row("WORKFLOW_NOT_FOUND", false, "call workflow_list and use an id from there")
            }
            Self::TaskNotFound { .. } => Row(
                "TASK_NOT_FOUND",
                false,
                "call workflow_get with the workflow's id and `include_tasks: true`, and use an id from there",
            ),
            Self::AgentNotFound { agent: Some(_) } => Row(
                "AGENT_NOT_FOUND",
                false,
                "call agent_list and use an id from there; if it should be you, register first (agent_register)",
            ),
            Self::AgentNotFound { agent: None } => Row(
                "AGENT_NOT_FOUND",
                false,
                "register first (agent_register), then give `agent_id`: the id of that reply",
            ),
            Self::AgentElsewhere { .. } => Row(
                "AGENT_ELSEWHERE",
                false,
                "leave that id out: you act as the agent that you registered (agent_register)",
            ),
            Self::AgentRequired { .. } => Row("AGENT_REQUIRED", true, "give `agent_id`"),
            Self::Protected { .. } => Row(
                "PROTECTED",
                false,
                "ask a person: send `human` a message (message_send) that names it and says why; get another task meanwhile (task_next)",
            ),
            Self::WorkspaceNotFound { .. } => Row(
                "WORKSPACE_NOT_FOUND",
                false,
                "use the id that workspace_create returned, or the workspace of its task (task_get)",
            ),
            Self::RepositoryNotFound { .. } => {
                Row("REPOSITORY_NOT_FOUND", false, "call repository_list and use an id from there")
            }
            Self::TemplateNotFound { .. } => {
                Row("TEMPLATE_NOT_FOUND", false, "call template_list and use an id from there")
            }
            Self::MessageNotFound { .. } => Row("MESSAGE_NOT_FOUND", false, "call inbox_read and use an id from there"),
            Self::RecipientNotFound { .. } => {
                Row("RECIPIENT_NOT_FOUND", false, "call agent_list and use an id from there, or `human` for a person")
            }
            Self::TokenNotFound { .. } => Row("TOKEN_NOT_FOUND", false, "list the tokens with `handover token list`"),
            Self::TurnNotFound { .. } => Row("TURN_NOT_FOUND", false, "list the turns with `handover turn list`"),
            Self::ApprovalNotFound { .. } => {
                Row("APPROVAL_NOT_FOUND", false, "list the approvals with `handover approval list`")
            }
            Self::SectionNotFound { .. } => {
                Row("SECTION_NOT_FOUND", false, "list the sections with `handover project show`")
            }
            Self::SectionChanged { .. } => {
                Row("SECTION_CHANGED", true, "read the section again with `handover project show`, and merge into that")
            }
            Self::FingerprintMismatch { .. } => {
                Row("FINGERPRINT_MISMATCH", false, "do exactly what was approved, or ask again for what you want now")
            }
            Self::ApprovalRequired { .. } => Row(
                "APPROVAL_REQUIRED",
                true,
                "get another task (task_next), or wait until a person has decided about it (task_wait)",
            ),
            Self::InvalidInput { .. } => Row("INVALID_INPUT", true, "correct the named field and call again"),
            Self::InvalidTransition { from, .. } if from.targets().is_empty() => Row(
                "INVALID_TRANSITION",
                false,
                "it is over and stays as it is; add a task for what is left to do (workflow_add_task)",
            ),
            Self::InvalidWorkflowTransition { from, .. } if from.targets().is_empty() => {
                Row("INVALID_TRANSITION", false, "it is over and stays as it is; make a new workflow (workflow_create)")
            }
            Self::InvalidTransition { .. } | Self::InvalidWorkflowTransition { .. } => {
                Row("INVALID_TRANSITION", false, "choose one of the legal targets in the message")
            }
            Self::InvalidState { .. } => Row(
                "INVALID_STATE",
                false,
                "look at the present state (workflow_get, task_get) and choose another step",
            ),
            Self::TaskBlocked { .. } => {
                Row("TASK_BLOCKED", true, "get another task (task_next), or finish the tasks it waits for")
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
                Row("CLAIM_LOST", false, "stop working on this task and get another (task_next)")
            }
            Self::ClaimLost { holder: None, .. } => {
                Row("CLAIM_LOST", false, "claim it first (task_claim), if you still want to work on it")
            }
            Self::NotEligible { .. } => Row(
                "NOT_ELIGIBLE",
                false,
                "leave it to an agent with that role and capabilities, and get another task (task_next)",
            ),
            Self::FilesBusy { .. } => Row(
                "FILES_BUSY",
                true,
                "get another task (task_next), or wait until that one is done (task_wait) and try again",
            ),
            Self::ParallelLimit { .. } => {
                Row("PARALLEL_LIMIT", true, "wait until a running task ends (task_wait), then try again")
            }
            Self::NotPermitted { .. } => Row(
                "NOT_PERMITTED",
                false,
                "ask a person: send `human` a message (message_send) that says what you need and why",
            ),
            Self::WorkflowLocked { .. } => Row(
                "WORKFLOW_LOCKED",
                true,
                "try again when its owner has unlocked it or the lock has expired; get a task of another workflow meanwhile (task_next)",
            ),
            Self::DependencyCycle { .. } => Row("DEPENDENCY_CYCLE", true, "remove one dependency of the named cycle"),
            Self::UnknownDependency { .. } => Row("UNKNOWN_DEPENDENCY", true, "name a task of this plan or workflow"),
            Self::SelfDependency { .. } => Row("SELF_DEPENDENCY", true, "remove the dependency on itself"),
            Self::DuplicateTaskName { .. } => Row("DUPLICATE_TASK_NAME", true, "give each task its own name"),
            Self::NameConflict { .. } => Row("NAME_CONFLICT", true, "choose a name that no kept task has"),
            Self::TaskNotRemovable { .. } => Row(
                "TASK_NOT_REMOVABLE",
                false,
                "leave it in the plan: only tasks that nobody has begun are removed; who may decide about it skips it (task_update_status)",
            ),
            Self::DuplicateTemplate { .. } => {
                Row("DUPLICATE_TEMPLATE", true, "choose another name (template_list shows those in use)")
            }
            Self::MissingVariables { .. } => Row("MISSING_VARIABLES", true, "give a value for each named variable"),
            Self::RepositoryInUse { .. } => Row(
                "REPOSITORY_IN_USE",
                false,
                "take the tasks that name it out of the plan first (workflow_remove_task)",
            ),
            Self::WorkflowMismatch { .. } => Row(
                "WORKFLOW_MISMATCH",
                false,
                "use tasks of the same workflow (workflow_get with `include_tasks: true`)",
            ),
            Self::NotRunning { .. } => Row(
                "NOT_RUNNING",
                false,
                "only a workflow that is ready or in progress is suspended; look at its status (workflow_get)",
            ),
            Self::NotSuspended { .. } => {
                Row("NOT_SUSPENDED", false, "only a suspended workflow is resumed; look at its status (workflow_get)")
            }
            Self::AlreadyAnswered { .. } => Row(
                "ALREADY_ANSWERED",
                false,
                "read the answer with `handover inbox show`; send a message if there is more to say (message_send)",
            ),
            Self::InboxFull { .. } => Row(
                "INBOX_FULL",
                true,
                "wait until the recipient has read some messages, or send it to another agent (agent_list)",
            ),
            Self::IdempotencyConflict { .. } => {
                Row("IDEMPOTENCY_CONFLICT", true, "use a new key for a request with other arguments")
            }
            Self::ReviewNotFound { .. } => Row("REVIEW_NOT_FOUND", false, "use the id that review_request returned"),
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
                "have it reviewed again (review_request with `task_id`), then complete it without changing it",
            ),
            Self::ReviewRequired { changed_since: None, .. } => {
                Row("REVIEW_REQUIRED", true, "have the work reviewed (review_request with `task_id`), then complete it")
            }
            Self::FindingsOpen { .. } => {
                Row("FINDINGS_OPEN", true, "decide on each finding (review_answer), and have the work reviewed again")
            }
            Self::SenderNotFound { .. } => Row(
                "SENDER_NOT_FOUND",
                false,
                "leave `sender_id` out: you send as the agent that you registered (agent_register)",
            ),
            Self::MissingPath => Row("MISSING_PATH", true, "give `path`, or `create_worktree: true` with `repo_path`"),
            Self::MissingRepoPath => Row("MISSING_REPO_PATH", true, "give `repo_path`: a folder of the repository"),
        }
    }
}

/// Returns the text as a JSON string, so that the suggested call can be sent unchanged.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
