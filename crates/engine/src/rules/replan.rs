//! The rules for changing the plan of a workflow that runs: add a task, remove a task, or replace all tasks that can be
//! removed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::case::{Case, find_task};
use crate::check;
use crate::event::Event;
use crate::id::{TaskId, WorkflowId};
use crate::limits;
use crate::plan::{Plan, PlanPlace, PlanTask};
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::rules::plan::{insert, next_number};
use crate::rules::protect::{self, Loosening};
use crate::rules::workflow::{open, settle};
use crate::task::Task;
use crate::workflow::{LIST_NAME, Workflow, WorkflowStatus};
use crate::world::{DecisionStop, Need, TaskIdNeed, TaskRowNeed};

fn replannable(case: &Case<'_>, id: WorkflowId) -> Result<Workflow, DecisionStop> {
    let workflow = open(case, id)?;
    if workflow.status == WorkflowStatus::Planning {
        return Err(Refusal::state("the workflow has no plan yet; set one with workflow_set_plan").into());
    }
    if !workflow.status.is_replannable() {
        return Err(
            Refusal::state(format!("the workflow is {}, so its plan cannot be changed", workflow.status)).into()
        );
    }
    Ok(workflow)
}

/// Returns the existing tasks that a plan names, each under the name or id that the plan uses. The truth value next to
/// a task's id is true when the task is completed or skipped.
fn existing(
    case: &Case<'_>,
    workflow: WorkflowId,
    plan: &Plan,
) -> Result<BTreeMap<String, (TaskId, bool)>, DecisionStop> {
    let names: BTreeSet<&str> = plan.outside_names().collect();
    let by_text = |name: &str| match name.parse::<TaskId>() {
        Ok(id) => Need::Task(id),
        Err(_) => TaskIdNeed::Named(workflow, name.to_owned()).into(),
    };
    case.world.want(names.iter().map(|name| by_text(name)))?;
    let mut ids = BTreeMap::new();
    for name in names {
        if let Some(id) = find_task(case.world, workflow, name)? {
            ids.insert(name.to_owned(), id);
        }
    }
    case.world.want(ids.values().map(|id| Need::Task(*id)))?;
    let mut found = BTreeMap::new();
    for (name, id) in ids {
        found.insert(name, (id, case.world.task(id)?.status().is_met()));
    }
    Ok(found)
}

pub(crate) fn add(
    case: &mut Case<'_>,
    id: WorkflowId,
    task: &PlanTask,
    after: Option<&str>,
) -> Result<Reply, DecisionStop> {
    check::optional(after, |text| check::name("after_task", text))?;
    let workflow = replannable(case, id)?;
    // The standing list (the one workflow for single tasks) keeps its finished tasks forever. So only its open tasks
    // count against the limit.
    let counted = if workflow.standing { workflow.open } else { workflow.tasks };
    if usize::try_from(counted).unwrap_or(usize::MAX) >= limits::PLAN_TASKS_MAX {
        return Err(Refusal::state(format!("the workflow has {counted} tasks, which is the limit")).into());
    }
    if task.depends_on.contains(&task.name) {
        return Err(Refusal::SelfDependency { task: task.name.clone() }.into());
    }
    let plan = Plan::amending(vec![task.clone()])?;
    if !case.world.ask(&TaskIdNeed::Named(id, task.name.clone()))?.is_empty() {
        return Err(Refusal::DuplicateTaskName { name: task.name.clone() }.into());
    }
    let existing = existing(case, id, &plan)?;
    let (sequence, shift_from) = match after {
        None => (workflow.sequence, None),
        Some(after) => {
            let found = find_task(case.world, id, after)?;
            let found = found.ok_or_else(|| Refusal::TaskNotFound { task: after.to_owned() })?;
            let sequence = case.world.task(found)?.sequence;
            if workflow.sequence.saturating_sub(sequence) > limits::SHIFT_TASKS_MAX {
                let problem = format!("would move more than {} later tasks; leave it out", limits::SHIFT_TASKS_MAX);
                return Err(Refusal::input("after_task", problem).into());
            }
            (sequence, (sequence < workflow.sequence).then_some(sequence + 1))
        }
    };
    let place = PlanPlace { workflow: id, sequence, now: case.now, existing: &existing };
    let author = case.author()?;
    let mut piece = plan.lay_out(&place, &mut case.ids)?;
    let Some((task, detail)) = piece.tasks.pop() else {
        return Err(Refusal::input("task", "is missing").into());
    };
    let task = Task { author, number: next_number(case)?, ..task };
    let reply = Reply::TaskAdded { task: task.id, sequence: task.sequence, number: task.number };
    let depends_on = piece.edges.into_iter().map(|(_, dependency)| dependency).collect();
    case.events.push(Event::TaskAdded { task: Box::new(task), detail: Box::new(detail), depends_on, shift_from });
    Ok(reply)
}

/// Removes a task. The tasks that waited for the removed task wait for its dependencies instead.
pub(crate) fn remove(case: &mut Case<'_>, id: WorkflowId, task: TaskId) -> Result<Reply, DecisionStop> {
    let workflow = replannable(case, id)?;
    let removed = case.world.task(task)?;
    if removed.workflow != id {
        return Err(Refusal::WorkflowMismatch { task }.into());
    }
    case.names_an_agent(None)?;
    case.actor()?;
    if !removed.is_removable() {
        return Err(Refusal::TaskNotRemovable { task, status: removed.status() }.into());
    }
    protect::removal(case, removed, Loosening::Remove)?;
    let world = case.world;
    let dependencies = world.ask(&TaskIdNeed::Dependencies(task))?;
    let dependents = world.ask(&TaskIdNeed::Dependents(task))?;
    if dependents.len().saturating_mul(dependencies.len() + 1) > limits::REPLAN_ROWS_MAX {
        return Err(Refusal::state("too many tasks wait for this one; replan the workflow instead").into());
    }
    world.want(dependents.iter().flat_map(|id| [Need::Task(*id), TaskIdNeed::Dependencies(*id).into()]))?;
    world.want(dependencies.iter().map(|id| Need::Task(*id)))?;
    let mut rewired = Vec::new();
    let mut waits = Vec::new();
    for dependent in dependents {
        let has = world.ask(&TaskIdNeed::Dependencies(*dependent))?;
        // `unmet` is the number of open tasks that a task waits for. Subtract 1, because the stored number includes the
        // removed task, which was open.
        let mut unmet = world.task(*dependent)?.unmet.saturating_sub(1);
        for dependency in dependencies.iter().filter(|id| !has.contains(id)) {
            rewired.push((*dependent, *dependency));
            unmet += u32::from(!world.task(*dependency)?.status().is_met());
        }
        waits.push((*dependent, unmet));
    }
    let reply = Reply::TaskRemoved { task, rewired: u32::try_from(rewired.len()).unwrap_or(u32::MAX) };
    let name = removed.name.clone();
    case.events.push(Event::TaskRemoved { workflow: id, task, name, rewired, waits });
    // Do not complete a workflow whose last task was removed, because the caller may add a task next.
    if workflow.tasks > 1 {
        settle(case, &workflow, workflow.open.saturating_sub(1))?;
    }
    Ok(reply)
}

/// Replaces every task that can be removed: the pending tasks that no agent holds, and the blocked tasks. A task that
/// stays has started or is finished, so it waits for none of the replaced tasks and needs no change.
pub(crate) fn replan(
    case: &mut Case<'_>,
    id: WorkflowId,
    summary: &str,
    reason: &str,
    tasks: &[PlanTask],
) -> Result<Reply, DecisionStop> {
    check::summary("summary", summary)?;
    check::summary("reason", reason)?;
    let workflow = replannable(case, id)?;
    if workflow.standing {
        let problem = format!(
            "the list {LIST_NAME} has no plan to replace; add single tasks (workflow_add_task) or remove them \
             (workflow_remove_task)"
        );
        return Err(Refusal::state(problem).into());
    }
    let plan = Plan::amending(tasks.to_vec())?;
    let dropped: BTreeSet<TaskId> = case.world.ask(&TaskRowNeed::Removable(id))?.iter().map(|task| task.id).collect();
    if dropped.len() + tasks.len() > limits::REPLAN_ROWS_MAX {
        let problem = format!(
            "would replace {} tasks by {}; at most {} are changed at once: remove and add tasks instead",
            dropped.len(),
            tasks.len(),
            limits::REPLAN_ROWS_MAX
        );
        return Err(Refusal::input("tasks", problem).into());
    }
    case.names_an_agent(None)?;
    case.actor()?;
    protect::replan(case, id, &dropped)?;
    let named = |task: &PlanTask| TaskIdNeed::Named(id, task.name.clone());
    case.world.want(tasks.iter().map(named))?;
    for task in tasks {
        if case.world.ask(&named(task))?.iter().any(|kept| !dropped.contains(kept)) {
            return Err(Refusal::NameConflict { name: task.name.clone() }.into());
        }
    }
    let mut existing = existing(case, id, &plan)?;
    existing.retain(|_, (id, _)| !dropped.contains(id));
    case.world.workflow_detail(id)?;
    let place = PlanPlace { workflow: id, sequence: workflow.sequence, now: case.now, existing: &existing };
    let piece = plan.lay_out(&place, &mut case.ids)?;
    let (added, removed) = (count(tasks.len()), count(dropped.len()));
    let preserved = workflow.tasks.saturating_sub(removed);
    if preserved + added > count(limits::PLAN_TASKS_MAX) {
        let problem = format!("would make {} tasks; at most {} are allowed", preserved + added, limits::PLAN_TASKS_MAX);
        return Err(Refusal::input("tasks", problem).into());
    }
    case.events.push(Event::Replanned {
        workflow: id,
        summary: summary.to_owned(),
        reason: reason.to_owned(),
        added,
        removed: dropped.into_iter().collect(),
    });
    let author = case.author()?;
    insert(case, id, Arc::new(piece), author)?;
    let total = preserved + added;
    let status = if total > 0 {
        settle(case, &workflow, workflow.open.saturating_sub(removed) + added)?
    } else {
        workflow.status
    };
    Ok(Reply::Replanned { added, removed, preserved, status })
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
