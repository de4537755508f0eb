//! Accepts a bounded number of connections. No connection can make the server wait without a time limit.

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

/// The pause after the system refused a connection, for example because all files are in use.
const PAUSE: Duration = Duration::from_millis(50);
/// The time to read requests that were sent before the server was asked to stop. Connections without a request are
/// closed after it.
const LAST_WORDS: Duration = Duration::from_millis(100);
/// The number of files reserved for everything other than connections: the store, git and this process.
const FILES_KEPT: usize = 256;
/// The smallest number of connections, however few files the system allows.
const CONNECTIONS_MIN: usize = 16;

/// The body of the response to a connection over the limit.
const FULL: &str = r#"{"type":"about:blank","title":"too busy","status":503,"detail":"too many connections are open","code":"TOO_BUSY","message":"too many connections are open","recoverable":false,"suggestion":"try again in a second"}"#;

struct Hall {
    router: Router,
    http: http1::Builder,
    graceful: GracefulShutdown,
    places: Arc<Semaphore>,
    stall_max: Duration,
}

/// Accepts connections until `stop` completes, then answers the requests already received and runs `close`, both within
/// a time limit.
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
    // Clients that connected before the stop may have sent a request already.
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
            // A connection that the client breaks needs no further handling.
            let _broken = connection.await;
            drop(place);
        });
    }
}

/// Sends the reason without waiting: so few bytes always fit into the buffer of a new socket.
fn turn_away(stream: TcpStream) {
    let head = "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/problem+json\r\nRetry-After: 1\r\n";
    let text = format!("{head}Connection: close\r\nContent-Length: {}\r\n\r\n{FULL}", FULL.len());
    if let Ok(mut stream) = stream.into_std() {
        let _gone = stream.write_all(text.as_bytes()).and_then(|()| stream.shutdown(std::net::Shutdown::Write));
    }
}

/// Returns the number of connections to accept. Each uses a file; the function raises the system's limit on files if needed.
fn room(wanted: usize) -> usize {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let needed = u64::try_from(wanted.saturating_add(FILES_KEPT)).unwrap_or(u64::MAX);
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current.is_some_and(|current| current < needed) {
        let raised = maximum.map_or(needed, |maximum| maximum.min(needed));
        // If the limit cannot be raised, the server accepts fewer connections.
        let _fewer = setrlimit(Resource::Nofile, Rlimit { current: Some(raised), maximum });
    }
    let allowed = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let allowed = usize::try_from(allowed).unwrap_or(usize::MAX).saturating_sub(FILES_KEPT);
    wanted.min(allowed.max(CONNECTIONS_MIN))
}
