//! Remembers the claims that this process has just made, so that the keeper (the code that renews leases) renews them
//! without reading the store after every call.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use engine::id::{AgentId, TaskId};
use engine::{Event, Timestamp};
use tokio::sync::Notify;

/// The maximum number of claims that are remembered. Further claims are not remembered; the keeper, which renews
/// leases, finds them when it reads the store.
const CLAIMS_MAX: usize = 1_000;

/// One claim of a task by an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeldTask {
    pub agent: AgentId,
    pub task: TaskId,
    pub attempt: u32,
    /// The end of the claim's lease, as it was when the claim was last read.
    pub until: Timestamp,
}

impl HeldTask {
    pub fn is_same_claim(&self, other: &Self) -> bool {
        (self.agent, self.task, self.attempt) == (other.agent, other.task, other.attempt)
    }
}

/// The claims that this process made since the keeper, which renews leases, last called [`RecentClaims::take`].
#[derive(Debug, Default)]
pub struct RecentClaims {
    is_watched: AtomicBool,
    claims: Mutex<Vec<HeldTask>>,
    has_new: Notify,
}

impl RecentClaims {
    /// Remembers the claims among events that were just stored. Does nothing before [`RecentClaims::watch`] is called.
    pub fn record(&self, events: &[Event]) {
        if !self.is_watched.load(Ordering::Relaxed) {
            return;
        }
        for event in events {
            if let Event::Claimed { task, agent, attempt, until, .. }
            | Event::Regained { task, agent, attempt, until, .. } = event
            {
                let mut claims = self.claims();
                if claims.len() < CLAIMS_MAX {
                    claims.push(HeldTask { agent: *agent, task: *task, attempt: *attempt, until: *until });
                }
                drop(claims);
                self.has_new.notify_one();
            }
        }
    }

    /// Starts to remember claims, because a keeper (the code that renews leases) now takes them.
    pub fn watch(&self) {
        self.is_watched.store(true, Ordering::Relaxed);
    }

    /// Waits until a remembered claim has a lease that ends before `moment`.
    pub async fn ends_before(&self, moment: Timestamp) {
        loop {
            let has_new = self.has_new.notified();
            if self.claims().iter().any(|claim| claim.until < moment) {
                return;
            }
            has_new.await;
        }
    }

    /// Returns the claims that were made since the last call, and forgets them.
    pub fn take(&self) -> Vec<HeldTask> {
        std::mem::take(&mut *self.claims())
    }

    /// Locks the list of claims. After a panic in another thread the list is still valid, because a claim is added
    /// completely or not at all.
    fn claims(&self) -> MutexGuard<'_, Vec<HeldTask>> {
        self.claims.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
