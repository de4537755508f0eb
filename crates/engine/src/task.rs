//! A task: its fields, its state, and the moves between statuses that are allowed.
//!
//! ```text
//!            claim leaves the status as it is
//! pending ──> planning ──> in_progress ──> completed
//!    │           │             │  ▲ │
//!    │           └─────────────┤  │ ├──> paused ──> in_progress, completed, failed, skipped
//!    │                         │  └─┘             (pending, blocked: not by its agent)
//!    ├──> skipped              ├──> failed ──> pending, skipped
//!    │                         └──> blocked ──> pending, failed, skipped
//!    └── a lease that ends, a release: back to pending
//! ```

use serde::{Deserialize, Serialize};

use crate::caller::Actor;
use crate::id::{AgentId, RepositoryId, TaskId, WorkflowId, WorkspaceId};
use crate::json::Json;
use crate::time::Timestamp;

/// The fields of a task that every decision reads. The long texts are in [`TaskDetail`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    pub id: TaskId,
    pub workflow: WorkflowId,
    /// The short number of the task, by which people name it. It is unique in the store, counts from 1 in the order in
    /// which tasks were created, and is never given to another task. 0 until the task is stored.
    #[serde(default)]
    pub number: u32,
    pub name: String,
    /// The position of the task in the plan, from 1. Two tasks normally have different positions, but no rule enforces
    /// this.
    pub sequence: u32,
    pub priority: Priority,
    /// The role that an agent must have to claim the task. `None` means that any agent may claim it.
    pub role: Option<String>,
    pub capabilities: Vec<String>,
    /// The globs (path patterns) of the files that the task changes. Two tasks that change the same file are not
    /// claimed at the same time.
    pub touches: Vec<String>,
    pub group: Option<String>,
    /// True when only a runner (a process that starts agents' programs) may complete the task, after it verified the
    /// output.
    pub verify: bool,
    /// True when the task must be reviewed, and every finding must have a decision, before the task can be completed.
    #[serde(default)]
    pub review: bool,
    /// True when a person must approve each claim before it begins.
    #[serde(default)]
    pub gate: bool,
    /// True when the plan limits the task's cost.
    #[serde(default)]
    pub limited: bool,
    /// The actor that wrote the task into the plan. `None` when that actor was an agent without a registration, and for
    /// tasks that Handover 0.1.0 stored.
    #[serde(default)]
    pub author: Option<Actor>,
    pub attempts_max: u32,
    /// The number of the last claim. It only grows. A write that names a lower number comes from an earlier holder and
    /// is refused.
    pub attempt: u32,
    /// The number of attempts that ended by a crash, a killed process or an expired lease. When it reaches
    /// `attempts_max`, the task fails.
    pub crashes: u32,
    /// The number of dependencies that are neither completed nor skipped. The store keeps it up to date.
    pub unmet: u32,
    /// The number of the task's last checkpoint. It is also the count of checkpoints.
    pub checkpoints: u32,
    pub repository: Option<RepositoryId>,
    pub workspace: Option<WorkspaceId>,
    pub state: TaskState,
    pub created: Timestamp,
    pub updated: Timestamp,
}

/// The long texts of a task. They are loaded only when they are read or changed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TaskDetail {
    pub description: Option<String>,
    /// The brief of the task: a document of the Agent Wire protocol with the task's goal and acceptance criteria.
    pub brief: Option<Json>,
    /// The plan that the holder of the task wrote for its work on the task.
    pub plan: Option<Json>,
    pub context: Option<Json>,
    /// The tasks whose results this task builds on. When the list is empty, the task builds on the finished tasks
    /// before it in the plan.
    pub context_from: Vec<TaskId>,
    /// Further fields of the task in the plan, which the runner reads when it starts the agent: `action`, `surfaces`,
    /// `paths`, `review`, `gate`, `limits` and others.
    pub extra: Option<Json>,
    pub outcome_detail: Option<Json>,
}

/// The priority of a task or a message; 1 is the highest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub struct Priority(u8);

impl Priority {
    pub const DEFAULT: Self = Self(2);
    pub const FIRST: Self = Self(1);

    pub fn get(self) -> u8 {
        self.0
    }
}

impl TryFrom<u8> for Priority {
    type Error = &'static str;
    fn try_from(number: u8) -> Result<Self, Self::Error> {
        if (1..=3).contains(&number) { Ok(Self(number)) } else { Err("priority is 1, 2 or 3") }
    }
}

impl From<Priority> for u8 {
    fn from(priority: Priority) -> Self {
        priority.0
    }
}

/// A lease: the agent that holds a task, and the time until which it holds the task. The number of the attempt is a
/// field of the task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    pub agent: AgentId,
    pub since: Timestamp,
    pub until: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum TaskState {
    Pending {
        lease: Option<Lease>,
    },
    Planning {
        lease: Lease,
    },
    InProgress {
        lease: Lease,
    },
    /// The task waits for an answer. The holder keeps the task until the answer comes, however long that takes;
    /// `lease.until` is ignored.
    Paused {
        lease: Lease,
        reason: Option<String>,
    },
    Blocked(TaskBlock),
    Failed {
        by: Actor,
        error: String,
    },
    Completed {
        by: Actor,
        outcome: String,
    },
    Skipped {
        by: Actor,
        reason: String,
    },
}

/// The reason why a task is blocked, and the role whose agents can resolve the block.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskBlock {
    pub by: Actor,
    pub kind: BlockKind,
    pub reason: String,
    /// The role whose agents get a message about the block. They may decide how to proceed.
    pub role: String,
}

/// Defines an enum without fields, the spelling of each variant as a text, and a parser of these texts.
macro_rules! names {
    ($(#[$doc:meta])* $name:ident { $($variant:ident = $text:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        pub enum $name { $(#[serde(rename = $text)] $variant),* }

        impl $name {
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text),* }
            }

            pub fn parse(text: &str) -> Option<Self> {
                match text { $($text => Some(Self::$variant),)* _ => None }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}
pub(crate) use names;

names! {
    /// The status of a task, without the data of its state. Callers and databases use these spellings.
    Status {
        Pending = "pending", Planning = "planning", InProgress = "in_progress", Paused = "paused",
        Blocked = "blocked", Failed = "failed", Completed = "completed", Skipped = "skipped",
    }
}

names! {
    /// The kind of obstacle that blocks a task. The kind decides which role gets a message about the block.
    BlockKind {
        SpecGap = "spec_gap", Dependency = "dependency", ToolFailure = "tool_failure", Ambiguity = "ambiguity",
        Resource = "resource", VerificationFail = "verification_fail",
    }
}

impl BlockKind {
    /// Returns the role that gets the message about a block of this kind. The project's configuration can name another
    /// role.
    pub fn default_role(self) -> &'static str {
        match self {
            Self::SpecGap => "ba",
            Self::ToolFailure | Self::Resource => "infra",
            Self::Ambiguity | Self::Dependency => "pm",
            Self::VerificationFail => "supervisor",
        }
    }
}

impl TaskState {
    pub fn status(&self) -> Status {
        match self {
            Self::Pending { .. } => Status::Pending,
            Self::Planning { .. } => Status::Planning,
            Self::InProgress { .. } => Status::InProgress,
            Self::Paused { .. } => Status::Paused,
            Self::Blocked(_) => Status::Blocked,
            Self::Failed { .. } => Status::Failed,
            Self::Completed { .. } => Status::Completed,
            Self::Skipped { .. } => Status::Skipped,
        }
    }

    pub fn lease(&self) -> Option<&Lease> {
        match self {
            Self::Pending { lease } => lease.as_ref(),
            Self::Planning { lease } | Self::InProgress { lease } | Self::Paused { lease, .. } => Some(lease),
            Self::Blocked(_) | Self::Failed { .. } | Self::Completed { .. } | Self::Skipped { .. } => None,
        }
    }

    pub fn lease_mut(&mut self) -> Option<&mut Lease> {
        match self {
            Self::Pending { lease } => lease.as_mut(),
            Self::Planning { lease } | Self::InProgress { lease } | Self::Paused { lease, .. } => Some(lease),
            Self::Blocked(_) | Self::Failed { .. } | Self::Completed { .. } | Self::Skipped { .. } => None,
        }
    }

    /// Returns the lease if it can expire. Returns `None` for a paused task, whose lease does not expire.
    pub fn running_lease(&self) -> Option<&Lease> {
        match self {
            Self::Paused { .. } => None,
            Self::Pending { .. }
            | Self::Planning { .. }
            | Self::InProgress { .. }
            | Self::Blocked(_)
            | Self::Failed { .. }
            | Self::Completed { .. }
            | Self::Skipped { .. } => self.lease(),
        }
    }
}

impl Lease {
    pub fn is_over(&self, now: Timestamp) -> bool {
        self.until <= now
    }
}

impl Status {
    /// Returns true when the status is `completed` or `skipped`. The tasks that depend on a task with one of these
    /// statuses need not wait for it any more.
    pub fn is_met(self) -> bool {
        matches!(self, Self::Completed | Self::Skipped)
    }

    /// Returns the statuses to which a command may move a task from this status. The end of a lease can change the
    /// status, too, but this list does not include that change.
    pub fn targets(self) -> &'static [Self] {
        match self {
            Self::Pending => &[
                Self::Planning,
                Self::InProgress,
                Self::Completed,
                Self::Failed,
                Self::Paused,
                Self::Blocked,
                Self::Skipped,
            ],
            Self::Planning | Self::InProgress => {
                &[Self::InProgress, Self::Completed, Self::Failed, Self::Paused, Self::Blocked]
            }
            Self::Paused => {
                &[Self::InProgress, Self::Completed, Self::Failed, Self::Skipped, Self::Pending, Self::Blocked]
            }
            Self::Blocked => &[Self::Pending, Self::Failed, Self::Skipped],
            Self::Failed => &[Self::Pending, Self::Skipped],
            Self::Completed | Self::Skipped => &[],
        }
    }
}

impl Task {
    pub fn status(&self) -> Status {
        self.state.status()
    }

    pub fn holder(&self) -> Option<AgentId> {
        self.state.lease().map(|lease| lease.agent)
    }

    /// Returns true when a new plan may remove the task. A new plan may remove a pending task that no agent holds, and
    /// a blocked task.
    pub fn is_removable(&self) -> bool {
        match &self.state {
            TaskState::Pending { lease } => lease.is_none(),
            TaskState::Blocked(_) => true,
            TaskState::Planning { .. }
            | TaskState::InProgress { .. }
            | TaskState::Paused { .. }
            | TaskState::Failed { .. }
            | TaskState::Completed { .. }
            | TaskState::Skipped { .. } => false,
        }
    }

    pub fn has_attempts_left(&self) -> bool {
        self.crashes < self.attempts_max
    }
}
