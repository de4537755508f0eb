//! The commands about reviews.

use serde::Serialize;

use crate::id::{ReviewId, TaskId, TurnId};
use crate::review::{FindingDecision, ReviewedVersion};
use crate::time::Timestamp;
use crate::turn::{Spent, StoredObject};

/// A review to open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OpenReview {
    pub provider: String,
    /// The task that waits for the review, and its attempt.
    pub gate: Option<(TaskId, u32)>,
    pub rounds_max: Option<u32>,
}

/// A round that is about to begin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StartRound {
    pub review: ReviewId,
    pub number: u32,
    pub turn: Option<TurnId>,
    pub artifact: ReviewedVersion,
    /// The decisions about earlier findings, by the findings' ids.
    pub decisions: Vec<(String, FindingDecision)>,
    /// The machine that asks the provider. One process of a machine asks at a time, so an earlier round of the same
    /// machine is over.
    pub host: String,
    pub until: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EndRound {
    pub review: ReviewId,
    pub number: u32,
    /// The number of tries that the start of the round returned.
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

/// A finding in the form that a provider gives.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FoundProblem {
    pub name: String,
    pub aspect: String,
    pub description: String,
    pub recommendation: String,
}
