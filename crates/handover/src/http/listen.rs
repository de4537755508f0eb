//! Connections: a bounded number, none of which can keep us waiting for ever.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::sync::Semaphore;

/// Each costs some kilobytes and a file; a team has a few dozen.
const CONNECTIONS_MAX: usize = 4_096;
/// A client that has not sent the head of its request by then, or says nothing between two, is let go.
const HEAD_MAX: Duration = Duration::from_secs(30);
/// A pause after the system refused a connection, for example because all files are in use.
const PAUSE: Duration = Duration::from_millis(50);

/// Accepts until `ending` is done, then waits for open requests, at most so long.
pub(super) async fn serve(
    listener: tokio::net::TcpListener,
    router: Router,
    ending: impl Future<Output = ()> + Send + 'static,
    drain: Duration,
) -> std::io::Result<()> {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let graceful = GracefulShutdown::new();
    let mut http = hyper::server::conn::http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD_MAX).max_buf_size(64 << 10);
    tokio::pin!(ending);
    loop {
        let place = tokio::select! {
            place = Arc::clone(&places).acquire_owned() => place,
            () = &mut ending => break,
        };
        let Ok(place) = place else { break };
        let stream = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(_) => {
                    tokio::time::sleep(PAUSE).await;
                    continue;
                }
            },
            () = &mut ending => break,
        };
        // Events go out in small pieces; with Nagle's algorithm each would wait for the client's acknowledgement.
        let _slower = stream.set_nodelay(true);
        let service = TowerToHyperService::new(router.clone());
        let connection = graceful.watch(http.serve_connection(TokioIo::new(stream), service));
        tokio::spawn(async move {
            // A client that breaks off is its own affair.
            let _broken = connection.await;
            drop(place);
        });
    }
    drop(listener);
    let _late = tokio::time::timeout(drain, graceful.shutdown()).await;
    Ok(())
}
