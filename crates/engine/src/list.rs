//! Lists for people and agents: bounded pages in a fixed order, and counts. A row in a list may be out of date, so a
//! decision loads the row from its table before it relies on the row.
//!
//! The queries are grouped by the type of their rows. `world/answer.rs` says which rows a query returns.

use crate::approval::ApprovalStatus;
use crate::id::{AgentId, ApprovalId, RepositoryId, ReviewId, TaskId, TokenId, TurnId, WorkflowId, WorkspaceId};
use crate::inbox::MailboxOwner;
use crate::notice::Channel;
use crate::task::Status;
use crate::time::Timestamp;
use crate::workflow::WorkflowStatus;
use crate::workspace::WorkspaceStatus;

/// A query for one page of rows, or for counts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum ListQuery {
    Workflows(WorkflowQuery),
    Tasks(TaskQuery),
    Agents(AgentQuery),
    Workspaces(WorkspaceQuery),
    Repositories(RepositoryQuery),
    Templates(TemplateQuery),
    Messages(MessageQuery),
    Turns(TurnQuery),
    Verifications(VerificationQuery),
    Runners(RunnerQuery),
    Sections(SectionQuery),
    SectionChanges(SectionChangeQuery),
    Approvals(ApprovalQuery),
    Reviews(ReviewQuery),
    Rounds(RoundQuery),
    Findings(FindingQuery),
    Conditions(ConditionQuery),
    Deliveries(DeliveryQuery),
    WorkflowDeliveries(WorkflowDeliveryQuery),
    Tokens(TokenQuery),
    Totals(TotalQuery),
    Counts(CountQuery),
    Groups(GroupQuery),
    Spent(SpentQuery),
}

/// A query for workflows, newest first. The result begins after the position `after` and skips `offset` rows.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct WorkflowQuery {
    pub filter: WorkflowFilter,
    pub after: Option<(Timestamp, WorkflowId)>,
    pub offset: u32,
    pub limit: u32,
}

/// A query for tasks. A query over all workflows also finds tasks of plans that are not set yet. The caller must hide
/// these tasks.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum TaskQuery {
    /// Tasks of a workflow with one of the statuses, in the order of the plan. An empty list of statuses means all
    /// statuses.
    Planned { workflow: WorkflowId, statuses: Vec<Status>, after: Option<(u32, TaskId)>, limit: u32 },
    /// Pending tasks with unmet dependencies, in the order of the plan.
    Waiting { workflow: WorkflowId, after: Option<(u32, TaskId)>, limit: u32 },
    /// Completed or skipped tasks before a position in the plan, the nearest first.
    Finished { workflow: WorkflowId, before: u32, limit: u32 },
    /// Tasks of a parallel group (tasks that are planned to run at the same time), in the order of the plan.
    Group { workflow: WorkflowId, group: String, limit: u32 },
    /// The task with this number. The list has one task, or no task when the number is unknown.
    Numbered { number: u32 },
    /// Tasks of all workflows whose id begins with this text, ordered by id. Two rows in the result show that more than
    /// one id begins with the text.
    IdBeginning { text: String, limit: u32 },
    /// Tasks of all workflows with exactly this name, ordered by id.
    Named { name: String, limit: u32 },
    /// Tasks of all workflows with one of the statuses and a lower number than `before`, the highest number first. An
    /// empty list of statuses means all statuses.
    Recent { statuses: Vec<Status>, before: u32, limit: u32 },
    /// Claimed tasks of all workflows, the longest held first.
    Held { limit: u32 },
    /// Tasks of all workflows that need a decision: paused, blocked and failed tasks, oldest first.
    Stuck { limit: u32 },
    /// Gated tasks (a person must approve each claim) for which a person must be asked now, ordered by id. Only the
    /// approval is missing, and no person was asked for it yet.
    Gated { limit: u32 },
}

/// A query for agents, oldest first. Each row has an agent and the task that it claimed last.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct AgentQuery {
    pub filter: AgentFilter,
    pub after: Option<(Timestamp, AgentId)>,
    pub limit: u32,
}

/// A query for workspaces of a workflow, oldest first. An empty list of statuses means all statuses.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct WorkspaceQuery {
    pub workflow: WorkflowId,
    pub statuses: Vec<WorkspaceStatus>,
    pub after: Option<(Timestamp, WorkspaceId)>,
    pub limit: u32,
}

/// A query for repositories. Each row has a repository and a time.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum RepositoryQuery {
    /// The repositories of a workflow, in the order in which they were attached to it. Each row has the time at which
    /// the repository was attached.
    Attached { workflow: WorkflowId, limit: u32 },
    /// All repositories, newest first. Each row has the time at which the repository was registered.
    All { after: Option<(Timestamp, RepositoryId)>, offset: u32, limit: u32 },
}

/// A query for the templates whose names come after the name `after`, ordered by name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TemplateQuery {
    pub after: String,
    pub limit: u32,
}

/// A query for messages.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum MessageQuery {
    /// Messages of a mailbox with a lower number than `before`, newest first.
    Mail { owner: MailboxOwner, before: u32, limit: u32 },
    /// Unanswered questions to people, with a higher number than `after`, oldest first.
    Questions { after: u32, limit: u32 },
    /// Questions about a task to people, answered or not, newest first.
    QuestionsOfTask { task: TaskId, limit: u32 },
}

/// A query for turns, which are runs of agents' programs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum TurnQuery {
    /// Turns (runs of agents' programs) of a task or of a workflow before the given time and id, newest first.
    Of { of: Whose, before: Option<(Timestamp, TurnId)>, limit: u32 },
    /// Turns (runs of agents' programs) of all workflows that started at `from` or later and before `until`, newest
    /// first. The result begins after the position `before`.
    Started { from: Timestamp, until: Timestamp, before: Option<(Timestamp, TurnId)>, limit: u32 },
    /// Turns (runs of agents' programs) that a runner started and that have not ended, oldest first.
    Running { runner: String, limit: u32 },
}

/// A query for verifications (recorded checks of a task's output) with a higher number than `after`, in the order in
/// which they were made.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct VerificationQuery {
    pub task: TaskId,
    pub after: u32,
    pub limit: u32,
}

/// A query for runners (processes that start agents' programs), ordered by name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RunnerQuery {
    pub limit: u32,
}

/// A query for sections of the project context (the shared knowledge about the project), ordered by name. The result
/// has the sections whose names come after the name `after`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SectionQuery {
    pub after: String,
    pub limit: u32,
}

/// A query for changes of a section of the project context (the shared knowledge about the project), newest first. The
/// result has the changes with a lower version than `before`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SectionChangeQuery {
    pub section: String,
    pub before: u32,
    pub limit: u32,
}

/// A query for approvals.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum ApprovalQuery {
    /// Approvals with one of the statuses, newest first. An empty list of statuses means all statuses.
    WithStatus { statuses: Vec<ApprovalStatus>, before: Option<(Timestamp, ApprovalId)>, limit: u32 },
    /// All approvals of a task, in any state, newest first.
    OfTask { task: TaskId, limit: u32 },
    /// Approvals of a task that are pending, or approved and not used yet, oldest first.
    OpenOfTask { task: TaskId, limit: u32 },
    /// Approvals that an agent asked for and that are pending, or approved and not used yet, oldest first.
    OpenOfAgent { agent: AgentId, limit: u32 },
    /// The approvals for claims of a workflow's gated tasks that are pending, or approved and not used yet, oldest
    /// first.
    Gates { workflow: WorkflowId, limit: u32 },
    /// Approvals that have expired by the clock, but whose expiry is not recorded, oldest first.
    Overdue { now: Timestamp, limit: u32 },
    /// Pending approvals for which a notice (a message to a person) must be sent over this channel now, oldest first.
    /// The notice was not sent yet, or sending it failed and the next try is due.
    DueNotices { channel: Channel, now: Timestamp, limit: u32 },
}

/// A query for reviews, newest first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReviewQuery {
    All {
        before: Option<(Timestamp, ReviewId)>,
        limit: u32,
    },
    /// The reviews that a task needs before it can be completed, including the reviews of earlier claims of the task.
    OfTask {
        task: TaskId,
        limit: u32,
    },
}

/// A query for rounds of a review with a higher number than `after`, in ascending order.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RoundQuery {
    pub review: ReviewId,
    pub after: u32,
    pub limit: u32,
}

/// A query for findings of a review with a higher number than `after`, in the order in which the reviewing agent first
/// gave them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FindingQuery {
    pub review: ReviewId,
    pub after: u32,
    pub limit: u32,
}

/// A query for conditions (facts about the project that need a person), the oldest first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConditionQuery {
    pub limit: u32,
}

/// A query for the work of tasks in git, in the order of the last change. The result begins after the position `after`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum DeliveryQuery {
    /// Tasks whose finished work waits for a person to merge or drop it.
    Waiting { after: Option<(Timestamp, TaskId)>, limit: u32 },
    /// Tasks whose work was delivered, merged or dropped since this time.
    ChangedSince { since: Timestamp, after: Option<(Timestamp, TaskId)>, limit: u32 },
}

/// A query for the work of whole workflows in git, in the order of the last change. The result begins after the
/// position `after`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum WorkflowDeliveryQuery {
    /// Workflows whose finished work waits for a person to merge or drop it.
    Waiting { after: Option<(Timestamp, WorkflowId)>, limit: u32 },
    /// Workflows whose work was delivered, merged or dropped since this time.
    ChangedSince { since: Timestamp, after: Option<(Timestamp, WorkflowId)>, limit: u32 },
}

/// A query for tokens, oldest first. Revoked tokens are included when `revoked` is true.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TokenQuery {
    pub revoked: bool,
    pub after: Option<(Timestamp, TokenId)>,
    pub limit: u32,
}

/// A query for one number, such as the number of repositories.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum TotalQuery {
    /// The number of workflows that match the filter.
    Workflows(WorkflowFilter),
    /// The number of repositories.
    Repositories,
    /// The first position in the plan whose task is neither completed nor skipped. 0 when there is no such task.
    FirstOpen(WorkflowId),
}

/// A query that counts rows by their status or by their priority. The answer has each status or priority with its
/// number of rows.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum CountQuery {
    /// For each status, the number of tasks of a workflow that have this status.
    Statuses(WorkflowId),
    /// For each priority, the number of unread messages in a mailbox.
    Unread(MailboxOwner),
}

/// A query for the parallel groups of a workflow (tasks that are planned to run at the same time): the number of tasks
/// in each group, and the number of its tasks that are completed or skipped.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct GroupQuery {
    pub workflow: WorkflowId,
    pub limit: u32,
}

/// A query for the total cost of the ended turns (runs of agents' programs) of a task or of a workflow.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SpentQuery(pub Whose);

/// The task or the workflow whose turns (runs of agents' programs) are listed or whose cost is added up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Whose {
    Task(TaskId),
    Workflow(WorkflowId),
}

/// A filter of workflows. An empty list of statuses matches workflows of every status. Archived workflows match only
/// when `archived` is true.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct WorkflowFilter {
    pub statuses: Vec<WorkflowStatus>,
    pub repository: Option<RepositoryId>,
    pub archived: bool,
}

/// A filter of agents. A field that is not set matches all agents.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct AgentFilter {
    pub role: Option<String>,
    pub runtime: Option<String>,
    pub workflow: Option<WorkflowId>,
}
