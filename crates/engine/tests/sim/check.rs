//! The invariants of the engine, which the simulator checks after each step. The invariants state the engine's rules a
//! second time, with other code than the engine.

use std::collections::BTreeSet;

use engine::command::SessionEnd;
use engine::event::Cause;
use engine::id::{AgentId, SessionId, TaskId};
use engine::review::{Review, ReviewStatus};
use engine::tables::Tables;
use engine::task::{BlockKind, Status, Task, TaskState};
use engine::{Actor, Command, Event, Refusal, Reply, Rights, Write};

use crate::machine::{Broken, Memory, Seen, Step, Verdict};
use crate::voice::{self, acting};
use crate::{approvals, browsers, claims, deliveries, homes, keys, protections, put_offs};

/// The names of the events that are not written to the log.
const NOT_LOGGED: [&str; 10] = [
    "seen",
    "keys_ended",
    "drafting",
    "staged",
    "draft_cleared",
    "lock_renewed",
    "renewed",
    "browser_key_used",
    "key_kept",
    "keys_forgotten",
];

macro_rules! hold {
    ($holds:expr, $rule:literal, $($what:tt)*) => {
        if !$holds {
            return Err($crate::machine::Broken { rule: $rule, what: format!($($what)*) });
        }
    };
}
pub(crate) use hold;

pub(crate) fn step(seen: &Seen<'_>, memory: &mut Memory) -> Verdict {
    keys::answers(seen, memory)?;
    refusal_changes_nothing(seen)?;
    everything_is_logged(seen)?;
    checkpoints_are_kept(seen)?;
    task_numbers(seen)?;
    claims::numbers(seen, memory)?;
    claims::granted(seen)?;
    claims::ended(seen)?;
    protections::step(seen, memory)?;
    homes::renewals(seen)?;
    only_the_holder_changes(seen)?;
    who_left_is_gone(seen)?;
    completion(seen, memory)?;
    approvals::step(seen)?;
    deliveries::step(seen)?;
    browsers::step(seen)?;
    put_offs::step(seen)?;
    homes::step(seen)?;
    for event in &seen.change.events {
        if let Event::Sent { message, .. } = event {
            memory.sent.entry(message.to).or_default().push(message.id);
        }
    }
    Ok(())
}

/// Returns the tasks whose database rows these writes change.
pub(crate) fn touched(writes: &[Write]) -> BTreeSet<TaskId> {
    let mut touched = BTreeSet::new();
    for write in writes {
        match write {
            Write::Task(task) => drop(touched.insert(task.id)),
            Write::Detail(id, _) | Write::Waits(id, _) | Write::Noted { task: id, .. } => drop(touched.insert(*id)),
            Write::Checkpoint(checkpoint) => drop(touched.insert(checkpoint.task)),
            Write::Drop(ids) => touched.extend(ids),
            Write::Insert(insert) => touched.extend(insert.piece.tasks.iter().map(|(task, _)| task.id)),
            _ => {}
        }
    }
    touched
}

/// Returns the agent that holds the task at the time of the simulated step. An agent holds the task while its lease has
/// not expired, or while its process is known to be alive.
pub(crate) fn live_holder(tables: &Tables, task: &Task, step: &Step) -> Option<AgentId> {
    let lease = task.state.lease()?;
    let paused = matches!(task.state, TaskState::Paused { .. });
    let kept = || {
        let agent = tables.agents.get(&lease.agent);
        agent.is_some_and(|agent| {
            let connected = agent.session.is_some_and(|session| step.caller.alive.contains(&session));
            connected && agent.left.is_none()
        })
    };
    (paused || step.now.0 < lease.until.0 || kept()).then_some(lease.agent)
}

/// Returns the task that a command is about, and the claim number (attempt) that the command names.
pub(crate) fn about(command: &Command) -> Option<(TaskId, Option<u32>)> {
    match command {
        Command::Claim { task } | Command::RemoveTask { task, .. } => Some((*task, None)),
        Command::Crash { task, attempt, .. } => Some((*task, Some(*attempt))),
        Command::Release { task, attempt, .. }
        | Command::Move { task, attempt, .. }
        | Command::SetTaskPlan { task, attempt, .. }
        | Command::ReplanTask { task, attempt, .. }
        | Command::AddCheckpoint { task, attempt, .. } => Some((*task, *attempt)),
        Command::SendTaskBack { task, .. } | Command::TakeAsIs { task, .. } => Some((*task, None)),
        _ => None,
    }
}

fn refusal_changes_nothing(seen: &Seen<'_>) -> Verdict {
    if seen.change.reply.is_ok() || approvals::has_lapsed(seen) {
        return Ok(());
    }
    // The engine records some events even when it refuses the command. For example, a refused claim can record that the
    // lease of the task's previous claim has expired.
    let recorded = |event: &Event| match event {
        Event::LeaseEnded { task, failed, .. } => {
            failed.is_some() && seen.step.command == Command::Claim { task: *task }
        }
        Event::KeyKept { .. } => true,
        _ => false,
    };
    let other = seen.change.events.iter().find(|event| !recorded(event));
    hold!(other.is_none(), "(h) a refusal changes nothing", "but there is {other:?}");
    let ended = seen.change.events.iter().any(|event| matches!(event, Event::LeaseEnded { .. }));
    let odd = seen.writes.iter().find(|write| !matches!(write, Write::Key(_)));
    hold!(ended || odd.is_none(), "(h) a refusal changes nothing", "but {odd:?} is written");
    Ok(())
}

/// Checks that the database row of a task changes only with a logged event that names the task.
fn everything_is_logged(seen: &Seen<'_>) -> Verdict {
    let mut named = BTreeSet::new();
    for event in &seen.change.events {
        if event.topic().is_none() {
            hold!(NOT_LOGGED.contains(&event.name()), "(g) every event has a topic", "{event:?} has none");
            continue;
        }
        match event {
            Event::Claimed { task, .. }
            | Event::LeaseEnded { task, .. }
            | Event::TaskPlanned { task, .. }
            | Event::TaskRemoved { task, .. } => drop(named.insert(*task)),
            Event::ProtectionsRemoved { task, .. } => drop(named.insert(*task)),
            Event::Moved(moved) => drop(named.insert(moved.task)),
            Event::CheckpointAdded { checkpoint, .. } => drop(named.insert(checkpoint.task)),
            Event::Replanned { removed, .. } => named.extend(removed),
            _ => {}
        }
    }
    for id in seen.touched.iter().copied() {
        let Some(before) = seen.before.tasks.get(&id) else { continue };
        let draft = seen.before.workflows.get(&before.workflow).is_some_and(|workflow| workflow.draft.is_some());
        if named.contains(&id) || draft {
            continue;
        }
        let Some(after) = seen.after.tasks.get(&id) else {
            hold!(false, "(g) every change is in the log", "{id} is gone");
            continue;
        };
        hold!(renewed(before) == renewed(after), "(g) every change is in the log", "{before:?} became {after:?}");
        let checkpoints = |tables: &Tables| tables.checkpoints.range((id, 0)..=(id, u32::MAX)).count();
        let same = seen.before.details.get(&id) == seen.after.details.get(&id);
        hold!(
            same && checkpoints(seen.before) == checkpoints(seen.after),
            "(g) every change is in the log",
            "what belongs to {id} changed"
        );
    }
    Ok(())
}

/// Checks that each new task has a number that no other task ever had, and that no task changes its number.
fn task_numbers(seen: &Seen<'_>) -> Verdict {
    let mut given = BTreeSet::new();
    for id in &seen.touched {
        let Some(task) = seen.after.tasks.get(id) else { continue };
        let number = task.number;
        match seen.before.tasks.get(id) {
            Some(before) => hold!(before.number == number, "(n) a task keeps its number", "{before:?} became {task:?}"),
            None => {
                let new = number > seen.before.last_task_number && number <= seen.after.last_task_number;
                hold!(new && given.insert(number), "(n) a task number is given once", "{task:?} has {number}");
            }
        }
    }
    let (before, after) = (seen.before.last_task_number, seen.after.last_task_number);
    hold!(before <= after, "(n) a task number is given once", "the last number went from {before} back to {after}");
    Ok(())
}

/// Checks that a new checkpoint has a number that no other checkpoint of its task has. In a database, two checkpoints
/// with the same number would be one row.
fn checkpoints_are_kept(seen: &Seen<'_>) -> Verdict {
    let mut new = BTreeSet::new();
    for event in &seen.change.events {
        let checkpoint = match event {
            Event::CheckpointAdded { checkpoint, .. } | Event::LeaseEnded { checkpoint, .. } => checkpoint.as_ref(),
            Event::Moved(moved) => match &moved.checkpoint {
                Some(checkpoint) => checkpoint,
                None => continue,
            },
            _ => continue,
        };
        let key = (checkpoint.task, checkpoint.sequence);
        let fresh = !seen.before.checkpoints.contains_key(&key) && new.insert(key);
        hold!(fresh, "(g) every checkpoint is kept", "{checkpoint:?} has the number of another");
    }
    Ok(())
}

/// Returns a copy of a task without the fields that may change although no actor changes the task: the end of the
/// lease, the position in the plan, and the store's count of unmet dependencies.
fn renewed(task: &Task) -> Task {
    let mut task = task.clone();
    if let Some(lease) = task.state.lease_mut() {
        lease.until = engine::Timestamp(0);
    }
    Task { updated: engine::Timestamp(0), sequence: 0, unmet: 0, ..task }
}

/// Checks that only the holder of the live claim changes a task, except for the changes that the rules allow to every
/// caller.
fn only_the_holder_changes(seen: &Seen<'_>) -> Verdict {
    let step = seen.step;
    for id in seen.touched.iter().copied() {
        let Some(before) = seen.before.tasks.get(&id) else { continue };
        let holder = live_holder(seen.before, before, step);
        let who = acting(seen.before, step, Some(before));
        let attempt = about(&step.command).filter(|(task, _)| *task == id).and_then(|(_, attempt)| attempt);
        let fenced = attempt.is_none_or(|attempt| attempt == before.attempt);
        let allowed = if approvals::is_answered(seen, id) {
            true
        } else if voice::overrides(seen.before, step) {
            // A caller with rights on tasks of others, such as a coordinator, may change a task that no agent holds or
            // that it holds itself. The function `may_take` decides about all other tasks.
            holder.is_none() || who == holder || may_take(seen, id, before)
        } else if let Some(holder) = holder {
            (who == Some(holder) && fenced) || closes(seen, holder)
        } else {
            free_for_all(seen, id, before, who)
        };
        if allowed {
            continue;
        }
        let same = seen.after.tasks.get(&id).is_some_and(|after| {
            Task { sequence: 0, unmet: 0, ..before.clone() } == Task { sequence: 0, unmet: 0, ..after.clone() }
        });
        let rule = "(b) who does not hold the live claim changes nothing";
        let kept = |tables: &Tables| tables.checkpoints.range((id, 0)..=(id, u32::MAX)).count();
        let details = seen.before.details.get(&id) == seen.after.details.get(&id);
        if !same || !details || kept(seen.before) != kept(seen.after) {
            let after = seen.after.tasks.get(&id);
            return Err(Broken { rule, what: format!("{before:?} (held by {holder:?}) became {after:?} by {who:?}") });
        }
    }
    Ok(())
}

/// Checks that an agent that unregistered cannot act any more, not even on its paused tasks. Only a registration with
/// the token that belongs to the agent brings it back.
fn who_left_is_gone(seen: &Seen<'_>) -> Verdict {
    // Check only commands about tasks, and calls with an agent's rights. A runner gives its other commands for itself
    // and not for an agent, so these commands are left out.
    let about_work = about(&seen.step.command).is_some() || voice::rights(seen.before, seen.step) == Rights::Agent;
    let anyone = !about_work || matches!(seen.step.command, Command::Register(_) | Command::CloseSession { .. });
    if anyone || voice::overrides(seen.before, seen.step) {
        return Ok(());
    }
    let task = about(&seen.step.command).and_then(|(id, _)| seen.before.tasks.get(&id));
    let who = acting(seen.before, seen.step, task).and_then(|who| seen.before.agents.get(&who));
    let left = who.is_some_and(|agent| agent.left.is_some());
    let logged = seen.change.events.iter().find(|event| event.topic().is_some());
    hold!(!left || logged.is_none(), "(b) who left does nothing", "but {logged:?}");
    Ok(())
}

/// Returns true when a caller with rights on tasks of others may change this task, which another agent holds. Most
/// commands may change only the task that they name. A sweep (the command that ends expired leases) may only renew the
/// lease of a held task.
fn may_take(seen: &Seen<'_>, id: TaskId, before: &Task) -> bool {
    match &seen.step.command {
        Command::Sweep { .. } => seen.after.tasks.get(&id).is_some_and(|after| renewed(before) == renewed(after)),
        Command::CloseSession { .. } | Command::RevokeToken { .. } => {
            before.holder().is_some_and(|holder| closes(seen, holder))
        }
        // Unregistering an agent ends only the claims of this agent.
        Command::Unregister => before.holder() == seen.step.caller.agent,
        Command::RemoveTask { .. } | Command::Replan { .. } | Command::Claim { .. } => false,
        command => about(command).is_some_and(|(task, _)| task == id),
    }
}

/// Returns true when the simulated step ends the connection of the agent. Ending the connection ends the agent's
/// claims.
pub(crate) fn closes(seen: &Seen<'_>, agent: AgentId) -> bool {
    let home = seen.before.agents.get(&agent).and_then(|agent| agent.session);
    home.is_some() && home == closed(seen.step).map(|(session, _)| session)
}

/// Returns the connection that a simulated step ends, and the way in which it ends. Returns `None` when the step ends
/// no connection.
pub(crate) fn closed(step: &Step) -> Option<(SessionId, SessionEnd)> {
    match &step.command {
        Command::CloseSession { session, end } => Some((*session, *end)),
        Command::RevokeToken { token } => Some((SessionId::of_token(*token), SessionEnd::Closed)),
        _ => None,
    }
}

/// Returns true when the rules let every caller change this task, which no agent holds, by the command of the simulated
/// step.
fn free_for_all(seen: &Seen<'_>, id: TaskId, before: &Task, who: Option<AgentId>) -> bool {
    let over = before.holder();
    match &seen.step.command {
        // A new claim may end expired claims of other tasks of the workflow, when these expired claims would prevent
        // the new claim.
        Command::Claim { task } => {
            let workflow = seen.before.tasks.get(task).map(|task| task.workflow);
            *task == id || (over.is_some() && workflow == Some(before.workflow))
        }
        Command::ClaimNext { workflow, .. } => before.workflow == *workflow,
        Command::Unregister => over.is_some() && over == who,
        Command::CloseSession { .. } => over.is_some_and(|holder| closes(seen, holder)),
        Command::RemoveTask { .. } | Command::Replan { .. } | Command::ClearDraft { .. } => before.is_removable(),
        Command::ReplanTask { task, .. } => *task == id && before.status() == Status::Failed,
        Command::Move { task, to, .. } if *task == id => match &before.state {
            TaskState::Pending { .. } => to.status() == Status::Skipped,
            TaskState::Failed { .. } => matches!(to.status(), Status::Pending | Status::Skipped),
            TaskState::Blocked(block) => {
                let role = who.and_then(|who| seen.before.agents.get(&who)).map(|agent| agent.role.as_str());
                role == Some(block.role.as_str())
            }
            _ => false,
        },
        // When a task is completed, a task that waited only for it and was blocked for this reason becomes unblocked.
        Command::Move { .. } => {
            matches!(&before.state, TaskState::Blocked(block) if block.kind == BlockKind::Dependency && before.unmet == 1)
        }
        _ => false,
    }
}

fn completion(seen: &Seen<'_>, memory: &mut Memory) -> Verdict {
    for id in seen.touched.iter().copied() {
        let (before, after) = (seen.before.tasks.get(&id), seen.after.tasks.get(&id));
        let was_met = before.is_some_and(|task| task.status().is_met());
        let Some(after) = after else {
            hold!(!was_met, "(d) what is done stays", "{id} is gone");
            continue;
        };
        if was_met && matches!(&seen.step.command, Command::SendTaskBack { task, .. } if *task == id) {
            let rights = voice::rights(seen.before, seen.step);
            hold!(rights.may_override(), "(d) only people send work back", "{rights:?} sent {before:?} back");
            let open = after.status() == Status::Pending && after.holder().is_none();
            hold!(open, "(d) what is sent back is open", "{after:?}");
            memory.met.remove(&id);
            memory.sent_back.insert(id);
            continue;
        }
        if was_met {
            let same = before.is_some_and(|before| before.state == after.state && before.attempt == after.attempt);
            hold!(same, "(d) what is done stays", "{before:?} became {after:?}");
            continue;
        }
        if !after.status().is_met() {
            continue;
        }
        hold!(memory.met.insert(id), "(d) a task is done once", "{id} is done again");
        let TaskState::Completed { by, outcome } = &after.state else { continue };
        hold!(!outcome.trim().is_empty(), "(d) nothing is completed without an outcome", "{after:?}");
        let before = before.filter(|_| !matches!(seen.step.command, Command::TakeAsIs { .. }));
        let verified = !after.verify || voice::rights(seen.before, seen.step) == Rights::Runner;
        hold!(verified, "(d) what is verified is completed by the runner", "{after:?}");
        let person = voice::rights(seen.before, seen.step) == Rights::Person;
        let reviewed = !after.review || person || is_reviewed(seen.before, after);
        hold!(reviewed, "(d) what is reviewed is completed after its review", "{after:?}");
        // The holder of a task may complete it although a dependency was sent back after the claim. So dependencies
        // that were sent back do not count here.
        let open = crate::recount::unmet_but(seen.before, id, &memory.sent_back);
        hold!(open == 0, "(d) nothing is completed with unmet dependencies", "{id} waits for {open}");
        if let (Actor::Agent(agent), Some(before)) = (by, before) {
            let holder = live_holder(seen.before, before, seen.step);
            hold!(holder == Some(*agent), "(d) the holder completes", "{before:?} was completed by {agent}");
        }
    }
    Ok(())
}

fn is_reviewed(tables: &Tables, task: &Task) -> bool {
    let of = |review: &&Review| review.gate.is_some_and(|gate| (gate.task, gate.attempt) == (task.id, task.attempt));
    tables.reviews.values().filter(of).any(|review| review.status == ReviewStatus::Answered && review.open == 0)
}

/// Returns the task and the attempt number of the claim that a reply grants. Returns `None` when it grants no claim.
pub(crate) fn granted(seen: &Seen<'_>) -> Option<(TaskId, u32)> {
    match &seen.change.reply {
        Ok(Reply::Claimed { task, attempt, .. }) => Some((*task, *attempt)),
        Ok(_) | Err(_) => None,
    }
}

pub(crate) fn is_conflict(answer: &Result<Reply, Refusal>) -> bool {
    matches!(answer, Err(Refusal::IdempotencyConflict { .. }))
}

pub(crate) fn counts(cause: Cause) -> u32 {
    u32::from(matches!(cause, Cause::Expired | Cause::Killed | Cause::Crashed))
}
