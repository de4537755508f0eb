//! The signals that ask this process to end in good order.

/// Ends when the process is asked to stop. Whoever serves then finishes what was accepted.
///
/// The signals are heard from this call on, not from the first poll: who says that it serves can be stopped in good order.
pub fn asked_to_stop() -> impl Future<Output = ()> + Send + 'static {
    use tokio::signal::unix::{SignalKind, signal};

    let signals = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()));
    async move {
        let (Ok(mut terminate), Ok(mut interrupt)) = signals else {
            // Without handlers the signals end the process by themselves.
            return std::future::pending().await;
        };
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    }
}
