//! An approval: something sealed that a person allows once, or does not.
//!
//! ```text
//! pending ──> approved ──> consumed
//!    │           ├──> expired
//!    │           └──> revoked
//!    └──> rejected, expired, revoked
//! ```

use serde::{Deserialize, Serialize};

use crate::caller::Actor;
use crate::id::{AgentId, ApprovalId, TaskId, WorkflowId};
use crate::task::names;
use crate::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approval {
    pub id: ApprovalId,
    pub source: Source,
    pub agent: AgentId,
    /// What waits for it, when it was asked from a task.
    pub waiting: Option<Waiting>,
    pub request: Request,
    /// SHA-256 over the canonical form of everything that is asked, in hexadecimal. What is done later must have the same.
    pub fingerprint: String,
    pub asked: Timestamp,
    pub state: ApprovalState,
}

/// The task that was paused for an answer, and the claim it was paused in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    pub workflow: WorkflowId,
    pub task: TaskId,
    pub attempt: u32,
}

/// What shall be done, word for word.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    pub operation: String,
    pub content: String,
    pub scope: String,
    pub directory: String,
    pub risk: String,
    pub rollback: String,
    pub verification: String,
}

names! {
    /// Who asked.
    Source { Handoff = "handoff", Gate = "gate", ExecGate = "exec_gate", Acp = "acp" }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum ApprovalState {
    Pending {
        until: Timestamp,
    },
    /// `until` is missing while it waits for its turn to go on.
    Approved {
        by: Actor,
        at: Timestamp,
        until: Option<Timestamp>,
    },
    Rejected {
        by: Actor,
        at: Timestamp,
        reason: String,
    },
    Expired {
        at: Timestamp,
    },
    Revoked {
        by: Actor,
        at: Timestamp,
        reason: Option<String>,
    },
    Consumed {
        by: Actor,
        at: Timestamp,
    },
}

names! {
    /// A state without its data.
    ApprovalStatus {
        Pending = "pending", Approved = "approved", Rejected = "rejected", Expired = "expired", Revoked = "revoked",
        Consumed = "consumed",
    }
}

/// What a person says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub enum Decision {
    Approve,
    Reject { reason: String },
    Revoke { reason: Option<String> },
}

impl ApprovalState {
    pub fn status(&self) -> ApprovalStatus {
        match self {
            Self::Pending { .. } => ApprovalStatus::Pending,
            Self::Approved { .. } => ApprovalStatus::Approved,
            Self::Rejected { .. } => ApprovalStatus::Rejected,
            Self::Expired { .. } => ApprovalStatus::Expired,
            Self::Revoked { .. } => ApprovalStatus::Revoked,
            Self::Consumed { .. } => ApprovalStatus::Consumed,
        }
    }

    /// When it ends by itself, if it does.
    pub fn until(&self) -> Option<Timestamp> {
        match self {
            Self::Pending { until } => Some(*until),
            Self::Approved { until, .. } => *until,
            Self::Rejected { .. } | Self::Expired { .. } | Self::Revoked { .. } | Self::Consumed { .. } => None,
        }
    }
}

impl Approval {
    /// Its time is over, whether or not somebody has recorded that yet.
    pub fn is_over(&self, now: Timestamp) -> bool {
        self.state.until().is_some_and(|until| until <= now)
    }
}
