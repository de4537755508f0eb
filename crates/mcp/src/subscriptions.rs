//! Followers of resources. Each one is a small task that ends with its connection.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::gate::CallGate;
use super::limits::SUBSCRIPTIONS_MAX;

/// The followers by the URI of their resource. Dropping this value ends them.
#[derive(Debug, Default)]
pub(super) struct Subscriptions(Mutex<BTreeMap<String, Following>>);

#[derive(Debug)]
pub(super) struct Following(JoinHandle<()>);

impl Drop for Following {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Subscriptions {
    /// Adds a follower. Returns false when there is no room. A second follower of the same resource replaces the first
    /// one.
    pub(super) fn add(&self, uri: String, following: Following) -> bool {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let room = all.len() < SUBSCRIPTIONS_MAX || all.contains_key(&uri);
        if room {
            all.insert(uri, following);
        }
        room
    }

    pub(super) fn remove(&self, uri: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(uri);
    }
}

/// Sends a notice for each new change, once the calls that may have made it are answered. Changes during a notice are
/// combined into one later notice.
pub(super) fn follow<F, T>(mut versions: watch::Receiver<u64>, gate: Arc<CallGate>, tell: F) -> Following
where
    F: Fn() -> T + Send + Sync + 'static,
    T: Future<Output = bool> + Send,
{
    Following(tokio::spawn(async move {
        while versions.changed().await.is_ok() {
            gate.settled().await;
            if !tell().await {
                return;
            }
        }
    }))
}
