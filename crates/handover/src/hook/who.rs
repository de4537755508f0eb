//! Finds the agents in the store that belong to a client's session.

use engine::agent::Agent;
use engine::id::{AgentId, SessionId, TaskId, TurnId};
use engine::task::{Task, TaskState};
use engine::world::{AgentIdNeed, TaskIdNeed};
use engine::{DecisionStop, Need, World};

/// The conversation (the client's session) that a hook's payload names, with the live connections of other clients. A
/// payload can name any conversation. Therefore it may not act for an agent that another client's connection
/// registered.
#[derive(Debug, Clone)]
pub(super) struct ToldConversation {
    pub(super) conversation: String,
    pub(super) part: Option<String>,
    pub(super) foreign: Vec<SessionId>,
}

/// Returns the agents of one part of a client's conversation, the latest registered first. A part is the main agent's
/// session or one sub-agent.
pub(super) fn agents(world: &World, told: &ToldConversation) -> Result<Vec<Agent>, DecisionStop> {
    let ToldConversation { conversation, part, foreign } = told;
    let ids = world.ask(&AgentIdNeed::OfConversation(conversation.clone()))?;
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

/// Returns the agent in whose name a gate (a rule about tool calls) asks a person. If the runner started the agent's
/// program, this is the agent of the turn (the run). Otherwise it is the agent of the conversation that registered
/// first, because this agent stays the same when more agents register.
pub(super) fn asker(
    world: &World,
    turn: Option<TurnId>,
    told: &ToldConversation,
) -> Result<Option<AgentId>, DecisionStop> {
    if let Some(turn) = turn {
        match world.turn(turn) {
            Ok(found) => return Ok(Some(found.agent)),
            Err(missing @ DecisionStop::Missing(_)) => return Err(missing),
            // If the store does not know the turn (a run of an agent's program by the runner), the turn belongs to
            // another store.
            Err(DecisionStop::Refused(_) | DecisionStop::Recorded(_)) => {}
        }
    }
    Ok(agents(world, told)?.last().map(|agent| agent.id))
}

/// Returns the tasks that these agents hold, the latest claimed first.
pub(super) fn held(world: &World, agents: &[Agent]) -> Result<Vec<(Agent, Task)>, DecisionStop> {
    world.want(agents.iter().map(|agent| TaskIdNeed::HeldBy(agent.id)))?;
    let mut pairs: Vec<(Agent, TaskId)> = Vec::new();
    for agent in agents {
        let ids = world.ask(&TaskIdNeed::HeldBy(agent.id))?;
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

/// Tells whether the task is paused because it waits for an answer.
pub(super) fn is_paused(task: &Task) -> bool {
    matches!(task.state, TaskState::Paused { .. })
}
