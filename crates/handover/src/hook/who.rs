//! Which of our agents a client speaks of.

use engine::agent::Agent;
use engine::id::{AgentId, SessionId, TaskId, TurnId};
use engine::task::{State, Task};
use engine::{Need, Stop, World};

/// The conversation that a payload names, and the living connections of other clients. A payload can name any conversation, and
/// speaks for no agent that is at home on the connection of another client.
#[derive(Debug, Clone)]
pub(super) struct Told {
    pub(super) conversation: String,
    pub(super) part: Option<String>,
    pub(super) foreign: Vec<SessionId>,
}

/// The agents that live in this part of a conversation, the last registered first.
pub(super) fn agents(world: &World, told: &Told) -> Result<Vec<Agent>, Stop> {
    let Told { conversation, part, foreign } = told;
    let ids = world.agent_ids(&Need::ConversationAgents(conversation.clone()))?;
    world.want(ids.iter().map(|id| Need::Agent(*id)))?;
    let mut found = Vec::new();
    for id in ids {
        let agent = world.agent(*id)?;
        let is_foreign = agent.session.is_some_and(|home| foreign.contains(&home));
        if agent.origin.part == *part && agent.left.is_none() && !is_foreign {
            found.push(agent.clone());
        }
    }
    Ok(found)
}

/// Who is asked for when a gate stops something: the turn's agent, or the first that registered, which stays the first.
pub(super) fn asker(world: &World, turn: Option<TurnId>, told: &Told) -> Result<Option<AgentId>, Stop> {
    if let Some(turn) = turn {
        match world.turn(turn) {
            Ok(found) => return Ok(Some(found.agent)),
            Err(missing @ Stop::Missing(_)) => return Err(missing),
            // A turn of another store.
            Err(Stop::Refused(_) | Stop::Recorded(_)) => {}
        }
    }
    Ok(agents(world, told)?.last().map(|agent| agent.id))
}

/// What an agent holds and works on, the last claimed first. What waits for a person is not worked on.
pub(super) fn held(world: &World, agents: &[Agent]) -> Result<Vec<(Agent, Task)>, Stop> {
    world.want(agents.iter().map(|agent| Need::Held(agent.id)))?;
    let mut pairs: Vec<(Agent, TaskId)> = Vec::new();
    for agent in agents {
        let ids = world.task_ids(&Need::Held(agent.id))?;
        pairs.extend(ids.iter().map(|id| (agent.clone(), *id)));
    }
    world.want(pairs.iter().map(|(_, id)| Need::Task(*id)))?;
    let mut found = Vec::new();
    for (agent, id) in pairs {
        found.push((agent, world.task(id)?.clone()));
    }
    found.sort_by_key(|(_, task)| (task.state.lease().map(|lease| std::cmp::Reverse(lease.since)), task.id));
    Ok(found)
}

/// Somebody waits for an answer to it.
pub(super) fn is_paused(task: &Task) -> bool {
    matches!(task.state, State::Paused { .. })
}
