//! Finds the agent in whose name a call acts, and checks that the agent registered on the connection of the call.
//!
//! The home of an agent is the connection that registered it last. Only the tool `agent_register` moves an agent to
//! another home. A call on another connection that names the agent does not act as that agent, and does not count as
//! its sign of life.

use crate::agent::Agent;
use crate::caller::{Caller, Key, KeyOwner, Rights, Standing};
use crate::id::{AgentId, TaskId};
use crate::limits;
use crate::refusal::{ElsewhereHome, Refusal};
use crate::task::Task;
use crate::time::Timestamp;
use crate::world::{AgentIdNeed, DecisionStop, Need, TaskIdNeed, World};

/// Returns true when the caller's connection is the agent's home, which is the connection that registered the agent
/// last.
pub fn is_home(caller: &Caller, agent: &Agent) -> bool {
    caller.session.is_some() && caller.session == agent.session
}

/// Returns true when the caller may act in the name of the agent. Either it is proven that the caller is this agent
/// (`Vouched`), or the caller's connection is the one that registered the agent last.
pub fn may_act_as(caller: &Caller, agent: &Agent) -> bool {
    let vouched = caller.standing == Standing::Vouched && caller.agent == Some(agent.id);
    vouched || is_home(caller, agent)
}

/// Returns true when the agent's home (the connection that registered it last) is alive, as far as this machine can
/// tell. If no process on this machine watches the home, signs of life decide. While the agent holds a claim, the home
/// is alive until the lease expires. Without a claim, the home is dead after a quarter of an hour of silence.
pub fn home_lives(world: &World, caller: &Caller, agent: &Agent, now: Timestamp) -> Result<bool, DecisionStop> {
    let Some(home) = agent.session else { return Ok(false) };
    if caller.session == Some(home) || caller.alive.contains(&home) || caller.present.contains(&home) {
        return Ok(true);
    }
    is_heard_of(world, agent, now)
}

fn is_heard_of(world: &World, agent: &Agent, now: Timestamp) -> Result<bool, DecisionStop> {
    if agent.left.is_some() {
        return Ok(false);
    }
    let held = world.ask(&TaskIdNeed::HeldBy(agent.id))?;
    world.want(held.iter().map(|task| Need::Task(*task)))?;
    let mut claims = false;
    for id in held {
        if let Some(lease) = world.task(*id)?.state.running_lease() {
            if !lease.is_over(now) {
                return Ok(true);
            }
            claims = true;
        }
    }
    Ok(!claims && agent.seen + limits::HOME_SILENCE_MS > now)
}

/// Returns true when the caller's principal (user, token or runner) is the one that registered the agent last. Agents
/// that Handover 0.1.0 stored have no principal. Any user of this machine may resume such an agent, because each of
/// these users can read the store anyway.
pub fn is_same_principal(caller: &Caller, agent: &Agent) -> bool {
    match (&caller.principal, &agent.principal) {
        (Some(own), Some(other)) => own == other,
        (Some(own), None) => own.starts_with(USER_PREFIX),
        (None, _) => false,
    }
}

/// The prefix of a principal (the owner of a connection) that is a user of this machine, and not a token or a runner.
pub const USER_PREFIX: &str = "user:";

/// Refuses a call that names an agent whose home (the connection that registered it last) is another connection. The
/// refusal says what the caller can do instead.
pub fn check_voice(world: &World, caller: &Caller, agent: &Agent, now: Timestamp) -> Result<(), DecisionStop> {
    // An agent that has unregistered has no home connection, so this check does not refuse the call. A later check
    // refuses it.
    if may_act_as(caller, agent) || agent.left.is_some() {
        return Ok(());
    }
    let home = match (home_lives(world, caller, agent, now)?, is_same_principal(caller, agent)) {
        (true, _) => ElsewhereHome::Alive,
        (false, true) => ElsewhereHome::Resumable,
        (false, false) => ElsewhereHome::Foreign,
    };
    let (name, runtime) = (agent.name.clone(), agent.runtime.clone());
    Err(Refusal::AgentElsewhere { agent: agent.id, name, runtime, home }.into())
}

/// Returns the agent that acts. This is the agent that the call names; else the connection's agent that holds the task;
/// else the agent that the connection's [`Standing`] selects: the last registered agent, or the only agent of a shared
/// connection.
pub fn acting_agent(
    world: &World,
    caller: &Caller,
    task: Option<&Task>,
    now: Timestamp,
) -> Result<AgentId, DecisionStop> {
    let Some(named) = caller.agent else { return unnamed_agent(world, caller, task, now) };
    let agent = world.agent(named)?;
    check_voice(world, caller, agent, now)?;
    Ok(agent.id)
}

fn unnamed_agent(world: &World, caller: &Caller, task: Option<&Task>, now: Timestamp) -> Result<AgentId, DecisionStop> {
    let nobody = Refusal::AgentNotFound { agent: None };
    let Some(session) = caller.session else { return Err(nobody.into()) };
    let agents = world.ask(&AgentIdNeed::OfSession(session))?;
    if let Some(holder) = task.and_then(Task::holder).filter(|holder| agents.contains(holder)) {
        return Ok(holder);
    }
    let found = match caller.standing {
        Standing::Vouched | Standing::Client => agents.first().copied(),
        Standing::Shared => the_only_one(world, agents, now)?,
    };
    found.ok_or_else(|| nobody.into())
}

/// Returns the agent that acts when a call on a shared connection names no agent. This is the only agent of the
/// connection, or the only one that is alive. Returns `None` when the connection has no agent. Refuses the call when
/// the choice is not clear: when several agents are alive, or when there are several agents and none is alive.
fn the_only_one(world: &World, agents: &[AgentId], now: Timestamp) -> Result<Option<AgentId>, DecisionStop> {
    if let [] | [_] = agents {
        return Ok(agents.first().copied());
    }
    world.want(agents.iter().flat_map(|id| [Need::Agent(*id), TaskIdNeed::HeldBy(*id).into()]))?;
    let mut live = Vec::new();
    for id in agents {
        if is_heard_of(world, world.agent(*id)?, now)? {
            live.push(*id);
        }
    }
    let candidates = if live.is_empty() { agents } else { live.as_slice() };
    if let [only] = candidates {
        return Ok(Some(*only));
    }
    let named = candidates.iter().take(limits::NAMED_MAX);
    let agents = named.map(|id| world.agent(*id).map(|agent| (*id, agent.slug.clone()))).collect::<Result<_, _>>()?;
    Err(Refusal::AgentRequired { agents }.into())
}

/// The owners under whose names the answer to a call with an idempotency key may be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyOwners {
    /// The owner under whose name the answer of this call is stored: the agent that acts, or the connection if no
    /// agent acts.
    pub own: String,
    /// Other owners under whose names the answer to an earlier, equal call may be stored: the connection and its other
    /// agents. A repeated call can act as another agent than the first call did, for example because an agent
    /// registered between the two calls. Empty when the call names an agent or comes from a person.
    pub others: Vec<String>,
}

/// Returns the owners of a call's idempotency key. `task` is the task that the call is about.
pub fn key_owners(
    world: &World,
    caller: &Caller,
    key: &Key,
    task: Option<TaskId>,
    now: Timestamp,
) -> Result<KeyOwners, DecisionStop> {
    let (connection, tool) = match &key.owner {
        KeyOwner::Fixed(owner) => return Ok(KeyOwners { own: owner.clone(), others: Vec::new() }),
        KeyOwner::Acting { connection, tool } => (format!("{connection} {tool}"), tool),
    };
    let own = unrefused(key_agent(world, caller, task, now))?.flatten().map(|agent| format!("{agent} {tool}"));
    let mut others = Vec::new();
    if let (None, Some(session), false) = (caller.agent, caller.session, caller.rights.is_persons()) {
        let agents = world.ask(&AgentIdNeed::OfSession(session))?;
        others.extend(agents.iter().map(|agent| format!("{agent} {tool}")));
        others.push(connection.clone());
    }
    let own = own.unwrap_or(connection);
    others.retain(|other| *other != own);
    Ok(KeyOwners { own, others })
}

/// Returns the agent that owns the call's idempotency key: the agent that acts in the call. Returns `None` for a person
/// who names no agent, and for a caller that may not act as the agent that it names.
fn key_agent(
    world: &World,
    caller: &Caller,
    task: Option<TaskId>,
    now: Timestamp,
) -> Result<Option<AgentId>, DecisionStop> {
    match caller.agent {
        Some(named) => Ok(may_act_as(caller, world.agent(named)?).then_some(named)),
        None if caller.rights.is_persons() => Ok(None),
        None => {
            let task = task.map(|task| unrefused(world.task(task))).transpose()?.flatten();
            unnamed_agent(world, caller, task, now).map(Some)
        }
    }
}

/// Turns a refusal into `None`. The search for the owner of an idempotency key must not refuse a call, because a later
/// check refuses the call with the right reason.
fn unrefused<T>(found: Result<T, DecisionStop>) -> Result<Option<T>, DecisionStop> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(DecisionStop::Refused(_) | DecisionStop::Recorded(_)) => Ok(None),
        Err(missing @ DecisionStop::Missing(_)) => Err(missing),
    }
}

/// Returns the caller's rights in this call. When a person, or a person's script, names an agent of its own
/// connection, the call has only an agent's rights. A person's rights apply only to acts under the person's own name.
pub(crate) fn effective_rights(world: &World, caller: &Caller) -> Result<Rights, DecisionStop> {
    match (caller.rights, caller.standing, caller.agent) {
        (rights, Standing::Client | Standing::Shared, Some(named)) if rights.is_persons() => match world.agent(named) {
            Ok(agent) if is_home(caller, agent) => Ok(Rights::Agent),
            // If the agent's last registration was on another connection, the caller keeps its own rights. The caller
            // also keeps them if the agent is unknown; a later check refuses such a call.
            Ok(_) | Err(DecisionStop::Refused(_) | DecisionStop::Recorded(_)) => Ok(rights),
            Err(missing @ DecisionStop::Missing(_)) => Err(missing),
        },
        (rights, ..) => Ok(rights),
    }
}
