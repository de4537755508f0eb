//! A delivery: the record of what happened in git to the work of a completed task, or of a whole workflow.
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

/// The delivery of a task: its work in git, and what happened to the work. A task has at most one delivery. When the
/// task is completed again, the new delivery replaces the old one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    pub task: TaskId,
    pub workflow: WorkflowId,
    pub attempt: u32,
    /// The agent that did the delivered work.
    pub agent: AgentId,
    pub check: CheckOutcome,
    pub work: DeliveredWork,
    pub state: DeliveryState,
    pub created: Timestamp,
    pub updated: Timestamp,
}

/// The delivery of a workflow as a whole: the branch that has the work of all its tasks, and what happened to it in
/// git.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkflowDelivery {
    pub workflow: WorkflowId,
    pub check: CheckOutcome,
    pub work: DeliveredWork,
    pub state: DeliveryState,
    pub created: Timestamp,
    pub updated: Timestamp,
}

/// The result of the checks (test commands) that ran on delivered work.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum CheckOutcome {
    Checked {
        command: String,
        ms: u64,
    },
    /// The check (a test command) failed first and then passed on the same files. It passed in run number `run` of `of`
    /// runs.
    CheckedFlaky {
        command: String,
        run: u32,
        of: u32,
        ms: u64,
    },
    Unchecked {
        why: UncheckedReason,
    },
    /// The task had to change files, but it changed none.
    NoChanges,
}

/// The reason why no check (test command) judged the delivered work.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum UncheckedReason {
    /// The settings of the project name no check (test command).
    NoCheck,
    /// The check (test command) already fails on the commit from which the work started, so it cannot judge the work.
    Baseline {
        command: String,
    },
    TimedOut {
        command: String,
    },
    /// The task changed the script that the check runs, and no person has seen the new script. So the check did not
    /// run.
    CheckChanged {
        script: String,
    },
    /// A person took the work as it is, without a passed check.
    TakenAsIs {
        reason: String,
    },
    NotRun,
}

/// The work of a delivery in git: its branch, the commit from which it started, and the delivered commit and tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeliveredWork {
    pub branch: String,
    /// The branch from which the work started. `None` when the work started from a commit that was on no branch.
    pub base_branch: Option<String>,
    pub base: String,
    pub commit: String,
    pub tree: String,
    pub files: u32,
    pub added: u32,
    pub removed: u32,
    /// The number of tries after which the agent's work was delivered. The first try counts, too.
    pub tries: u32,
}

/// The state of a delivery (the work of a task or a workflow in git), with the data of this state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum DeliveryState {
    /// The work waits for a person, who merges it, drops it, or sends the task back to its agent.
    Waiting,
    /// The work was merged into the branch of its workflow, by this commit.
    InPlan { commit: String },
    Merged {
        /// The branch into which the work was merged.
        into: String,
        /// The commit at which the target branch was before the merge. Undoing the merge sets the branch back to this
        /// commit.
        before: String,
        commit: String,
        by: Actor,
        at: Timestamp,
    },
    Dropped {
        by: Actor,
        at: Timestamp,
        /// The name under which git keeps the dropped work. `None` when git does not keep the work.
        kept_as: Option<String>,
    },
}

names! {
    /// The status of delivered work in git: its state without the data.
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
    /// The commit of the workflow's branch that contains the work. `None` when the work waits on a branch of its own.
    pub in_plan: Option<String>,
}

/// A change of a delivery (the work of a task or a workflow in git) to another state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "to", rename_all = "snake_case")]
pub enum DeliveryMove {
    /// Lets the work wait for a person again, because its merge was undone or because dropped work was taken back.
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
    /// Returns the statuses to which a person can move delivered work from this status.
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

    /// Returns the state that the work gets by this move. The new state names the actor that made the move.
    pub fn state(&self, by: Actor, at: Timestamp) -> DeliveryState {
        match self.clone() {
            Self::Wait => DeliveryState::Waiting,
            Self::Merge { into, before, commit } => DeliveryState::Merged { into, before, commit, by, at },
            Self::Drop { kept_as } => DeliveryState::Dropped { by, at, kept_as },
        }
    }
}
