//! Waits for the signals that ask this process to end cleanly.

/// Returns a future that ends when a signal asks the process to stop. The server that gets this future then answers the
/// accepted requests and ends.
///
/// The signal handlers are installed when this function is called, not when the future is first polled. So from this
/// call on, a signal stops the process cleanly.
pub fn asked_to_stop() -> impl Future<Output = ()> + Send + 'static {
    use tokio::signal::unix::{SignalKind, signal};

    let signals = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()));
    async move {
        let (Ok(mut terminate), Ok(mut interrupt)) = signals else {
            // If the signal handlers could not be installed, a signal ends the process directly, and this future never
            // ends.
            return std::future::pending().await;
        };
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    }
}
