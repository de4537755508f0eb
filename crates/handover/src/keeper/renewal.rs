//! Renews the leases (claims on tasks, which expire) of the agents on this process's connection. So processes on other
//! machines see that the connection is alive, too.
//!
//! A lease is renewed when a tenth of its time has passed, so an agent that makes no calls costs one write per tenth of
//! its lease. After two hours without a call (not counting the time in which the machine sleeps) its leases are no
//! longer renewed.

use std::sync::Arc;
use std::time::Duration;

use engine::id::{AgentId, SessionId};
use engine::time::Millis;
use engine::world::{AgentIdNeed, TaskIdNeed, WorkflowIdNeed};
use engine::{Caller, Command, Need, Rights, Timestamp, limits};
use tokio::time::Instant;

use super::OwnLife;
use base::error::Error;
use base::service::Service;
use base::service::recent_claims::HeldTask;

/// The longest pause between two renewals of leases (claims on tasks). It is as long as the pause between two rounds of
/// the background work in [`crate::keeper`].
const PAUSE_MAX: Duration = Duration::from_secs(5);
/// The number of renewals within the time of one lease (a claim on a task). When one renewal is late because of a slow
/// disk, the next one is still in time.
const RENEWALS_IN_A_LEASE: u32 = 5;
const PAUSE_MIN: Duration = Duration::from_millis(200);
/// A new claim whose lease ends within this time is renewed before the pause between two renewals is over. A longer
/// lease waits for the end of the pause.
const LEASE_THAT_WAITS: Millis = Millis::seconds(25);

/// The tasks that the agents of one connection hold.
#[derive(Debug, Default, PartialEq, Eq)]
struct HeldWork {
    tasks: Vec<HeldTask>,
    /// The agents that have a lease (a claim on a task) or a lock on a workflow to renew.
    due: Vec<AgentId>,
    shortest: Option<Millis>,
}

/// Renews the leases of this process's agents (their claims on tasks) until the future is dropped. Retries after
/// failures.
pub(super) async fn keep(service: Service, own: Arc<OwnLife>) {
    let mut known: Vec<HeldTask> = Vec::new();
    service.recent_claims().watch();
    loop {
        let mut pause = PAUSE_MAX;
        known.extend(service.recent_claims().take());
        if own.file.is_active()
            && let Ok(held) = held(&service, own.session).await
        {
            let now = service.now();
            let is_held = |claim: &HeldTask| held.tasks.iter().any(|task| task.is_same_claim(claim));
            for lost in known.iter().filter(|claim| claim.until <= now && !is_held(claim)) {
                regain(&service, own.session, *lost).await;
            }
            for agent in &held.due {
                let _again = service.execute(caller(own.session, *agent), Command::Renew).await;
            }
            let shortest = held.shortest.map(|lease| Duration::from_millis(u64::from(lease.0)) / RENEWALS_IN_A_LEASE);
            pause = shortest.map_or(PAUSE_MAX, |pause| pause.clamp(PAUSE_MIN, PAUSE_MAX));
            known = held.tasks;
        }
        let until = Instant::now() + pause;
        // Pause briefly, so that several claims that were made at the same time are renewed together.
        tokio::time::sleep(PAUSE_MIN).await;
        tokio::select! {
            () = tokio::time::sleep_until(until) => {}
            () = service.recent_claims().ends_before(service.now() + LEASE_THAT_WAITS) => {}
        }
    }
}

fn caller(session: SessionId, agent: AgentId) -> Caller {
    Caller { session: Some(session), agent: Some(agent), ..Caller::with_rights(Rights::Agent) }
}

/// Takes back a claim that another machine ended while this machine slept. The store refuses this, and nothing changes,
/// when another agent has claimed the task, or when the claim ended for another reason than the expiry of its lease.
async fn regain(service: &Service, session: SessionId, lost: HeldTask) {
    let regain = Command::Regain { task: lost.task, attempt: lost.attempt };
    let _refused = service.execute(caller(session, lost.agent), regain).await;
}

async fn held(service: &Service, session: SessionId) -> Result<HeldWork, Error> {
    let now = service.now();
    let view = service.view(move |world| {
        let agents = world.ask(&AgentIdNeed::OfSession(session))?;
        world.want(agents.iter().flat_map(|agent| {
            [Need::from(TaskIdNeed::HeldBy(*agent)), WorkflowIdNeed::LockedBy(agent.to_string()).into()]
        }))?;
        let mut held = HeldWork::default();
        for agent in agents {
            let (tasks, locked) =
                (world.ask(&TaskIdNeed::HeldBy(*agent))?, world.ask(&WorkflowIdNeed::LockedBy(agent.to_string()))?);
            world.want(tasks.iter().map(|task| Need::Task(*task)))?;
            let workflows = tasks.iter().filter_map(|task| Some(world.task(*task).ok()?.workflow));
            world.want(workflows.chain(locked.iter().copied()).map(Need::Workflow))?;
            let mut is_due = false;
            for id in tasks {
                let task = world.task(*id)?;
                let lease = world.workflow(task.workflow)?.lease_ms;
                let Some(running) = task.state.running_lease() else { continue };
                held.tasks.push(HeldTask { agent: *agent, task: *id, attempt: task.attempt, until: running.until });
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
