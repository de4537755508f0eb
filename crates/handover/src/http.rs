//! The HTTP door: MCP, the API, events and health on one port of this machine.
//!
//! ```text
//!   connection ── listen ──> guard: Host, Origin, token, rate ──> /mcp            mcp::Http ──> Reception ──> Desk
//!                                                             ──> /api/v1/tools   api       ──────────────> Desk
//!                                                             ──> /api/v1/events  events    ──> the log
//!   /healthz, /readyz need no token
//! ```

mod api;
mod events;
mod guard;
mod health;
mod listen;
mod metrics;
mod openapi;
mod problem;
mod tokens;

use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware;
use axum::routing::{delete, get, post};
use engine::token::Scope;
use tokio_util::sync::CancellationToken;

use crate::desk::Desk;
use crate::keeper::Keeper;
use crate::mcp::{self, Http};
use crate::office::Office;
use crate::reception::{Offer, Reception};
use crate::settings;

/// Where a server listens unless it is told otherwise.
pub const PORT_DEFAULT: u16 = 4747;
/// The file that holds the token of this machine's owner.
pub const TOKEN_FILE: &str = "token";
/// What is still running when the server stops gets this long.
const DRAIN: Duration = Duration::from_secs(10);

/// What the person asked for.
#[derive(Debug, Clone)]
pub struct Wanted {
    pub port: Option<u16>,
    pub offer: Offer,
}

#[derive(Debug, thiserror::Error)]
pub enum Unserved {
    #[error("listen on port {port}; is a server running there? `--port` takes another one")]
    Port {
        port: u16,
        #[source]
        cause: std::io::Error,
    },
    #[error("make the token file {path}")]
    Token {
        path: String,
        #[source]
        cause: std::io::Error,
    },
    #[error(transparent)]
    Settings(#[from] settings::Unreadable),
    #[error(transparent)]
    Service(#[from] crate::Error),
    #[error("show that we live")]
    Live(#[source] std::io::Error),
    #[error("serve")]
    Serve(#[source] std::io::Error),
}

/// What every request can see.
#[derive(Clone)]
pub(crate) struct Shared {
    desk: Desk,
    guard: Arc<guard::Guard>,
    metrics: Arc<metrics::Metrics>,
    health: Arc<health::Health>,
    /// The server is stopping: streams end.
    stopping: CancellationToken,
}

/// Serves until the process is asked to stop; then finishes what it accepted.
pub async fn serve(office: Office, wanted: Wanted) -> Result<(), Unserved> {
    let settings = settings::read(office.place.root.as_deref())?.serve;
    let port = wanted.port.or(settings.port).unwrap_or(PORT_DEFAULT);
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let listener = tokio::net::TcpListener::bind(address).await.map_err(|cause| Unserved::Port { port, cause })?;
    let port = listener.local_addr().map_err(Unserved::Serve)?.port();
    let path = office.state.join(TOKEN_FILE);
    let secret = own_token(&path).map_err(|cause| Unserved::Token { path: path.display().to_string(), cause })?;
    let service = office.desk.service().clone();
    crate::token::keep(&service, "this machine", &secret, Scope::Admin, None).await?;
    let keeper = Keeper::start(office.desk.clone(), office.live.clone(), None).map_err(Unserved::Live)?;
    let site = Site::new(office.desk.clone(), &settings, port, &wanted.offer);
    let line = format!(
        "listening on http://127.0.0.1:{port}\nMCP    http://127.0.0.1:{port}/mcp\nAPI    http://127.0.0.1:{port}/api/v1/openapi.json\ntoken  {}\n",
        path.display()
    );
    // Whoever started us may have gone away and left the stream closed.
    let _unheard = std::io::stdout().write_all(line.as_bytes());
    site.run(listener, mcp::asked_to_stop()).await.map_err(Unserved::Serve)?;
    drop(keeper);
    Ok(())
}

/// The token in the file; one is made when there is none. Only its owner can read it.
fn own_token(path: &Path) -> std::io::Result<String> {
    match std::fs::read_to_string(path) {
        Ok(text) if !text.trim().is_empty() => return Ok(text.trim().to_owned()),
        Ok(_) => std::fs::remove_file(path)?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let secret = crate::token::secret().map_err(std::io::Error::other)?;
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mut options = std::fs::File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Ok(mut file) => file.write_all(format!("{secret}\n").as_bytes())?,
        // Another server was faster; its token is the one.
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            return std::fs::read_to_string(path).map(|text| text.trim().to_owned());
        }
        Err(error) => return Err(error),
    }
    Ok(secret)
}

/// Everything that is served, before it has a port.
pub struct Site {
    router: Router,
    door: Http<Reception>,
    shared: Shared,
}

impl std::fmt::Debug for Site {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Site").finish_non_exhaustive()
    }
}

impl Site {
    pub fn new(desk: Desk, settings: &settings::Serve, port: u16, offer: &Offer) -> Self {
        let guard = guard::Guard::new(desk.service().clone(), settings, port);
        let door_settings = mcp::Settings {
            hosts: guard.hosts().to_vec(),
            origins: guard.origins().to_vec(),
            ..mcp::Settings::default()
        };
        let door = Http::new(Arc::new(Reception::new(desk.clone(), offer)), &door_settings);
        let shared = Shared {
            health: Arc::new(health::Health::default()),
            guard: Arc::new(guard),
            metrics: Arc::default(),
            stopping: CancellationToken::new(),
            desk,
        };
        let inside = Router::new()
            .route("/api/v1/tools/{tool}", post(api::call))
            .route("/api/v1/workflows", get(api::workflows))
            .route("/api/v1/workflows/{id}", get(api::workflow))
            .route("/api/v1/tasks", get(api::tasks))
            .route("/api/v1/tasks/{id}", get(api::task))
            .route("/api/v1/agents", get(api::agents))
            .route("/api/v1/agents/{id}", get(api::agent))
            .route("/api/v1/inbox/{agent}", get(api::inbox))
            .route("/api/v1/log/{*topic}", get(api::log))
            .route("/api/v1/events", get(events::events))
            .route("/api/v1/tokens", get(tokens::list).post(tokens::create))
            .route("/api/v1/tokens/{id}", delete(tokens::revoke))
            .route("/api/v1/openapi.json", get(openapi::document))
            .route("/metrics", get(metrics::show))
            .route_service("/mcp", door.clone())
            .fallback(problem::nowhere)
            .layer(middleware::from_fn_with_state(shared.clone(), guard::admit))
            .layer(DefaultBodyLimit::max(wire::lifecycle::PLAN_BYTES_MAX));
        let router = Router::new()
            .route("/healthz", get(health::alive))
            .route("/readyz", get(health::ready))
            .merge(inside)
            .layer(middleware::from_fn_with_state(shared.clone(), guard::check_place))
            .with_state(shared.clone());
        Self { router, door, shared }
    }

    /// Serves until `stop` ends: no new connection, streams are told, what was accepted is finished.
    pub async fn run(
        self,
        listener: tokio::net::TcpListener,
        stop: impl Future<Output = ()> + Send + 'static,
    ) -> std::io::Result<()> {
        let Self { router, door, shared } = self;
        let stopping = shared.stopping.clone();
        let ending = async move {
            stop.await;
            stopping.cancel();
            door.close().await;
        };
        listen::serve(listener, router, ending, DRAIN).await
    }
}
