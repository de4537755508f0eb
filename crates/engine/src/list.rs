//! Lists for people and agents who look around: bounded pages in a fixed order, and counts. No decision reads them.

use crate::approval::ApprovalStatus;
use crate::id::{AgentId, ApprovalId, RepositoryId, ReviewId, TaskId, TokenId, TurnId, WorkflowId, WorkspaceId};
use crate::inbox::Owner;
use crate::task::Status;
use crate::time::Timestamp;
use crate::workflow::WorkflowStatus;
use crate::workspace::WorkspaceStatus;

/// One page, or one count.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum List {
    /// Newest first; those after a place in that order.
    Workflows {
        filter: WorkflowFilter,
        after: Option<(Timestamp, WorkflowId)>,
        offset: u32,
        limit: u32,
    },
    WorkflowTotal(WorkflowFilter),
    /// In the order of the plan.
    Tasks {
        workflow: WorkflowId,
        statuses: Vec<Status>,
        after: Option<(u32, TaskId)>,
        limit: u32,
    },
    /// Tasks that wait for others, in the order of the plan.
    Waiting {
        workflow: WorkflowId,
        after: Option<(u32, TaskId)>,
        limit: u32,
    },
    /// Completed or skipped tasks before a position, nearest first.
    Finished {
        workflow: WorkflowId,
        before: u32,
        limit: u32,
    },
    /// Tasks of a parallel group, in the order of the plan.
    Group {
        workflow: WorkflowId,
        group: String,
        limit: u32,
    },
    /// How many tasks have each status.
    Statuses(WorkflowId),
    /// How many tasks each parallel group has, and how many of them are completed or skipped.
    Groups {
        workflow: WorkflowId,
        limit: u32,
    },
    /// The first position that is neither completed nor skipped; 0 when there is none.
    FirstOpen(WorkflowId),
    /// Claimed tasks of all workflows, the longest held first.
    Held {
        limit: u32,
    },
    /// Tasks of all workflows that stand still until somebody decides: paused, blocked and failed, oldest first.
    Stuck {
        limit: u32,
    },
    /// Oldest first.
    Agents {
        filter: AgentFilter,
        after: Option<(Timestamp, AgentId)>,
        limit: u32,
    },
    /// Oldest first.
    Workspaces {
        workflow: WorkflowId,
        statuses: Vec<WorkspaceStatus>,
        after: Option<(Timestamp, WorkspaceId)>,
        limit: u32,
    },
    /// Repositories of a workflow by the time they were attached, with that time.
    Attached {
        workflow: WorkflowId,
        limit: u32,
    },
    /// Newest first.
    Repositories {
        after: Option<(Timestamp, RepositoryId)>,
        offset: u32,
        limit: u32,
    },
    RepositoryTotal,
    /// By name.
    Templates {
        after: String,
        limit: u32,
    },
    /// A mailbox, newest first: what has a lower number than this.
    Mail {
        owner: Owner,
        before: u32,
        limit: u32,
    },
    /// Questions to people that nobody has answered, oldest first: what has a higher number than this.
    Questions {
        after: u32,
        limit: u32,
    },
    /// How many unread messages of each priority a mailbox has.
    Unread(Owner),
    /// Turns of a task or of a workflow, newest first: those before a place in that order.
    Turns {
        of: Whose,
        before: Option<(Timestamp, TurnId)>,
        limit: u32,
    },
    /// Turns a runner has not ended, oldest first.
    Running {
        runner: String,
        limit: u32,
    },
    /// What the ended turns of a task or of a workflow cost together.
    Spent(Whose),
    /// In the order in which they were made.
    Verifications {
        task: TaskId,
        after: u32,
        limit: u32,
    },
    Runners {
        limit: u32,
    },
    /// By name.
    Sections {
        after: String,
        limit: u32,
    },
    /// Newest first: what has a lower version than this.
    SectionChanges {
        section: String,
        before: u32,
        limit: u32,
    },
    /// Newest first. No statuses stand for all of them.
    Approvals {
        statuses: Vec<ApprovalStatus>,
        before: Option<(Timestamp, ApprovalId)>,
        limit: u32,
    },
    /// Those of a task that are pending or approved, oldest first.
    OpenApprovals {
        task: TaskId,
        limit: u32,
    },
    /// Those that are over and still open, oldest first.
    OverdueApprovals {
        now: Timestamp,
        limit: u32,
    },
    /// Newest first.
    Reviews {
        before: Option<(Timestamp, ReviewId)>,
        limit: u32,
    },
    /// Those a task waits for, in any of its claims, newest first.
    TaskReviews {
        task: TaskId,
        limit: u32,
    },
    /// In their order: what has a higher number than this.
    Rounds {
        review: ReviewId,
        after: u32,
        limit: u32,
    },
    /// In the order in which they first came.
    Findings {
        review: ReviewId,
        after: u32,
        limit: u32,
    },
    /// Oldest first.
    Tokens {
        revoked: bool,
        after: Option<(Timestamp, TokenId)>,
        limit: u32,
    },
}

/// Whose turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Whose {
    Task(TaskId),
    Workflow(WorkflowId),
}

/// Which workflows. An empty list of statuses stands for all of them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct WorkflowFilter {
    pub statuses: Vec<WorkflowStatus>,
    pub repository: Option<RepositoryId>,
}

/// Which agents; what is not set matches all.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct AgentFilter {
    pub role: Option<String>,
    pub runtime: Option<String>,
    pub workflow: Option<WorkflowId>,
}
