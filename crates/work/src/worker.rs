//! Finds the agent that worked on a task.

use base::Service;
use engine::list::{TurnQuery, Whose};
use engine::task::Task;

/// The number of a task's newest turns (runs of agents' programs) that are searched for the agent of the task.
const TURNS_MAX: u32 = 20;

/// Returns the slug (the short name) of the agent that worked on a task last, or `None` when no agent worked on it.
pub async fn last_agent(service: &Service, task: &Task) -> Result<Option<String>, base::Error> {
    let (id, holder) = (task.id, task.holder());
    service
        .view(move |world| {
            let turns = world.ask(&TurnQuery::Of { of: Whose::Task(id), before: None, limit: TURNS_MAX })?;
            let worker = turns.iter().find(|turn| !turn.purpose.is_a_look()).map(|turn| turn.agent);
            let delivered = world.delivery(id)?.map(|row| row.agent);
            let agent = holder.or(worker).or(delivered);
            agent.map(|agent| world.agent(agent).map(|agent| agent.slug.clone())).transpose()
        })
        .await
}
