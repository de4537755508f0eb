//! The signals that ask this process to end cleanly.

/// Ends when the process is asked to stop. The server then finishes the accepted requests.
///
/// Signals are received from this call on, not from the first poll. So a process that reports that it serves can
/// already be stopped cleanly.
pub fn asked_to_stop() -> impl Future<Output = ()> + Send + 'static {
    use tokio::signal::unix::{SignalKind, signal};

    let signals = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()));
    async move {
        let (Ok(mut terminate), Ok(mut interrupt)) = signals else {
            // Without our handlers the signals end the process directly.
            return std::future::pending().await;
        };
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    }
}
