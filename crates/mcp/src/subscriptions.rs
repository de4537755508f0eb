//! The async tasks that follow resources for a client and send notices of changes. They end when the client's
//! connection ends.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::gate::CallGate;
use super::limits::SUBSCRIPTIONS_MAX;

/// The async tasks that follow resources for one connection, by the URI of the resource. Dropping this value ends the
/// tasks.
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
    /// Remembers the async task that sends the changes of the resource `uri` to the client. Ends an earlier task for
    /// this resource. Returns false when the connection already has `SUBSCRIPTIONS_MAX` of these tasks.
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

/// Starts an async task that sends a notice for each new change of a resource. A notice is sent only after the calls
/// that may have made the change are answered. All changes that happen while a notice is being sent are reported by one
/// further notice.
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
