//! A review: an agent looks at an artifact in rounds, and what it finds has a life of its own.
//!
//! ```text
//! round     running ──> answered, failed
//! finding   open ──> accepted, partial, rejected ──> open again, when a later round gives it again
//! ```

use serde::{Deserialize, Serialize};

use crate::caller::Actor;
use crate::id::{ReviewId, TaskId, TurnId, WorkflowId};
use crate::task::names;
use crate::time::Timestamp;
use crate::turn::{Object, Spent};

/// One requester's talk with one provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Review {
    pub id: ReviewId,
    /// Who reviews, by its name in the settings.
    pub provider: String,
    /// Who asked.
    pub by: Actor,
    /// What is not completed before it.
    pub gate: Option<Gate>,
    /// Rounds that a gate may have without a person.
    pub rounds_max: u32,
    /// Rounds that were answered, well or not; the next one has the next number.
    pub rounds: u32,
    pub status: ReviewStatus,
    /// How many findings it has given, and how many of them nobody has decided on.
    pub findings: u32,
    pub open: u32,
    /// The provider's own name for the conversation, by which it goes on.
    pub conversation: Option<String>,
    pub opened: Timestamp,
    pub updated: Timestamp,
}

/// The claim of a task that waits for a review.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gate {
    pub workflow: WorkflowId,
    pub task: TaskId,
    pub attempt: u32,
}

names! {
    /// Where a review stands: by its last round.
    ReviewStatus { Opened = "opened", Running = "running", Answered = "answered", Failed = "failed" }
}

/// One request and what came of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Round {
    pub review: ReviewId,
    /// The protocol's iteration, from 1.
    pub number: u32,
    /// How often it was begun: whoever began it before the last time writes nothing any more.
    pub tries: u32,
    /// The turn whose output was shown.
    pub turn: Option<TurnId>,
    pub artifact: Artifact,
    pub started: Timestamp,
    pub state: RoundState,
}

/// The version of something that was reviewed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Artifact {
    pub media_type: String,
    /// Its requester's name for the version.
    pub reference: Option<String>,
    /// The request as it was sent.
    pub request: Object,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "round", rename_all = "snake_case")]
pub enum RoundState {
    /// On this machine, and at most so long.
    Running {
        host: String,
        until: Timestamp,
    },
    Answered(Box<Answered>),
    /// There are no findings, and why.
    Failed {
        at: Timestamp,
        code: String,
        message: String,
        spent: Spent,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answered {
    pub at: Timestamp,
    pub confidence: String,
    pub summary: String,
    /// How many findings it gave.
    pub found: u32,
    /// The response as it was given.
    pub response: Option<Object>,
    pub spent: Spent,
}

/// Something a provider would have otherwise.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    pub review: ReviewId,
    /// The provider's id for it, its own in the review.
    pub name: String,
    /// Which finding of the review it is, from 1.
    pub number: u32,
    /// The last round that gave it.
    pub round: u32,
    pub aspect: String,
    pub description: String,
    pub recommendation: String,
    pub state: FindingState,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "finding", rename_all = "snake_case")]
pub enum FindingState {
    Open,
    Decided(Box<Decided>),
}

/// What became of a finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decided {
    pub decision: Decision,
    pub by: Actor,
    pub at: Timestamp,
    /// The round that told the provider.
    pub told: Option<u32>,
}

/// What a requester says of a finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    pub verdict: Verdict,
    pub code: Option<String>,
    pub explanation: Option<String>,
}

names! {
    /// Whether a finding was followed.
    Verdict { Accepted = "accepted", Partial = "partial", Rejected = "rejected" }
}

impl Review {
    pub fn next(&self) -> u32 {
        self.rounds.saturating_add(1)
    }
}

impl Finding {
    pub fn is_open(&self) -> bool {
        self.state == FindingState::Open
    }

    pub fn decided(&self) -> Option<&Decided> {
        match &self.state {
            FindingState::Open => None,
            FindingState::Decided(decided) => Some(decided),
        }
    }

    /// The word for where it stands.
    pub fn status(&self) -> &'static str {
        self.decided().map_or("open", |decided| decided.decision.verdict.as_str())
    }
}

impl RoundState {
    pub fn status(&self) -> ReviewStatus {
        match self {
            Self::Running { .. } => ReviewStatus::Running,
            Self::Answered(_) => ReviewStatus::Answered,
            Self::Failed { .. } => ReviewStatus::Failed,
        }
    }
}
