//! HTTP sessions for clients of the old era (before revision 2026-07-28). `rmcp` (the MCP library) runs the sessions;
//! this module counts them and tells the backend when they begin and end.
//!
//! When an access token has its maximum of sessions, a new session ends the session of this token that was used longest
//! ago. Only an idle session is ended: one without open streams and running calls, in which no agent holds a claim.
//! When the client of the ended session comes back, it gets 404 and starts a new session, as the protocol says. When no
//! session is idle, the new one is refused with 503. The sessions of other tokens are never ended.

use std::collections::{HashMap, VecDeque};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::Stream;
use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, GetExtensions, JsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::streamable_http_server::session::ServerSseMessage;
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError, SessionTransport,
};
use rmcp::transport::streamable_http_server::{SessionId, SessionManager};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

use super::backend::{Backend, CallerIdentity, McpClient};
use super::gate::CallGate;
use super::limits;
use super::passage::{Denied, Passage};

/// The maximum number of attempts to end an idle session to make room for a new one. An attempt fails when the chosen
/// session is used again at the same time. After the last attempt, the new session is refused.
const ROOM_TRIES: u32 = 10;

tokio::task_local! {
    /// The data of the HTTP request that `rmcp` (the MCP library) is serving in this async task.
    pub(super) static PASSAGE: Arc<Passage>;
}

pub(super) struct Sessions<B> {
    kept: LocalSessionManager,
    backend: Arc<B>,
    open: Arc<OpenSession>,
    sessions_max: usize,
    /// Tracks the open HTTP sessions, and runs the async tasks that tell the backend when a session has ended.
    endings: TaskTracker,
}

#[derive(Default)]
struct OpenSession {
    sessions: Mutex<HashMap<SessionId, Arc<McpSession>>>,
    /// A counter that grows with each use of any session. It orders the sessions by their last use.
    uses: AtomicU64,
}

#[derive(Debug)]
pub(super) struct McpSession {
    pub(super) gate: Arc<CallGate>,
    pub(super) closing: CancellationToken,
    /// A cancellation token that is cancelled when the session has ended and the backend knows of it.
    ended: CancellationToken,
    who: OnceLock<CallerIdentity>,
    /// The access token of the HTTP request that opened the session.
    owner: Arc<str>,
    used: AtomicU64,
    streams: AtomicUsize,
    /// For each open stream for notices of changes: the cancellation token that ends the stream. The oldest stream is
    /// first.
    standing: Mutex<VecDeque<CancellationToken>>,
}

/// An idle session that could be ended. The number is the value that the counter `uses` had when the session was last
/// used.
type IdleSession = (u64, SessionId, Arc<McpSession>);

impl McpSession {
    fn of(owner: Arc<str>) -> Self {
        Self {
            gate: Arc::default(),
            closing: CancellationToken::new(),
            ended: CancellationToken::new(),
            who: OnceLock::new(),
            owner,
            used: AtomicU64::new(0),
            streams: AtomicUsize::new(0),
            standing: Mutex::default(),
        }
    }

    /// Returns the headers of the HTTP request that opened the session, or `None` before the session is open.
    pub(super) fn opened_by(&self) -> Option<&http::request::Parts> {
        match self.who.get()? {
            CallerIdentity::Http { parts, .. } => Some(parts),
            CallerIdentity::Pipe => None,
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub(super) enum SessionFault {
    #[error("too many sessions are open")]
    Full,
    #[error(transparent)]
    Kept(#[from] LocalSessionManagerError),
}

impl OpenSession {
    fn get(&self, id: &str) -> Option<Arc<McpSession>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner).get(id).cloned()
    }

    fn remove(&self, id: &str) -> Option<Arc<McpSession>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner).remove(id)
    }

    fn used(&self, session: &McpSession) {
        session.used.store(self.uses.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
    }
}

impl<B: Backend> Sessions<B> {
    pub(super) fn new(backend: Arc<B>, sessions_max: usize, idle_max: Duration) -> Self {
        let mut kept = LocalSessionManager::default();
        kept.session_config.keep_alive = Some(idle_max);
        // Switches off the empty event that `rmcp` would send before each answer. The event tells clients how to resume
        // a stream, but some older clients fail when they get it.
        kept.session_config.sse_retry = None;
        Self { kept, backend, open: Arc::default(), sessions_max, endings: TaskTracker::new() }
    }

    pub(super) fn get(&self, id: &str) -> Option<Arc<McpSession>> {
        self.open.get(id)
    }

    /// Ends the tool calls that only wait for changes, in all sessions. These calls return the result that they have so
    /// far.
    pub(super) fn hurry(&self) {
        let sessions = self.open.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.values().for_each(|session| session.closing.cancel());
    }

    /// Ends all HTTP sessions, and waits until the backend knows the end of each session.
    pub(super) async fn close(&self) {
        let all: Vec<SessionId> =
            self.open.sessions.lock().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect();
        for id in all {
            let _gone = self.end(&id).await;
        }
        self.endings.close();
        self.endings.wait().await;
    }

    /// Makes room for a new session of the access token `owner`. When the token or the server has its maximum of
    /// sessions, ends an idle session of this token. Fails when the token has no idle session.
    async fn make_room(&self, owner: &str) -> Result<(), SessionFault> {
        for _ in 0..ROOM_TRIES {
            let Some(idle) = self.idle_of(owner) else { return Ok(()) };
            let (used, id, session) = self.oldest_free(idle).await.ok_or(SessionFault::Full)?;
            // Ends the session only if no request used it while the backend checked whether its agents hold claims.
            if session.used.load(Ordering::Relaxed) == used && session.streams.load(Ordering::Relaxed) == 0 {
                drop(self.end(&id).await?);
                return Ok(());
            }
        }
        Err(SessionFault::Full)
    }

    /// Returns the sessions of the access token `owner` that have no open streams, the longest unused first. Returns
    /// `None` when there is room for another session, so that no session must end.
    fn idle_of(&self, owner: &str) -> Option<Vec<IdleSession>> {
        let sessions = self.open.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        let own: Vec<_> = sessions.iter().filter(|(_, session)| &*session.owner == owner).collect();
        if own.len() < self.sessions_max && sessions.len() < limits::SESSIONS_TOTAL_MAX {
            return None;
        }
        let unused = own.into_iter().filter(|(_, session)| session.streams.load(Ordering::Relaxed) == 0);
        let mut idle: Vec<IdleSession> = unused
            .map(|(id, session)| (session.used.load(Ordering::Relaxed), Arc::clone(id), Arc::clone(session)))
            .collect();
        idle.sort_by_key(|(used, ..)| *used);
        Some(idle)
    }

    /// Returns the longest unused of the idle sessions in which no agent holds a claim on a task. If the client of the
    /// longest unused session never sent `initialize`, that session has no agent and is returned without asking the
    /// backend.
    async fn oldest_free(&self, mut idle: Vec<IdleSession>) -> Option<IdleSession> {
        if idle.first().is_none_or(|(_, _, session)| session.who.get().is_none()) {
            return idle.into_iter().next();
        }
        idle.retain(|(_, _, session)| session.who.get().is_some());
        let who = idle.iter().filter_map(|(_, _, session)| session.who.get().cloned()).collect();
        let place = self.backend.first_free(who).await?;
        idle.into_iter().nth(place)
    }

    /// Starts to end a session. The session has ended when `rmcp` (the MCP library) has dropped its transport and the
    /// backend knows of the end.
    async fn end(&self, id: &SessionId) -> Result<Option<Arc<McpSession>>, SessionFault> {
        let session = self.open.remove(id);
        if let Some(session) = &session {
            session.closing.cancel();
        }
        self.kept.close_session(id).await?;
        Ok(session)
    }

    /// Makes the server answer 404 when `rmcp` (the MCP library) has lost a session. Only this answer makes a client
    /// start a new session.
    fn lost(fault: LocalSessionManagerError) -> SessionFault {
        let _outside = PASSAGE.try_with(|passage| passage.deny(Denied::NoSession));
        SessionFault::Kept(fault)
    }

    fn counted<S>(&self, id: &SessionId, stream: S) -> CountedStream<S> {
        let session = self.open.get(id);
        if let Some(session) = &session {
            session.streams.fetch_add(1, Ordering::Relaxed);
        }
        CountedStream { stream: Box::pin(stream), session, until: None }
    }

    /// Counts a stream over which a client gets notices of changes. When a client has more than `STANDING_STREAMS_MAX`
    /// of these streams open, the oldest one ends, because a client needs only one.
    fn standing<S>(&self, id: &SessionId, stream: S) -> CountedStream<S> {
        let mut counted = self.counted(id, stream);
        if let Some(session) = &counted.session {
            let token = CancellationToken::new();
            let mut standing = session.standing.lock().unwrap_or_else(PoisonError::into_inner);
            standing.push_back(token.clone());
            if standing.len() > limits::STANDING_STREAMS_MAX
                && let Some(oldest) = standing.pop_front()
            {
                oldest.cancel();
            }
            drop(standing);
            counted.until = Some(Box::pin(token.cancelled_owned()));
        }
        counted
    }
}

impl<B: Backend> SessionManager for Sessions<B> {
    type Error = SessionFault;
    type Transport = Watched<B>;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Self::Error> {
        let owner = PASSAGE.try_with(|passage| Arc::clone(&passage.owner)).unwrap_or_else(|_| Arc::from(""));
        if let Err(full) = self.make_room(&owner).await {
            let _outside = PASSAGE.try_with(|passage| passage.deny(Denied::SessionsFull));
            return Err(full);
        }
        let (id, transport) = self.kept.create_session().await?;
        let session = Arc::new(McpSession::of(owner));
        self.open.used(&session);
        let mut sessions = self.open.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.insert(Arc::clone(&id), Arc::clone(&session));
        drop(sessions);
        let ending = Ending {
            id: Arc::clone(&id),
            session,
            open: Arc::clone(&self.open),
            backend: Arc::clone(&self.backend),
            lives: self.endings.token(),
        };
        Ok((id, Watched { transport, _ending: ending }))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Self::Error> {
        let introduced = introduction(id, &message);
        let answer = self.kept.initialize_session(id, message).await?;
        if let (Some((who, client)), Some(session)) = (introduced, self.open.get(id)) {
            self.backend.opened(&who);
            self.backend.introduced(&who, client);
            let _first = session.who.set(who);
        }
        Ok(answer)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Self::Error> {
        let Some(session) = self.open.get(id) else { return Ok(false) };
        self.open.used(&session);
        Ok(self.kept.has_session(id).await?)
    }

    /// Ends a session and returns when the backend knows of the end. From then on, other agents can claim the tasks
    /// that the session's agents held.
    async fn close_session(&self, id: &SessionId) -> Result<(), Self::Error> {
        if let Some(session) = self.end(id).await? {
            // Waits at most `DRAIN_MAX` for running calls. If a call takes longer, this function returns, and the
            // session ends when the call ends.
            let _late = tokio::time::timeout(limits::DRAIN_MAX, session.ended.cancelled()).await;
        }
        Ok(())
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let stream = self.kept.create_stream(id, message).await.map_err(Self::lost)?;
        Ok(self.counted(id, stream))
    }

    async fn accept_message(&self, id: &SessionId, message: ClientJsonRpcMessage) -> Result<(), Self::Error> {
        self.kept.accept_message(id, message).await.map_err(Self::lost)
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let stream = self.kept.create_standalone_stream(id).await.map_err(Self::lost)?;
        Ok(self.standing(id, stream))
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let stream = self.kept.resume(id, last_event_id).await?;
        Ok(self.counted(id, stream))
    }
}

fn introduction(id: &SessionId, message: &ClientJsonRpcMessage) -> Option<(CallerIdentity, McpClient)> {
    let JsonRpcMessage::Request(request) = message else { return None };
    let ClientRequest::InitializeRequest(initialize) = &request.request else { return None };
    let parts = request.request.extensions().get::<http::request::Parts>()?.clone();
    let who = CallerIdentity::Http { session: Some(Arc::clone(id)), parts: Arc::new(parts) };
    let client = &initialize.params.client_info;
    Some((who, McpClient { name: client.name.clone(), version: client.version.clone() }))
}

/// A stream that marks its HTTP session as used while it is open, so that the session is not ended to make room for a
/// new one.
struct CountedStream<S> {
    stream: Pin<Box<S>>,
    session: Option<Arc<McpSession>>,
    until: Option<Pin<Box<WaitForCancellationFutureOwned>>>,
}

impl<S: Stream> Stream for CountedStream<S> {
    type Item = S::Item;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.until.as_mut().is_some_and(|until| until.as_mut().poll(cx).is_ready()) {
            return Poll::Ready(None);
        }
        self.stream.as_mut().poll_next(cx)
    }
}

impl<S> Drop for CountedStream<S> {
    fn drop(&mut self) {
        if let Some(session) = &self.session {
            session.streams.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// The transport of an HTTP session. It ends the session when it is dropped, because `rmcp` (the MCP library) drops the
/// transport last.
pub(super) struct Watched<B: Backend> {
    transport: SessionTransport,
    _ending: Ending<B>,
}

struct Ending<B: Backend> {
    id: SessionId,
    session: Arc<McpSession>,
    open: Arc<OpenSession>,
    backend: Arc<B>,
    lives: TaskTrackerToken,
}

impl<B: Backend> Drop for Ending<B> {
    fn drop(&mut self) {
        self.open.remove(&self.id);
        self.session.closing.cancel();
        let ended = self.session.ended.clone();
        let (Some(who), Ok(runtime)) = (self.session.who.get().cloned(), tokio::runtime::Handle::try_current()) else {
            return ended.cancel();
        };
        let backend = Arc::clone(&self.backend);
        let last = async move {
            backend.closed(&who).await;
            ended.cancel();
        };
        self.lives.task_tracker().spawn_on(last, &runtime);
    }
}

impl<B: Backend> Transport<RoleServer> for Watched<B> {
    type Error = <SessionTransport as Transport<RoleServer>>::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.transport.send(message)
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        self.transport.receive().await
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.transport.close().await
    }
}
