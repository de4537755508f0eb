//! Views: read-only, bounded queries over the state. A view stops when a part of the state is not loaded, and asks for
//! that part. The store loads the missing part and runs the view again.

mod attempt;
mod execution;
mod mail;
mod progress;
mod review;
mod waiting;
mod worker;

use crate::agent::{Agent, AgentPresence};
use crate::approval::{Approval, ApprovalStatus};
use crate::id::{AgentId, SessionId, TaskId, WorkflowId};
use crate::inbox::Message;
use crate::list::{
    AgentFilter, AgentQuery, ApprovalQuery, CountQuery, MessageQuery, RepositoryQuery, ReviewQuery, SpentQuery,
    TaskQuery, TemplateQuery, TokenQuery, TotalQuery, Whose, WorkflowFilter, WorkflowQuery, WorkspaceQuery,
};
use crate::refusal::Refusal;
use crate::review::Review;
use crate::task::{Status, Task, TaskDetail};
use crate::template::Template;
use crate::time::Timestamp;
use crate::token::Token;
use crate::turn::Spent;
use crate::workflow::{Workflow, WorkflowDetail, WorkflowStatus};
use crate::workspace::{Repository, Workspace, WorkspaceStatus};
use crate::world::{DecisionStop, Need, TaskIdNeed, TypedQuestion, UnmetNeed, World};

pub use attempt::{AttemptView, attempt};
pub use execution::{Execution, Worked, execution, runners, running};
pub use mail::{MailFilter, Mailed, StoredMailState as MailState, UnreadMail, mail, message, unread};
pub use progress::{BlockedByTasks, ProgressView, progress};
pub use review::{Reviewed, gating, review, reviews};
pub use waiting::{StallCauses, WaitingTasks, stalls, waiting};
pub use worker::context;

/// One page of a list, and the position at which the next page begins. The field `next` is `None` on the last page.
#[derive(Debug, Clone, PartialEq)]
pub struct ListRows<T, P> {
    pub rows: Vec<T>,
    pub next: Option<P>,
    /// The total number of rows in the list. `None` when the view does not count them.
    pub total: Option<u32>,
}

/// Makes a page of at most `limit` rows from the rows `found`. There is a next page if `found` has more than `limit`
/// rows.
fn paged<T: Clone, P>(found: &[T], limit: u32, place: impl Fn(&T) -> P) -> ListRows<T, P> {
    let size = usize::try_from(limit).unwrap_or(usize::MAX);
    let rows = found.get(..size.min(found.len())).unwrap_or_default().to_vec();
    let next = (found.len() > size).then(|| rows.last().map(place)).flatten();
    ListRows { rows, next, total: None }
}

/// Returns true when the workflow's plan is set. The tasks of a workflow are hidden until its plan is set.
pub fn is_planned(workflow: &Workflow) -> bool {
    workflow.status != WorkflowStatus::Planning && workflow.draft.is_none()
}

/// A task with its long texts and the names of the tasks that it waits for.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskView {
    pub task: Task,
    pub detail: TaskDetail,
    pub blocked_by: Vec<(TaskId, String)>,
}

impl TaskView {
    /// Returns true when the task is neither completed nor skipped, and all its dependencies are met.
    pub fn is_ready(&self) -> bool {
        self.task.unmet == 0 && !self.task.status().is_met()
    }
}

/// Returns a task with its texts. While the plan of the workflow is not set, its tasks count as not found.
pub fn task(world: &World, id: TaskId) -> Result<TaskView, DecisionStop> {
    let task = world.task(id)?;
    world.want([Need::Workflow(task.workflow), Need::Detail(id)])?;
    if !is_planned(world.workflow(task.workflow)?) {
        return Err(Refusal::TaskNotFound { task: id.to_string() }.into());
    }
    let mut views = with_texts(world, std::slice::from_ref(task))?;
    views.pop().ok_or_else(|| Refusal::TaskNotFound { task: id.to_string() }.into())
}

/// Returns the tasks together with their long texts. The texts of all tasks are loaded in one step.
pub fn with_texts(world: &World, tasks: &[Task]) -> Result<Vec<TaskView>, DecisionStop> {
    let waiting = |task: &Task| task.unmet > 0 && !task.status().is_met();
    let unmet = tasks.iter().filter(|task| waiting(task)).map(|task| UnmetNeed(task.id).into());
    world.want(tasks.iter().map(|task| Need::Detail(task.id)).chain(unmet))?;
    let view = |task: &Task| {
        let blocked_by = if waiting(task) { world.ask(&UnmetNeed(task.id))?.clone() } else { Vec::new() };
        Ok(TaskView { task: task.clone(), detail: world.detail(task.id)?.clone(), blocked_by })
    };
    tasks.iter().map(view).collect()
}

pub type ListPosition = (u32, TaskId);
/// A repository, and the time at which it was registered or attached to a workflow.
pub type KnownRepository = (Repository, Timestamp);
/// A position in a list that is ordered by time: the time and the id of a row.
pub type Moment<I> = (Timestamp, I);

/// Returns one page of a workflow's tasks. The page is empty until the workflow's plan is set.
pub fn tasks(
    world: &World,
    workflow: WorkflowId,
    statuses: &[Status],
    after: Option<ListPosition>,
    limit: u32,
) -> Result<ListRows<TaskView, ListPosition>, DecisionStop> {
    if !is_planned(world.workflow(workflow)?) {
        return Ok(ListRows { rows: Vec::new(), next: None, total: None });
    }
    let list = TaskQuery::Planned { workflow, statuses: statuses.to_vec(), after, limit: limit + 1 };
    let page = paged(world.ask(&list)?, limit, |task: &Task| (task.sequence, task.id));
    Ok(ListRows { rows: with_texts(world, &page.rows)?, next: page.next, total: None })
}

pub fn workflow(world: &World, id: WorkflowId) -> Result<(Workflow, WorkflowDetail), DecisionStop> {
    world.want([Need::Workflow(id), Need::WorkflowDetail(id)])?;
    Ok((world.workflow(id)?.clone(), world.workflow_detail(id)?.clone()))
}

/// Returns workflows, newest first, and their total number.
pub fn workflows(
    world: &World,
    filter: &WorkflowFilter,
    after: Option<(Timestamp, WorkflowId)>,
    offset: u32,
    limit: u32,
) -> Result<ListRows<(Workflow, WorkflowDetail), Moment<WorkflowId>>, DecisionStop> {
    let list = WorkflowQuery { filter: filter.clone(), after, offset, limit: limit + 1 };
    let total = TotalQuery::Workflows(filter.clone());
    world.want([list.need(), total.need()])?;
    let page = paged(world.ask(&list)?, limit, |row: &Workflow| (row.created, row.id));
    world.want(page.rows.iter().map(|row| Need::WorkflowDetail(row.id)))?;
    let detailed = |row: Workflow| Ok((row.clone(), world.workflow_detail(row.id)?.clone()));
    let rows = page.rows.into_iter().map(detailed).collect::<Result<_, DecisionStop>>()?;
    Ok(ListRows { rows, next: page.next, total: Some(*world.ask(&total)?) })
}

/// Returns the repositories of a workflow.
pub fn attached(world: &World, workflow: WorkflowId) -> Result<Vec<(Repository, Timestamp)>, DecisionStop> {
    world.workflow(workflow)?;
    let limit = u32::try_from(crate::limits::REPOSITORIES_MAX).unwrap_or(u32::MAX);
    Ok(world.ask(&RepositoryQuery::Attached { workflow, limit })?.clone())
}

pub fn repositories(
    world: &World,
    after: Option<(Timestamp, crate::id::RepositoryId)>,
    offset: u32,
    limit: u32,
) -> Result<ListRows<KnownRepository, Moment<crate::id::RepositoryId>>, DecisionStop> {
    let list = RepositoryQuery::All { after, offset, limit: limit + 1 };
    let page = paged(world.ask(&list)?, limit, |(row, at)| (*at, row.id));
    Ok(ListRows { total: Some(*world.ask(&TotalQuery::Repositories)?), ..page })
}

pub fn workspaces(
    world: &World,
    workflow: WorkflowId,
    statuses: &[WorkspaceStatus],
    after: Option<(Timestamp, crate::id::WorkspaceId)>,
    limit: u32,
) -> Result<ListRows<Workspace, (Timestamp, crate::id::WorkspaceId)>, DecisionStop> {
    world.workflow(workflow)?;
    let list = WorkspaceQuery { workflow, statuses: statuses.to_vec(), after, limit: limit + 1 };
    Ok(paged(world.ask(&list)?, limit, |row: &Workspace| (row.created, row.id)))
}

pub fn templates(world: &World, after: &str, limit: u32) -> Result<ListRows<Template, String>, DecisionStop> {
    let list = TemplateQuery { after: after.to_owned(), limit: limit + 1 };
    Ok(paged(world.ask(&list)?, limit, |row: &Template| row.name.clone()))
}

pub fn tokens(
    world: &World,
    after: Option<(Timestamp, crate::id::TokenId)>,
    limit: u32,
) -> Result<ListRows<Token, (Timestamp, crate::id::TokenId)>, DecisionStop> {
    let list = TokenQuery { revoked: true, after, limit: limit + 1 };
    Ok(paged(world.ask(&list)?, limit, |row: &Token| (row.created, row.id)))
}

/// An agent, its presence, and the task that it claimed last.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentView {
    pub agent: Agent,
    pub presence: AgentPresence,
    pub task: Option<TaskId>,
}

pub fn agent(world: &World, id: AgentId, alive: &[SessionId], now: Timestamp) -> Result<AgentView, DecisionStop> {
    world.want([Need::Agent(id), TaskIdNeed::HeldBy(id).into()])?;
    let agent = world.agent(id)?.clone();
    let held = world.ask(&TaskIdNeed::HeldBy(id))?;
    world.want(held.iter().map(|task| Need::Task(*task)))?;
    let since = |id: &TaskId| world.task(*id).ok().and_then(|task| task.state.lease().map(|lease| lease.since));
    let task = held.iter().max_by_key(|id| (since(id), **id)).copied();
    Ok(AgentView { presence: agent.presence(task.is_some(), alive, now), agent, task })
}

pub fn agents(
    world: &World,
    filter: &AgentFilter,
    after: Option<(Timestamp, AgentId)>,
    limit: u32,
    (alive, now): (&[SessionId], Timestamp),
) -> Result<ListRows<AgentView, (Timestamp, AgentId)>, DecisionStop> {
    let list = AgentQuery { filter: filter.clone(), after, limit: limit + 1 };
    let place = |(agent, _): &(Agent, Option<TaskId>)| (agent.created, agent.id);
    let page = paged(world.ask(&list)?, limit, place);
    let view = |(agent, task): (Agent, Option<TaskId>)| AgentView {
        presence: agent.presence(task.is_some(), alive, now),
        agent,
        task,
    };
    Ok(ListRows { rows: page.rows.into_iter().map(view).collect(), next: page.next, total: None })
}

/// Returns the dependencies of a task, in the order of the plan.
pub fn dependencies(world: &World, id: TaskId) -> Result<Vec<Task>, DecisionStop> {
    task(world, id)?;
    let ids = world.ask(&TaskIdNeed::Dependencies(id))?;
    world.want(ids.iter().map(|id| Need::Task(*id)))?;
    let mut found = ids.iter().map(|id| world.task(*id).cloned()).collect::<Result<Vec<_>, _>>()?;
    found.sort_by_key(|task| (task.sequence, task.id));
    Ok(found)
}

/// A summary of everything in the store, for a person.
#[derive(Debug, Clone, PartialEq)]
pub struct Overview {
    /// Workflows that have not ended, newest first, each with the number of its tasks in each status.
    pub workflows: Vec<(Workflow, Vec<(String, u32)>)>,
    pub workflows_more: bool,
    pub held: Vec<(Task, Agent)>,
    pub stuck: Vec<Task>,
    pub agents: Vec<AgentView>,
    pub unread: u32,
    /// Approvals that a person can still decide about, oldest first.
    pub approvals: Vec<Approval>,
    /// Questions that no person has answered, oldest first.
    pub questions: Vec<Message>,
    /// Reviews that have findings without a decision, newest first. Only the newest reviews are searched.
    pub reviews: Vec<Review>,
    /// The cost of each workflow for which agents' programs ran.
    pub spent: Vec<(WorkflowId, Spent)>,
    /// The newest completed workflows, for a person who looks when all work is done. Empty while another workflow is
    /// open or failed.
    pub finished: Vec<Workflow>,
}

/// `OVERVIEW_ROWS` is the maximum number of rows in each list of an overview. `FINISHED_ROWS` is the maximum number of
/// completed workflows in an overview.
const OVERVIEW_ROWS: u32 = 50;
const FINISHED_ROWS: u32 = 3;

fn spent(world: &World, workflow: WorkflowId) -> Option<Spent> {
    let found = world.ask(&SpentQuery(Whose::Workflow(workflow))).ok()?;
    Some(*found).filter(|spent| spent.turns > 0)
}

pub fn overview(world: &World, alive: &[SessionId], now: Timestamp) -> Result<Overview, DecisionStop> {
    let open = [
        WorkflowStatus::Planning,
        WorkflowStatus::Ready,
        WorkflowStatus::InProgress,
        WorkflowStatus::Paused,
        WorkflowStatus::AwaitingMerge,
        WorkflowStatus::Failed,
    ];
    let filter = WorkflowFilter { statuses: open.to_vec(), ..WorkflowFilter::default() };
    let (held, stuck) = (TaskQuery::Held { limit: OVERVIEW_ROWS }, TaskQuery::Stuck { limit: OVERVIEW_ROWS });
    let human = crate::inbox::MailboxOwner::Human;
    let pending =
        ApprovalQuery::WithStatus { statuses: vec![ApprovalStatus::Pending], before: None, limit: OVERVIEW_ROWS };
    let asked = MessageQuery::Questions { after: 0, limit: OVERVIEW_ROWS };
    let reviewed = ReviewQuery::All { before: None, limit: OVERVIEW_ROWS };
    world.want([held.need(), stuck.need(), pending.need(), asked.need(), reviewed.need(), Need::Mailbox(human)])?;
    let page = workflows(world, &filter, None, 0, OVERVIEW_ROWS)?;
    let completed = WorkflowFilter { statuses: vec![WorkflowStatus::Completed], ..WorkflowFilter::default() };
    let finished =
        if page.rows.is_empty() { workflows(world, &completed, None, 0, FINISHED_ROWS)?.rows } else { Vec::new() };
    let of_each = |id: WorkflowId| [CountQuery::Statuses(id).need(), SpentQuery(Whose::Workflow(id)).need()];
    world.want(page.rows.iter().chain(&finished).flat_map(|(row, _)| of_each(row.id)))?;
    let counted = |(row, _): &(Workflow, WorkflowDetail)| {
        let counts = if is_planned(row) { world.ask(&CountQuery::Statuses(row.id))?.clone() } else { Vec::new() };
        Ok((row.clone(), counts))
    };
    let workflows = page.rows.iter().map(counted).collect::<Result<_, DecisionStop>>()?;
    let rows = world.ask(&held)?;
    world.want(rows.iter().filter_map(Task::holder).map(Need::Agent))?;
    let held = rows.iter().filter_map(|task| Some((task.clone(), world.agent(task.holder()?).ok()?.clone()))).collect();
    let mut here = Vec::new();
    let mut after = None;
    loop {
        let page = agents(world, &AgentFilter::default(), after, 500, (alive, now))?;
        here.extend(page.rows.into_iter().filter(|row| row.presence != AgentPresence::Offline));
        after = page.next;
        if after.is_none() || here.len() >= 500 {
            break;
        }
    }
    Ok(Overview {
        workflows,
        workflows_more: page.next.is_some(),
        held,
        stuck: world.ask(&stuck)?.clone(),
        agents: here,
        unread: world.mailbox(human)?.unread,
        approvals: world.ask(&pending)?.iter().rev().filter(|row| !row.is_over(now)).cloned().collect(),
        questions: world.ask(&asked)?.clone(),
        reviews: world.ask(&reviewed)?.iter().filter(|row| row.open > 0).cloned().collect(),
        spent: page.rows.iter().chain(&finished).filter_map(|(row, _)| Some((row.id, spent(world, row.id)?))).collect(),
        finished: finished.into_iter().map(|(row, _)| row).collect(),
    })
}
