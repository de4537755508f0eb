//! The things that an item is about, by their ids. Programs act on these things without reading the words of the item.

use wire::json::{Value, object};
use wire::visible;

use super::cause::AttentionCause;

/// The ids and names of the things that an item is about, besides its task.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AttentionSubject {
    pub approval: Option<String>,
    pub message: Option<String>,
    pub review: Option<String>,
    pub agent: Option<String>,
    /// The question, the reason or the last words that the title of the item shortens, as a person can read them: hidden
    /// characters are visible, and secrets are left out.
    pub text: Option<String>,
}

impl AttentionSubject {
    pub(super) fn of(cause: &AttentionCause) -> Self {
        let empty = Self::default();
        let whole = |text: &str| Some(visible::lines(&visible::redacted(text))).filter(|text| !text.is_empty());
        match cause {
            AttentionCause::Approval { approval, agent, .. } => {
                Self { approval: Some(approval.clone()), agent: agent.clone(), ..empty }
            }
            AttentionCause::CheckChanged { approval, .. } => Self { approval: Some(approval.clone()), ..empty },
            AttentionCause::Question { agent, text, message } => {
                Self { message: Some(message.clone()), agent: Some(agent.clone()), text: whole(text), ..empty }
            }
            AttentionCause::AgentRests { agent, .. } => {
                Self { agent: Some(agent.slug.clone()), text: whole(&agent.said), ..empty }
            }
            AttentionCause::SetupFailed { last_line, .. } => Self { text: whole(last_line), ..empty },
            AttentionCause::SettingsChanged { changes, .. } => Self { text: whole(&changes.join("\n")), ..empty },
            AttentionCause::CheckFailed { agent, last_line, .. } => {
                Self { agent: agent.clone(), text: whole(last_line), ..empty }
            }
            AttentionCause::NoChanges { agent, said, .. } => Self { agent: agent.clone(), text: whole(said), ..empty },
            AttentionCause::Blocked { agent, reason, .. } => {
                Self { agent: agent.clone(), text: whole(reason), ..empty }
            }
            AttentionCause::Failed { error, .. } => Self { text: whole(error), ..empty },
            AttentionCause::Finding { review, reviewer, .. } => {
                Self { review: Some(review.clone()), agent: Some(reviewer.clone()), ..empty }
            }
            AttentionCause::Conflict { agent, .. } | AttentionCause::Merge { agent, .. } => {
                Self { agent: agent.clone(), ..empty }
            }
            AttentionCause::TipFailed { .. }
            | AttentionCause::Budget { .. }
            | AttentionCause::Stuck { .. }
            | AttentionCause::Baseline { .. } => empty,
        }
    }

    pub(super) fn to_value(&self) -> Value {
        object([
            ("approval_id", self.approval.clone().into()),
            ("message_id", self.message.clone().into()),
            ("review_id", self.review.clone().into()),
            ("agent", self.agent.clone().into()),
        ])
    }
}
