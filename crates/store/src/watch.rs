//! Waking those who wait for a change.

use std::time::Duration;

use tokio::sync::watch;

/// Counts changes. Who waits is woken after one that it has not seen.
#[derive(Debug)]
pub struct Watch {
    receiver: watch::Receiver<u64>,
}

impl Watch {
    /// Waits for a change since the last call, at most so long. `false` when the time ran out.
    pub async fn changed(&mut self, at_most: Duration) -> bool {
        match tokio::time::timeout(at_most, self.receiver.changed()).await {
            Ok(Ok(())) => true,
            Ok(Err(_)) | Err(_) => false,
        }
    }

    /// Forgets what has changed so far.
    pub fn mark_seen(&mut self) {
        self.receiver.mark_unchanged();
    }
}

/// The other end, kept by a store.
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

    pub(crate) fn watch(&self) -> Watch {
        Watch { receiver: self.sender.subscribe() }
    }
}
