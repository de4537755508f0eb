//! The HTTP server: MCP, the API, events and health on one port of this machine.
//!
//! ```text
//!   connection ── listen ──> guard: Host, Origin, token, rate ──> /mcp            mcp::Http ──> Reception ──> Desk
//!                                                             ──> /api/v1/tools   api       ──────────────> Desk
//!                                                             ──> /api/v1/events  events    ──> the log
//!   /healthz, /readyz need no token
//!   connection ── listen ──> guard: Host, Origin, rate of strangers ──> /api/v1/browser  browser ──> a browser's token
//! ```

mod acts;
mod api;
mod approvals;
mod browser;
mod difference;
mod events;
mod fields;
mod graph;
mod guard;
mod health;
mod intake;
mod items;
mod landing_problem;
mod leash;
mod limits;
mod listen;
mod merge;
mod metrics;
mod now;
mod openapi;
mod own;
mod page;
mod patience;
mod problem;
mod project_facts;
mod replies;
mod server_record;
mod spend;
mod task_page;
mod tokens;
mod turns;
mod work_place;

use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::middleware;
use axum::routing::{delete, get, post};
use engine::token::Scope;
pub use limits::HttpLimits;
pub use server_record::ServerRecord;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::desk::Desk;
use crate::keeper::{Keeper, OwnSession};
use crate::office::Office;
use crate::reception::{Offer, Reception};
use base::live::record::LiveRecord;
use base::project::settings;
use base::project::trust;
use base::service::Service;
use mcp::Http;

/// The port on which the server listens when neither the command line nor the settings name one.
pub const PORT_DEFAULT: u16 = 4747;
/// The name of the file with the token of the person who owns this machine.
pub const TOKEN_FILE: &str = "token";

/// The largest number of requests that read work with git at the same time. Each starts several processes; further
/// requests wait.
const GIT_READS_MAX: usize = 4;
/// The longest time for which a server that stops waits for acts on work. After it, their git processes are ended.
const ACTS_MAX: Duration = Duration::from_secs(30);

/// The options of `handover serve` from its command line.
#[derive(Debug, Clone)]
pub struct ServeOptions {
    pub port: Option<u16>,
    pub offer: Offer,
    pub limits: HttpLimits,
}

#[derive(Debug, thiserror::Error)]
pub enum Unserved {
    #[error("listen on port {port}; another server may use it, so stop that server or choose another port with --port")]
    Port {
        port: u16,
        #[source]
        cause: std::io::Error,
    },
    #[error("use the token file {path}")]
    Token {
        path: String,
        #[source]
        cause: std::io::Error,
    },
    #[error(transparent)]
    Settings(#[from] trust::Untrusted),
    #[error(transparent)]
    Service(#[from] base::Error),
    #[error("lock the session file of this server")]
    Live(#[source] std::io::Error),
    #[error("record the port of this server in {folder}")]
    Record {
        folder: String,
        #[source]
        cause: std::io::Error,
    },
    #[error("serve")]
    Serve(#[source] std::io::Error),
}

/// The state that all HTTP requests share.
#[derive(Clone)]
pub(crate) struct HttpState {
    desk: Desk,
    guard: Arc<guard::Guard>,
    metrics: Arc<metrics::Metrics>,
    health: Arc<health::Health>,
    facts: Arc<project_facts::KeptFacts>,
    intake: Arc<intake::Intake>,
    leashes: Arc<leash::Leashes>,
    /// The acts that are done to their end, although their clients left.
    acts: TaskTracker,
    /// The permits that limit how many requests read work with git at the same time.
    git_reads: Arc<Semaphore>,
    /// A cancellation token that is cancelled when the server stops. Then the event streams end.
    stopping: CancellationToken,
}

/// Serves HTTP requests until the process gets a signal to stop. Then finishes the requests that it has accepted.
pub async fn serve(office: Office, wanted: ServeOptions) -> Result<(), Unserved> {
    let stop = mcp::asked_to_stop();
    let server = HttpServer::bind(&office, wanted, PortChoice::Exactly).await?;
    let keeper = Keeper::start(office.desk.clone(), OwnSession::Nobody).await.map_err(Unserved::Live)?;
    let port = server.port;
    let line = format!(
        "listening on http://127.0.0.1:{port}\nMCP    http://127.0.0.1:{port}/mcp\nAPI    http://127.0.0.1:{port}/api/v1/openapi.json\ntoken  {}\n",
        server.token.display()
    );
    // Ignore a failed write: the process that started the server may have closed the other end of standard output.
    let _unheard = std::io::stdout().write_all(line.as_bytes());
    server.run(stop).await;
    drop(keeper);
    Ok(())
}

/// The reaction of the server when another program already uses its port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PortChoice {
    /// If another program uses the port, the server does not start.
    Exactly,
    /// If another program uses the port, the server takes the next free port.
    NextFree,
}

/// The number of further ports that are tried when another program uses the first port.
const PORTS_TRIED: u16 = 100;

/// A server that listens on its port and does not answer yet.
#[derive(Debug)]
pub struct HttpServer {
    pub port: u16,
    /// The file with the token of the person who owns this machine.
    pub token: PathBuf,
    listener: tokio::net::TcpListener,
    site: Site,
    /// The record by which `handover open` finds this server. It is deleted when this value is dropped.
    record: LiveRecord,
}

impl HttpServer {
    /// Takes the port, and registers the token of this machine.
    pub async fn bind(office: &Office, wanted: ServeOptions, choice: PortChoice) -> Result<Self, Unserved> {
        let settings = match &office.place.root {
            Some(root) => trust::basics(root, base::project::place::data_folder().as_deref())?.serve,
            None => settings::ServeSettings::default(),
        };
        let first = wanted.port.or(settings.port).unwrap_or(PORT_DEFAULT);
        let last = if choice == PortChoice::NextFree { first.saturating_add(PORTS_TRIED) } else { first };
        let mut port = first;
        let listener = loop {
            let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
            match tokio::net::TcpListener::bind(address).await {
                Ok(listener) => break listener,
                Err(cause) if cause.kind() == std::io::ErrorKind::AddrInUse && port < last => port += 1,
                Err(cause) => return Err(Unserved::Port { port, cause }),
            }
        };
        let port = listener.local_addr().map_err(Unserved::Serve)?.port();
        let token = office.state.join(TOKEN_FILE);
        know_owner(office.desk.service(), &token).await?;
        let site = Site::new(office.desk.clone(), &settings, &ServeOptions { port: Some(port), ..wanted });
        let unrecorded = |cause| Unserved::Record { folder: office.live.display().to_string(), cause };
        let record = ServerRecord::keep(&office.live, port, office.desk.service().now()).map_err(unrecorded)?;
        Ok(Self { port, token, listener, site, record })
    }

    /// Serves until the future `stop` completes. Then finishes the accepted requests.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let Self { listener, site, record, .. } = self;
        site.run(listener, stop).await;
        drop(record);
    }
}

/// Registers the token of the token file in the store, so that its bearer has an admin's access. If that token was
/// revoked, writes a new token into the file, because the caller is the owner of this machine.
async fn know_owner(service: &Service, path: &Path) -> Result<(), Unserved> {
    let unusable = |cause| Unserved::Token { path: path.display().to_string(), cause };
    let keep = async |secret: String| crate::token::keep(service, "this machine", &secret, Scope::Admin, None).await;
    match keep(own::token(path).map_err(unusable)?).await {
        Err(base::Error::Refused(_)) => keep(own::renewed(path).map_err(unusable)?).await?,
        kept => kept?,
    };
    Ok(())
}

/// The HTTP server before it listens on a port: its routes, its shared state and its limits.
pub struct Site {
    router: Router,
    door: Http<Reception>,
    shared: HttpState,
    limits: HttpLimits,
}

impl std::fmt::Debug for Site {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Site").finish_non_exhaustive()
    }
}

impl Site {
    pub fn new(desk: Desk, settings: &settings::ServeSettings, wanted: &ServeOptions) -> Self {
        let limits = wanted.limits.clone();
        let guard = guard::Guard::new(desk.service().clone(), settings, wanted.port.unwrap_or(PORT_DEFAULT));
        let door_settings = mcp::HttpSettings {
            hosts: guard.hosts().to_vec(),
            origins: guard.origins().to_vec(),
            sessions_max: limits.sessions_max,
            session_idle_max: limits.session_idle_max,
            ..mcp::HttpSettings::default()
        };
        let door = Http::new(Arc::new(Reception::new(desk.clone(), &wanted.offer)), &door_settings);
        let shared = HttpState {
            health: Arc::new(health::Health::default()),
            facts: Arc::default(),
            intake: Arc::new(intake::Intake::new(&limits)),
            leashes: Arc::new(leash::Leashes::new(desk.service().clone())),
            acts: TaskTracker::new(),
            git_reads: Arc::new(Semaphore::new(GIT_READS_MAX)),
            guard: Arc::new(guard),
            metrics: Arc::default(),
            stopping: CancellationToken::new(),
            desk,
        };
        let inside = Router::new()
            .route("/api/v1/tools/{tool}", post(api::call))
            .route("/api/v1/workflows", get(api::workflows))
            .route("/api/v1/workflows/{id}", get(api::workflow))
            .route("/api/v1/workflows/{id}/graph", get(graph::graph))
            .route("/api/v1/workflows/{id}/diff", get(difference::of_workflow))
            .route("/api/v1/workflows/{id}/merge", get(merge::look_at_workflow).post(merge::merge_workflow))
            .route("/api/v1/tasks", get(api::tasks).post(acts::add_task))
            .route("/api/v1/tasks/{id}", get(api::task))
            .route("/api/v1/tasks/{id}/{act}", post(acts::act))
            .route("/api/v1/tasks/{id}/merge", get(merge::look_at_task).post(merge::merge_task))
            .route("/api/v1/tasks/{id}/diff", get(difference::of_task))
            .route("/api/v1/tasks/{id}/checks/{number}/output", get(turns::check))
            .route("/api/v1/turns", get(turns::list))
            .route("/api/v1/turns/{id}", get(turns::show))
            .route("/api/v1/turns/{id}/transcript", get(turns::transcript))
            .route("/api/v1/agents", get(api::agents))
            .route("/api/v1/agents/{id}", get(api::agent))
            .route("/api/v1/inbox/{agent}", get(api::inbox))
            .route("/api/v1/log/{*topic}", get(api::log))
            .route("/api/v1/events", get(events::events))
            .route("/api/v1/now", get(now::now))
            .route("/api/v1/items/put-off", post(items::put_off))
            .route("/api/v1/spend", get(spend::show))
            .route("/api/v1/tasks/{id}/page", get(task_page::page))
            .route("/api/v1/approvals", get(approvals::list))
            .route("/api/v1/approvals/{id}", get(approvals::show))
            .route("/api/v1/approvals/{id}/{verb}", post(approvals::decide))
            .route("/api/v1/messages/{id}/reply", post(replies::reply))
            .route("/api/v1/tokens", get(tokens::list).post(tokens::create))
            .route("/api/v1/tokens/{id}", delete(tokens::revoke))
            .route("/api/v1/openapi.json", get(openapi::document))
            .route("/metrics", get(metrics::show))
            .route_service("/mcp", door.clone())
            .fallback(problem::nowhere)
            .layer(middleware::from_fn_with_state(shared.clone(), guard::admit));
        let page =
            page::ADDRESSES.iter().fold(Router::new(), |router, address| router.route(address, get(page::index)));
        let router = Router::new()
            .route("/healthz", get(health::alive))
            .route("/readyz", get(health::ready))
            .route("/assets/{name}", get(page::asset))
            .merge(page)
            .merge(browser::routes(&shared))
            .merge(inside)
            .layer(middleware::from_fn_with_state(shared.clone(), guard::check_place))
            .with_state(shared.clone());
        Self { router, door, shared, limits }
    }

    /// Serves until the future `stop` completes. Then accepts no new connection, ends the event streams and finishes
    /// the accepted requests.
    pub async fn run(self, listener: tokio::net::TcpListener, stop: impl Future<Output = ()>) {
        let Self { router, door, shared, limits } = self;
        let stop = async {
            stop.await;
            shared.stopping.cancel();
            door.hurry();
        };
        listen::serve(listener, router, &limits, (stop, door.close())).await;
        shared.acts.close();
        // An act that is still being done moves a branch or changes a worktree, which takes a moment.
        let _too_long = tokio::time::timeout(ACTS_MAX, shared.acts.wait()).await;
    }
}
