//! Workflows: the rules for their status, their limits and their lock.

use crate::case::Case;
use crate::check;
use crate::command::{Course, CreateWorkflow, Rights};
use crate::event::Event;
use crate::id::WorkflowId;
use crate::json::Json;
use crate::limits;
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::rules::place;
use crate::rules::protect::{self, Steering};
use crate::workflow::{LIST_NAME, Lock, Workflow, WorkflowDetail, WorkflowStatus};
use crate::world::{BoolNeed, DecisionStop, WorkflowIdNeed};

pub(crate) fn create(case: &mut Case<'_>, create: &CreateWorkflow) -> Result<Reply, DecisionStop> {
    check::name("name", &create.name)?;
    check::label("source_type", &create.source_type)?;
    check::optional(create.source_ref.as_deref(), |text| check::path("source_ref", text))?;
    check::size("source_content", &create.source_content, limits::TEXT_BYTES_MAX)?;
    check::json("config", create.config.as_ref())?;
    parallel("max_parallel_tasks", create.parallel_max)?;
    check::count("repository_paths", create.repositories.len(), limits::REPOSITORIES_MAX)?;
    let lease_ms = create.lease_ms.unwrap_or(limits::LEASE_MS_DEFAULT);
    if lease_ms < limits::LEASE_MS_MIN || lease_ms > limits::LEASE_MS_MAX {
        return Err(Refusal::input("lease_ms", "must be between one second and a day").into());
    }
    let workflow = Workflow {
        id: WorkflowId::next(&mut case.ids),
        name: create.name.clone(),
        status: WorkflowStatus::Planning,
        parallel_max: create.parallel_max,
        lease_ms,
        lock: None,
        draft: None,
        standing: false,
        archived: false,
        branch: None,
        tasks: 0,
        open: 0,
        sequence: 0,
        created: case.now,
        updated: case.now,
    };
    let detail = WorkflowDetail {
        source_type: create.source_type.clone(),
        source_ref: create.source_ref.clone(),
        source_content: create.source_content.clone(),
        plan_summary: None,
        auto_workspaces: create.auto_workspaces,
        config: create.config.clone(),
    };
    let reply =
        Reply::WorkflowCreated { workflow: workflow.id, status: workflow.status, parallel_max: workflow.parallel_max };
    let id = workflow.id;
    case.events.push(Event::WorkflowCreated { workflow: Box::new(workflow), detail: Box::new(detail) });
    for path in &create.repositories {
        place::attach_new(case, id, path)?;
    }
    Ok(reply)
}

/// Returns the standing list, which is the one workflow that takes single tasks at any time. Creates it when the store
/// has none.
pub(crate) fn open_list(case: &mut Case<'_>) -> Result<Reply, DecisionStop> {
    if let Some(id) = case.world.ask(&WorkflowIdNeed::Standing)?.first() {
        let found = case.world.workflow(*id)?;
        return Ok(Reply::ListOpened { workflow: found.id, status: found.status, made: false });
    }
    let status = WorkflowStatus::Ready;
    let workflow = Workflow {
        id: WorkflowId::next(&mut case.ids),
        name: LIST_NAME.to_owned(),
        status,
        parallel_max: None,
        lease_ms: limits::LEASE_MS_DEFAULT,
        lock: None,
        draft: None,
        standing: true,
        archived: false,
        branch: None,
        tasks: 0,
        open: 0,
        sequence: 0,
        created: case.now,
        updated: case.now,
    };
    let detail = WorkflowDetail { source_type: "list".to_owned(), ..WorkflowDetail::default() };
    let reply = Reply::ListOpened { workflow: workflow.id, status, made: true };
    case.events.push(Event::WorkflowCreated { workflow: Box::new(workflow), detail: Box::new(detail) });
    Ok(reply)
}

/// Archives a workflow that is completed, failed or abandoned. With `archived` false, takes it out of the archive
/// again.
pub(crate) fn archive(case: &mut Case<'_>, id: WorkflowId, archived: bool) -> Result<Reply, DecisionStop> {
    let workflow = open(case, id)?;
    protect::workflow(case, &workflow, "archive", Steering::Archive)?;
    if workflow.archived == archived {
        return Ok(Reply::WorkflowArchived { archived });
    }
    if archived && !workflow.status.is_over() {
        let problem = format!(
            "the workflow is {}; only a completed, failed or abandoned workflow can be archived",
            workflow.status
        );
        return Err(Refusal::state(problem).into());
    }
    case.events.push(Event::WorkflowArchived { workflow: id, archived });
    Ok(Reply::WorkflowArchived { archived })
}

/// Gives a workflow the git branch into which the work of its tasks is merged. A workflow keeps its first branch, and
/// two workflows of a store never have the same branch.
pub(crate) fn take_branch(case: &mut Case<'_>, id: WorkflowId, branch: &str) -> Result<Reply, DecisionStop> {
    if case.rights != Rights::Runner {
        let problem = "only the runner gives a workflow its branch".to_owned();
        return Err(Refusal::NotPermitted { problem }.into());
    }
    check::path("branch", branch)?;
    let workflow = case.world.workflow(id)?;
    if workflow.standing {
        return Err(Refusal::state("the tasks of the standing list have a branch each").into());
    }
    if let Some(branch) = &workflow.branch {
        return Ok(Reply::BranchTaken { branch: branch.clone() });
    }
    if let Some(workflow) = case.world.ask(&WorkflowIdNeed::WithBranch(branch.to_owned()))?.first() {
        return Ok(Reply::BranchOfOther { workflow: *workflow });
    }
    case.events.push(Event::BranchTaken { workflow: id, branch: branch.to_owned() });
    Ok(Reply::BranchTaken { branch: branch.to_owned() })
}

fn parallel(field: &str, limit: Option<u32>) -> Result<(), Refusal> {
    if limit.is_some_and(|limit| !(1..=limits::PARALLEL_MAX).contains(&limit)) {
        return Err(Refusal::input(field, format!("must be 1 to {}, or left out for no limit", limits::PARALLEL_MAX)));
    }
    Ok(())
}

/// Returns a workflow that the caller wants to change. Refuses when another owner has locked the workflow.
pub(crate) fn open(case: &Case<'_>, id: WorkflowId) -> Result<Workflow, DecisionStop> {
    let workflow = case.world.workflow(id)?;
    case.unlocked(workflow)?;
    Ok(workflow.clone())
}

pub(crate) fn moved(case: &mut Case<'_>, workflow: &Workflow, to: WorkflowStatus, reason: Option<&str>) {
    case.events.push(Event::WorkflowMoved {
        workflow: workflow.id,
        from: workflow.status,
        to,
        reason: reason.map(str::to_owned),
    });
}

pub(crate) fn set_status(
    case: &mut Case<'_>,
    id: WorkflowId,
    to: WorkflowStatus,
    reason: Option<&str>,
) -> Result<Reply, DecisionStop> {
    check::optional(reason, |text| check::summary("reason", text))?;
    let workflow = open(case, id)?;
    if workflow.status == to {
        return Ok(Reply::WorkflowMoved { status: to });
    }
    if !workflow.status.targets().contains(&to) {
        return Err(Refusal::InvalidWorkflowTransition { from: workflow.status, to }.into());
    }
    steered(case, &workflow, to)?;
    if workflow.standing && !matches!(to, WorkflowStatus::InProgress | WorkflowStatus::Paused) {
        let problem = format!(
            "the list {LIST_NAME} stays open and cannot become {to}; skip the tasks that nobody needs (task_update) or \
             remove them (workflow_remove_task)"
        );
        return Err(Refusal::state(problem).into());
    }
    match to {
        WorkflowStatus::Ready => {
            return Err(Refusal::state("a workflow becomes ready when its plan is set").into());
        }
        WorkflowStatus::Completed | WorkflowStatus::AwaitingMerge if workflow.open > 0 => {
            let problem = format!("{} tasks are still open; complete or skip them first", workflow.open);
            return Err(Refusal::state(problem).into());
        }
        WorkflowStatus::Planning
        | WorkflowStatus::InProgress
        | WorkflowStatus::Paused
        | WorkflowStatus::AwaitingMerge
        | WorkflowStatus::Completed
        | WorkflowStatus::Failed
        | WorkflowStatus::Abandoned => {}
    }
    moved(case, &workflow, to, reason);
    let status = if to == WorkflowStatus::InProgress && workflow.tasks > 0 {
        settle(case, &Workflow { status: to, ..workflow.clone() }, workflow.open)?
    } else {
        to
    };
    Ok(Reply::WorkflowMoved { status })
}

/// Refuses a change of the workflow's status if the caller is not allowed to make it. Only a person may end a workflow
/// early. A person or a coordinator may suspend, resume and reopen it.
fn steered(case: &Case<'_>, workflow: &Workflow, to: WorkflowStatus) -> Result<(), DecisionStop> {
    let act = match (workflow.status, to) {
        (_, WorkflowStatus::Paused) => ("suspend", Steering::Pause),
        (WorkflowStatus::Paused, WorkflowStatus::InProgress) => ("resume", Steering::Pause),
        (WorkflowStatus::Failed, WorkflowStatus::InProgress) => ("reopen", Steering::Pause),
        (_, WorkflowStatus::Abandoned) => ("abandon", Steering::End),
        (_, WorkflowStatus::Failed) => ("end", Steering::End),
        (_, WorkflowStatus::Completed | WorkflowStatus::AwaitingMerge) if workflow.open > 0 => {
            ("complete", Steering::End)
        }
        _ => return Ok(()),
    };
    protect::workflow(case, workflow, act.0, act.1)
}

/// Starts, suspends or resumes a workflow. A repeated request has no further effect. A refusal names the act: for
/// example, it says that the workflow cannot be suspended.
pub(crate) fn steer(case: &mut Case<'_>, id: WorkflowId, course: Course) -> Result<Reply, DecisionStop> {
    let status = open(case, id)?.status;
    let to = match (course, status) {
        (Course::Start | Course::Resume, WorkflowStatus::InProgress | WorkflowStatus::Paused)
        | (Course::Start, WorkflowStatus::Ready | WorkflowStatus::Failed) => WorkflowStatus::InProgress,
        (Course::Suspend, WorkflowStatus::Ready | WorkflowStatus::InProgress | WorkflowStatus::Paused) => {
            WorkflowStatus::Paused
        }
        (Course::Start, WorkflowStatus::Planning) => {
            return Err(Refusal::state("the workflow has no plan yet; set one with workflow_set_plan").into());
        }
        (Course::Start, over) => return Err(Refusal::state(format!("the workflow is {over}")).into()),
        (Course::Suspend, status) => return Err(Refusal::NotRunning { workflow: id, status }.into()),
        (Course::Resume, status) => return Err(Refusal::NotSuspended { workflow: id, status }.into()),
    };
    set_status(case, id, to, None)
}

/// Marks a workflow without open tasks as completed, or as waiting for the merge of its pull requests. Returns the
/// resulting status of the workflow.
pub(crate) fn settle(case: &mut Case<'_>, workflow: &Workflow, open: u32) -> Result<WorkflowStatus, DecisionStop> {
    // Skip the standing list (the one workflow for single tasks), because it is never completed: it waits for its next
    // task.
    if open > 0 || workflow.standing || !workflow.status.is_running() {
        return Ok(workflow.status);
    }
    let unmerged = *case.world.ask(&BoolNeed::UnmergedRequest(workflow.id))?;
    if workflow.status == WorkflowStatus::Ready {
        moved(case, workflow, WorkflowStatus::InProgress, None);
    }
    let to = if unmerged { WorkflowStatus::AwaitingMerge } else { WorkflowStatus::Completed };
    let from = Workflow { status: WorkflowStatus::InProgress, ..workflow.clone() };
    moved(case, &from, to, None);
    Ok(to)
}

pub(crate) fn set_parallelism(
    case: &mut Case<'_>,
    id: WorkflowId,
    parallel_max: Option<u32>,
    auto_workspaces: Option<bool>,
) -> Result<Reply, DecisionStop> {
    parallel("max_parallel_tasks", parallel_max)?;
    let workflow = open(case, id)?;
    let before = workflow.parallel_max;
    let raises = before.is_some_and(|before| parallel_max.is_none_or(|after| after > before));
    if raises {
        protect::workflow(case, &workflow, "raise the parallel limit of", Steering::Settings)?;
    }
    if auto_workspaces.is_some() {
        case.world.workflow_detail(id)?;
    }
    case.events.push(Event::WorkflowChanged { workflow: id, parallel_max, auto_workspaces, before });
    Ok(Reply::WorkflowChanged)
}

pub(crate) fn set_config(case: &mut Case<'_>, id: WorkflowId, patch: &Json) -> Result<Reply, DecisionStop> {
    check::json("config", Some(patch))?;
    let workflow = open(case, id)?;
    let before = case.world.workflow_detail(id)?.config.clone();
    let config = Json::merged(before.as_ref(), patch);
    check::json("config", Some(&config))?;
    if before.as_ref() == Some(&config) {
        return Ok(Reply::Configured);
    }
    protect::workflow(case, &workflow, "change the settings of", Steering::Settings)?;
    case.events.push(Event::Configured { workflow: id, config, before });
    Ok(Reply::Configured)
}

pub(crate) fn lock(case: &mut Case<'_>, id: WorkflowId, owner: &str) -> Result<Reply, DecisionStop> {
    check::key("session_id", owner)?;
    // A caller may not name another agent as the owner of the lock, because then the caller could not remove its own
    // lock.
    if !case.owns_lock(owner, Some(owner))? {
        let problem = format!("{owner} is another agent; lock with your own agent id or a text of your own");
        return Err(Refusal::NotPermitted { problem }.into());
    }
    let workflow = case.world.workflow(id)?;
    let held = workflow.lock.as_ref().filter(|lock| lock.until > case.now);
    if let Some(lock) = held.filter(|lock| lock.owner != owner) {
        return Ok(Reply::LockHeldBy { owner: lock.owner.clone(), since: lock.since, until: lock.until });
    }
    let since = held.map_or(case.now, |lock| lock.since);
    let lock = Lock { owner: owner.to_owned(), since, until: case.now + limits::LOCK_MS };
    let reply = Reply::Locked { owner: lock.owner.clone(), since: lock.since, until: lock.until };
    case.events.push(match held {
        Some(_) => Event::LockRenewed { workflow: id, until: lock.until },
        None => Event::Locked { workflow: id, lock },
    });
    Ok(reply)
}

pub(crate) fn unlock(case: &mut Case<'_>, id: WorkflowId, owner: &str) -> Result<Reply, DecisionStop> {
    let workflow = case.world.workflow(id)?;
    let Some(lock) = workflow.lock.as_ref().filter(|lock| lock.until > case.now) else {
        return Ok(Reply::Unlocked);
    };
    // A person, or a person's script, may remove any lock, for example the lock of an agent that is gone.
    if !case.rights.is_persons() && !case.owns_lock(&lock.owner, Some(owner))? {
        return Err(Refusal::WorkflowLocked { owner: lock.owner.clone(), until: lock.until }.into());
    }
    let owner = lock.owner.clone();
    case.events.push(Event::Unlocked { workflow: id, owner });
    Ok(Reply::Unlocked)
}
