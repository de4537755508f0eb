//! The invariants of claims, which the simulator checks: which agent gets a claim, the claim's attempt number, and the
//! claim's end.

use engine::command::SessionEnd;
use engine::event::Cause;
use engine::id::{AgentId, TaskId};
use engine::task::{Status, Task, TaskState};
use engine::touches::overlap;
use engine::{Command, Event, Timestamp};

use crate::check::{closed, counts, granted as granted_reply, hold, live_holder};
use crate::machine::{Memory, Seen, Verdict};
use crate::recount::unmet;
use crate::voice::{self, acting};

fn claimed(event: &Event) -> Option<(TaskId, AgentId, u32, Timestamp)> {
    match event {
        Event::Claimed { task, agent, attempt, until, .. } => Some((*task, *agent, *attempt, *until)),
        _ => None,
    }
}

/// Checks that the attempt numbers of a task only grow, that each number belongs to one agent, and that a task changes
/// its holder only with a new number.
pub(crate) fn numbers(seen: &Seen<'_>, memory: &mut Memory) -> Verdict {
    for (task, agent, attempt, until) in seen.change.events.iter().filter_map(claimed) {
        let known = memory.claims.entry(task).or_default();
        let last = known.last_key_value().map_or(0, |(last, _)| *last);
        hold!(attempt > last, "(a) each claim has a higher attempt", "{task} was at {last}, {agent} got {attempt}");
        known.insert(attempt, agent);
        let row = seen.after.tasks.get(&task);
        let given = row.is_some_and(|row| row.attempt == attempt && row.holder() == Some(agent));
        hold!(given, "(a) a claim is in its row", "{agent} got attempt {attempt} but the row is {row:?}");
        hold!(until > seen.step.now, "(a) a claim has time", "{task} until {until:?}");
    }
    for id in &seen.touched {
        let Some(after) = seen.after.tasks.get(id) else { continue };
        let (attempt, holder) = seen.before.tasks.get(id).map_or((0, None), |task| (task.attempt, task.holder()));
        hold!(after.attempt >= attempt, "(a) attempts never decrease", "{id}: {attempt} to {}", after.attempt);
        let kept = after.holder().is_none() || after.holder() == holder;
        hold!(
            kept || after.attempt > attempt,
            "(a) a task changes hands with a new attempt only",
            "{id} went from {holder:?} to {:?} at attempt {attempt}",
            after.holder()
        );
        if let Some(holder) = after.holder() {
            let owner = memory.claims.get(id).and_then(|claims| claims.get(&after.attempt));
            hold!(
                owner == Some(&holder),
                "(a) an attempt belongs to who claimed it",
                "{after:?}, claimed by {owner:?}"
            );
        }
        hold!(after.crashes <= after.attempts_max, "(f) crashes stay within the attempts", "{after:?}");
    }
    // A repeated call with an idempotency key may return a claim that has ended in the meantime. So only calls without
    // a key are checked here.
    if let (Some((task, attempt)), None) = (granted_reply(seen), &seen.step.caller.key) {
        let row = seen.after.tasks.get(&task);
        let who = row.and_then(|row| acting(seen.before, seen.step, Some(row)));
        let true_reply = row.is_some_and(|row| row.attempt == attempt && row.holder().is_some() && row.holder() == who);
        hold!(true_reply, "(a) a granted claim is held", "attempt {attempt} was granted, the row is {row:?}");
    }
    Ok(())
}

/// Checks that a claimed task had no holder, could begin, and fits the agent's role and capabilities.
pub(crate) fn granted(seen: &Seen<'_>) -> Verdict {
    let (before, step) = (seen.before, seen.step);
    for (id, agent, ..) in seen.change.events.iter().filter_map(claimed) {
        let (Some(task), Some(worker)) = (before.tasks.get(&id), before.agents.get(&agent)) else {
            hold!(false, "(c) a claim is of a task, by an agent", "{id} by {agent}");
            continue;
        };
        let named = matches!(step.command, Command::Claim { .. }).then_some(task);
        let holder = live_holder(before, task, step);
        hold!(holder.is_none(), "(c) a live claim is not taken", "{id} of {holder:?} was claimed by {agent}");
        hold!(acting(before, step, named) == Some(agent), "(c) a claim is the caller's", "{agent} got {id}");
        hold!(worker.left.is_none(), "(c) who left claims nothing", "{agent} got {id}");
        let open = unmet(before, id);
        hold!(open == 0, "(d) nothing is claimed with unmet dependencies", "{id} waits for {open}");
        let claimable = match &task.state {
            TaskState::Pending { .. } | TaskState::Planning { .. } | TaskState::InProgress { .. } => true,
            TaskState::Failed { .. } => task.crashes < task.attempts_max,
            TaskState::Paused { .. }
            | TaskState::Blocked(_)
            | TaskState::Completed { .. }
            | TaskState::Skipped { .. } => false,
        };
        hold!(claimable, "(c) only what is open is claimed", "{task:?}");
        let fits = task.role.as_ref().is_none_or(|role| *role == worker.role)
            && task.capabilities.iter().all(|skill| worker.capabilities.contains(skill));
        hold!(fits, "(c) a claim is by who fits", "{task:?} by {worker:?}");
        limits(seen, task)?;
    }
    Ok(())
}

fn limits(seen: &Seen<'_>, task: &Task) -> Verdict {
    let (before, step) = (seen.before, seen.step);
    let Some(workflow) = before.workflows.get(&task.workflow) else {
        hold!(false, "(f) a task has a workflow", "{task:?}");
        return Ok(());
    };
    hold!(workflow.status.is_running(), "(c) claims are made in running workflows", "{}", workflow.status);
    let others = || before.tasks.values().filter(|other| other.workflow == workflow.id && other.id != task.id);
    let live = |other: &&Task| live_holder(before, other, step).is_some();
    let running = others().filter(live).filter(|other| other.status() != Status::Paused).count();
    let limit = workflow.parallel_max.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    hold!(running < limit, "(f) a claim stays within the parallel limit", "{running} run already, {limit} may");
    // Count every task of the workflow that an agent holds, even when its lease has expired, because an expired lease
    // could still be renewed. The engine must already have ended the expired claims that would have prevented the new
    // claim.
    let held = || seen.after.tasks.values().filter(|other| other.workflow == workflow.id && other.holder().is_some());
    let running = held().filter(|held| held.status() != Status::Paused).count();
    hold!(running <= limit, "(f) a claim stays within the parallel limit", "{running} may be renewed, {limit} may run");
    let clash = held().find(|other| other.id != task.id && overlap(&task.touches, &other.touches));
    hold!(clash.is_none(), "(f) files are changed by one task at a time", "{task:?} and {clash:?}");
    Ok(())
}

/// Checks the claims that ended without a result: the cause of the end that the log names must be the real one.
pub(crate) fn ended(seen: &Seen<'_>) -> Verdict {
    let (before, step) = (seen.before, seen.step);
    for event in &seen.change.events {
        let Event::LeaseEnded { task: id, agent, cause, failed, .. } = event else { continue };
        let Some(task) = before.tasks.get(id).filter(|task| task.holder() == Some(*agent)) else {
            hold!(false, "(c) a claim that ends was held", "{event:?}");
            continue;
        };
        let session = before.agents.get(agent).and_then(|agent| agent.session);
        let closed = |wanted: SessionEnd| session.is_some_and(|session| closed(step) == Some((session, wanted)));
        let reason = match cause {
            Cause::Expired => live_holder(before, task, step).is_none(),
            Cause::Killed => closed(SessionEnd::Killed),
            Cause::Closed => closed(SessionEnd::Closed),
            Cause::Crashed => matches!(&step.command, Command::Crash { task, .. } if task == id),
            Cause::Released => matches!(&step.command, Command::Release { task, .. } if task == id),
            Cause::Unregistered => {
                let named = voice::overrides(before, step) && step.caller.agent == Some(*agent);
                matches!(step.command, Command::Unregister) && (acting(before, step, None) == Some(*agent) || named)
            }
        };
        hold!(reason, "(c) work of a live agent is not taken away", "{task:?} at {:?}: {event:?}", step.now);
        let crashes = task.crashes + counts(*cause);
        let used_up = counts(*cause) == 1 && crashes >= task.attempts_max;
        hold!(failed.is_some() == used_up, "(c) used-up attempts fail, others do not", "{task:?}: {event:?}");
    }
    Ok(())
}
