//! Accepts a bounded number of connections. Every wait for a client has a time limit.

use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use futures_util::FutureExt as _;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use super::limits::HttpLimits;
use super::patience::Patient;

/// The pause before the next try when the system could not accept a connection, for example because this process has
/// too many open files.
const PAUSE: Duration = Duration::from_millis(50);
/// The time in which the server still reads requests after it was asked to stop, because clients may have sent them
/// before the stop. After this time, connections without a request are closed.
const LAST_WORDS: Duration = Duration::from_millis(100);
/// The number of open files that are reserved for the store, git and this process. The rest of the system's limit is
/// for connections.
const FILES_KEPT: usize = 256;
/// The number of connections that are accepted in any case, even if the system allows fewer open files than
/// `FILES_KEPT`.
const CONNECTIONS_MIN: usize = 16;

/// The body of the response with status 503 that a connection gets when too many are open.
const FULL: &str = r#"{"type":"about:blank","title":"too busy","status":503,"detail":"too many connections are open","code":"TOO_BUSY","message":"too many connections are open","recoverable":false,"suggestion":"try again in a second"}"#;

struct Hall {
    router: Router,
    http: http1::Builder,
    graceful: GracefulShutdown,
    places: Arc<Semaphore>,
    stall_max: Duration,
}

/// Accepts connections until the future `stop` completes. Then answers the requests that it has already received, and
/// runs the future `close`. The answers and `close` together have the time limit `drain_max`.
pub(super) async fn serve(
    listener: TcpListener,
    router: Router,
    limits: &HttpLimits,
    (stop, close): (impl Future<Output = ()>, impl Future<Output = ()>),
) {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(limits.head_max).max_buf_size(64 << 10);
    let places = Arc::new(Semaphore::new(room(limits.connections_max)));
    let hall = Hall { router, http, graceful: GracefulShutdown::new(), places, stall_max: limits.stall_max };
    tokio::pin!(stop);
    loop {
        tokio::select! {
            () = &mut stop => break,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => hall.admit(stream),
                Err(_) => tokio::time::sleep(PAUSE).await,
            },
        }
    }
    // Accept the connections that still wait in the system's queue: their clients may have sent a request before the
    // stop.
    while let Some(Ok((stream, _))) = listener.accept().now_or_never() {
        hall.admit(stream);
    }
    drop(listener);
    tokio::time::sleep(LAST_WORDS).await;
    let all = async { tokio::join!(hall.graceful.shutdown(), close) };
    let _late = tokio::time::timeout(limits.drain_max, all).await;
}

impl Hall {
    fn admit(&self, stream: TcpStream) {
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
            turn_away(stream);
            return;
        };
        // Events are small writes. With Nagle's algorithm each would wait for the client's acknowledgement.
        let _slower = stream.set_nodelay(true);
        let service = TowerToHyperService::new(self.router.clone());
        let stream = TokioIo::new(Patient::new(stream, self.stall_max));
        let connection = self.graceful.watch(self.http.serve_connection(stream, service));
        tokio::spawn(async move {
            // Ignore the error of a connection that the client closed: there is no client to answer.
            let _broken = connection.await;
            drop(place);
        });
    }
}

/// Sends the response with status 503 and closes the connection. The write does not block, because so few bytes always
/// fit into the buffer of a new socket.
fn turn_away(stream: TcpStream) {
    let head = "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/problem+json\r\nRetry-After: 1\r\n";
    let text = format!("{head}Connection: close\r\nContent-Length: {}\r\n\r\n{FULL}", FULL.len());
    if let Ok(mut stream) = stream.into_std() {
        let _gone = stream.write_all(text.as_bytes()).and_then(|()| stream.shutdown(std::net::Shutdown::Write));
    }
}

/// Returns the number of connections to accept, at most `wanted`. Each connection uses an open file, so the function
/// first raises the system's limit on open files if that is too low.
fn room(wanted: usize) -> usize {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let needed = u64::try_from(wanted.saturating_add(FILES_KEPT)).unwrap_or(u64::MAX);
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current.is_some_and(|current| current < needed) {
        let raised = maximum.map_or(needed, |maximum| maximum.min(needed));
        // Ignore a failure: if the limit cannot be raised, the server accepts fewer connections.
        let _fewer = setrlimit(Resource::Nofile, Rlimit { current: Some(raised), maximum });
    }
    let allowed = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let allowed = usize::try_from(allowed).unwrap_or(usize::MAX).saturating_sub(FILES_KEPT);
    wanted.min(allowed.max(CONNECTIONS_MIN))
}
