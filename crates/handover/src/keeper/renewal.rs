//! Renews what the agents of this process's connection hold, so that the connection counts as life for other machines, too.
//!
//! A lease is renewed when a tenth of it is gone, so a silent agent costs one write in a tenth of its lease. After two waking
//! hours without a call nothing is renewed.

use std::sync::Arc;
use std::time::Duration;

use engine::id::{AgentId, SessionId, TaskId};
use engine::time::Millis;
use engine::{Caller, Command, Need, Rights, Timestamp, limits};
use tokio::time::Instant;

use super::OwnLife;
use crate::error::Error;
use crate::service::Service;

/// How long the longest pause is: as long as a round of the keeper.
const PAUSE_MAX: Duration = Duration::from_secs(5);
/// Renewing several times in a lease leaves room for a slow disk.
const RENEWALS_IN_A_LEASE: u32 = 5;
const PAUSE_MIN: Duration = Duration::from_millis(200);

/// What the agents of one connection hold.
#[derive(Debug, Default, PartialEq, Eq)]
struct HeldWork {
    tasks: Vec<HeldTask>,
    /// Agents of which a lease or a lock is due.
    due: Vec<AgentId>,
    shortest: Option<Millis>,
}

/// One claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct HeldTask {
    agent: AgentId,
    task: TaskId,
    attempt: u32,
}

/// Renews until it is dropped. What fails is tried again.
pub(super) async fn keep(service: Service, own: Arc<OwnLife>) {
    let mut known: Vec<HeldTask> = Vec::new();
    loop {
        let mut pause = PAUSE_MAX;
        if own.file.is_active()
            && let Ok(held) = held(&service, own.session).await
        {
            for lost in known.iter().filter(|task| !held.tasks.contains(task)) {
                regain(&service, own.session, *lost).await;
            }
            for agent in &held.due {
                let _again = service.execute(caller(own.session, *agent), Command::Renew).await;
            }
            let shortest = held.shortest.map(|lease| Duration::from_millis(u64::from(lease.0)) / RENEWALS_IN_A_LEASE);
            pause = shortest.map_or(PAUSE_MAX, |pause| pause.clamp(PAUSE_MIN, PAUSE_MAX));
            known = held.tasks;
        }
        // A call may claim something with a shorter lease; many calls are looked at together.
        let until = Instant::now() + pause;
        tokio::time::sleep(PAUSE_MIN).await;
        tokio::select! {
            () = tokio::time::sleep_until(until) => {}
            () = own.called.notified() => {}
        }
    }
}

fn caller(session: SessionId, agent: AgentId) -> Caller {
    Caller { session: Some(session), agent: Some(agent), ..Caller::with_rights(Rights::Agent) }
}

/// Takes back a claim that another machine ended while this one slept. When the task is held again, or the claim did not end
/// by the clock, the refusal says so and nothing changes.
async fn regain(service: &Service, session: SessionId, lost: HeldTask) {
    let regain = Command::Regain { task: lost.task, attempt: lost.attempt };
    let _refused = service.execute(caller(session, lost.agent), regain).await;
}

async fn held(service: &Service, session: SessionId) -> Result<HeldWork, Error> {
    let now = service.now();
    let view = service.view(move |world| {
        let agents = world.agent_ids(&Need::SessionAgents(session))?;
        world.want(agents.iter().flat_map(|agent| [Need::Held(*agent), Need::LockedBy(agent.to_string())]))?;
        let mut held = HeldWork::default();
        for agent in agents {
            let (tasks, locked) =
                (world.task_ids(&Need::Held(*agent))?, world.workflow_ids(&Need::LockedBy(agent.to_string()))?);
            world.want(tasks.iter().map(|task| Need::Task(*task)))?;
            let workflows = tasks.iter().filter_map(|task| Some(world.task(*task).ok()?.workflow));
            world.want(workflows.chain(locked.iter().copied()).map(Need::Workflow))?;
            let mut is_due = false;
            for id in tasks {
                let task = world.task(*id)?;
                let lease = world.workflow(task.workflow)?.lease_ms;
                held.tasks.push(HeldTask { agent: *agent, task: *id, attempt: task.attempt });
                let Some(running) = task.state.running_lease() else { continue };
                held.shortest = Some(held.shortest.map_or(lease, |shortest| shortest.min(lease)));
                is_due |= is_tenth_gone(running.until, lease, now);
            }
            for id in locked {
                let lock = world.workflow(*id)?.lock.as_ref();
                is_due |= lock.is_some_and(|lock| is_tenth_gone(lock.until, limits::LOCK_MS, now));
            }
            if is_due {
                held.due.push(*agent);
            }
        }
        Ok(held)
    });
    view.await
}

fn is_tenth_gone(until: Timestamp, lease: Millis, now: Timestamp) -> bool {
    until + Millis(lease.0 / 10) <= now + lease
}
