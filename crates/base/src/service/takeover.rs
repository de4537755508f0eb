//! Checks which sessions are alive before a lease is treated as expired. The clock alone never decides.
//!
//! ```text
//! decide ──> treats no lease as expired, or only leases that expired before the last check ──> done
//!    ▲                │ treats a lease as expired that expired after the last check
//!    │                ▼
//!    └── check the session files again, with a time that was read before the check; nothing was stored
//! ```
//!
//! So a process that has just started takes no lease over before its first check of the session files. After the
//! machine slept, the locks of the session files decide: a process that holds its lock counts as alive, even if all
//! processes were stopped for a long time.
//!
//! When several hosts share a database server, a lease is judged expired a little later than its end, because the
//! hosts' clocks differ (`clock::LEASE_SLACK_MS`).

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use engine::event::Cause;
use engine::id::TaskId;
use engine::{Actor, Caller, Change, Event, Need, Refusal, Reply, Stamp, Timestamp, World};
use store::{Fault, Job};

use crate::error::Error;
use crate::ground::clock::LEASE_SLACK_MS;
use crate::ground::random;
use crate::live::LiveSnapshot;
use crate::service::Service;

/// The maximum number of times that the live sessions are checked for one decision. After that the command fails with a
/// fault. Another check is needed only when one more lease expired during the previous check.
const LOOKS_MAX: u32 = 8;
/// A special value of the variable `late` in `Service::transact`, which normally holds the time at which an expired
/// lease ended. It means that the decision treats no lease as expired.
const NONE: i64 = i64::MIN;
/// A special value of the variable `late` in `Service::transact`, which normally holds the time at which an expired
/// lease ended. It means that the decision treats no lease as expired, but treats the session of an agent as dead.
const LOOK: i64 = i64::MIN + 1;

/// The time of a decision, and the sessions that are known to be alive at that time.
#[derive(Debug, Clone)]
pub struct DecisionMoment {
    pub stamp: Stamp,
    /// The result of the last check of the live sessions. `None` when this process does not check sessions; then the
    /// caller says which sessions are alive.
    looked: Option<LiveSnapshot>,
}

impl DecisionMoment {
    /// Returns the caller, and adds to it the sessions of this host that are known to be alive.
    pub fn informed(&self, caller: Caller) -> Caller {
        with_living(caller, self.looked.as_ref())
    }
}

fn with_living(caller: Caller, looked: Option<&LiveSnapshot>) -> Caller {
    match looked {
        Some(looked) => Caller { alive: looked.alive.to_vec(), present: looked.present.to_vec(), ..caller },
        None => caller,
    }
}

/// The time with which a decision compares the ends of leases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaseTime {
    Now,
    /// The current time less [`Service::lease_slack_ms`], for a sweep, which ends expired leases. A lease that ended
    /// before this time has expired by the clocks of all hosts, so the sweep need not wait.
    Slack,
}

impl Service {
    /// Returns the caller, and adds to it the sessions that were alive at the last check of the session files.
    pub fn informed(&self, caller: Caller) -> Caller {
        with_living(caller, self.live().map(|live| live.snapshot()).as_ref())
    }

    /// Decides a change and stores it. If the change treats a lease as expired, first checks that the session of the
    /// lease's holder is dead. `decision` makes the function that decides at a given time.
    pub async fn transact<F, D>(&self, needs: Vec<Need>, time: LeaseTime, decision: F) -> Result<Change, Error>
    where
        F: Fn(DecisionMoment) -> D,
        D: Fn(&World) -> Result<Change, Vec<Need>> + Send + Sync + 'static,
    {
        let seed = random::seed()?;
        let slack = self.lease_slack_ms();
        let mut now = self.settled_now().await;
        if time == LeaseTime::Slack {
            now = Timestamp(now.0.saturating_sub(slack));
        }
        let mut looked = self.live().map(|live| live.snapshot());
        for _ in 0..LOOKS_MAX {
            let seen_at = looked.as_ref().map_or(i64::MAX, |looked| looked.taken_at.0);
            let proven = if looked.is_some() { seen_at.saturating_sub(slack) } else { i64::MAX };
            let decide = decision(DecisionMoment { stamp: Stamp { now, seed }, looked: looked.clone() });
            let late = Arc::new(AtomicI64::new(NONE));
            let told = Arc::clone(&late);
            let step = move |world: &World| {
                told.store(NONE, Ordering::SeqCst);
                let change = decide(world)?;
                let over = judged_over(world, &change, now).map(|until| until.0).filter(|until| *until > proven);
                let unseen = (now.0 > seen_at && judges_home(world, &change)).then_some(LOOK);
                match over.or(unseen) {
                    None => Ok(change),
                    Some(late) => {
                        told.store(late, Ordering::SeqCst);
                        Ok(nothing())
                    }
                }
            };
            let change = self.store().transact(Job { needs: needs.clone(), now, step: Arc::new(step) }).await?;
            let late = late.load(Ordering::SeqCst);
            let Some(live) = self.live().filter(|_| late != NONE) else {
                self.recent_claims().record(&change.events);
                return Ok(change);
            };
            // Another host's clock may be behind ours, so wait until the lease has expired by that clock, too.
            let wait = late.saturating_add(slack).saturating_sub(self.now().0).clamp(0, LEASE_SLACK_MS);
            tokio::time::sleep(Duration::from_millis(u64::try_from(wait).unwrap_or(0))).await;
            now = self.settled_now().await;
            looked = Some(
                live.look(now).await.map_err(|cause| Error::file("check which processes are alive", cause))?.snapshot,
            );
        }
        let what = "leases end faster than this process can check which processes are alive".to_owned();
        Err(Error::Fault(Fault::Bug { what }))
    }
}

/// Returns the latest end among the leases that the change treats as expired. A change treats a lease as expired when
/// it ends the lease for that reason, or refuses the lease's holder.
fn judged_over(world: &World, change: &Change, now: Timestamp) -> Option<Timestamp> {
    let ended = change.events.iter().filter_map(|event| {
        if let Event::LeaseEnded { task, cause: Cause::Expired, .. } = event { Some(*task) } else { None }
    });
    let refused = if let Err(Refusal::ClaimLost { task, .. }) = &change.reply { Some(*task) } else { None };
    ended.chain(refused).filter_map(|task| end_of_lease(world, task)).filter(|until| *until <= now).max()
}

/// Returns true when the change moves an agent away from a session whose end was not recorded. Such a session may still
/// be alive.
fn judges_home(world: &World, change: &Change) -> bool {
    change.events.iter().any(|event| {
        let Event::Resumed { agent, session, .. } = event else { return false };
        world.agent(*agent).is_ok_and(|found| found.session.is_some() && found.session != *session)
    })
}

fn end_of_lease(world: &World, task: TaskId) -> Option<Timestamp> {
    let task = world.task(task).ok()?;
    task.state.running_lease().map(|lease| lease.until)
}

/// Returns a change that writes nothing, for a decision that must be made again. No caller sees its reply.
fn nothing() -> Change {
    Change { events: Vec::new(), sender: Actor::Engine, reply: Ok(Reply::Released) }
}
