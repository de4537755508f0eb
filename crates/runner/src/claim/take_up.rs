//! Continues the tasks that an earlier runner left unfinished, before the runner claims new tasks.

use std::sync::Arc;

use engine::id::{AgentId, TaskId};
use engine::list::TurnQuery;
use engine::task::{Status, Task};
use engine::world::TaskIdNeed;
use engine::{Command, Need};

use super::run::ClaimLoop;
use crate::attempt::shared::RunnerAgent;
use base::error::Error;

impl ClaimLoop {
    /// Continues the tasks that this runner's agents still hold, because an earlier runner was stopped, was killed, or
    /// asked a person. Before that, while no agent works, removes the files of finished attempts.
    pub(super) async fn take_up(&mut self) -> Result<(), Error> {
        let mut held_by_us = Vec::new();
        for worker in self.shared.agents.values().cloned().collect::<Vec<_>>() {
            let agent = worker.agent;
            let held = self
                .shared
                .service
                .view(move |world| {
                    let held = world.ask(&TaskIdNeed::HeldBy(agent))?;
                    world.want(held.iter().map(|task| Need::Task(*task)))?;
                    held.iter().map(|task| world.task(*task).cloned()).collect::<Result<Vec<Task>, _>>()
                })
                .await?;
            held_by_us.extend(held.into_iter().map(|task| (Arc::clone(&worker), task)));
        }
        self.close_orphans(&held_by_us.iter().map(|(_, task)| (task.id, task.attempt)).collect::<Vec<_>>()).await?;
        held_by_us.extend(self.regained().await?);
        crate::attempt::remains::clear(&self.shared).await?;
        if let Err(problem) = self.shared.end_baselines().await {
            self.warn(crate::attempt::remains::stays(&problem));
        }
        for (worker, task) in held_by_us {
            self.spawn(&worker, task.id, task.attempt, None);
        }
        Ok(())
    }

    /// Claims again the tasks that agents of this runner worked on and that a person sent back or answered while no
    /// runner worked. Skips a task that another agent took.
    async fn regained(&self) -> Result<Vec<(Arc<RunnerAgent>, Task)>, Error> {
        let mut taken = Vec::new();
        for (id, attempt) in crate::attempt::remains::found(&self.shared) {
            let row = match self.shared.service.view(move |world| world.task(id).cloned()).await {
                Ok(row) => row,
                Err(Error::Refused(_)) => continue,
                Err(error) => return Err(error),
            };
            let is_in_scope = self.scope.has(row.id, row.workflow);
            let is_open = row.attempt == attempt && row.holder().is_none() && row.status() == Status::Pending;
            if !is_open || !is_in_scope {
                continue;
            }
            let turns = crate::attempt::remains::turns(&self.shared, id, attempt).await?;
            let own = turns.iter().filter(|turn| !turn.purpose.is_a_look());
            let agents: Vec<AgentId> = own.map(|turn| turn.agent).collect();
            let workers = self.shared.agents.values().find(|worker| agents.contains(&worker.agent));
            let Some(worker) = workers.cloned() else { continue };
            let regain = Command::Regain { task: id, attempt };
            match self.shared.service.execute(self.shared.caller(worker.agent), regain).await {
                Ok(_) => taken.push((worker, row)),
                Err(Error::Refused(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(taken)
    }

    /// Ends turns of this runner that are recorded as running although no agent of this runner holds their task any
    /// more.
    async fn close_orphans(&self, held: &[(TaskId, u32)]) -> Result<(), Error> {
        let list = TurnQuery::Running { runner: self.shared.name.clone(), limit: 500 };
        let rows = self.shared.service.ask(list).await?;
        for turn in rows.into_iter().filter(|turn| !held.contains(&(turn.task, turn.attempt))) {
            let folder = self.shared.turn_folder(turn.id);
            let settled = folder.clone();
            let _ended = tokio::task::spawn_blocking(move || agents::host::settle(&settled)).await;
            let reason = "another agent took the task while the runner was not running";
            let ended = crate::attempt::turn_end::unheard(
                engine::turn::TurnEnd::ClaimLost,
                reason,
                0,
                self.shared.service.now(),
            );
            let end = Command::EndTurn { turn: turn.id, ended: Box::new(ended) };
            self.shared.service.execute(self.shared.caller(turn.agent), end).await?;
            let _gone = std::fs::remove_dir_all(&folder);
        }
        Ok(())
    }
}
