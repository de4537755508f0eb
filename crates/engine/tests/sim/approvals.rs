//! The invariants of approvals, which the simulator checks after each step.

use engine::approval::{Approval, ApprovalStatus, Source, WaitingTask};
use engine::id::TaskId;
use engine::tables::Tables;
use engine::task::{Status, TaskState};
use engine::{Command, Event, Rights};

use crate::check::hold;
use crate::machine::{Broken, Seen, Verdict};
use crate::voice;

pub(crate) fn step(seen: &Seen<'_>) -> Verdict {
    for event in &seen.change.events {
        if let Event::ApprovalMoved { approval } = event {
            moved(seen, approval)?;
        }
        if let Event::Claimed { task, attempt, .. } = event {
            claimed(seen, *task, *attempt)?;
        }
    }
    went_on(seen)?;
    pending(seen.after, seen.step.now.0)
}

/// Returns true when the simulated step brings the answer that a paused task waits for, or makes the answer
/// unnecessary.
pub(crate) fn is_answered(seen: &Seen<'_>, task: TaskId) -> bool {
    if let Command::Answer { message, .. } = &seen.step.command {
        // A person's answer resumes the paused task that the question is about. If the task's agent has unregistered,
        // the task becomes pending, and other agents can claim it.
        let question = seen.before.messages.get(message);
        let was_paused = seen.before.tasks.get(&task).is_some_and(|task| task.status() == Status::Paused);
        let is_about = question.is_some_and(|question| question.draft.task == Some(task));
        return is_about && was_paused && voice::rights(seen.before, seen.step) == Rights::Person;
    }
    let decides = matches!(seen.step.command, Command::DecideApproval { .. } | Command::ExpireApprovals);
    let of = |event: &Event| matches!(event, Event::ApprovalMoved { approval } if approval.waiting.is_some_and(|of| of.task == task));
    decides && seen.change.events.iter().any(of)
}

/// Returns true when the simulated step decides about or uses an approval that has expired. The engine refuses such a
/// step, and records that the approval has expired.
pub(crate) fn has_lapsed(seen: &Seen<'_>) -> bool {
    let (Command::DecideApproval { approval: id, .. } | Command::ConsumeApproval { approval: id, .. }) =
        &seen.step.command
    else {
        return false;
    };
    let over = |event: &Event| {
        let Event::ApprovalMoved { approval } = event else { return false };
        let ends = matches!(approval.state.status(), ApprovalStatus::Expired | ApprovalStatus::Revoked);
        approval.id == *id && ends
    };
    seen.change.events.iter().any(over)
}

fn moved(seen: &Seen<'_>, after: &Approval) -> Verdict {
    let Some(before) = seen.before.approvals.get(&after.id) else {
        return Err(Broken { rule: "(k) what is decided was asked", what: format!("{after:?}") });
    };
    let same = Approval { state: before.state.clone(), shown: before.shown.clone(), ..after.clone() } == *before;
    hold!(same, "(k) what is asked stays as it was asked", "{before:?} became {after:?}");
    let (from, to) = (before.state.status(), after.state.status());
    let legal = match from {
        ApprovalStatus::Pending => !matches!(to, ApprovalStatus::Pending | ApprovalStatus::Consumed),
        ApprovalStatus::Approved => {
            matches!(to, ApprovalStatus::Consumed | ApprovalStatus::Expired | ApprovalStatus::Revoked)
        }
        ApprovalStatus::Rejected | ApprovalStatus::Expired | ApprovalStatus::Revoked | ApprovalStatus::Consumed => {
            false
        }
    };
    hold!(legal, "(k) an approval goes one way", "{from} became {to}: {after:?}");
    let said = matches!(to, ApprovalStatus::Approved | ApprovalStatus::Rejected);
    let person = voice::rights(seen.before, seen.step) == Rights::Person;
    let decides = matches!(seen.step.command, Command::DecideApproval { .. }) && seen.change.reply.is_ok();
    hold!(!(said || decides) || person, "(k) only a person decides", "{after:?} by {:?}", seen.step.caller);
    let asker = before.agent().is_some_and(|agent| voice::speaks_as(seen.before, seen.step, agent));
    hold!(!said || !asker, "(k) whoever asked does not decide", "{after:?}");
    let over = before.state.until().is_some_and(|until| until.0 <= seen.step.now.0);
    let used = to == ApprovalStatus::Consumed || said;
    hold!(!used || !over, "(k) what is over is neither decided nor used", "{before:?} became {after:?}");
    Ok(())
}

/// Checks that each claim of a gated task (a task whose claims need a person's approval) consumes one approval, which
/// was given for that claim.
fn claimed(seen: &Seen<'_>, task: TaskId, attempt: u32) -> Verdict {
    if !seen.before.tasks.get(&task).is_some_and(|task| task.gate) {
        return Ok(());
    }
    let used = |event: &&Event| {
        let Event::ApprovalMoved { approval } = event else { return false };
        let own = approval.waiting.is_some_and(|waiting| waiting.task == task && waiting.attempt == attempt);
        own && approval.source == Source::ExecGate && approval.state.status() == ApprovalStatus::Consumed
    };
    let count = seen.change.events.iter().filter(used).count();
    hold!(count == 1, "(k) a gated task begins with a person's yes", "attempt {attempt} of {task} used {count}");
    Ok(())
}

/// Checks that a task which waits for a person's decision continues only after the decision, or because a person
/// resumes the task.
fn went_on(seen: &Seen<'_>) -> Verdict {
    for id in &seen.touched {
        let (Some(before), Some(after)) = (seen.before.tasks.get(id), seen.after.tasks.get(id)) else { continue };
        let goes_on = matches!(after.status(), Status::InProgress | Status::Planning | Status::Completed);
        if before.status() != Status::Paused || !goes_on {
            continue;
        }
        let waits = |row: &&Approval| is_waited_for(seen.before, row, seen.step.now.0);
        let asked = seen.before.approvals.values().filter(waits).find(|row| row.waiting.map(|of| of.task) == Some(*id));
        let by = matches!(voice::rights(seen.before, seen.step), Rights::Person | Rights::Engine);
        hold!(asked.is_none() || by, "(k) nobody goes on without the answer", "{before:?} became {after:?}: {asked:?}");
    }
    Ok(())
}

fn is_waited_for(tables: &Tables, row: &Approval, now: i64) -> bool {
    let open = row.state.status() == ApprovalStatus::Pending && row.state.until().is_some_and(|until| until.0 > now);
    let Some(WaitingTask { task, attempt, .. }) = row.waiting else { return false };
    let task = tables.tasks.get(&task);
    open && task.is_some_and(|task| task.attempt == attempt && matches!(task.state, TaskState::Paused { .. }))
}

/// Checks that each pending request that names a task is needed: the task waits for the decision about this request.
fn pending(tables: &Tables, now: i64) -> Verdict {
    for row in tables.approvals.values().filter(|row| row.state.status() == ApprovalStatus::Pending) {
        let Some(WaitingTask { task, attempt, .. }) = row.waiting else { continue };
        let of = tables.tasks.get(&task);
        let needed = if row.is_gate() {
            of.is_some_and(|task| !task.status().is_met() && task.attempt < attempt)
        } else {
            is_waited_for(tables, row, now) || row.state.until().is_some_and(|until| until.0 <= now)
        };
        hold!(needed, "(k) what waits for a person is needed", "{row:?} of {of:?}");
    }
    Ok(())
}
