//! No claim is judged to be over by the clock alone: first this process looks who lives.
//!
//! ```text
//! decide ──> judges no lease over, or one that was over before the last look ──> done
//!    ▲                │ one that ended after the last look
//!    │                ▼
//!    └── look who lives, with a time that was read before; nothing was written
//! ```
//!
//! So a process that has just started takes nothing over before its first look, and after a sleep the locks decide: the
//! processes that hold them are found alive, however long all of them were stopped.
//!
//! Where several hosts share a database server, a lease is judged over a little later than it ends, because their clocks
//! differ (`clock::LEASE_SLACK_MS`).

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use engine::event::Cause;
use engine::id::TaskId;
use engine::{Actor, Caller, Change, Event, Need, Refusal, Reply, Stamp, Timestamp, World};
use store::{Fault, Job};

use crate::clock::LEASE_SLACK_MS;
use crate::error::Error;
use crate::live::LiveSnapshot;
use crate::random;
use crate::service::Service;

/// Every further look is needed only when another lease ended meanwhile.
const LOOKS_MAX: u32 = 8;
/// No lease was judged over.
const NONE: i64 = i64::MIN;
/// None was, but the home of an agent was judged dead.
const LOOK: i64 = i64::MIN + 1;

/// When a decision is made, and who is known to live then.
#[derive(Debug, Clone)]
pub(crate) struct DecisionMoment {
    pub(crate) stamp: Stamp,
    /// `None` when this process watches nobody: the caller says who lives.
    looked: Option<LiveSnapshot>,
}

impl DecisionMoment {
    /// Fills in who lives, as far as this process knows it.
    pub(crate) fn informed(&self, caller: Caller) -> Caller {
        with_living(caller, self.looked.as_ref())
    }
}

fn with_living(caller: Caller, looked: Option<&LiveSnapshot>) -> Caller {
    match looked {
        Some(looked) => Caller { alive: looked.alive.to_vec(), present: looked.present.to_vec(), ..caller },
        None => caller,
    }
}

/// Whose time counts for a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LeaseTime {
    Now,
    /// A sweep judges as of a moment ago where several hosts share a store, so that it never waits.
    Slack,
}

impl Service {
    /// Fills in who lived at the last look.
    pub(crate) fn informed(&self, caller: Caller) -> Caller {
        with_living(caller, self.live().map(|live| live.snapshot()).as_ref())
    }

    /// Decides and records, after a look at who lives when the decision depends on it. `decision` makes the decision of one
    /// moment.
    pub(crate) async fn transact<F, D>(&self, needs: Vec<Need>, time: LeaseTime, decision: F) -> Result<Change, Error>
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
            // The end of a lease that another host's clock may see later is waited for.
            let wait = late.saturating_add(slack).saturating_sub(self.now().0).clamp(0, LEASE_SLACK_MS);
            tokio::time::sleep(Duration::from_millis(u64::try_from(wait).unwrap_or(0))).await;
            now = self.settled_now().await;
            looked = Some(live.look(now).await.map_err(|cause| Error::file("look who lives", cause))?.snapshot);
        }
        let what = "leases end faster than this process can look who lives".to_owned();
        Err(Error::Fault(Fault::Bug { what }))
    }
}

/// Returns the latest end of a lease that the change takes for over: it ends the lease, or refuses its holder.
#[expect(clippy::wildcard_enum_match_arm, reason = "one event and one refusal come from a lease that is over")]
fn judged_over(world: &World, change: &Change, now: Timestamp) -> Option<Timestamp> {
    let ended = change.events.iter().filter_map(|event| match event {
        Event::LeaseEnded { task, cause: Cause::Expired, .. } => Some(*task),
        _ => None,
    });
    let refused = match &change.reply {
        Err(Refusal::ClaimLost { task, .. }) => Some(*task),
        _ => None,
    };
    ended.chain(refused).filter_map(|task| end_of_lease(world, task)).filter(|until| *until <= now).max()
}

/// Returns whether the change moves an agent from a home that was not known to have ended.
#[expect(clippy::wildcard_enum_match_arm, reason = "one event moves an agent")]
fn judges_home(world: &World, change: &Change) -> bool {
    change.events.iter().any(|event| match event {
        Event::Resumed { agent, session, .. } => {
            world.agent(*agent).is_ok_and(|found| found.session.is_some() && found.session != *session)
        }
        _ => false,
    })
}

fn end_of_lease(world: &World, task: TaskId) -> Option<Timestamp> {
    let task = world.task(task).ok()?;
    task.state.running_lease().map(|lease| lease.until)
}

/// A change that writes nothing and that nobody is told of.
fn nothing() -> Change {
    Change { events: Vec::new(), sender: Actor::Engine, reply: Ok(Reply::Released) }
}
