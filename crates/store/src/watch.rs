//! Wakes callers that wait for a change of the store.

use std::time::Duration;

use tokio::sync::watch;

/// A handle to wait for changes of a store. It wakes after each change that its owner has not seen yet.
#[derive(Debug)]
pub struct StoreWatch {
    receiver: watch::Receiver<u64>,
}

impl StoreWatch {
    /// Waits until the store has changed since the last call, but not longer than `at_most`. Returns `false` when the
    /// time ran out.
    pub async fn changed(&mut self, at_most: Duration) -> bool {
        match tokio::time::timeout(at_most, self.receiver.changed()).await {
            Ok(Ok(())) => true,
            Ok(Err(_)) | Err(_) => false,
        }
    }

    /// Marks all changes of the store until now as seen, so that the next wait ends only after a later change.
    pub fn mark_seen(&mut self) {
        self.receiver.mark_unchanged();
    }
}

/// The sending end of all watches of a store. Its function `ring` wakes the callers that wait for a change.
#[derive(Debug, Clone)]
pub(crate) struct Bell {
    sender: watch::Sender<u64>,
}

impl Bell {
    pub(crate) fn new() -> Self {
        Self { sender: watch::Sender::new(0) }
    }

    pub(crate) fn ring(&self) {
        self.sender.send_modify(|count| *count = count.wrapping_add(1));
    }

    pub(crate) fn is_heard(&self) -> bool {
        self.sender.receiver_count() > 0
    }

    pub(crate) fn watch(&self) -> StoreWatch {
        StoreWatch { receiver: self.sender.subscribe() }
    }
}
