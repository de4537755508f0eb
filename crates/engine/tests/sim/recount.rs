//! Counts the rows of the simulated state again, and compares the results with the stored counters, dependencies and
//! mailboxes.

use std::collections::{BTreeMap, BTreeSet};

use engine::event::Moved;
use engine::id::TaskId;
use engine::inbox::{MailboxOwner, Message, MessageState};
use engine::tables::Tables;
use engine::workflow::{Workflow, WorkflowStatus};
use engine::{Event, Write};

use crate::check::hold;
use crate::machine::{Memory, Seen, Verdict};

/// Checks the stored counters that the simulated step may have changed, by counting the rows again.
pub(crate) fn step(seen: &Seen<'_>, memory: &Memory) -> Verdict {
    let graph = |write: &Write| matches!(write, Write::Insert(_) | Write::Edges(_) | Write::Drop(_) | Write::Waits(..));
    let moved = |event: &Event| match event {
        Event::Moved(moved) => moved.state.status().is_met(),
        Event::PlanSet { .. } | Event::WorkflowMoved { .. } => true,
        _ => false,
    };
    let shape = seen.writes.iter().any(graph);
    if shape {
        acyclic(seen.after)?;
    }
    if shape || seen.change.events.iter().any(moved) {
        counters(seen.after)?;
    }
    let mut owners = BTreeSet::new();
    for event in &seen.change.events {
        match event {
            Event::Moved(moved) if moved.state.status().is_met() => freed(seen, moved)?,
            Event::Sent { message, .. } => drop(owners.insert(message.to)),
            Event::Marked { to, .. } => drop(owners.insert(*to)),
            _ => {}
        }
    }
    owners.into_iter().try_for_each(|owner| mailbox(seen.after, memory, owner))
}

/// Checks that the log names the tasks that can begin because a task was completed.
fn freed(seen: &Seen<'_>, moved: &Moved) -> Verdict {
    let waiting = edges(&seen.before.dependents, moved.task).filter_map(|id| seen.after.tasks.get(&id));
    let free = waiting.filter(|task| !task.status().is_met() && unmet(seen.after, task.id) == 0);
    let free: BTreeSet<TaskId> = free.map(|task| task.id).collect();
    let named: BTreeSet<TaskId> = moved.freed.iter().copied().collect();
    let right = free == named && usize::try_from(moved.freed_count) == Ok(free.len());
    hold!(right, "(f) who is free is named", "{named:?} ({}) instead of {free:?}", moved.freed_count);
    Ok(())
}

fn edges(set: &BTreeSet<(TaskId, TaskId)>, from: TaskId) -> impl Iterator<Item = TaskId> {
    set.range((from, TaskId::FIRST)..=(from, TaskId::LAST)).map(|(_, to)| *to)
}

/// Checks all stored counters of the state, by counting the rows again.
pub(crate) fn whole(tables: &Tables, memory: &Memory) -> Verdict {
    acyclic(tables)?;
    counters(tables)?;
    for (task, row) in &tables.tasks {
        let numbers = tables.checkpoints.range((*task, 0)..=(*task, u32::MAX)).map(|((_, number), _)| *number);
        let gapless = numbers.eq(1..=row.checkpoints);
        hold!(gapless, "(e) checkpoints are numbered without gaps", "of {task}, whose row says {}", row.checkpoints);
    }
    let owners: BTreeSet<MailboxOwner> = tables.mailboxes.keys().chain(memory.sent.keys()).copied().collect();
    owners.into_iter().try_for_each(|owner| mailbox(tables, memory, owner))
}

/// Counts the dependencies of a task that are neither completed nor skipped.
pub(crate) fn unmet(tables: &Tables, id: TaskId) -> u32 {
    let open = edges(&tables.dependencies, id);
    let open = open.filter(|other| tables.tasks.get(other).is_none_or(|task| !task.status().is_met()));
    u32::try_from(open.count()).unwrap_or(u32::MAX)
}

/// Counts the dependencies of a task that are neither completed nor skipped. Leaves out the dependencies that were
/// completed and then sent back to their agent.
pub(crate) fn unmet_but(tables: &Tables, id: TaskId, sent_back: &BTreeSet<TaskId>) -> u32 {
    let open = edges(&tables.dependencies, id).filter(|other| !sent_back.contains(other));
    let open = open.filter(|other| tables.tasks.get(other).is_none_or(|task| !task.status().is_met()));
    u32::try_from(open.count()).unwrap_or(u32::MAX)
}

fn counters(tables: &Tables) -> Verdict {
    for (task, dependency) in &tables.dependencies {
        let whole = tables.tasks.contains_key(task)
            && tables.tasks.contains_key(dependency)
            && tables.dependents.contains(&(*dependency, *task));
        hold!(whole, "(f) a dependency has two ends", "{task} waits for {dependency}");
    }
    hold!(
        tables.dependencies.len() == tables.dependents.len(),
        "(f) a dependency has two ends",
        "{} and {}",
        tables.dependencies.len(),
        tables.dependents.len()
    );
    let mut counted = BTreeMap::new();
    for task in tables.tasks.values() {
        let open = !task.status().is_met();
        let (all, left) = counted.entry(task.workflow).or_insert((0_u32, 0_u32));
        (*all, *left) = (*all + 1, *left + u32::from(open));
        // The counter of a finished task is not compared, because a finished task waits for nothing. The counters of
        // the tasks of an unfinished plan are not compared either, because the plan is not set.
        let hidden = tables.workflows.get(&task.workflow).is_none_or(is_draft);
        let waits = unmet(tables, task.id);
        hold!(hidden || !open || task.unmet == waits, "(f) unmet counters are right", "{task:?} waits for {waits}");
    }
    for workflow in tables.workflows.values().filter(|workflow| !is_draft(workflow)) {
        let (all, open) = counted.get(&workflow.id).copied().unwrap_or((0, 0));
        let right = workflow.tasks == all && workflow.open == open;
        hold!(right, "(f) workflow counters are right", "{workflow:?} has {all} tasks, {open} of them open");
        let over = matches!(workflow.status, WorkflowStatus::Completed | WorkflowStatus::AwaitingMerge);
        hold!(!over || open == 0, "(d) a completed workflow has no open task", "{workflow:?}");
        let ends =
            !matches!(workflow.status, WorkflowStatus::Completed | WorkflowStatus::Failed | WorkflowStatus::Abandoned);
        hold!(!workflow.standing || ends, "(o) the standing list never ends", "{workflow:?}");
        hold!(!workflow.archived || workflow.status.is_over(), "(o) only what is over is put away", "{workflow:?}");
        let done = all > 0 && open == 0 && workflow.status.is_running() && !workflow.standing;
        hold!(!done, "(d) a workflow without open tasks is over", "{workflow:?}");
    }
    Ok(())
}

/// Returns true when the tasks of a workflow belong to a plan that is not set. The plan of an abandoned workflow can be
/// unfinished, too, so the status alone does not show this.
fn is_draft(workflow: &Workflow) -> bool {
    workflow.status == WorkflowStatus::Planning || workflow.draft.is_some()
}

/// Checks that the dependencies have no cycle. Removes the tasks that wait for no remaining task, and repeats this as
/// often as possible. If tasks remain, there is a cycle.
fn acyclic(tables: &Tables) -> Verdict {
    let mut left: BTreeMap<TaskId, usize> = tables.tasks.keys().map(|id| (*id, 0)).collect();
    for (task, _) in &tables.dependencies {
        *left.entry(*task).or_default() += 1;
    }
    let mut free: Vec<TaskId> = left.iter().filter(|(_, waits)| **waits == 0).map(|(id, _)| *id).collect();
    let mut peeled = 0;
    while let Some(id) = free.pop() {
        peeled += 1;
        for waiting in edges(&tables.dependents, id) {
            if let Some(waits) = left.get_mut(&waiting) {
                *waits -= 1;
                if *waits == 0 {
                    free.push(waiting);
                }
            }
        }
    }
    hold!(
        peeled == left.len(),
        "(f) the graph has no cycle",
        "{} of {} tasks are in one",
        left.len() - peeled,
        left.len()
    );
    Ok(())
}

fn mailbox(tables: &Tables, memory: &Memory, owner: MailboxOwner) -> Verdict {
    let mut found: Vec<&Message> = tables.messages.values().filter(|message| message.to == owner).collect();
    found.sort_by_key(|message| message.sequence);
    let numbered = found.iter().map(|message| message.sequence).eq(1..=u32::try_from(found.len()).unwrap_or(u32::MAX));
    hold!(numbered, "(e) messages are numbered without gaps", "in the mailbox of {owner}");
    let sent = memory.sent.get(&owner).map_or(&[][..], Vec::as_slice);
    let order = found.iter().map(|message| &message.id).eq(sent);
    hold!(order, "(e) no message is lost or out of order", "{owner} was sent {} and has {}", sent.len(), found.len());
    let unread = found.iter().filter(|message| message.state == MessageState::Unread).count();
    let last = found.last().map_or(0, |message| message.sequence);
    let row = tables.mailboxes.get(&owner);
    let right = row.is_some_and(|row| row.sequence == last && usize::try_from(row.unread) == Ok(unread));
    hold!(right, "(e) the mailbox counts what is in it", "{row:?} with {unread} unread, the last {last}");
    Ok(())
}
