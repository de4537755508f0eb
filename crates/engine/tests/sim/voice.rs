//! Finds the agent in whose name a simulated caller acts. The simulator compares the result with the result of
//! `engine::identity`. To be independent, this code uses only the rows, and another method than `engine::identity`.

use engine::agent::Agent;
use engine::caller::Standing;
use engine::id::AgentId;
use engine::limits;
use engine::tables::Tables;
use engine::task::Task;
use engine::{Actor, Rights, Timestamp};

use crate::machine::Step;

/// Returns true when the caller acts in the name of the agent. Either the caller is proven to be this agent, or the
/// agent's last registration was on this connection. A call that names another agent does not act as this agent.
pub(crate) fn speaks_as(tables: &Tables, step: &Step, agent: AgentId) -> bool {
    let named = step.caller.agent;
    let vouched = step.caller.standing == Standing::Vouched && named == Some(agent);
    vouched || (is_at_home(tables, step, agent) && named.is_none_or(|named| named == agent))
}

fn is_at_home(tables: &Tables, step: &Step, agent: AgentId) -> bool {
    let home = tables.agents.get(&agent).and_then(|agent| agent.session);
    home.is_some() && home == step.caller.session
}

/// Returns the agent that acts in a step of the simulator. Returns `None` when the caller has no agent, when it is
/// unclear which of several agents acts, or when the call names an agent of another connection.
pub(crate) fn acting(tables: &Tables, step: &Step, task: Option<&Task>) -> Option<AgentId> {
    if let Some(named) = step.caller.agent {
        let row = tables.agents.get(&named)?;
        // An agent that unregistered has no connection. This function nevertheless returns such an agent. The check
        // `who_left_is_gone` reports an act by it.
        return (row.left.is_some() || speaks_as(tables, step, named)).then_some(named);
    }
    let session = step.caller.session?;
    let here = || tables.agents.values().filter(|agent| agent.left.is_none() && agent.session == Some(session));
    let holder = task.and_then(Task::holder);
    if holder.is_some() && here().any(|agent| Some(agent.id) == holder) {
        return holder;
    }
    let last = || here().max_by_key(|agent| (agent.registered, agent.created, agent.id)).map(|agent| agent.id);
    match step.caller.standing {
        Standing::Vouched | Standing::Client => last(),
        Standing::Shared if here().count() < 2 => last(),
        Standing::Shared => {
            let heard = || here().filter(|agent| is_heard_of(tables, agent, step.now));
            match (heard().count(), heard().next()) {
                (1, Some(only)) => Some(only.id),
                _ => None,
            }
        }
    }
}

/// Returns the rights that the caller has in a step of the simulator. A person who names an agent of their own
/// connection has only the rights of that agent.
pub(crate) fn rights(tables: &Tables, step: &Step) -> Rights {
    let as_agent = step.caller.standing != Standing::Vouched
        && step.caller.agent.is_some_and(|named| is_at_home(tables, step, named));
    if step.caller.rights.is_persons() && as_agent { Rights::Agent } else { step.caller.rights }
}

/// Returns the actor that the log names for the caller.
pub(crate) fn sender(tables: &Tables, step: &Step) -> Actor {
    match rights(tables, step) {
        Rights::Agent | Rights::Runner => acting(tables, step, None).map_or(Actor::Engine, Actor::Agent),
        Rights::Coordinator => Actor::Coordinator,
        Rights::Person | Rights::Script => Actor::Person,
        Rights::Engine => Actor::Engine,
    }
}

/// Returns true when the caller's rights let it act on tasks and agents of others.
pub(crate) fn overrides(tables: &Tables, step: &Step) -> bool {
    rights(tables, step).may_override()
}

/// Returns true when the connection that registered the agent last is gone, as far as the caller's machine can tell.
pub(crate) fn is_home_dead(tables: &Tables, step: &Step, agent: &Agent) -> bool {
    let watched =
        agent.session.is_some_and(|home| step.caller.session == Some(home) || step.caller.alive.contains(&home));
    agent.session.is_none() || (!watched && !is_heard_of(tables, agent, step.now))
}

/// Returns true when the agent's last sign of life is recent: within its lease while it holds a claim, otherwise within
/// a quarter of an hour.
fn is_heard_of(tables: &Tables, agent: &Agent, now: Timestamp) -> bool {
    let mut leases = tables.tasks.values().filter_map(|task| task.state.running_lease());
    let held: Vec<_> = leases.by_ref().filter(|lease| lease.agent == agent.id).map(|lease| lease.until).collect();
    let fresh = if held.is_empty() {
        now.0 - agent.seen.0 < i64::from(limits::HOME_SILENCE_MS.0)
    } else {
        held.iter().any(|until| until.0 > now.0)
    };
    agent.left.is_none() && fresh
}

/// Returns true when the caller is the same user or token (principal) that registered the agent last. Version 0.1.0
/// recorded no principals, so every local user may resume an agent from that version.
pub(crate) fn is_same_principal(step: &Step, agent: &Agent) -> bool {
    let Some(own) = &step.caller.principal else { return false };
    agent.principal.as_ref().map_or_else(|| own.starts_with("user:"), |other| other == own)
}
