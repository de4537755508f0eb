//! Decides whether a caller may loosen a protection (a gate, a review, limits or an output contract that a person set).
//! A protection is loosened when a protected task is skipped, removed or replaced, when a workflow is stopped, or when
//! the workflow's limits are raised.

use std::collections::{BTreeMap, BTreeSet};

use crate::case::Case;
use crate::command::Rights;
use crate::event::Event;
use crate::id::{TaskId, WorkflowId};
use crate::limits;
use crate::protection::Protection;
use crate::refusal::Refusal;
use crate::task::Task;
use crate::workflow::Workflow;
use crate::world::{DecisionStop, Need, OpenEdgeNeed, TaskIdNeed, TaskRowNeed};

/// An act on a task that can loosen the task's protections, such as a required review.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Loosening {
    Skip,
    Remove,
    Replace,
    /// Moves a blocked task to another status, so that it is no longer blocked.
    Unblock,
    /// Gives a finished, blocked or failed task back to the agent that worked on it.
    SendBack,
    /// Completes a task as it is, although its verification failed or it changed no files.
    TakeAsIs,
}

impl Loosening {
    fn as_word(self) -> &'static str {
        match self {
            Self::Skip => "skip",
            Self::Remove => "remove",
            Self::Replace => "replace",
            Self::Unblock => "unblock",
            Self::SendBack => "send back",
            Self::TakeAsIs => "take as it is",
        }
    }
}

/// Returns the protections of a task (gate, review, limits, output contract) that this caller cannot loosen.
fn protections(case: &Case<'_>, task: &Task) -> Result<Vec<Protection>, DecisionStop> {
    Ok(match case.rights {
        Rights::Person | Rights::Engine => Vec::new(),
        // A coordinator may skip or remove a task that needs a review, but may not loosen any other protection that a
        // person set.
        Rights::Coordinator => {
            let mut found = task.protections();
            found.retain(|protection| *protection != Protection::Review);
            found
        }
        Rights::Agent | Rights::Runner if task.protections() == [Protection::Contract] => {
            task.protections_from(case.present(Some(task))?)
        }
        Rights::Agent | Rights::Runner | Rights::Script => task.protections(),
    })
}

fn refused(case: &Case<'_>, task: &Task, loosening: Loosening, by: Vec<Protection>) -> DecisionStop {
    protected(case, format!("{} `{}` ({})", loosening.as_word(), task.name, task.id), by)
}

fn protected(case: &Case<'_>, act: String, by: Vec<Protection>) -> DecisionStop {
    Refusal::Protected { act, by, script: case.rights == Rights::Script }.into()
}

/// Refuses an act on a task, such as skipping it, when the caller may not loosen the task's protections (for example a
/// required review).
pub(crate) fn task(case: &Case<'_>, task: &Task, loosening: Loosening) -> Result<(), DecisionStop> {
    let by = protections(case, task)?;
    if by.is_empty() { Ok(()) } else { Err(refused(case, task, loosening, by)) }
}

/// Returns the refusal of an act on a task that only a person may do. It names the task's protections.
pub(crate) fn persons_act(case: &Case<'_>, task: &Task, loosening: Loosening) -> Result<DecisionStop, DecisionStop> {
    case.names_an_agent(Some(task))?;
    let by = task.protections();
    Ok(refused(case, task, loosening, if by.is_empty() { vec![Protection::Workflow] } else { by }))
}

/// Refuses to remove a task from the plan when the task is protected (for example by a required review), or waits for a
/// protected task. Otherwise a caller could remove the task and add it again without the protection or the dependency.
pub(crate) fn removal(case: &Case<'_>, removed: &Task, loosening: Loosening) -> Result<(), DecisionStop> {
    task(case, removed, loosening)?;
    if matches!(case.rights, Rights::Person | Rights::Engine) {
        return Ok(());
    }
    let above = case.world.ask(&TaskRowNeed::OpenAncestors(removed.id))?;
    if above.len() > limits::REPLAN_ROWS_MAX {
        return Err(refused(case, removed, loosening, vec![Protection::Dependency]));
    }
    for dependency in above {
        if !protections(case, dependency)?.is_empty() {
            return Err(refused(case, removed, loosening, vec![Protection::Dependency]));
        }
    }
    Ok(())
}

/// Refuses a new plan that would remove protected tasks (tasks with a required review, for example), or tasks that wait
/// for protected tasks.
pub(crate) fn replan(case: &Case<'_>, workflow: WorkflowId, dropped: &BTreeSet<TaskId>) -> Result<(), DecisionStop> {
    if matches!(case.rights, Rights::Person | Rights::Engine) || dropped.is_empty() {
        return Ok(());
    }
    case.world.want([Need::from(TaskRowNeed::Open(workflow)), OpenEdgeNeed(workflow).into()])?;
    let open = case.world.ask(&TaskRowNeed::Open(workflow))?;
    let edges = case.world.ask(&OpenEdgeNeed(workflow))?;
    if open.len() > limits::REPLAN_ROWS_MAX || edges.len() > limits::OPEN_EDGES_MAX {
        let act = format!("replan {workflow}, which has too many open tasks to check");
        return Err(protected(case, act, vec![Protection::Workflow]));
    }
    let mut dependents: BTreeMap<TaskId, Vec<TaskId>> = BTreeMap::new();
    for (task, dependency) in edges {
        dependents.entry(*dependency).or_default().push(*task);
    }
    let mut guarded: BTreeMap<TaskId, Vec<Protection>> = BTreeMap::new();
    for task in open {
        let by = protections(case, task)?;
        if !by.is_empty() {
            guarded.insert(task.id, by);
        }
    }
    let mut ahead: Vec<TaskId> = guarded.keys().copied().collect();
    while let Some(next) = ahead.pop() {
        for dependent in dependents.get(&next).into_iter().flatten() {
            if !guarded.contains_key(dependent) {
                guarded.insert(*dependent, vec![Protection::Dependency]);
                ahead.push(*dependent);
            }
        }
    }
    let lost = open.iter().find(|task| dropped.contains(&task.id) && guarded.contains_key(&task.id));
    match lost {
        Some(task) => {
            let by = guarded.remove(&task.id).unwrap_or_default();
            Err(refused(case, task, Loosening::Replace, by))
        }
        None => Ok(()),
    }
}

/// An act that changes the status or the settings of a workflow, grouped by the callers that may do it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Steering {
    /// Suspending, resuming or reopening a workflow. A person or a coordinator may do this.
    Pause,
    End,
    Settings,
    /// Archiving a workflow that is completed, failed or abandoned, or taking it out of the archive. A person, a
    /// person's script or a coordinator may do this.
    Archive,
}

/// Refuses a change of a workflow's status or settings by a caller without the right to make it. A person or the engine
/// may make every change. A coordinator may suspend, resume, reopen and archive the workflow. A person's script may
/// only archive it.
pub(crate) fn workflow(
    case: &Case<'_>,
    workflow: &Workflow,
    act: &str,
    steering: Steering,
) -> Result<(), DecisionStop> {
    let may = match (case.rights, steering) {
        (Rights::Person | Rights::Engine, _)
        | (Rights::Coordinator, Steering::Pause | Steering::Archive)
        | (Rights::Script, Steering::Archive) => true,
        (Rights::Coordinator, Steering::End | Steering::Settings)
        | (Rights::Agent | Rights::Runner | Rights::Script, _) => false,
    };
    if may {
        return Ok(());
    }
    case.names_an_agent(None)?;
    let act = format!("{act} `{}` ({})", workflow.name, workflow.id);
    Err(protected(case, act, vec![Protection::Workflow]))
}

/// Keeps the order of tasks when the skipped task waits for protected tasks (such as tasks with a required review).
/// Each task that waited for the skipped task now waits for those dependencies of the skipped task that are protected
/// or wait for a protected task. Returns the tasks that must still wait for this reason.
pub(crate) fn keep_dependencies(case: &mut Case<'_>, skipped: &Task) -> Result<BTreeSet<TaskId>, DecisionStop> {
    if skipped.unmet == 0 {
        return Ok(BTreeSet::new());
    }
    let world = case.world;
    world.want([TaskIdNeed::Dependencies(skipped.id), TaskIdNeed::Dependents(skipped.id)])?;
    let dependencies = world.ask(&TaskIdNeed::Dependencies(skipped.id))?;
    let dependents = world.ask(&TaskIdNeed::Dependents(skipped.id))?;
    world.want(dependencies.iter().flat_map(|id| [Need::Task(*id), TaskRowNeed::OpenAncestors(*id).into()]))?;
    let mut kept = Vec::new();
    for id in dependencies {
        let task = world.task(*id)?;
        if task.status().is_met() {
            continue;
        }
        let above = world.ask(&TaskRowNeed::OpenAncestors(*id))?;
        if std::iter::once(task).chain(above).any(|task| !task.protections().is_empty()) {
            kept.push(*id);
        }
    }
    if kept.is_empty() || dependents.is_empty() {
        return Ok(BTreeSet::new());
    }
    if dependents.len().saturating_mul(kept.len()) > limits::REPLAN_ROWS_MAX {
        return Err(Refusal::state("too many tasks wait for this one; replan the workflow instead").into());
    }
    world.want(dependents.iter().flat_map(|id| [Need::Task(*id), TaskIdNeed::Dependencies(*id).into()]))?;
    let (mut edges, mut waits, mut waiting) = (Vec::new(), Vec::new(), BTreeSet::new());
    for dependent in dependents {
        let has = world.ask(&TaskIdNeed::Dependencies(*dependent))?;
        let new: Vec<TaskId> = kept.iter().copied().filter(|id| !has.contains(id)).collect();
        waiting.insert(*dependent);
        if !new.is_empty() {
            let added = u32::try_from(new.len()).unwrap_or(u32::MAX);
            waits.push((*dependent, world.task(*dependent)?.unmet.saturating_add(added)));
            edges.extend(new.into_iter().map(|dependency| (*dependent, dependency)));
        }
    }
    if !edges.is_empty() {
        case.events.push(Event::DependenciesKept { workflow: skipped.workflow, skipped: skipped.id, edges, waits });
    }
    Ok(waiting)
}
