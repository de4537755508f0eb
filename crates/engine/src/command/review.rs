//! The commands about reviews.

use serde::Serialize;

use crate::id::{ReviewId, TaskId, TurnId};
use crate::review::{FindingDecision, ReviewedVersion};
use crate::time::Timestamp;
use crate::turn::{Spent, StoredObject};

/// A request to open a review.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OpenReview {
    pub provider: String,
    /// The task that cannot be completed before the review, and the number of its attempt. `None` when no task waits
    /// for the review.
    pub gate: Option<(TaskId, u32)>,
    pub rounds_max: Option<u32>,
}

/// A request to start a round of a review.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StartRound {
    pub review: ReviewId,
    pub number: u32,
    pub turn: Option<TurnId>,
    pub artifact: ReviewedVersion,
    /// The decisions about findings of earlier rounds, each with the finding's id. The actor that asked for the review
    /// made these decisions.
    pub decisions: Vec<(String, FindingDecision)>,
    /// The machine whose process asks the reviewing agent. Only one process of a machine asks at a time. So when a
    /// machine starts a round, no earlier try of this review still runs on that machine.
    pub host: String,
    pub until: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EndRound {
    pub review: ReviewId,
    pub number: u32,
    /// The number of this try of the round, which the command that started the round returned. The result of an earlier
    /// try is refused.
    pub tries: u32,
    pub end: RoundEnd,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "end", rename_all = "snake_case")]
pub enum RoundEnd {
    Answered(RoundAnswer),
    Failed { code: String, message: String, conversation: Option<String>, spent: Spent },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RoundAnswer {
    pub confidence: String,
    pub summary: String,
    pub found: Vec<FoundProblem>,
    pub conversation: Option<String>,
    pub response: Option<StoredObject>,
    pub spent: Spent,
}

/// A finding in the form in which the reviewing agent gives it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FoundProblem {
    pub name: String,
    pub aspect: String,
    pub description: String,
    pub recommendation: String,
}
