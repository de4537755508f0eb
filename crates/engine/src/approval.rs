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
pub use crate::limits::Lifetimes;
use crate::task::names;
use crate::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approval {
    pub id: ApprovalId,
    pub source: Source,
    /// The agent that asked, or the engine before a gated task begins.
    pub asker: Actor,
    /// What waits for it, when it was asked from a task.
    pub waiting: Option<Waiting>,
    pub request: Request,
    /// SHA-256 over the canonical form of everything that is asked, in hexadecimal. What is done later must have the same.
    pub fingerprint: String,
    pub asked: Timestamp,
    pub state: ApprovalState,
    /// Where a person was shown it, each way once.
    #[serde(default)]
    pub shown: Vec<Via>,
}

/// The task that was paused for an answer, and the claim it was paused in; before a gated task begins, the claim that is to
/// come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    pub workflow: WorkflowId,
    pub task: TaskId,
    pub attempt: u32,
}

/// What shall be done, word for word. What does not apply is empty.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
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

names! {
    /// How a person came to see it.
    Via {
        CommandLine = "command_line", Http = "http", Command = "notify_command", Webhook = "notify_webhook",
    }
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
        /// Who used it.
        by: Actor,
        at: Timestamp,
        /// Who gave it, and when. Version 0.1.0 kept that in the log only.
        #[serde(default)]
        given: Option<(Actor, Timestamp)>,
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
    /// Returns the state of an approval that is used now; who gave it stays known.
    pub fn used(&self, by: Actor, at: Timestamp) -> Self {
        let given = match self {
            Self::Approved { by, at, .. } => Some((*by, *at)),
            Self::Consumed { given, .. } => *given,
            Self::Pending { .. } | Self::Rejected { .. } | Self::Expired { .. } | Self::Revoked { .. } => None,
        };
        Self::Consumed { by, at, given }
    }

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
    pub fn agent(&self) -> Option<AgentId> {
        match self.asker {
            Actor::Agent(agent) => Some(agent),
            Actor::Runner | Actor::Coordinator | Actor::Person | Actor::Engine => None,
        }
    }

    /// It lets a gated task begin; nobody holds that yet.
    pub fn is_gate(&self) -> bool {
        self.source == Source::ExecGate && self.asker == Actor::Engine
    }

    /// A turn must be resumed before it can be used, so its time begins there.
    pub fn resumes_a_turn(&self) -> bool {
        match self.source {
            Source::Handoff => true,
            Source::ExecGate => !self.is_gate() && self.waiting.is_some(),
            Source::Gate | Source::Acp => false,
        }
    }

    /// Its time is over, whether or not somebody has recorded that yet.
    pub fn is_over(&self, now: Timestamp) -> bool {
        self.state.until().is_some_and(|until| until <= now)
    }
}
