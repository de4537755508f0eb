//! The signals that stop a run. After the first one, running turns may finish; the second one ends them.

use runner::attempt::shared::RunnerOrder;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// Waits for two signals, each SIGINT or SIGTERM, and sends the runner an order after each signal.
pub(in crate::cli) async fn listen(orders: watch::Sender<RunnerOrder>) {
    let (Ok(mut interrupt), Ok(mut terminate)) = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    else {
        return;
    };
    for order in [RunnerOrder::Finish, RunnerOrder::Stop] {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        let _nobody_works = orders.send(order);
    }
    // Never return: a third signal has no meaning, but returning would drop `orders` and close the channel.
    std::future::pending::<()>().await;
}
