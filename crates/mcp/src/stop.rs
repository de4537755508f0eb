//! The signals that ask this process to end cleanly.

/// Returns a future that ends when a signal asks the process to stop. The server then finishes the accepted requests.
///
/// The signal handlers are installed when this function is called, not when the future is first polled. So after a
/// process has reported that it is ready, a signal stops it cleanly.
pub fn asked_to_stop() -> impl Future<Output = ()> + Send + 'static {
    use tokio::signal::unix::{SignalKind, signal};

    let signals = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()));
    async move {
        let (Ok(mut terminate), Ok(mut interrupt)) = signals else {
            // The signal handlers could not be installed, so a signal ends the process directly. Wait without end.
            return std::future::pending().await;
        };
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    }
}
