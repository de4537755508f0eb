//! The messages of refusals.

use std::fmt;

use super::{ElsewhereHome, Refusal};
use crate::task::Status;

/// Writes the message of a refusal. Some clients were written for the original server, with which Handover is
/// compatible. They recognize errors by their exact text, so the texts of these errors must not change.
impl fmt::Display for Refusal {
    #[expect(clippy::too_many_lines, reason = "one match that names every refusal")]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WorkflowNotFound { workflow } => write!(f, "Workflow not found: {workflow}"),
            Self::TaskNotFound { task } => write!(f, "Task not found: {task}"),
            Self::AgentNotFound { agent: Some(agent) } => write!(f, "Agent not found: {agent}"),
            Self::AgentNotFound { agent: None } => {
                f.write_str("Agent not found: the call names no agent, and no agent is registered on this connection")
            }
            Self::AgentElsewhere { agent, name, home, .. } => {
                let home = match home {
                    ElsewhereHome::Alive => "is connected elsewhere",
                    ElsewhereHome::Resumable => "was registered on a connection that is gone",
                    ElsewhereHome::Foreign => "belongs to another user or token",
                };
                write!(f, "{agent} ({name}) {home}; naming an agent does not make a caller that agent")
            }
            Self::AgentRequired { agents } => {
                let slugs: Vec<&str> = agents.iter().map(|(_, slug)| slug.as_str()).collect();
                write!(f, "several agents are registered on this connection: {}", slugs.join(", "))
            }
            Self::Protected { act, by, .. } => {
                let by: Vec<&str> = by.iter().map(|protection| protection.as_words()).collect();
                write!(f, "only a person may {act}: protected by {}", by.join(", "))
            }
            Self::WorkspaceNotFound { workspace } => write!(f, "Workspace not found: {workspace}"),
            Self::RepositoryNotFound { repository } => {
                write!(f, "Repository not found: {repository}")
            }
            Self::TemplateNotFound { template } => write!(f, "Template not found: {template}"),
            Self::MessageNotFound { message } => write!(f, "Message not found: {message}"),
            Self::RecipientNotFound { recipient } => write!(f, "Recipient not found: {recipient}"),
            Self::TokenNotFound { token } => write!(f, "Token not found: {token}"),
            Self::CodeInvalid => f.write_str(
                "this code connects no browser: it is wrong, used or older than a minute, or it was made on another \
                 machine",
            ),
            Self::KeyUnknown => {
                f.write_str("this browser is not connected: its key is unknown, revoked or unused for 30 days")
            }
            Self::TurnNotFound { turn } => write!(f, "Turn not found: {turn}"),
            Self::ItemNotFound { item } => write!(f, "nothing with this name needs a person now: {item}"),
            Self::ApprovalNotFound { approval } => write!(f, "Approval not found: {approval}"),
            Self::SectionNotFound { section } => write!(f, "Section not found: {section}"),
            Self::SectionChanged { section, version } => {
                write!(f, "the section {section} was changed: its version is {version} now")
            }
            Self::FingerprintMismatch { approval } => {
                write!(f, "this request differs from the one that {approval} allows, in at least one byte")
            }
            Self::ApprovalRequired { task, approval: Some(approval) } => {
                write!(f, "{task} waits until a person decides about {approval}")
            }
            Self::ApprovalRequired { task, approval: None } => {
                write!(f, "{task} is gated: a person must approve it before it can be claimed")
            }
            Self::InvalidInput { field, problem } => write!(f, "`{field}` {problem}"),
            Self::InvalidTransition { from, to } => {
                write!(f, "Invalid transition from '{from}' to '{to}'; legal: {}", list(from.targets()))
            }
            Self::InvalidWorkflowTransition { from, to } => {
                write!(f, "Invalid transition from '{from}' to '{to}'; legal: {}", list(from.targets()))
            }
            Self::InvalidState { problem } => f.write_str(problem),
            Self::TaskBlocked { task, waits_for, more } => {
                write!(f, "{task} waits for {}", waits_for.join(", "))?;
                if *more > 0 { write!(f, " and {more} more") } else { Ok(()) }
            }
            Self::MissingOutcome => f.write_str("`outcome` is required to complete a task"),
            Self::MissingError => f.write_str("`error` is required to fail a task"),
            Self::MissingReason => f.write_str("`reason` is required"),
            Self::MissingMergeCommit => f.write_str("`merge_commit` is required to mark a workspace merged"),
            Self::VerificationRequired { task } => {
                write!(f, "{task} has an output contract, so only its verification can complete it")
            }
            Self::ClaimLost { task, holder: Some(holder), attempt } => {
                write!(f, "{task} is held by {holder}, attempt {attempt}")
            }
            Self::ClaimLost { task, holder: None, .. } => {
                write!(f, "you do not hold {task}; no agent holds it now")
            }
            Self::NotEligible { task, role, capabilities } => {
                write!(
                    f,
                    "{task} needs role {} and capabilities [{}]",
                    role.as_deref().unwrap_or("any"),
                    capabilities.join(", ")
                )
            }
            Self::FilesBusy { task, busy } => {
                write!(f, "{task} changes files that {busy} is changing now")
            }
            Self::ParallelLimit { limit } => {
                write!(f, "the workflow's limit of {limit} running tasks is reached")
            }
            Self::NotPermitted { problem } => f.write_str(problem),
            Self::WorkflowLocked { owner, until } => {
                write!(f, "the workflow is locked by {owner} until {}", until.to_rfc3339())
            }
            Self::DependencyCycle { cycle } => {
                write!(f, "the dependencies go in a circle: {}", cycle.join(" -> "))
            }
            Self::UnknownDependency { task, dependency } => {
                write!(f, "{task} depends on {dependency}, which does not exist")
            }
            Self::SelfDependency { task } => write!(f, "{task} depends on itself"),
            Self::DuplicateTaskName { name } => write!(f, "two tasks are named {name}"),
            Self::NameConflict { name } => write!(f, "a kept task is already named {name}"),
            Self::TaskNotRemovable { task, status } => {
                // The removal of a pending task is refused only when an agent has claimed the task. So for a pending
                // task the message says "claimed".
                let what = if *status == Status::Pending { "claimed" } else { status.as_str() };
                write!(f, "{task} is {what} and cannot be removed")
            }
            Self::DuplicateTemplate { name } => write!(f, "a template is already named {name}"),
            Self::MissingVariables { names } => write!(f, "no value for {}", names.join(", ")),
            Self::RepositoryInUse { repository } => write!(
                f,
                "{repository} is in use by tasks or workspaces of the \
                workflow"
            ),
            Self::WorkflowMismatch { task } => write!(f, "{task} belongs to another workflow"),
            Self::NotRunning { workflow, status } => write!(f, "{workflow} is {status} and cannot be suspended"),
            Self::NotSuspended { workflow, status } => write!(f, "{workflow} is {status}, not suspended"),
            Self::AlreadyAnswered { message, answer } => write!(f, "{message} is already answered, by {answer}"),
            Self::InboxFull { unread } => write!(f, "the recipient has {unread} unread messages, which is the limit"),
            Self::IdempotencyConflict { key } => {
                write!(f, "the key {key} was used with other arguments")
            }
            Self::ReviewNotFound { review } => write!(f, "Review not found: {review}"),
            Self::FindingNotFound { review, finding } => write!(f, "Finding not found: {review}/{finding}"),
            Self::WrongIteration { review, expected } => {
                write!(f, "the next iteration of {review} is {expected}")
            }
            Self::RoundsUsedUp { review, rounds } => {
                write!(f, "{review} has had {rounds} rounds, the most that it may have without a person")
            }
            Self::ReviewRequired { task, changed_since: None } => {
                write!(f, "{task} can be completed only after a review")
            }
            Self::ReviewRequired { task, changed_since: Some(review) } => {
                write!(f, "the work of {task} was changed after {review} reviewed it")
            }
            Self::FindingsOpen { task, review, open } => {
                write!(f, "{task} cannot be completed while findings of {review} are undecided: {open}")
            }
            Self::SenderNotFound { sender } => write!(f, "Sender not found: {sender}"),
            Self::MissingPath => f.write_str("`path` is required unless a worktree is made"),
            Self::MissingRepoPath => f.write_str("`repo_path` is required outside of a repository"),
        }
    }
}

fn list<T: fmt::Display>(items: &[T]) -> String {
    if items.is_empty() {
        return "none".to_owned();
    }
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
