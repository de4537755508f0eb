//! Which of our agents a client speaks of.

use engine::agent::Agent;
use engine::id::{AgentId, TaskId, TurnId};
use engine::task::{State, Task};
use engine::{Need, Stop, World};

/// The agents that live in this part of a conversation, the last registered first.
pub(super) fn agents(world: &World, conversation: &str, part: Option<&str>) -> Result<Vec<Agent>, Stop> {
    let ids = world.agent_ids(&Need::ConversationAgents(conversation.to_owned()))?;
    world.want(ids.iter().map(|id| Need::Agent(*id)))?;
    let mut found = Vec::new();
    for id in ids {
        let agent = world.agent(*id)?;
        if agent.origin.part.as_deref() == part && agent.left.is_none() {
            found.push(agent.clone());
        }
    }
    Ok(found)
}

/// Who is asked for when a gate stops something: the turn's agent, or the first that registered, which stays the first.
pub(super) fn asker(
    world: &World,
    turn: Option<TurnId>,
    conversation: &str,
    part: Option<&str>,
) -> Result<Option<AgentId>, Stop> {
    if let Some(turn) = turn {
        match world.turn(turn) {
            Ok(found) => return Ok(Some(found.agent)),
            Err(missing @ Stop::Missing(_)) => return Err(missing),
            // A turn of another store.
            Err(Stop::Refused(_) | Stop::Recorded(_)) => {}
        }
    }
    Ok(agents(world, conversation, part)?.last().map(|agent| agent.id))
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
