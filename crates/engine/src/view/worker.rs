//! Collects the facts that an agent needs to work on a task.

use super::task;
use crate::context::{ContextFacts, Prior};
use crate::id::TaskId;
use crate::list::TaskQuery;
use crate::task::Task;
use crate::world::{CheckpointNeed, DecisionStop, Need, TaskIdNeed, TypedQuestion, World};

/// The maximum number of rows in each list of the facts that an agent gets about its task. Further rows would not fit
/// into the agent's context and are left out.
const PRIOR_ROWS: u32 = 100;
const SIBLING_ROWS: u32 = 100;
const DEPENDENCY_ROWS: usize = 200;

/// Returns the facts that an agent needs about a task, with up to `checkpoints` of its newest checkpoints.
pub fn context(world: &World, id: TaskId, checkpoints: u32, prior_full: bool) -> Result<ContextFacts, DecisionStop> {
    let view = task(world, id)?;
    let own = &view.task;
    let workflow = own.workflow;
    let after = own.checkpoints.saturating_sub(checkpoints);
    let newest = CheckpointNeed { task: id, after, limit: checkpoints };
    let finished = TaskQuery::Finished { workflow, before: own.sequence, limit: PRIOR_ROWS + 1 };
    let group = own.group.clone().map(|group| TaskQuery::Group { workflow, group, limit: SIBLING_ROWS + 1 });
    let mut needs = vec![Need::WorkflowDetail(workflow), newest.need(), TaskIdNeed::Dependencies(id).into()];
    needs.extend(group.as_ref().map(TaskQuery::need));
    if view.detail.context_from.is_empty() {
        needs.push(finished.need());
    } else {
        needs.extend(view.detail.context_from.iter().map(|task| Need::Task(*task)));
    }
    world.want(needs)?;
    let prior: Vec<Task> = if view.detail.context_from.is_empty() {
        world.ask(&finished)?.clone()
    } else {
        // Skip a task that `context_from` names but that was removed from the plan.
        view.detail.context_from.iter().filter_map(|task| world.tasks.get(task)?.clone()).collect()
    };
    let (prior, prior_more) = cut(prior, usize::try_from(PRIOR_ROWS).unwrap_or(usize::MAX));
    if prior_full {
        world.want(prior.iter().map(|task| Need::Detail(task.id)))?;
    }
    let siblings = match group {
        Some(list) => world.ask(&list)?.iter().filter(|task| task.id != id).cloned().collect(),
        None => Vec::new(),
    };
    let (siblings, siblings_more) = cut(siblings, usize::try_from(SIBLING_ROWS).unwrap_or(usize::MAX));
    let (on, dependencies_more) = cut(world.ask(&TaskIdNeed::Dependencies(id))?.clone(), DEPENDENCY_ROWS);
    world.want(on.iter().map(|task| Need::Task(*task)))?;
    let mut dependencies = on.iter().map(|task| world.task(*task).cloned()).collect::<Result<Vec<_>, _>>()?;
    dependencies.sort_by_key(|task| (task.sequence, task.id));
    let outcome_detail =
        |task: &Task| if prior_full { world.details.get(&task.id)?.outcome_detail.clone() } else { None };
    Ok(ContextFacts {
        workflow: world.workflow(workflow)?.clone(),
        workflow_detail: world.workflow_detail(workflow)?.clone(),
        checkpoints: world.ask(&newest)?.clone(),
        blocked_by: view.blocked_by.iter().map(|(_, name)| name.clone()).collect(),
        prior: prior.into_iter().map(|task| Prior { outcome_detail: outcome_detail(&task), task }).collect(),
        prior_more,
        siblings,
        siblings_more,
        dependencies,
        dependencies_more,
        task: view.task,
        detail: view.detail,
    })
}

/// Returns the first `limit` rows, and the number of rows that are left out.
fn cut<T>(mut rows: Vec<T>, limit: usize) -> (Vec<T>, u32) {
    let more = rows.len().saturating_sub(limit);
    rows.truncate(limit);
    (rows, u32::try_from(more).unwrap_or(u32::MAX))
}
