//! The invariants of agents and their connections, which the simulator checks after each step. Only registering moves
//! an agent to another connection. Only a call over the agent's own connection acts as the agent.

use engine::agent::Agent;
use engine::caller::Standing;
use engine::command::Register;
use engine::id::AgentId;
use engine::inbox::MailboxOwner;
use engine::limits;
use engine::task::{Task, TaskState};
use engine::{Actor, Command, Event, Rights, Write};

use crate::check::{about, closes, hold, live_holder};
use crate::machine::{Seen, Verdict};
use crate::voice::{self, is_home_dead, is_same_principal, speaks_as};

pub(crate) fn step(seen: &Seen<'_>) -> Verdict {
    resumptions(seen)?;
    rows(seen)?;
    foreign_names(seen)?;
    senders(seen)?;
    acts_on_agents(seen)?;
    locks(seen)?;
    signs_of_life(seen)
}

/// Checks that a lease gets longer only by a call of its holder, or by a sweep (the command that ends expired leases)
/// that knows that the holder's connection is alive. Commands about one task are left out here, because the check
/// `only_the_holder_changes` covers these commands.
pub(crate) fn renewals(seen: &Seen<'_>) -> Verdict {
    if about(&seen.step.command).is_some() {
        return Ok(());
    }
    for id in &seen.touched {
        let (Some(before), Some(after)) = (seen.before.tasks.get(id), seen.after.tasks.get(id)) else { continue };
        let (Some(old), Some(new)) = (before.state.lease(), after.state.lease()) else { continue };
        // Skip a new lease, because it is not a renewal. A claim begins a new lease, and so does the answer that a
        // paused task waited for.
        let anew = before.attempt != after.attempt || matches!(before.state, TaskState::Paused { .. });
        if anew || new.until <= old.until {
            continue;
        }
        let swept = matches!(seen.step.command, Command::Sweep { .. })
            && live_holder(seen.before, before, seen.step) == Some(old.agent);
        hold!(
            swept || speaks_as(seen.before, seen.step, old.agent),
            "(l) a lease is renewed by its holder's own voice",
            "{before:?} until {:?} by {:?}",
            new.until,
            seen.step.caller
        );
    }
    Ok(())
}

/// Checks that an agent is resumed only in three ways: on the connection that registered it last; by a caller that is
/// proven to be this agent; or, when that connection is dead, by the user or token that registered the agent.
fn resumptions(seen: &Seen<'_>) -> Verdict {
    for event in &seen.change.events {
        match event {
            Event::Resumed { agent: id, session, .. } => {
                let Some(agent) = seen.before.agents.get(id) else {
                    hold!(false, "(l) an agent that is resumed existed", "{event:?}");
                    continue;
                };
                let Command::Register(register) = &seen.step.command else {
                    hold!(false, "(l) an agent moves only by registering", "{event:?}");
                    continue;
                };
                let vouched = seen.step.caller.standing == Standing::Vouched && seen.step.caller.agent == Some(*id);
                let here = agent.session.is_some() && agent.session == seen.step.caller.session;
                let dead = is_home_dead(seen.before, seen.step, agent) && is_same_principal(seen.step, agent);
                let own = agent.left.is_none() && is_same_name(agent, register) && (here || dead);
                hold!(vouched || own, "(l) only a dead home is taken over", "{agent:?} by {:?}", seen.step.caller);
                let home = *session == seen.step.caller.session;
                hold!(home, "(l) an agent is at home where it registered", "{event:?} by {:?}", seen.step.caller);
            }
            Event::Registered { agent } => newcomer(seen, agent)?,
            _ => {}
        }
    }
    Ok(())
}

fn is_same_name(agent: &Agent, register: &Register) -> bool {
    agent.name == register.name && agent.runtime == register.runtime
}

/// Checks that a client that comes back gets its old agent: no new agent is created if an existing agent could be
/// resumed.
fn newcomer(seen: &Seen<'_>, agent: &Agent) -> Verdict {
    let Command::Register(register) = &seen.step.command else {
        hold!(false, "(l) an agent moves only by registering", "{agent:?}");
        return Ok(());
    };
    let same = || seen.before.agents.values().filter(|row| row.left.is_none() && is_same_name(row, register));
    let lost = same().find(|row| {
        let here = row.session == seen.step.caller.session;
        here || (is_home_dead(seen.before, seen.step, row) && is_same_principal(seen.step, row))
    });
    // Do not check two cases in which an agent cannot be resumed: the caller has no connection, or there are more
    // agents with this name than a registration reads.
    let may_resume = seen.step.caller.session.is_some() && same().count() <= limits::SAME_AGENTS_MAX;
    hold!(!may_resume || lost.is_none(), "(l) a dead agent's identity is not lost", "{lost:?}, but new {agent:?}");
    hold!(
        agent.session == seen.step.caller.session && agent.principal == seen.step.caller.principal,
        "(l) an agent is at home where it registered",
        "{agent:?}"
    );
    Ok(())
}

/// Checks that the changed rows of agents match the events of the simulated step: an agent's connection changes only
/// when the agent registers or the connection ends.
fn rows(seen: &Seen<'_>) -> Verdict {
    for write in seen.writes {
        let Write::Agent(after) = write else { continue };
        let events = || seen.change.events.iter();
        let Some(before) = seen.before.agents.get(&after.id) else {
            let new = events().any(|event| matches!(event, Event::Registered { agent } if agent.id == after.id));
            hold!(new, "(l) an agent moves only by registering", "{after:?} is new without a registration");
            continue;
        };
        let resumed = events().any(|event| matches!(event, Event::Resumed { agent, .. } if *agent == after.id));
        let ended = after.session.is_none() && closes(seen, after.id);
        hold!(
            before.session == after.session || resumed || ended,
            "(l) an agent moves only by registering",
            "{before:?} became {after:?} by {:?}",
            seen.step.command
        );
        let same = before.principal == after.principal && before.registered == after.registered;
        hold!(same || resumed, "(l) an agent moves only by registering", "{before:?} became {after:?}");
        let own = before.seen == after.seen || resumed || speaks_as(seen.before, seen.step, after.id);
        hold!(own, "(l) a sign of life is the agent's own", "{before:?} became {after:?} by {:?}", seen.step.caller);
    }
    Ok(())
}

/// Checks that a caller with an agent's rights changes nothing when it names an agent of another connection.
fn foreign_names(seen: &Seen<'_>) -> Verdict {
    let Some(named) = seen.step.caller.agent else { return Ok(()) };
    let anyone = matches!(seen.step.command, Command::Register(_) | Command::CloseSession { .. });
    let present = seen.before.agents.get(&named).is_some_and(|agent| agent.left.is_none());
    let agent = voice::rights(seen.before, seen.step) == Rights::Agent;
    if anyone || !present || !agent || speaks_as(seen.before, seen.step, named) {
        return Ok(());
    }
    let done = seen.change.events.iter().find(|event| !matches!(event, Event::KeyKept { .. }));
    let rule = seen.change.reply.is_err() && done.is_none();
    hold!(rule, "(l) naming an agent is not being it", "{:?} did {done:?}: {:?}", seen.step.caller, seen.change.reply);
    Ok(())
}

/// Checks that the actor which the log names as the sender of the events is the actor that really acted.
fn senders(seen: &Seen<'_>) -> Verdict {
    let rights = voice::rights(seen.before, seen.step);
    let is_own = |actor: Actor| match actor {
        Actor::Agent(agent) => speaks_as(seen.before, seen.step, agent) || is_new(seen, agent),
        Actor::Person => rights.is_persons(),
        Actor::Coordinator => rights == Rights::Coordinator,
        Actor::Runner => rights == Rights::Runner,
        // `Actor::Engine` is the sender of the engine's own records, and of acts of callers that have not registered.
        Actor::Engine => true,
    };
    let logged = seen.change.events.iter().any(|event| event.topic().is_some());
    let sender = seen.change.sender;
    hold!(!logged || is_own(sender), "(l) the log says who acted", "{sender} by {:?}", seen.step.caller);
    let unknown = sender == Actor::Engine && rights == Rights::Agent;
    let known = voice::acting(seen.before, seen.step, None);
    hold!(!logged || !unknown || known.is_none(), "(l) the log says who acted", "system instead of {known:?}");
    for event in &seen.change.events {
        let by = match event {
            Event::Sent { message, .. } => message.from,
            Event::CheckpointAdded { checkpoint, .. } => checkpoint.by,
            Event::Moved(moved) => match &moved.state {
                TaskState::Completed { by, .. } | TaskState::Failed { by, .. } | TaskState::Skipped { by, .. } => *by,
                _ => continue,
            },
            _ => continue,
        };
        hold!(is_own(by), "(l) an act is in the name of who acted", "{event:?} by {:?}", seen.step.caller);
    }
    Ok(())
}

fn is_new(seen: &Seen<'_>, id: AgentId) -> bool {
    seen.change.events.iter().any(|event| match event {
        Event::Registered { agent } => agent.id == id,
        Event::Resumed { agent, .. } => *agent == id,
        _ => false,
    })
}

/// Checks that an agent is changed or unregistered, and its messages are marked as read, only by the agent itself, or
/// by a coordinator or a person.
fn acts_on_agents(seen: &Seen<'_>) -> Verdict {
    let overrides = voice::overrides(seen.before, seen.step);
    for event in &seen.change.events {
        let (agent, named) = match event {
            Event::Left { agent, .. } | Event::AgentUpdated { agent, .. } | Event::KeysEnded { agent } => {
                (*agent, true)
            }
            Event::Marked { to: MailboxOwner::Agent(agent), .. } => (*agent, false),
            _ => continue,
        };
        let on = overrides && (!named || seen.step.caller.agent == Some(agent));
        let own = speaks_as(seen.before, seen.step, agent);
        hold!(own || on, "(l) an agent is changed by itself", "{event:?} by {:?}", seen.step.caller);
    }
    Ok(())
}

/// Checks that a lock in the name of an agent is taken, kept and removed only over the agent's connection, or by a
/// caller with rights on tasks of others.
fn locks(seen: &Seen<'_>) -> Verdict {
    for event in &seen.change.events {
        let (owner, workflow) = match event {
            Event::Locked { workflow, lock } => (Some(lock.owner.clone()), workflow),
            Event::LockRenewed { workflow, .. } | Event::Unlocked { workflow, .. } => {
                let lock = seen.before.workflows.get(workflow).and_then(|workflow| workflow.lock.as_ref());
                (lock.map(|lock| lock.owner.clone()), workflow)
            }
            _ => continue,
        };
        let agent = owner.as_ref().and_then(|owner| owner.parse::<AgentId>().ok());
        let Some(agent) = agent.filter(|agent| seen.before.agents.contains_key(agent)) else { continue };
        // A call may take a lock for every agent whose last registration was on the call's connection.
        let own = speaks_as(seen.before, seen.step, agent) || is_neighbour(seen, agent);
        let rule = own || voice::overrides(seen.before, seen.step);
        hold!(rule, "(l) a lock is its agent's own", "{event:?} of {workflow} by {:?}", seen.step.caller);
    }
    Ok(())
}

/// Returns true when the agent's last registration was on the caller's connection, even if the call names another
/// agent.
fn is_neighbour(seen: &Seen<'_>, agent: AgentId) -> bool {
    let home = seen.before.agents.get(&agent).and_then(|agent| agent.session);
    home.is_some() && home == seen.step.caller.session
}

/// Checks that a heartbeat over the agent's own connection renews all claims that the agent still holds. The heartbeat
/// must renew a claim even if the agent's process was stopped for longer than the lease, as long as the machine knows
/// that the process is alive and no other agent has claimed the task.
fn signs_of_life(seen: &Seen<'_>) -> Verdict {
    let asks = matches!(seen.step.command, Command::Heartbeat { current_task: None } | Command::Renew);
    // A repeated call with an idempotency key gets the stored answer and renews nothing.
    if !asks || seen.change.reply.is_err() || seen.step.caller.key.is_some() {
        return Ok(());
    }
    let Some(agent) = voice::acting(seen.before, seen.step, None) else {
        hold!(false, "(l) a sign of life is the agent's own", "by {:?}", seen.step.caller);
        return Ok(());
    };
    let held =
        |task: &&Task| task.state.running_lease().is_some() && live_holder(seen.before, task, seen.step) == Some(agent);
    for task in seen.before.tasks.values().filter(held) {
        let Some(lease_ms) = seen.before.workflows.get(&task.workflow).map(|workflow| i64::from(workflow.lease_ms.0))
        else {
            continue;
        };
        let until = seen.after.tasks.get(&task.id).and_then(|after| after.state.lease()).map(|lease| lease.until.0);
        let long = until.is_some_and(|until| until + lease_ms / 10 >= seen.step.now.0 + lease_ms);
        hold!(long, "(l) a sign of life renews what is held", "{task:?} until {until:?} at {:?}", seen.step.now);
    }
    Ok(())
}
