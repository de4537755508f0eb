//! A review: an agent (the provider) looks at another agent's work in rounds. Each problem that the provider finds is a
//! finding with its own state.
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
use crate::turn::{Spent, StoredObject};

/// One review: a provider, which is the reviewing agent, looks at the work of the actor that asked for the review.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Review {
    pub id: ReviewId,
    /// The name of the reviewing agent, as the project's settings name it.
    pub provider: String,
    /// The actor that asked for the review.
    pub by: Actor,
    /// The claim whose task cannot be completed before this review. `None` when no task waits for the review.
    pub gate: Option<ReviewGate>,
    /// The maximum number of rounds before a person must look at the review. It applies only when a claim waits for the
    /// review.
    pub rounds_max: u32,
    /// The number of rounds that ended, with an answer or a failure. The next round has the next number.
    pub rounds: u32,
    pub status: ReviewStatus,
    /// The number of findings of the review so far. `open` counts the findings without a decision.
    pub findings: u32,
    pub open: u32,
    /// The reviewing agent's own name for its conversation. The next round resumes that conversation. `None` when the
    /// reviewing agent has not reported a name yet.
    pub conversation: Option<String>,
    pub opened: Timestamp,
    pub updated: Timestamp,
}

/// A claim whose task cannot be completed before a review.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewGate {
    pub workflow: WorkflowId,
    pub task: TaskId,
    pub attempt: u32,
}

names! {
    /// The status of a review, which is the status of its last round.
    ReviewStatus { Opened = "opened", Running = "running", Answered = "answered", Failed = "failed" }
}

/// One round of a review: a request to the reviewing agent and its result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewRound {
    pub review: ReviewId,
    /// The number of the round, from 1. The feedback protocol, which is the protocol of reviews, calls it the
    /// iteration.
    pub number: u32,
    /// The number of times that the round was started. Only the process that started the round last can record a
    /// result.
    pub tries: u32,
    /// The turn (run of an agent's program) whose output the reviewing agent reviewed in this round. `None` when the
    /// request named no turn.
    pub turn: Option<TurnId>,
    pub artifact: ReviewedVersion,
    pub started: Timestamp,
    pub state: RoundState,
}

/// The version of the work that the reviewing agent reviewed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewedVersion {
    pub media_type: String,
    /// The name that the requester (the actor that asked for the review) gave to the reviewed version, for example a
    /// commit id. `None` when the requester gave no name.
    pub reference: Option<String>,
    /// The request as it was sent to the reviewing agent.
    pub request: StoredObject,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "round", rename_all = "snake_case")]
pub enum RoundState {
    /// The round runs on the machine `host`. After the time `until`, the round counts as ended, and another machine may
    /// start it again.
    Running {
        host: String,
        until: Timestamp,
    },
    Answered(Box<Answered>),
    /// The round of the review failed and gave no findings. The code and the message say why.
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
    /// The number of findings that the reviewing agent gave in this round.
    pub found: u32,
    /// The response of the reviewing agent, as the agent wrote it. `None` when the response was not stored.
    pub response: Option<StoredObject>,
    pub spent: Spent,
}

/// A problem that a reviewing agent found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    pub review: ReviewId,
    /// The reviewing agent's id for the finding. It is unique in the review.
    pub name: String,
    /// The number of the finding in the review, from 1.
    pub number: u32,
    /// The number of the last round in which the reviewing agent gave the finding.
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

/// A decision about a finding, with the actor that decided and the time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decided {
    pub decision: FindingDecision,
    pub by: Actor,
    pub at: Timestamp,
    /// The number of the round that sent the decision to the reviewing agent. `None` when no round has sent the
    /// decision.
    pub told: Option<u32>,
}

/// The decision of the requester (the actor that asked for the review) about a finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FindingDecision {
    pub verdict: Verdict,
    pub code: Option<String>,
    pub explanation: Option<String>,
}

names! {
    /// The verdict on a finding by the requester, that is, the actor that asked for the review.
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

    /// Returns the word for the finding's state: `open`, or the verdict of the actor that asked for the review.
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
