//! Work in git in the simulator: the reports of runners about finished work, the decisions of people about the work,
//! and the invariants that these reports and decisions must keep.

use engine::delivery::{
    CheckOutcome, DeliveredWork, DeliveryMove, DeliveryReport, DeliveryState, DeliveryStatus, DeliverySubject,
};
use engine::id::TaskId;
use engine::tables::Tables;
use engine::task::Status;
use engine::{Command, Event, Rights};

use chance::SeededRandom;

use crate::check::hold;
use crate::machine::{Seen, Verdict};
use crate::voice;

/// Returns a random report of a runner about the work of a completed task in git.
pub(crate) fn report(rng: &mut SeededRandom) -> DeliveryReport {
    let check = if rng.percent(20) {
        CheckOutcome::NoChanges
    } else {
        CheckOutcome::Checked { command: "test".to_owned(), ms: 1 }
    };
    DeliveryReport { check, work: work(), in_plan: rng.percent(20).then(|| "c7".to_owned()) }
}

pub(crate) fn work() -> DeliveredWork {
    DeliveredWork {
        branch: "handover/1".to_owned(),
        base_branch: None,
        base: "c0".to_owned(),
        commit: "c1".to_owned(),
        tree: "t1".to_owned(),
        files: 1,
        added: 1,
        removed: 0,
        tries: 1,
    }
}

/// Returns a command by which a person merges or drops the work of a task, or lets it wait again. Sometimes the command
/// names another state of the work than the present one.
pub(crate) fn decision(rng: &mut SeededRandom, tables: &Tables) -> Command {
    let tasks: Vec<TaskId> = tables.deliveries.keys().copied().collect();
    let task = rng.pick(&tasks).copied().unwrap_or(TaskId::LAST);
    let seen = tables.deliveries.get(&task).map_or(DeliveryStatus::Waiting, |row| row.state.status());
    let from = if rng.percent(80) { seen } else { rng.pick(DeliveryStatus::ALL).copied().unwrap_or(seen) };
    let to = match from {
        DeliveryStatus::Waiting if rng.percent(60) => {
            DeliveryMove::Merge { into: "main".to_owned(), before: "m0".to_owned(), commit: "m1".to_owned() }
        }
        DeliveryStatus::Waiting => DeliveryMove::Drop { kept_as: None },
        DeliveryStatus::InPlan | DeliveryStatus::Merged | DeliveryStatus::Dropped => DeliveryMove::Wait,
    };
    Command::MoveDelivery { subject: DeliverySubject::Task(task), from, to }
}

/// Returns a command by which a person sends a task back to its agent, or accepts the task as it is. Mostly the task is
/// one with work in git.
pub(crate) fn verdict(rng: &mut SeededRandom, tables: &Tables, stuck: TaskId) -> Command {
    let waits: Vec<TaskId> = tables.deliveries.keys().copied().collect();
    let waiting = if rng.percent(60) { rng.pick(&waits).copied() } else { None };
    let task = waiting.unwrap_or(stuck);
    if rng.percent(25) {
        return Command::TakeAsIs { task, reason: "fine".to_owned(), work: rng.percent(60).then(|| Box::new(work())) };
    }
    Command::SendTaskBack { task, text: "again".to_owned(), notes: Vec::new() }
}

/// Checks three rules for work in git: only a runner reports it, a person and not an agent decides about it, and it
/// belongs to a completed task.
pub(crate) fn step(seen: &Seen<'_>) -> Verdict {
    for event in &seen.change.events {
        match event {
            Event::Delivered { delivery } => {
                if matches!(seen.step.command, Command::TakeAsIs { .. }) {
                    let person = voice::rights(seen.before, seen.step) == Rights::Person;
                    hold!(person, "(p) a person takes work as it is", "{delivery:?}");
                    continue;
                }
                let before = seen.before.tasks.get(&delivery.task);
                let holder = before.and_then(engine::task::Task::holder);
                hold!(holder == Some(delivery.agent), "(p) work names the agent that did it", "{delivery:?}");
            }
            Event::DeliveryMoved { subject, from, state, .. } => {
                let rights = voice::rights(seen.before, seen.step);
                let decides = matches!(rights, Rights::Person | Rights::Script | Rights::Runner | Rights::Engine);
                hold!(decides, "(p) people decide about work in git", "{rights:?} moved {subject:?} to {state:?}");
                let legal = from.targets().contains(&state.status());
                hold!(legal, "(p) people decide about work in git", "{from} became {state:?}");
            }
            _ => {}
        }
    }
    for row in seen.after.deliveries.values() {
        let task = seen.after.tasks.get(&row.task);
        let completed = task.is_some_and(|task| task.status() == Status::Completed && task.attempt == row.attempt);
        hold!(completed, "(p) work belongs to a completed task", "{row:?} of {task:?}");
        let named = match &row.state {
            DeliveryState::Waiting | DeliveryState::InPlan { .. } => true,
            DeliveryState::Merged { by, .. } | DeliveryState::Dropped { by, .. } => {
                !matches!(by, engine::Actor::Agent(_)) || seen.step.caller.rights == Rights::Runner
            }
        };
        hold!(
            named || seen.before.deliveries.get(&row.task) == Some(row),
            "(p) people decide about work in git",
            "{row:?}"
        );
    }
    Ok(())
}
