//! The invariants of protections, which the simulator checks after each step: only a person loosens a gate, a review,
//! limits or a contract that a person set.

use std::collections::BTreeSet;

use engine::id::TaskId;
use engine::protection::Protection;
use engine::tables::Tables;
use engine::task::{Status, Task, TaskState};
use engine::workflow::{Workflow, WorkflowStatus};
use engine::{Actor, Command, Event, Rights, Write};

use crate::check::hold;
use crate::machine::{Memory, Seen, Verdict};
use crate::voice;

pub(crate) fn step(seen: &Seen<'_>, memory: &mut Memory) -> Verdict {
    tasks(seen)?;
    for write in seen.writes {
        match write {
            Write::Workflow(after) => {
                if let Some(before) = seen.before.workflows.get(&after.id) {
                    course(seen, before, after)?;
                }
            }
            Write::WorkflowDetail(id, after) => {
                let before = seen.before.workflow_details.get(id).map(|detail| &detail.config);
                let same = before.is_none_or(|before| *before == after.config);
                hold!(same || is_person(seen), "(m) settings are a person's", "{before:?} became {:?}", after.config);
            }
            _ => {}
        }
    }
    remember(seen, memory);
    way_round(seen, memory)
}

fn is_person(seen: &Seen<'_>) -> bool {
    matches!(voice::rights(seen.before, seen.step), Rights::Person | Rights::Engine)
}

/// Returns the protections of this task, such as a required review, that the caller may not loosen.
fn keeps_off(seen: &Seen<'_>, task: &Task) -> Vec<Protection> {
    let set = [
        (task.gate, Protection::Gate),
        (task.limited, Protection::Limits),
        (task.verify, Protection::Contract),
        (task.review, Protection::Review),
    ];
    let mut found: Vec<Protection> = set.into_iter().filter(|(set, _)| *set).map(|(_, what)| what).collect();
    match voice::rights(seen.before, seen.step) {
        Rights::Person | Rights::Engine => found.clear(),
        Rights::Coordinator => found.retain(|what| *what != Protection::Review),
        Rights::Script => {}
        Rights::Agent | Rights::Runner => {
            let who = voice::acting(seen.before, seen.step, Some(task)).map(Actor::Agent);
            let untouched = task.attempt == 0 && matches!(task.state, TaskState::Pending { .. });
            if found == [Protection::Contract] && who.is_some() && task.author == who && untouched {
                found.clear();
            }
        }
    }
    found
}

/// Checks that a protected task (for example, a task with a required review) is skipped, unblocked or removed from the
/// plan only by a caller that may loosen its protections.
fn tasks(seen: &Seen<'_>) -> Verdict {
    for id in &seen.touched {
        let Some(before) = seen.before.tasks.get(id) else { continue };
        // Leave out the tasks of an unfinished plan, because their protections begin only when the plan is set.
        let planned = seen.before.workflows.get(&before.workflow).is_some_and(is_planned);
        if before.status().is_met() || !planned {
            continue;
        }
        let Some(after) = seen.after.tasks.get(id) else {
            let kept = keeps_off(seen, before);
            hold!(kept.is_empty(), "(m) a protected task stays in the plan", "{before:?}: {kept:?}");
            let above = ancestors(seen.before, *id);
            let guard =
                above.iter().filter_map(|id| seen.before.tasks.get(id)).find(|task| !keeps_off(seen, task).is_empty());
            let rule = guard.is_none() || is_person(seen);
            hold!(rule, "(m) a task that waits for a protected one stays", "{before:?} waited for {guard:?}");
            continue;
        };
        let loosened =
            after.status() == Status::Skipped || (before.status() == Status::Blocked && is_released(seen, *id));
        let kept = keeps_off(seen, before);
        hold!(!loosened || kept.is_empty(), "(m) a protected task is loosened by a person", "{before:?}: {kept:?}");
        let fields = |task: &Task| (task.gate, task.verify, task.limited, task.author);
        let same = fields(before) == fields(after) && (after.review || !before.review);
        hold!(same, "(m) a protection stays on its task", "{before:?} became {after:?}");
    }
    Ok(())
}

fn is_planned(workflow: &Workflow) -> bool {
    workflow.status != WorkflowStatus::Planning && workflow.draft.is_none()
}

/// Returns true when the command of the simulated step names this blocked task and moves it. Returns false when the
/// task is unblocked only because its dependency was completed.
fn is_released(seen: &Seen<'_>, id: TaskId) -> bool {
    let named = matches!(&seen.step.command, Command::Move { task, .. } if *task == id);
    named && seen.change.events.iter().any(|event| matches!(event, Event::Moved(moved) if moved.task == id))
}

/// Returns the open tasks that a task waits for, directly or through other tasks.
fn ancestors(tables: &Tables, id: TaskId) -> BTreeSet<TaskId> {
    let (mut found, mut ahead) = (BTreeSet::new(), vec![id]);
    while let Some(next) = ahead.pop() {
        let waits_for = tables.dependencies.iter().filter(|(task, _)| *task == next).map(|(_, other)| *other);
        for other in waits_for {
            let open = tables.tasks.get(&other).is_some_and(|task| !task.status().is_met());
            if open && found.insert(other) {
                ahead.push(other);
            }
        }
    }
    found
}

/// Checks that only coordinators and persons suspend and resume a workflow, and that only persons end it early or raise
/// its limits.
fn course(seen: &Seen<'_>, before: &Workflow, after: &Workflow) -> Verdict {
    let conducts = is_person(seen) || voice::rights(seen.before, seen.step) == Rights::Coordinator;
    let stopped = matches!(before.status, WorkflowStatus::Paused | WorkflowStatus::Failed);
    let allowed = match after.status {
        status if status == before.status => true,
        WorkflowStatus::Abandoned | WorkflowStatus::Failed => is_person(seen),
        WorkflowStatus::Paused => conducts,
        WorkflowStatus::Ready | WorkflowStatus::Planning => true,
        WorkflowStatus::InProgress => conducts || !stopped,
        WorkflowStatus::Completed | WorkflowStatus::AwaitingMerge => (conducts || !stopped) && after.open == 0,
    };
    hold!(allowed, "(m) the course of a workflow is a person's", "{} became {}", before.status, after.status);
    let raised = before.parallel_max.is_some_and(|limit| after.parallel_max.is_none_or(|after| after > limit));
    hold!(!raised || is_person(seen), "(m) limits are raised by a person", "{before:?} became {after:?}");
    hold!(before.lease_ms == after.lease_ms, "(m) limits are raised by a person", "{before:?} became {after:?}");
    Ok(())
}

/// Remembers, for each new task, the tasks that it waits for and its protections (such as a required review) when it is
/// added to the plan. The check `way_round` needs both.
fn remember(seen: &Seen<'_>, memory: &mut Memory) {
    for event in &seen.change.events {
        let workflow = match event {
            Event::PlanSet { workflow, .. } | Event::Replanned { workflow, .. } => *workflow,
            Event::TaskAdded { task, .. } => task.workflow,
            _ => continue,
        };
        for task in seen.after.tasks.values().filter(|task| task.workflow == workflow) {
            if memory.planned_after.contains_key(&task.id) {
                continue;
            }
            memory.planned_after.insert(task.id, ancestors(seen.after, task.id));
            if task.gate || task.verify || task.limited || task.review {
                memory.protected.insert(task.id);
            }
        }
    }
}

/// Checks that no task begins while a protected task that the plan put before it is open, even when the tasks between
/// them were skipped or removed. Only a person who skips or removes the protected task itself lets the later task
/// begin.
fn way_round(seen: &Seen<'_>, memory: &Memory) -> Verdict {
    let shape = |event: &Event| match event {
        Event::Moved(moved) => moved.state.status().is_met(),
        Event::PlanSet { .. } | Event::TaskAdded { .. } | Event::TaskRemoved { .. } | Event::Replanned { .. } => true,
        Event::DependenciesKept { .. } | Event::Claimed { .. } => true,
        _ => false,
    };
    if !seen.change.events.iter().any(shape) {
        return Ok(());
    }
    for task in seen.after.tasks.values().filter(|task| task.unmet == 0 && !task.status().is_met()) {
        let Some(above) = memory.planned_after.get(&task.id) else { continue };
        let open = |id: &&TaskId| seen.after.tasks.get(id).is_some_and(|task| !task.status().is_met());
        let passed = above.intersection(&memory.protected).find(open);
        hold!(passed.is_none(), "(m) nothing passes round a protected task", "{task:?} does not wait for {passed:?}");
    }
    Ok(())
}
