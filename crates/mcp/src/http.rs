//! The MCP server over HTTP, at `/mcp`. Clients of the old era (before protocol revision 2026-07-28) use sessions.
//! Clients of the new era (from this revision on) send single requests.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::{Method, Request, Response, StatusCode};
use http_body::Body;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::backend::{Backend, CallerIdentity};
use super::body::{AnsweredBody, Behind, CheckedBody, Looking};
use super::catalog::Catalog;
use super::gate::CallGate;
use super::handler::listening;
use super::handler::{self, Connection, Handler};
use super::limits;
use super::passage::{Denied, Passage};
use super::sessions::{PASSAGE, Sessions};

#[derive(Debug, Clone)]
pub struct HttpSettings {
    /// The allowed values of the HTTP `Host` header, as `host` or `host:port`. A request for another host is answered
    /// with 403. An empty list allows only loopback hosts.
    pub hosts: Vec<String>,
    /// The allowed values of the HTTP `Origin` header, such as `http://127.0.0.1:*`. A request with another origin is
    /// answered with 403. A request without this header is accepted.
    pub origins: Vec<String>,
    /// The maximum length of a message in bytes. A longer message is answered with 413. The value is capped at
    /// [`limits::MESSAGE_BYTES_MAX`].
    pub message_bytes_max: usize,
    /// The time without requests after which an HTTP session ends.
    pub session_idle_max: Duration,
    /// The maximum number of HTTP sessions of one access token. When a token has this many sessions, one of its idle
    /// sessions ends to make room for a new session. If no session is idle, the new session is refused.
    pub sessions_max: usize,
}

impl Default for HttpSettings {
    fn default() -> Self {
        Self {
            hosts: Vec::new(),
            origins: Vec::new(),
            message_bytes_max: limits::MESSAGE_BYTES_MAX,
            session_idle_max: limits::SESSION_IDLE_DEFAULT,
            sessions_max: limits::SESSIONS_DEFAULT,
        }
    }
}

/// The MCP server as an HTTP service, for `Router::nest_service` or `route_service`. A middleware around it must
/// identify the caller.
pub struct Http<B: Backend>(Arc<Inner<B>>);

struct Inner<B: Backend> {
    service: StreamableHttpService<Handler<B>, Sessions<B>>,
    sessions: Arc<Sessions<B>>,
    backend: Arc<B>,
    message_bytes_max: usize,
    /// Delays notices of changes for HTTP requests without a session. All these requests share this value, because it
    /// is not known which of them come from the same client.
    gate: Arc<CallGate>,
    closing: CancellationToken,
    /// A cancellation token that ends all response streams at once, even if some messages are not sent yet.
    cut: CancellationToken,
    /// Tracks the HTTP requests that are not answered yet. A request that only opens a stream for notices is not
    /// tracked.
    owed: TaskTracker,
}

impl<B: Backend> Clone for Http<B> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<B: Backend> std::fmt::Debug for Http<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Http").finish_non_exhaustive()
    }
}

impl<B: Backend> Http<B> {
    pub fn new(backend: Arc<B>, settings: &HttpSettings) -> Self {
        let (closing, cut) = (CancellationToken::new(), CancellationToken::new());
        let message_bytes_max = settings.message_bytes_max.min(limits::MESSAGE_BYTES_MAX);
        let mut config = StreamableHttpServerConfig::default()
            .with_allowed_origins(settings.origins.iter().cloned())
            .enforce_origin_validation()
            .with_json_response(true)
            .with_sse_retry(None)
            .with_cancellation_token(cut.clone())
            // The maximum length of any message. Most tools have a smaller maximum, which is checked later, while the
            // request body is read.
            .with_max_request_body_bytes(limits::MESSAGE_BYTES_MAX);
        if !settings.hosts.is_empty() {
            config = config.with_allowed_hosts(settings.hosts.iter().cloned());
        }
        let sessions =
            Arc::new(Sessions::new(Arc::clone(&backend), settings.sessions_max.max(1), settings.session_idle_max));
        let (behind, catalog) = (Arc::clone(&backend), Arc::new(Catalog::of(&*backend)));
        let handler = move || Ok(Handler::new(Arc::clone(&behind), Arc::clone(&catalog), Arc::<Connection>::default()));
        let service = StreamableHttpService::new(handler, Arc::clone(&sessions), config);
        let gate = Arc::default();
        let owed = TaskTracker::new();
        Self(Arc::new(Inner { service, sessions, backend, message_bytes_max, gate, closing, cut, owed }))
    }

    /// Announces that the server will end. Tool calls that only wait for changes return the result that they have so
    /// far. All other calls continue.
    pub fn hurry(&self) {
        self.0.closing.cancel();
        self.0.sessions.hurry();
    }

    /// Ends all HTTP streams and sessions. Running calls have [`limits::DRAIN_MAX`] to finish. After that, reporting
    /// the end of all sessions to the backend may take the same time again.
    pub async fn close(&self) {
        self.hurry();
        self.0.owed.close();
        let _late = tokio::time::timeout(limits::DRAIN_MAX, self.0.owed.wait()).await;
        self.0.cut.cancel();
        let _late = tokio::time::timeout(limits::DRAIN_MAX, self.0.sessions.close()).await;
    }

    async fn answer<Q>(self, request: Request<Q>) -> Response<AnsweredBody>
    where
        Q: Body + Send + Unpin + 'static,
    {
        let inner = self.0;
        if inner.cut.is_cancelled() {
            return Denied::Closed.into_response().map(|body| AnsweredBody::new(body, None, None));
        }
        let owed = (request.method() != Method::GET).then(|| inner.owed.token());
        let (mut parts, body) = request.into_parts();
        let session_id: Option<Arc<str>> =
            parts.headers.get("mcp-session-id").and_then(|id| id.to_str().ok()).map(Into::into);
        let session = session_id.as_ref().and_then(|id| inner.sessions.get(id));
        let is_delete = parts.method == Method::DELETE;
        let is_foreign = session
            .as_ref()
            .and_then(|session| session.opened_by())
            .is_some_and(|opened| !inner.backend.is_same(opened, &parts));
        if is_foreign || (session.is_none() && session_id.is_some() && is_delete) {
            return Denied::NoSession.into_response().map(|body| AnsweredBody::new(body, None, None));
        }
        let passage = match &session {
            Some(session) => Passage::new(Arc::clone(&session.gate), session.closing.clone(), session_id),
            None => Passage::new(Arc::clone(&inner.gate), inner.closing.clone(), None),
        };
        let passage = Arc::new(passage.owned_by(&inner.backend.owner(&parts)));
        parts.extensions.insert(Arc::clone(&passage));
        // A client of the new era (revision 2026-07-28 or later) that asks to follow resources must name the method in
        // this header.
        let listens = parts.headers.get("mcp-method").is_some_and(|method| method == "subscriptions/listen");
        let listener = listens.then(|| handler::caller(&parts));
        let behind = Beyond { backend: Arc::clone(&inner.backend), most: inner.message_bytes_max, listener };
        let request = Request::from_parts(parts, CheckedBody::new(body, behind, Arc::clone(&passage)));
        let response = PASSAGE.scope(Arc::clone(&passage), inner.service.handle(request)).await;
        let mut response = passage.denied().map_or(response, Denied::into_response);
        if is_delete && response.status() == StatusCode::ACCEPTED {
            // Replaces the status 202 in the answer of `rmcp` (the MCP library) by 204. The session has already ended,
            // and some clients treat 202 as a failure.
            *response.status_mut() = StatusCode::NO_CONTENT;
        }
        response.map(|body| AnsweredBody::new(body, passage.take_ticket(), owed))
    }
}

/// The backend and the limits that the check of one HTTP request body uses.
struct Beyond<B> {
    backend: Arc<B>,
    most: usize,
    listener: Option<CallerIdentity>,
}

impl<B: Backend> Behind for Beyond<B> {
    fn most(&self) -> usize {
        self.most
    }

    fn of(&self, tool: &str) -> usize {
        self.backend.message_bytes_max(tool)
    }

    fn look(&self, uris: Vec<String>) -> Option<Looking> {
        let (who, backend) = (self.listener.clone()?, Arc::clone(&self.backend));
        Some(Box::pin(async move { listening::look(&*backend, &who, uris).await }))
    }
}

impl<B: Backend, Q> tower_service::Service<Request<Q>> for Http<B>
where
    Q: Body + Send + Unpin + 'static,
{
    type Response = Response<AnsweredBody>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Q>) -> Self::Future {
        let door = self.clone();
        Box::pin(async move { Ok(door.answer(request).await) })
    }
}
