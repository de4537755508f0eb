//! Finds and claims work, and loads the context that an agent needs to do it.

use engine::id::{AgentId, TaskId, WorkflowId};
use engine::list::{TaskQuery, WorkflowFilter};
use engine::offer::{self, OfferQuery};
use engine::task::{Task, TaskState};
use engine::workflow::{Workflow, WorkflowStatus};
use engine::world::{NumberNeed, TaskIdNeed};
use engine::{Command, DecisionStop, Need, Refusal, Reply, Timestamp, World, view};
use wire::context;
use wire::lifecycle::{
    Include, NextRow, NextTask, NextTasks, ReplyPart, TaskGetAvailable, TaskLoadContext, TaskNext, TaskReply,
    TasksReply, Within, WorkflowNextTasks,
};

use super::waits::WantedChange;
use super::{Desk, Stopped, ToolAnswer, ToolRequest, TurnSeat, bad_cursor, limit};
use base::error::Error;

/// The number of workflows that are searched for a claimable task. The newest workflows are searched. An older workflow
/// is searched only if the caller names it.
const WORKFLOWS_MAX: u32 = 100;
/// The maximum number of tasks that the row of a task lists from its parallel group (the tasks that are planned to run
/// at the same time). Later tasks of the group are left out.
const PARALLEL_MAX: u32 = 20;

/// Returns the newest workflows that may have claimable tasks. They are ordered from the oldest to the newest, so that
/// workflows that were started first finish first. The `preferred` workflow comes before all others.
pub(super) fn running(world: &World, preferred: Option<WorkflowId>) -> Result<Vec<WorkflowId>, DecisionStop> {
    let statuses = vec![WorkflowStatus::InProgress, WorkflowStatus::Ready];
    let filter = WorkflowFilter { statuses, ..WorkflowFilter::default() };
    let page = view::workflows(world, &filter, None, 0, WORKFLOWS_MAX)?;
    let mut found: Vec<WorkflowId> = page.rows.iter().rev().map(|(row, _)| row.id).collect();
    found.sort_by_key(|id| Some(*id) != preferred);
    Ok(found)
}

/// A caller that looks for a claimable task.
#[derive(Debug, Clone, Default)]
struct WorkSeeker {
    agent: Option<AgentId>,
    /// The name that the caller gives as the owner of its lock on a workflow; `None` if it gives none.
    lock: Option<String>,
    include_failed: bool,
}

impl WorkSeeker {
    /// Tells whether another caller has locked a workflow. A lock is this caller's own if its owner is this caller's id
    /// or lock name.
    fn is_kept_out(&self, workflow: &Workflow, now: Timestamp) -> bool {
        let names = [self.agent.map(|agent| agent.to_string()), self.lock.clone()];
        let lock = workflow.lock.as_ref().filter(|lock| lock.until > now);
        lock.is_some_and(|lock| !names.iter().flatten().any(|name| *name == lock.owner))
    }
}

/// Returns the first workflow that has a claimable task for the caller. If the caller names a workflow, only this
/// workflow is searched. Otherwise, workflows that other callers have locked are skipped.
fn offering(
    world: &World,
    workflow: Option<WorkflowId>,
    seeker: &WorkSeeker,
    now: Timestamp,
) -> Result<Option<WorkflowId>, DecisionStop> {
    let WorkSeeker { agent, include_failed, .. } = *seeker;
    let candidates = match workflow {
        Some(workflow) => {
            world.workflow(workflow)?;
            vec![workflow]
        }
        None => {
            let own = agent.map(|agent| world.agent(agent)).transpose()?.and_then(|agent| agent.workflow);
            running(world, own)?
        }
    };
    for id in candidates {
        if workflow.is_none() && seeker.is_kept_out(world.workflow(id)?, now) {
            continue;
        }
        let ask = OfferQuery { workflow: id, agent, include_failed, after: None, limit: 1 };
        if !offer::next(world, &ask, now)?.tasks.is_empty() {
            return Ok(Some(id));
        }
    }
    Ok(None)
}

impl Desk {
    pub(super) async fn load_context(&self, asked: &TaskLoadContext) -> ToolAnswer {
        let budget = asked.max_tokens.map_or(context::MAX_TOKENS_DEFAULT, |Within(tokens)| tokens);
        self.context(asked.task_id, asked.include.as_ref(), budget).await
    }

    async fn context(&self, task: TaskId, include: Option<&Include>, max_tokens: u32) -> ToolAnswer {
        let rows = context::rows_wanted(include, max_tokens);
        let full = include.and_then(|include| include.prior_task_full).unwrap_or(false);
        let facts = self.service.view(move |world| view::context(world, task, rows, full)).await?;
        Ok(context::fit(&facts, include, max_tokens))
    }

    pub(super) async fn next_tasks(&self, asked: &WorkflowNextTasks) -> ToolAnswer {
        let after = asked.cursor.as_ref().map(|cursor| position(cursor.as_str()).ok_or_else(bad_cursor)).transpose()?;
        let rows = limit(asked.limit);
        let ask = OfferQuery {
            workflow: asked.workflow_id,
            agent: asked.agent_id,
            include_failed: asked.include_failed.unwrap_or(false),
            after,
            limit: usize::try_from(rows).unwrap_or(usize::MAX),
        };
        let now = self.service.now();
        let reply = self.service.view(move |world| next_tasks(world, &ask, now)).await?;
        Ok(reply.render())
    }

    pub(super) async fn available(&self, request: &ToolRequest<'_>, asked: &TaskGetAvailable) -> ToolAnswer {
        let agent = match self.acting(request).await {
            // If the caller may not act as any agent, continue without an agent: every caller may read the list of
            // claimable tasks.
            Err(Stopped::Error(Error::Refused(Refusal::AgentElsewhere { .. } | Refusal::AgentRequired { .. }))) => None,
            found => found?,
        };
        let (workflow, rows) = (asked.workflow_id, usize::try_from(limit(asked.limit)).unwrap_or(usize::MAX));
        let now = self.service.now();
        // The cursor (the position in the list of claimable tasks) names a workflow and a position in its tasks, with a
        // slash between them, because the list covers several workflows.
        let after = asked.cursor.as_ref().map(|cursor| {
            let (id, place) = cursor.as_str().split_once('/')?;
            Some((id.parse::<WorkflowId>().ok()?, if place.is_empty() { None } else { Some(position(place)?) }))
        });
        let after = after.map(|found| found.ok_or_else(bad_cursor)).transpose()?;
        let (tasks, next) = self
            .service
            .view(move |world| {
                let mut found: Vec<Task> = Vec::new();
                let mut workflows = match workflow {
                    Some(workflow) => vec![world.workflow(workflow)?.id],
                    None => running(world, None)?,
                };
                if let Some((from, _)) = after {
                    let passed = workflows.iter().position(|id| *id == from).unwrap_or(workflows.len());
                    workflows.drain(..passed);
                }
                for id in workflows {
                    let place = after.filter(|(from, _)| *from == id).and_then(|(_, place)| place);
                    let ask = OfferQuery {
                        workflow: id,
                        agent,
                        include_failed: false,
                        after: place,
                        limit: rows - found.len(),
                    };
                    let page = offer::next(world, &ask, now)?;
                    found.extend(page.tasks);
                    if let Some((priority, sequence, task)) = page.next {
                        return Ok((
                            view::with_texts(world, &found)?,
                            Some(format!("{id}/{priority}.{sequence}.{task}")),
                        ));
                    }
                    if found.len() >= rows {
                        return Ok((view::with_texts(world, &found)?, None));
                    }
                }
                Ok((view::with_texts(world, &found)?, None))
            })
            .await?;
        let tasks = tasks.iter().map(TaskReply::listed).collect();
        Ok(TasksReply { tasks, next_cursor: next }.render())
    }

    /// Claims the next task and returns it with its context. If no task is claimable, waits for one as long as the call
    /// allows.
    pub(super) async fn task_next(&self, request: &ToolRequest<'_>, asked: &TaskNext) -> ToolAnswer {
        let agent = self.acting(request).await?.ok_or(Refusal::AgentNotFound { agent: None })?;
        let budget = asked.max_tokens.map_or(context::MAX_TOKENS_DEFAULT, |Within(tokens)| tokens);
        if let Some(seat) = request.visitor.seat {
            // The caller belongs to a turn (one run of an agent's program by the runner). The task of a turn is fixed,
            // so every call returns this task with its context.
            return self.seated(seat, budget).await;
        }
        if let Some(first) = self.service.kept(&request.caller, "claim_next").await? {
            return self.taken(&first?, budget, None, (asked.workflow_id, Some(agent))).await;
        }
        let (workflow, failed) = (asked.workflow_id, asked.include_failed.unwrap_or(false));
        let wait = asked.wait_seconds.map_or(0, |Within(seconds)| seconds);
        let mut waiting = self.waiting(request, wait).await?;
        let lock = request.caller.lock_owner.clone();
        let seeker = WorkSeeker { agent: Some(agent), lock, include_failed: failed };
        loop {
            let (now, seeker) = (self.service.now(), seeker.clone());
            let offered = self.service.view(move |world| offering(world, workflow, &seeker, now)).await?;
            if let Some(workflow) = offered {
                let claim = Command::ClaimNext { workflow, include_failed: failed };
                let caller = engine::Caller { agent: Some(agent), ..request.caller.clone() };
                let reply = self.service.execute(caller, claim).await?;
                self.keep_base(&reply).await;
                if matches!(reply, Reply::Claimed { .. }) || request.caller.key.is_some() {
                    return self.taken(&reply, budget, Some(waiting.cursor()), (asked.workflow_id, Some(agent))).await;
                }
                // If another agent claimed the offered task first, search for another task.
                continue;
            }
            if self.is_over(workflow).await? || !waiting.more(self, WantedChange::Work).await? {
                let reply = Reply::NoTask { limit_reached: false, all_done: false };
                return self.taken(&reply, budget, Some(waiting.cursor()), (workflow, Some(agent))).await;
            }
        }
    }

    async fn seated(&self, seat: TurnSeat, budget: u32) -> ToolAnswer {
        let lease = self.service.view(move |world| Ok(world.task(seat.task)?.state.lease().map(|lease| lease.until)));
        let until = lease.await?.ok_or(Refusal::ClaimLost { task: seat.task, holder: None, attempt: seat.attempt })?;
        let held = Reply::Claimed { task: seat.task, attempt: seat.attempt, until, review: false };
        self.taken(&held, budget, None, (None, None)).await
    }

    async fn taken(
        &self,
        reply: &Reply,
        budget: u32,
        cursor: Option<String>,
        (workflow, agent): (Option<WorkflowId>, Option<AgentId>),
    ) -> ToolAnswer {
        let Reply::Claimed { task, attempt, until, .. } = reply else {
            let idle = self.idle(workflow, agent).await?;
            let reply = NextTask {
                success: false,
                task: None,
                attempt: None,
                lease_expires_at: None,
                context: None,
                waiting: idle.rows(),
                retry_after_ms: idle.retry_after_ms,
                reason: Some(idle.words),
                cursor,
            };
            return Ok(reply.render());
        };
        let id = *task;
        let view = self.service.view(move |world| view::task(world, id)).await?;
        let context = self.context(id, None, budget).await?;
        let reply = NextTask {
            success: true,
            task: Some(TaskReply::listed(&view)),
            attempt: Some(*attempt),
            lease_expires_at: Some(*until),
            context: Some(context),
            reason: None,
            waiting: None,
            retry_after_ms: None,
            cursor: None,
        };
        Ok(reply.render())
    }
}

/// Parses a position in a list of tasks: priority, sequence and id.
fn position(text: &str) -> Option<offer::OfferPosition> {
    let mut parts = text.splitn(3, '.');
    let (priority, sequence, id) = (parts.next()?, parts.next()?, parts.next()?);
    Some((priority.parse().ok()?, sequence.parse().ok()?, id.parse().ok()?))
}

fn next_tasks(world: &World, ask: &OfferQuery, now: Timestamp) -> Result<NextTasks, DecisionStop> {
    let page = offer::next(world, ask, now)?;
    let workflow = world.workflow(ask.workflow)?;
    let views = view::with_texts(world, &page.tasks)?;
    world.want(page.tasks.iter().map(|task| TaskIdNeed::Dependencies(task.id)))?;
    let rows = views.iter().map(|view| next_row(world, view)).collect::<Result<Vec<_>, _>>()?;
    let running = match workflow.parallel_max {
        Some(_) => *world.ask(&NumberNeed::Running(workflow.id, now))?,
        None => 0,
    };
    let count = u32::try_from(rows.len()).unwrap_or(u32::MAX);
    let room = workflow.parallel_max.map_or(u32::MAX, |limit| limit.saturating_sub(running));
    Ok(NextTasks {
        tasks: rows,
        max_parallel: workflow.parallel_max,
        recommended_count: count.min(room),
        workflow_status: workflow.status.as_str(),
        all_complete: is_complete(workflow),
        limit_reached: page.limit_reached,
        next_cursor: page.next.map(|(priority, sequence, id)| format!("{priority}.{sequence}.{id}")),
    })
}

fn is_complete(workflow: &Workflow) -> bool {
    view::is_planned(workflow) && workflow.tasks > 0 && workflow.open == 0
}

fn next_row(world: &World, view: &view::TaskView) -> Result<NextRow, DecisionStop> {
    let task = &view.task;
    let mut together = Vec::new();
    if let Some(group) = task.group.clone() {
        let list = TaskQuery::Group { workflow: task.workflow, group, limit: PARALLEL_MAX + 1 };
        together.extend(world.ask(&list)?.iter().map(|member| member.id).filter(|id| *id != task.id));
    }
    // All dependencies of a claimable task are completed. The row of the task in the reply shows only the first few of
    // these dependencies.
    let on = world.ask(&TaskIdNeed::Dependencies(task.id))?;
    let on = on.get(..on.len().min(engine::limits::NAMED_MAX)).unwrap_or_default();
    world.want(on.iter().map(|id| Need::Task(*id)))?;
    let mut met = on.iter().map(|id| world.task(*id)).collect::<Result<Vec<_>, _>>()?;
    met.sort_by_key(|task| (task.sequence, task.id));
    let names = met.into_iter().map(|task| task.name.clone()).collect();
    let listed = TaskReply::listed(view);
    let error = if let TaskState::Failed { .. } = task.state { listed.error } else { None };
    Ok(NextRow {
        id: task.id,
        number: task.number,
        workflow_id: task.workflow,
        name: listed.name,
        description: listed.description,
        status: listed.status,
        sequence: task.sequence,
        priority: listed.priority,
        parallel_group: listed.parallel_group,
        role: listed.role,
        capabilities: listed.capabilities,
        touches: listed.touches,
        attempt: task.attempt,
        error,
        created_at: task.created,
        updated_at: task.updated,
        can_parallelize: task.group.is_some(),
        parallel_with: together,
        dependencies_completed: names,
    })
}

impl Desk {
    /// Returns the number of claimable tasks of the first workflow that has any. Counts up to 20; more are returned as
    /// 20.
    pub(super) async fn claimable(&self, workflow: Option<WorkflowId>, agent: Option<AgentId>) -> Result<u32, Stopped> {
        let now = self.service.now();
        let seeker = WorkSeeker { agent, ..WorkSeeker::default() };
        let found = self
            .service
            .view(move |world| {
                let Some(id) = offering(world, workflow, &seeker, now)? else { return Ok(0) };
                let ask = OfferQuery { workflow: id, agent, include_failed: false, after: None, limit: 20 };
                Ok(u32::try_from(offer::next(world, &ask, now)?.tasks.len()).unwrap_or(u32::MAX))
            })
            .await?;
        Ok(found)
    }
}
