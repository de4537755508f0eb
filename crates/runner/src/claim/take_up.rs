//! Continues the tasks that an earlier runner left unfinished, before the runner claims new tasks.

use std::collections::BTreeSet;
use std::sync::Arc;

use engine::id::{AgentId, TaskId};
use engine::list::TurnQuery;
use engine::sent_back::SentBack;
use engine::task::{Status, Task};
use engine::world::{CheckpointNeed, TaskIdNeed};
use engine::{Command, Need};

use super::prospect::Offered;
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
            let Some(worker) = self.last_worker(id, attempt).await? else { continue };
            if self.regain(&worker, id, attempt).await? {
                taken.push((worker, row));
            }
        }
        Ok(taken)
    }

    /// Continues the tasks among these that a person sent back to agents of this runner. Each continues in its own
    /// conversation and worktree, with the same attempt. Returns the tasks that wait until their agent is free: no other
    /// agent may claim them, because only their agent has the conversation.
    pub(super) async fn continue_returned(&mut self, offered: &[Offered]) -> Result<BTreeSet<TaskId>, Error> {
        let mut waiting = BTreeSet::new();
        let begun: Vec<(TaskId, u32)> =
            offered.iter().filter(|one| one.task.attempt > 0).map(|one| (one.task.id, one.task.attempt)).collect();
        if begun.is_empty() {
            return Ok(waiting);
        }
        let kept = crate::attempt::remains::found(&self.shared);
        for (id, attempt) in begun.into_iter().filter(|one| kept.contains(one)) {
            let Some(worker) = self.last_worker(id, attempt).await? else { continue };
            if !self.is_sent_back(id, worker.agent).await? || self.takers().resting.contains(&worker.slug) {
                continue;
            }
            let Some(room) = self.room(&worker) else {
                waiting.insert(id);
                continue;
            };
            if self.regain(&worker, id, attempt).await? {
                self.spawn(&worker, id, attempt, Some(room));
            }
        }
        Ok(waiting)
    }

    /// Returns the agent of this runner that worked on an attempt, or `None` when it was an agent of another runner.
    async fn last_worker(&self, task: TaskId, attempt: u32) -> Result<Option<Arc<RunnerAgent>>, Error> {
        let turns = crate::attempt::remains::turns(&self.shared, task, attempt).await?;
        let agents: Vec<AgentId> =
            turns.iter().filter(|turn| !turn.purpose.is_a_look()).map(|turn| turn.agent).collect();
        Ok(self.shared.agents.values().find(|worker| agents.contains(&worker.agent)).cloned())
    }

    /// Returns true when a person sent this task back to this agent, and nothing else happened to the task since then.
    async fn is_sent_back(&self, id: TaskId, agent: AgentId) -> Result<bool, Error> {
        self.shared
            .service
            .view(move |world| {
                let task = world.task(id)?;
                let after = task.checkpoints.saturating_sub(1);
                let notes = world.ask(&CheckpointNeed { task: id, after, limit: 1 })?;
                let sent = notes.last().and_then(|note| SentBack::of(task, note));
                Ok(sent.is_some_and(|sent| sent.agent == Some(agent)))
            })
            .await
    }

    /// Gives an agent its claim of a task again. Returns false when the claim is lost.
    async fn regain(&self, worker: &RunnerAgent, task: TaskId, attempt: u32) -> Result<bool, Error> {
        let regain = Command::Regain { task, attempt };
        match self.shared.service.execute(self.shared.caller(worker.agent), regain).await {
            Ok(_) => Ok(true),
            Err(Error::Refused(_)) => Ok(false),
            Err(error) => Err(error),
        }
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
