//! A workflow: a plan with its tasks, a limit for parallel work, and a lock.
//!
//! ```text
//! planning ──plan──> ready ──first claim──> in_progress ──all done──> completed
//!     │               │ │                    │ ▲  │ ▲ └──> awaiting_merge ──> completed
//!     │               │ └──────> paused <────┘ │  │ └── failed
//!     │               │            └───────────┘  └──────> failed
//!     └───────────────┴──> abandoned  (from every state but completed)
//! ```

use serde::{Deserialize, Serialize};

use crate::id::WorkflowId;
use crate::json::Json;
use crate::task::names;
use crate::time::{Millis, Timestamp};

/// The fields of a workflow that every decision about the workflow or its tasks reads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Workflow {
    pub id: WorkflowId,
    pub name: String,
    pub status: WorkflowStatus,
    /// The maximum number of tasks that agents may work on at the same time. Further claims are refused. Paused tasks
    /// are not counted. `None` means no limit.
    pub parallel_max: Option<u32>,
    pub lease_ms: Millis,
    pub lock: Option<Lock>,
    /// A plan that a caller sends in pieces, each with some of the tasks, and that is not complete yet. `None` when no
    /// plan is being sent.
    pub draft: Option<PlanDraft>,
    /// True for the standing list of the store: the one workflow that takes single tasks at any time and never ends.
    #[serde(default)]
    pub standing: bool,
    /// True when the workflow is over and was archived. Lists show archived workflows only on request.
    #[serde(default)]
    pub archived: bool,
    /// The git branch into which the work of the tasks is merged. `None` until the first task of the workflow starts.
    #[serde(default)]
    pub branch: Option<String>,
    pub tasks: u32,
    /// The number of tasks of the workflow that are neither completed nor skipped.
    pub open: u32,
    /// The last position in the workflow's plan. It grows with every task that is added to the plan.
    pub sequence: u32,
    pub created: Timestamp,
    pub updated: Timestamp,
}

/// The long texts of a workflow. They are loaded only when they are needed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct WorkflowDetail {
    pub source_type: String,
    pub source_ref: Option<String>,
    pub source_content: String,
    pub plan_summary: Option<String>,
    pub auto_workspaces: bool,
    pub config: Option<Json>,
}

/// A lock of a workflow. Only the owner of the lock may change the workflow until the lock expires.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lock {
    pub owner: String,
    pub since: Timestamp,
    pub until: Timestamp,
}

/// An unfinished plan, which a caller sends in pieces, each with some of the tasks. Every piece must name the same
/// token; a piece with another token is refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanDraft {
    pub token: String,
    pub until: Timestamp,
}

/// The name of the standing list, which is the one workflow that takes single tasks at any time.
pub const LIST_NAME: &str = "Tasks";

names! {
    /// The status of a workflow.
    WorkflowStatus {
        Planning = "planning", Ready = "ready", InProgress = "in_progress", Paused = "paused",
        AwaitingMerge = "awaiting_merge", Completed = "completed", Failed = "failed", Abandoned = "abandoned",
    }
}

impl WorkflowStatus {
    pub fn targets(self) -> &'static [Self] {
        match self {
            Self::Planning => &[Self::Ready, Self::Abandoned],
            Self::Ready => &[Self::InProgress, Self::Paused, Self::Abandoned],
            Self::InProgress => &[Self::Paused, Self::Completed, Self::Failed, Self::Abandoned, Self::AwaitingMerge],
            Self::Paused => &[Self::InProgress, Self::Abandoned],
            Self::AwaitingMerge => &[Self::Completed, Self::Abandoned],
            Self::Failed => &[Self::InProgress, Self::Abandoned],
            Self::Completed | Self::Abandoned => &[],
        }
    }

    /// Returns true when a workflow in this status has ended. Its tasks do not continue unless a person starts the
    /// workflow again.
    pub fn is_over(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Abandoned)
    }

    /// Returns true when agents may claim tasks of a workflow in this status.
    pub fn is_running(self) -> bool {
        matches!(self, Self::Ready | Self::InProgress)
    }

    /// Returns true when tasks may be added to and removed from a workflow in this status.
    pub fn is_replannable(self) -> bool {
        matches!(self, Self::Ready | Self::InProgress | Self::Paused)
    }
}
