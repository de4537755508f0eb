//! A delivery: what became of the work of a completed task, or of a whole workflow, in git.
//!
//! ```text
//! completed ──> waiting <──merge, undo──> merged
//!          │       └────<──drop, take back──> dropped
//!          └──> in_plan (part of the branch of its workflow, which is merged as a whole)
//! ```

use serde::{Deserialize, Serialize};

use crate::caller::Actor;
use crate::id::{AgentId, TaskId, WorkflowId};
use crate::task::names;
use crate::time::Timestamp;

/// The last delivery of a task. A task that is completed again replaces it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    pub task: TaskId,
    pub workflow: WorkflowId,
    pub attempt: u32,
    /// The agent that did the work.
    pub agent: AgentId,
    pub check: CheckOutcome,
    pub work: DeliveredWork,
    pub state: DeliveryState,
    pub created: Timestamp,
    pub updated: Timestamp,
}

/// The delivery of a workflow as a whole: the branch that has the work of its tasks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkflowDelivery {
    pub workflow: WorkflowId,
    pub check: CheckOutcome,
    pub work: DeliveredWork,
    pub state: DeliveryState,
    pub created: Timestamp,
    pub updated: Timestamp,
}

/// The result of the checks that ran on the delivered tree.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum CheckOutcome {
    Checked {
        command: String,
        ms: u64,
    },
    /// The check failed first and then passed on the same tree: on run `run` of `of`.
    CheckedFlaky {
        command: String,
        run: u32,
        of: u32,
        ms: u64,
    },
    Unchecked {
        why: UncheckedReason,
    },
    /// The task was to change files and changed none.
    NoChanges,
}

/// The reason why no check judged the work.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum UncheckedReason {
    /// The project has no check.
    NoCheck,
    /// The check already fails on the commit from which the work started.
    Baseline {
        command: String,
    },
    TimedOut {
        command: String,
    },
    /// The task changed the script of the check, and no person has seen the new script.
    CheckChanged {
        script: String,
    },
    /// A person took the work as it is.
    TakenAsIs {
        reason: String,
    },
    NotRun,
}

/// The work in git: its branch, the commit from which it started, and the commit and tree that are delivered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeliveredWork {
    pub branch: String,
    /// The branch from which the work started. `None` when it started from a commit that no branch had.
    pub base_branch: Option<String>,
    pub base: String,
    pub commit: String,
    pub tree: String,
    pub files: u32,
    pub added: u32,
    pub removed: u32,
    /// The number of times that the agent tried before the work was delivered.
    pub tries: u32,
}

/// The state of a delivery. A state carries its data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum DeliveryState {
    /// The work waits for a person, who merges it, sends it back or drops it.
    Waiting,
    /// The work is in the branch of its workflow, at this commit.
    InPlan { commit: String },
    Merged {
        /// The branch that has the work now.
        into: String,
        /// The commit of that branch before the merge. Undoing the merge sets the branch back to it.
        before: String,
        commit: String,
        by: Actor,
        at: Timestamp,
    },
    Dropped {
        by: Actor,
        at: Timestamp,
        /// The name under which git keeps the work. `None` when it is not kept.
        kept_as: Option<String>,
    },
}

names! {
    /// The state of a delivery, without its data.
    DeliveryStatus { Waiting = "waiting", InPlan = "in_plan", Merged = "merged", Dropped = "dropped" }
}

/// The task or the workflow whose work is delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeliverySubject {
    Task(TaskId),
    Workflow(WorkflowId),
}

/// The work that a runner reports when it completes a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeliveryReport {
    pub check: CheckOutcome,
    pub work: DeliveredWork,
    /// The commit of the workflow's branch that has the work. `None` when the work waits on a branch of its own.
    pub in_plan: Option<String>,
}

/// A move of a delivery to another state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "to", rename_all = "snake_case")]
pub enum DeliveryMove {
    /// Undoes a merge, or takes dropped work back.
    Wait,
    Merge {
        into: String,
        before: String,
        commit: String,
    },
    Drop {
        kept_as: Option<String>,
    },
}

impl DeliveryState {
    pub fn status(&self) -> DeliveryStatus {
        match self {
            Self::Waiting => DeliveryStatus::Waiting,
            Self::InPlan { .. } => DeliveryStatus::InPlan,
            Self::Merged { .. } => DeliveryStatus::Merged,
            Self::Dropped { .. } => DeliveryStatus::Dropped,
        }
    }
}

impl DeliveryStatus {
    /// Returns the states to which a person moves a delivery from this state.
    pub fn targets(self) -> &'static [Self] {
        match self {
            Self::Waiting => &[Self::Merged, Self::Dropped],
            Self::Merged | Self::Dropped => &[Self::Waiting],
            Self::InPlan => &[],
        }
    }
}

impl DeliveryMove {
    pub fn status(&self) -> DeliveryStatus {
        match self {
            Self::Wait => DeliveryStatus::Waiting,
            Self::Merge { .. } => DeliveryStatus::Merged,
            Self::Drop { .. } => DeliveryStatus::Dropped,
        }
    }

    /// Returns the new state, which names the actor that made the move.
    pub fn state(&self, by: Actor, at: Timestamp) -> DeliveryState {
        match self.clone() {
            Self::Wait => DeliveryState::Waiting,
            Self::Merge { into, before, commit } => DeliveryState::Merged { into, before, commit, by, at },
            Self::Drop { kept_as } => DeliveryState::Dropped { by, at, kept_as },
        }
    }
}
