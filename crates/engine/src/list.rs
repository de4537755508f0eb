//! Lists for people and agents: bounded pages in a fixed order, and counts. Decisions use them only as hints.

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
    /// Workflows, newest first, after a position in that order.
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
    /// The number of tasks with each status.
    Statuses(WorkflowId),
    /// The number of tasks in each parallel group, and the number of them that are completed or skipped.
    Groups {
        workflow: WorkflowId,
        limit: u32,
    },
    /// The first position whose task is neither completed nor skipped; 0 when there is no such task.
    FirstOpen(WorkflowId),
    /// Claimed tasks of all workflows, the longest held first.
    Held {
        limit: u32,
    },
    /// Tasks of all workflows that wait for a decision: paused, blocked and failed tasks, oldest first.
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
    /// Repositories of a workflow in the order in which they were attached, each with that time.
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
    /// Turns of a task or of a workflow before a position, newest first.
    Turns {
        of: Whose,
        before: Option<(Timestamp, TurnId)>,
        limit: u32,
    },
    /// Turns that a runner has not ended, oldest first.
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
    /// Pending or approved approvals of a task, oldest first.
    OpenApprovals {
        task: TaskId,
        limit: u32,
    },
    /// Approvals whose time has passed but whose expiry is not recorded, oldest first.
    OverdueApprovals {
        now: Timestamp,
        limit: u32,
    },
    /// Reviews, newest first.
    Reviews {
        before: Option<(Timestamp, ReviewId)>,
        limit: u32,
    },
    /// Reviews that a task waits for, in any of its claims, newest first.
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
    /// Findings of a review, in the order in which they were first given.
    Findings {
        review: ReviewId,
        after: u32,
        limit: u32,
    },
    /// Pending or approved approvals that an agent asked for, oldest first.
    ApprovalsOf {
        agent: AgentId,
        limit: u32,
    },
    /// Pending or approved approvals for the gates of a workflow's tasks, oldest first.
    Gates {
        workflow: WorkflowId,
        limit: u32,
    },
    /// Tasks that only their gate keeps from being claimed, and for which no person is asked yet, ordered by id.
    Gated {
        limit: u32,
    },
    /// Pending approvals whose notice was not sent over this channel yet, or failed and is due again, oldest first.
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
