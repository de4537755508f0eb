//! An approval: a person's permission for one exact act. An agent, or Handover itself, makes a request for the
//! approval. The request cannot change after it was made. A person approves the request for one use, or rejects the
//! request.
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
    /// The actor that asked: an agent, or `Actor::Engine` when Handover itself asks a person whether an agent may claim
    /// a gated task.
    pub asker: Actor,
    /// The task that waits for the person's decision, and the number of its claim. `None` when no task waits for the
    /// decision.
    pub waiting: Option<WaitingTask>,
    pub request: ApprovalRequest,
    /// The SHA-256 hash of the canonical form of the whole request, in hexadecimal. When an agent uses the approval,
    /// the act that it wants to do is hashed again. An act with a different hash is refused.
    pub fingerprint: String,
    pub asked: Timestamp,
    pub state: ApprovalState,
    /// The ways in which a person saw the request, for example on the command line. Each way is listed once.
    #[serde(default)]
    pub shown: Vec<Via>,
}

/// A task that waits for a person's decision, and the number of the claim that waits. When the person decides whether a
/// claim may begin, that claim does not exist yet, and the number is the one that the task's next claim will get.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitingTask {
    pub workflow: WorkflowId,
    pub task: TaskId,
    pub attempt: u32,
}

/// A request for an approval: the exact act that the asker wants to do. Fields that do not apply to the act are empty.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ApprovalRequest {
    pub operation: String,
    pub content: String,
    pub scope: String,
    pub directory: String,
    pub risk: String,
    pub rollback: String,
    pub verification: String,
}

names! {
    /// The origin of a request for an approval. `Handoff`: an agent's closing report. `Gate`: a rule of a client's
    /// hook. `ExecGate`: a gated task, or a message of the kind `exec.gate`. `Acp`: a permission request over the Agent
    /// Client Protocol.
    Source { Handoff = "handoff", Gate = "gate", ExecGate = "exec_gate", Acp = "acp" }
}

names! {
    /// The way in which a person saw a request for an approval, or was notified of it.
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
    /// A person approved the request. `until` is the time at which the approval expires. It is `None` while the asking
    /// agent's program must still resume, because the time to use the approval begins when the program resumes.
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
        /// The actor that used the approval.
        by: Actor,
        at: Timestamp,
        /// The actor that approved the request, and the time. `None` for approvals of version 0.1.0, which kept the
        /// actor and the time only in the log.
        #[serde(default)]
        given: Option<(Actor, Timestamp)>,
    },
}

names! {
    /// The status of an approval: its state without the data.
    ApprovalStatus {
        Pending = "pending", Approved = "approved", Rejected = "rejected", Expired = "expired", Revoked = "revoked",
        Consumed = "consumed",
    }
}

/// The decision of a person about an approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub enum ApprovalDecision {
    Approve,
    Reject { reason: String },
    Revoke { reason: Option<String> },
}

impl ApprovalState {
    /// Returns the new state of the approval when `by` uses it at the time `at`. The new state still names the actor
    /// that gave the approval.
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

    /// Returns the time at which an approval in this state expires, or `None` when it does not expire.
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

    /// Returns true when this approval is the permission for the next claim of a gated task (a task whose claims need a
    /// person's approval). The engine itself, and not an agent, asked for such an approval.
    pub fn is_gate(&self) -> bool {
        self.source == Source::ExecGate && self.asker == Actor::Engine
    }

    /// Returns true when the asking agent's program must resume before the approval can be used. The time to use the
    /// approval begins when the program resumes.
    pub fn resumes_a_turn(&self) -> bool {
        match self.source {
            Source::Handoff => true,
            Source::ExecGate => !self.is_gate() && self.waiting.is_some(),
            Source::Gate | Source::Acp => false,
        }
    }

    /// Returns true when the approval has expired by the clock, even if the expiry is not recorded yet.
    pub fn is_over(&self, now: Timestamp) -> bool {
        self.state.until().is_some_and(|until| until <= now)
    }
}
