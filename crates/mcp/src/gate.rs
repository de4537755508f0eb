//! Delays a notice about a changed resource until the call that changed it is answered.
//!
//! The backend reports a change as soon as it is durable, which is before the call that made it is answered. This
//! module does not know which call made the change. So a notice waits for all calls of its connection that were running
//! when the change was reported.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;

use super::limits;

#[derive(Debug, Default)]
pub(super) struct CallGate {
    running: Mutex<Running>,
    /// Wakes the delayed notices of changes, when a tool call is answered and when a tool call begins to wait for
    /// changes.
    fewer: Notify,
}

#[derive(Debug, Default)]
struct Running {
    next: u64,
    calls: BTreeMap<u64, Doing>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Doing {
    Acting,
    Waiting,
}

/// A value that marks a tool call as not answered yet. Dropping it marks the call as answered.
#[derive(Debug)]
pub(super) struct CallTicket {
    gate: Arc<CallGate>,
    number: u64,
}

/// A handle by which a tool call reports that it only waits for changes. Such a call makes no changes and may take
/// long, so notices of changes are not delayed until it is answered.
#[derive(Debug, Clone)]
pub struct WaitNotice {
    gate: Arc<CallGate>,
    number: u64,
}

impl CallGate {
    pub(super) fn enter(self: &Arc<Self>) -> CallTicket {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let number = running.next;
        running.next += 1;
        running.calls.insert(number, Doing::Acting);
        CallTicket { gate: Arc::clone(self), number }
    }

    /// Waits until every tool call that is running now is answered or only waits for changes. Waits at most
    /// `NOTICE_WAIT_MAX`.
    pub(super) async fn settled(&self) {
        let _late = tokio::time::timeout(limits::NOTICE_WAIT_MAX, self.all_answered()).await;
    }

    async fn all_answered(&self) {
        let mut asked = self.acting();
        loop {
            let fewer = self.fewer.notified();
            let acting = self.acting();
            asked.retain(|number| acting.contains(number));
            if asked.is_empty() {
                return;
            }
            fewer.await;
        }
    }

    fn acting(&self) -> Vec<u64> {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.calls.iter().filter(|(_, doing)| **doing == Doing::Acting).map(|(number, _)| *number).collect()
    }

    fn set(&self, number: u64, doing: Doing) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(call) = running.calls.get_mut(&number) {
            *call = doing;
        }
        drop(running);
        self.fewer.notify_waiters();
    }
}

impl CallTicket {
    pub(super) fn act(&self) -> WaitNotice {
        WaitNotice { gate: Arc::clone(&self.gate), number: self.number }
    }
}

impl Drop for CallTicket {
    fn drop(&mut self) {
        self.gate.running.lock().unwrap_or_else(PoisonError::into_inner).calls.remove(&self.number);
        self.gate.fewer.notify_waiters();
    }
}

impl WaitNotice {
    /// Returns a handle for a tool call that delays no notices of changed resources.
    pub(super) fn unseen() -> Self {
        Self { gate: Arc::default(), number: 0 }
    }

    /// Runs a future that only waits and changes nothing. While it runs, notices of changes are not delayed for this
    /// tool call.
    pub async fn waiting<T>(&self, wait: impl Future<Output = T>) -> T {
        self.gate.set(self.number, Doing::Waiting);
        let done = wait.await;
        self.gate.set(self.number, Doing::Acting);
        done
    }
}
