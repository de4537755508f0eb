//! Compares the code of every refusal with the code of the original server, with which Handover is compatible. Also
//! compares whether the caller can fix the problem.

use std::fmt::Write as _;

use engine::Refusal;
use engine::id::{
    AgentId, ApprovalId, MessageId, RepositoryId, ReviewId, TaskId, TokenId, TurnId, WorkflowId, WorkspaceId,
};
use engine::protection::Protection;
use engine::refusal::ElsewhereHome;
use engine::task::Status;
use engine::time::Timestamp;
use engine::workflow::WorkflowStatus;

/// The refusal codes of the original server (with which Handover is compatible) for problems that a caller can fix. The
/// next list has the codes for problems that a caller cannot fix.
const ORIGINAL_RECOVERABLE: &str = "DUPLICATE_TASK_NAME SELF_DEPENDENCY UNKNOWN_DEPENDENCY NAME_CONFLICT TASK_BLOCKED \
    MISSING_OUTCOME MISSING_ERROR MISSING_MERGE_COMMIT MISSING_PATH MISSING_REPO_PATH MISSING_VARIABLES INVALID_INPUT \
    DUPLICATE_TEMPLATE WORKFLOW_LOCKED";
const ORIGINAL_FINAL: &str = "WORKFLOW_NOT_FOUND TASK_NOT_FOUND AGENT_NOT_FOUND WORKSPACE_NOT_FOUND \
    REPOSITORY_NOT_FOUND TEMPLATE_NOT_FOUND MESSAGE_NOT_FOUND RECIPIENT_NOT_FOUND SENDER_NOT_FOUND SESSION_NOT_FOUND \
    INVALID_TRANSITION INVALID_STATE NOT_CLAIMED NOT_ASSIGNED TASK_NOT_REMOVABLE REPOSITORY_IN_USE WORKFLOW_MISMATCH \
    ALREADY_RUNNING NOT_RUNNING NOT_SUSPENDED SPAWNER_ERROR INTERNAL_ERROR";

fn text() -> String {
    "x".to_owned()
}

/// Returns one refusal of each kind. The function `position` has the same kinds in the same order. Its match must name
/// every kind, and a test compares it with this list, so this list cannot miss a kind.
fn every() -> Vec<Refusal> {
    let (task, workflow, agent) = (TaskId::FIRST, WorkflowId::FIRST, AgentId::FIRST);
    vec![
        Refusal::WorkflowNotFound { workflow },
        Refusal::TaskNotFound { task: text() },
        Refusal::AgentNotFound { agent: Some(agent) },
        Refusal::WorkspaceNotFound { workspace: WorkspaceId::FIRST },
        Refusal::RepositoryNotFound { repository: RepositoryId::FIRST.to_string() },
        Refusal::TemplateNotFound { template: text() },
        Refusal::MessageNotFound { message: MessageId::FIRST },
        Refusal::RecipientNotFound { recipient: text() },
        Refusal::InvalidInput { field: text(), problem: text() },
        Refusal::InvalidTransition { from: Status::Pending, to: Status::Pending },
        Refusal::InvalidWorkflowTransition { from: WorkflowStatus::Ready, to: WorkflowStatus::Ready },
        Refusal::InvalidState { problem: text() },
        Refusal::TaskBlocked { task, waits_for: Vec::new(), more: 0 },
        Refusal::MissingOutcome,
        Refusal::MissingError,
        Refusal::MissingReason,
        Refusal::MissingMergeCommit,
        Refusal::VerificationRequired { task },
        Refusal::ClaimLost { task, holder: None, attempt: 1 },
        Refusal::NotEligible { task, role: None, capabilities: Vec::new() },
        Refusal::FilesBusy { task, busy: task },
        Refusal::ParallelLimit { limit: 1 },
        Refusal::NotPermitted { problem: text() },
        Refusal::WorkflowLocked { owner: text(), until: Timestamp(0) },
        Refusal::DependencyCycle { cycle: Vec::new() },
        Refusal::UnknownDependency { task: text(), dependency: text() },
        Refusal::SelfDependency { task: text() },
        Refusal::DuplicateTaskName { name: text() },
        Refusal::NameConflict { name: text() },
        Refusal::TaskNotRemovable { task, status: Status::Failed },
        Refusal::DuplicateTemplate { name: text() },
        Refusal::MissingVariables { names: Vec::new() },
        Refusal::RepositoryInUse { repository: RepositoryId::FIRST },
        Refusal::WorkflowMismatch { task },
        Refusal::InboxFull { unread: 0 },
        Refusal::IdempotencyConflict { key: text() },
        Refusal::TokenNotFound { token: TokenId::FIRST },
        Refusal::SenderNotFound { sender: text() },
        Refusal::MissingPath,
        Refusal::MissingRepoPath,
        Refusal::TurnNotFound { turn: TurnId::FIRST },
        Refusal::ApprovalNotFound { approval: ApprovalId::FIRST },
        Refusal::SectionNotFound { section: text() },
        Refusal::SectionChanged { section: text(), version: 2 },
        Refusal::FingerprintMismatch { approval: ApprovalId::FIRST },
        Refusal::AlreadyAnswered { message: MessageId::FIRST, answer: MessageId::LAST },
        Refusal::NotRunning { workflow, status: WorkflowStatus::Planning },
        Refusal::NotSuspended { workflow, status: WorkflowStatus::Planning },
        Refusal::ReviewNotFound { review: ReviewId::FIRST },
        Refusal::FindingNotFound { review: ReviewId::FIRST, finding: text() },
        Refusal::WrongIteration { review: ReviewId::FIRST, expected: 1 },
        Refusal::RoundsUsedUp { review: ReviewId::FIRST, rounds: 5 },
        Refusal::ReviewRequired { task, changed_since: None },
        Refusal::FindingsOpen { task, review: ReviewId::FIRST, open: 1 },
        Refusal::ApprovalRequired { task, approval: Some(ApprovalId::FIRST) },
        Refusal::AgentElsewhere { agent, name: text(), runtime: text(), home: ElsewhereHome::Alive },
        Refusal::AgentRequired { agents: vec![(agent, text())] },
        Refusal::Protected { act: text(), by: vec![Protection::Gate], script: false },
        Refusal::CodeInvalid,
        Refusal::KeyUnknown,
        Refusal::ItemNotFound { item: text() },
    ]
}

fn position(refusal: &Refusal) -> usize {
    match refusal {
        Refusal::WorkflowNotFound { .. } => 0,
        Refusal::TaskNotFound { .. } => 1,
        Refusal::AgentNotFound { .. } => 2,
        Refusal::WorkspaceNotFound { .. } => 3,
        Refusal::RepositoryNotFound { .. } => 4,
        Refusal::TemplateNotFound { .. } => 5,
        Refusal::MessageNotFound { .. } => 6,
        Refusal::RecipientNotFound { .. } => 7,
        Refusal::InvalidInput { .. } => 8,
        Refusal::InvalidTransition { .. } => 9,
        Refusal::InvalidWorkflowTransition { .. } => 10,
        Refusal::InvalidState { .. } => 11,
        Refusal::TaskBlocked { .. } => 12,
        Refusal::MissingOutcome => 13,
        Refusal::MissingError => 14,
        Refusal::MissingReason => 15,
        Refusal::MissingMergeCommit => 16,
        Refusal::VerificationRequired { .. } => 17,
        Refusal::ClaimLost { .. } => 18,
        Refusal::NotEligible { .. } => 19,
        Refusal::FilesBusy { .. } => 20,
        Refusal::ParallelLimit { .. } => 21,
        Refusal::NotPermitted { .. } => 22,
        Refusal::WorkflowLocked { .. } => 23,
        Refusal::DependencyCycle { .. } => 24,
        Refusal::UnknownDependency { .. } => 25,
        Refusal::SelfDependency { .. } => 26,
        Refusal::DuplicateTaskName { .. } => 27,
        Refusal::NameConflict { .. } => 28,
        Refusal::TaskNotRemovable { .. } => 29,
        Refusal::DuplicateTemplate { .. } => 30,
        Refusal::MissingVariables { .. } => 31,
        Refusal::RepositoryInUse { .. } => 32,
        Refusal::WorkflowMismatch { .. } => 33,
        Refusal::InboxFull { .. } => 34,
        Refusal::IdempotencyConflict { .. } => 35,
        Refusal::TokenNotFound { .. } => 36,
        Refusal::SenderNotFound { .. } => 37,
        Refusal::MissingPath => 38,
        Refusal::MissingRepoPath => 39,
        Refusal::TurnNotFound { .. } => 40,
        Refusal::ApprovalNotFound { .. } => 41,
        Refusal::SectionNotFound { .. } => 42,
        Refusal::SectionChanged { .. } => 43,
        Refusal::FingerprintMismatch { .. } => 44,
        Refusal::AlreadyAnswered { .. } => 45,
        Refusal::NotRunning { .. } => 46,
        Refusal::NotSuspended { .. } => 47,
        Refusal::ReviewNotFound { .. } => 48,
        Refusal::FindingNotFound { .. } => 49,
        Refusal::WrongIteration { .. } => 50,
        Refusal::RoundsUsedUp { .. } => 51,
        Refusal::ReviewRequired { .. } => 52,
        Refusal::FindingsOpen { .. } => 53,
        Refusal::ApprovalRequired { .. } => 54,
        Refusal::AgentElsewhere { .. } => 55,
        Refusal::AgentRequired { .. } => 56,
        Refusal::Protected { .. } => 57,
        Refusal::CodeInvalid => 58,
        Refusal::KeyUnknown => 59,
        Refusal::ItemNotFound { .. } => 60,
    }
}

fn original(code: &str) -> Option<bool> {
    let has = |list: &str| list.split_whitespace().any(|other| other == code);
    if has(ORIGINAL_RECOVERABLE) { Some(true) } else { has(ORIGINAL_FINAL).then_some(false) }
}

#[test]
fn codes_are_stable_and_mean_what_they_meant() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/codes.txt");
    let mut table = String::from("# code, recoverable, whether the original server has it\n");
    for (number, refusal) in every().iter().enumerate() {
        assert_eq!(position(refusal), number, "{refusal:?}");
        let (code, recoverable) = (refusal.code(), refusal.is_recoverable());
        if let Some(was) = original(code) {
            assert_eq!(recoverable, was, "{code} of the original server");
        }
        let origin = if original(code).is_some() { "original" } else { "ours" };
        writeln!(table, "{code:<22} {recoverable:<5} {origin}").unwrap();
        assert!(!refusal.suggestion().is_empty() && !refusal.to_string().ends_with('.'), "{refusal}");
    }
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &table).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap(), table, "codes are added, never changed");
}

#[test]
fn every_code_is_explained() {
    let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/errors.md");
    let page = std::fs::read_to_string(page).unwrap();
    for refusal in every() {
        assert!(page.contains(&format!("`{}`", refusal.code())), "docs/errors.md does not explain {}", refusal.code());
    }
}
