//! Makes the names of the items that need a person. Every process gives the same name to the same item as long as the
//! item needs a person.

use super::{AttentionCause, AttentionFact};
use crate::ground::digest::sha256;

/// The maximum number of bytes of a subject, such as a command, that an item's name contains as it is. A longer subject
/// is replaced by its hash.
const SUBJECT_BYTES_MAX: usize = 60;

/// Returns the name of the item that a fact becomes. The names of most items contain the time at which the item began.
/// So a task that stops a second time becomes an item with another name.
pub(super) fn item_name(fact: &AttentionFact) -> String {
    let kind = fact.cause.kind().as_str();
    let task = fact.task.as_ref().map(|task| task.id.to_string()).unwrap_or_default();
    let since = fact.since.0;
    match &fact.cause {
        AttentionCause::Approval { approval, .. } | AttentionCause::CheckChanged { approval, .. } => {
            format!("{kind} {approval}")
        }
        AttentionCause::Question { message, .. } => format!("{kind} {message}"),
        AttentionCause::AgentRests { agent, .. } => format!("{kind} {} {since}", subject(&agent.slug)),
        AttentionCause::SetupFailed { command, .. } | AttentionCause::Baseline { command, .. } => {
            format!("{kind} {} {since}", subject(command))
        }
        AttentionCause::TipFailed { branch, .. } => format!("{kind} {} {since}", subject(branch)),
        // The name does not contain the time of this fact, because the time is different in each call of `gather`. So
        // the name contains only the changes.
        AttentionCause::SettingsChanged { changes, .. } => format!("{kind} {}", hash(&changes.join("\n"))),
        AttentionCause::Finding { review, .. } => format!("{kind} {review}"),
        AttentionCause::Merge { plan: Some(plan), .. } => format!("{kind} {} {since}", subject(plan)),
        AttentionCause::CheckFailed { .. }
        | AttentionCause::Conflict { .. }
        | AttentionCause::NoChanges { .. }
        | AttentionCause::Budget { .. }
        | AttentionCause::Stuck { .. }
        | AttentionCause::Blocked { .. }
        | AttentionCause::Failed { .. }
        | AttentionCause::Merge { plan: None, .. } => format!("{kind} {task} {since}"),
    }
}

/// Returns a text as a part of a name: itself when it is short and plain, else its hash.
fn subject(text: &str) -> String {
    let is_plain = !text.is_empty() && text.len() <= SUBJECT_BYTES_MAX && !text.chars().any(char::is_control);
    if is_plain { text.to_owned() } else { hash(text) }
}

fn hash(text: &str) -> String {
    sha256(text.as_bytes()).chars().take(16).collect()
}
