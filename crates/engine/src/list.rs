//! Lists for people and agents: bounded pages in a fixed order, and counts. A list may be out of date, so a decision
//! reads each row again before it relies on it.

use crate::approval::ApprovalStatus;
use crate::id::{AgentId, ApprovalId, RepositoryId, ReviewId, TaskId, TokenId, TurnId, WorkflowId, WorkspaceId};
use crate::inbox::MailboxOwner;
use crate::notice::Channel;
use crate::task::Status;
use crate::time::Timestamp;
use crate::workflow::WorkflowStatus;
use crate::workspace::WorkspaceStatus;

/// A query for one page of rows, or for one count.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum List {
    /// Workflows, newest first. The page begins after the given position in this order.
    Workflows {
        filter: WorkflowFilter,
        after: Option<(Timestamp, WorkflowId)>,
        offset: u32,
        limit: u32,
    },
    WorkflowTotal(WorkflowFilter),
    /// Tasks in the order of the plan.
    Tasks {
        workflow: WorkflowId,
        statuses: Vec<Status>,
        after: Option<(u32, TaskId)>,
        limit: u32,
    },
    /// Tasks with unmet dependencies, in the order of the plan.
    Waiting {
        workflow: WorkflowId,
        after: Option<(u32, TaskId)>,
        limit: u32,
    },
    /// Completed or skipped tasks before a position in the plan, the nearest first.
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
    /// The number of tasks with each status.
    Statuses(WorkflowId),
    /// The number of tasks in each parallel group, and the number of them that are completed or skipped.
    Groups {
        workflow: WorkflowId,
        limit: u32,
    },
    /// The first position in the plan whose task is neither completed nor skipped. 0 when there is no such task.
    FirstOpen(WorkflowId),
    /// Claimed tasks of all workflows, the longest held first.
    Held {
        limit: u32,
    },
    /// Tasks of all workflows that need a decision: paused, blocked and failed tasks, oldest first.
    Stuck {
        limit: u32,
    },
    /// Agents, oldest first.
    Agents {
        filter: AgentFilter,
        after: Option<(Timestamp, AgentId)>,
        limit: u32,
    },
    /// Workspaces of a workflow, oldest first.
    Workspaces {
        workflow: WorkflowId,
        statuses: Vec<WorkspaceStatus>,
        after: Option<(Timestamp, WorkspaceId)>,
        limit: u32,
    },
    /// The repositories of a workflow, in the order in which they were attached to it. Each row has the time at which
    /// the repository was attached.
    Attached {
        workflow: WorkflowId,
        limit: u32,
    },
    /// Repositories, newest first.
    Repositories {
        after: Option<(Timestamp, RepositoryId)>,
        offset: u32,
        limit: u32,
    },
    RepositoryTotal,
    /// Templates, ordered by name.
    Templates {
        after: String,
        limit: u32,
    },
    /// Messages of a mailbox with a lower number than `before`, newest first.
    Mail {
        owner: MailboxOwner,
        before: u32,
        limit: u32,
    },
    /// Questions to people that have no answer, with a higher number than `after`, oldest first.
    Questions {
        after: u32,
        limit: u32,
    },
    /// The number of unread messages of each priority in a mailbox.
    Unread(MailboxOwner),
    /// Turns of a task or of a workflow before the given position, newest first.
    Turns {
        of: Whose,
        before: Option<(Timestamp, TurnId)>,
        limit: u32,
    },
    /// Turns that a runner started and that have not ended, oldest first.
    Running {
        runner: String,
        limit: u32,
    },
    /// The total cost of the ended turns of a task or of a workflow.
    Spent(Whose),
    /// Verifications of a task, in the order in which they were made.
    Verifications {
        task: TaskId,
        after: u32,
        limit: u32,
    },
    Runners {
        limit: u32,
    },
    /// Sections, ordered by name.
    Sections {
        after: String,
        limit: u32,
    },
    /// Changes of a section with a lower version than `before`, newest first.
    SectionChanges {
        section: String,
        before: u32,
        limit: u32,
    },
    /// Approvals with one of the statuses, newest first. An empty list of statuses means all of them.
    Approvals {
        statuses: Vec<ApprovalStatus>,
        before: Option<(Timestamp, ApprovalId)>,
        limit: u32,
    },
    /// Approvals of a task that are pending, or approved and not used yet, oldest first.
    OpenApprovals {
        task: TaskId,
        limit: u32,
    },
    /// Approvals that have expired by the clock, but whose expiry is not recorded, oldest first.
    OverdueApprovals {
        now: Timestamp,
        limit: u32,
    },
    /// Reviews, newest first.
    Reviews {
        before: Option<(Timestamp, ReviewId)>,
        limit: u32,
    },
    /// Reviews that a task must have before it can be completed, of all its claims, newest first.
    TaskReviews {
        task: TaskId,
        limit: u32,
    },
    /// Rounds of a review with a higher number than `after`, in their order.
    Rounds {
        review: ReviewId,
        after: u32,
        limit: u32,
    },
    /// Findings of a review, in the order in which the reviewing agent first gave them.
    Findings {
        review: ReviewId,
        after: u32,
        limit: u32,
    },
    /// Approvals that an agent asked for and that are pending, or approved and not used yet, oldest first.
    ApprovalsOf {
        agent: AgentId,
        limit: u32,
    },
    /// Approvals for the gates of a workflow's tasks that are pending, or approved and not used yet, oldest first.
    Gates {
        workflow: WorkflowId,
        limit: u32,
    },
    /// Gated tasks that could be claimed if their gate were open, and for which no person was asked yet, ordered by
    /// id.
    Gated {
        limit: u32,
    },
    /// Pending approvals that need a notice over this channel now, oldest first. The notice was not sent yet, or
    /// sending it failed and the next try is due.
    DueNotices {
        channel: Channel,
        now: Timestamp,
        limit: u32,
    },
    /// Tokens, oldest first.
    Tokens {
        revoked: bool,
        after: Option<(Timestamp, TokenId)>,
        limit: u32,
    },
}

/// The task or the workflow whose turns are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Whose {
    Task(TaskId),
    Workflow(WorkflowId),
}

/// A filter of workflows. An empty list of statuses matches all of them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct WorkflowFilter {
    pub statuses: Vec<WorkflowStatus>,
    pub repository: Option<RepositoryId>,
}

/// A filter of agents. A field that is not set matches all agents.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct AgentFilter {
    pub role: Option<String>,
    pub runtime: Option<String>,
    pub workflow: Option<WorkflowId>,
}
