//! Serves one client over standard input and output. The first request decides whether the connection follows the old
//! era of the protocol (before revision 2026-07-28) or the new era:
//!
//! ```text
//!              initialize                       a request with its own version
//!   Unopened ────────────> Old        Unopened ────────────────────────────────> New
//!
//!   Unopened   server/discover and ping are served, notifications dropped, other requests refused
//!   Old        all requests are served, also those that name their own version
//!   New        requests must name their version; initialize is refused
//! ```

use std::collections::HashMap;
use std::io;
use std::pin::Pin;
use std::sync::Arc;

use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, GetMeta, JsonRpcMessage, JsonRpcRequest, ProtocolVersion,
    RequestId, ServerJsonRpcMessage,
};
use rmcp::service::serve_directly_with_ct;
use rmcp::transport::Transport;
use rmcp::{ErrorData, RoleServer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::Sleep;
use tokio_util::sync::CancellationToken;

use super::backend::{Backend, CallerIdentity};
use super::catalog::Catalog;
use super::gate::{CallGate, CallTicket};
use super::handler::listening::Listening;
use super::handler::{Connection, Handler};
use super::lines::{MessageLine, MessageLines};
use super::message::{self, Incoming, Refused};
use super::outbox::Outbox;
use super::{limits, pipes};

/// Serves one client over standard input and output. The client is the process that started this process. When the
/// client disconnects or `stop` ends, answers the requests that were already accepted, and reports to the backend that
/// the connection is closed.
pub async fn serve_stdio<B: Backend>(backend: Arc<B>, stop: impl Future<Output = ()> + Send + 'static) {
    let (input, output) = pipes::standard();
    serve_pipe(backend, input, output, stop).await;
}

/// Serves a client over any pair of streams, as [`serve_stdio`] does over standard input and output.
pub async fn serve_pipe<B, R, W>(backend: Arc<B>, input: R, output: W, stop: impl Future<Output = ()> + Send + 'static)
where
    B: Backend,
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    backend.opened(&CallerIdentity::Pipe);
    let connection = Arc::new(Connection::default());
    let abandon = CancellationToken::new();
    let wire = StdioWire {
        lines: MessageLines::new(input),
        outbox: Outbox::new(output),
        backend: Arc::clone(&backend),
        era: Era::Unopened,
        in_flight: HashMap::new(),
        gate: Arc::clone(&connection.gate),
        closing: connection.closing.clone(),
        abandon: abandon.clone(),
        stop: Box::pin(stop),
        phase: StdioPhase::Serving,
        owes: false,
    };
    let handler = Handler::new(Arc::clone(&backend), Arc::new(Catalog::of(&*backend)), connection);
    let running = serve_directly_with_ct(Listening(handler), wire, None, abandon);
    let _reason = running.waiting().await;
    backend.closed(&CallerIdentity::Pipe).await;
}

enum Era {
    Unopened,
    Old,
    New,
}

enum StdioPhase {
    Serving,
    /// The client sends no more requests. The value is a timer: when it ends, the calls that still run are cancelled.
    Draining(Pin<Box<Sleep>>),
}

struct StdioWire<B, R, W> {
    lines: MessageLines<R>,
    outbox: Outbox<W>,
    backend: Arc<B>,
    era: Era,
    /// The requests that `rmcp` (the MCP library) has not answered yet. A tool call has a ticket, which delays notices
    /// of changes until the call is answered.
    in_flight: HashMap<RequestId, Option<CallTicket>>,
    gate: Arc<CallGate>,
    closing: CancellationToken,
    /// A cancellation token that cancels all running calls of this client.
    abandon: CancellationToken,
    stop: Pin<Box<dyn Future<Output = ()> + Send>>,
    phase: StdioPhase,
    /// True while an answer that this module made itself (a refusal) is not written yet.
    owes: bool,
}

/// The event that ends one wait for input from the client.
enum NextRead {
    Line(io::Result<MessageLine>),
    Stop,
    Broken,
}

impl<B, R, W> Transport<RoleServer> for StdioWire<B, R, W>
where
    B: Backend,
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    /// Sends a message to the client. The order of messages is the order in which this function is called, not the
    /// order in which the returned futures are polled.
    fn send(&mut self, message: ServerJsonRpcMessage) -> impl Future<Output = io::Result<()>> + Send + 'static {
        self.outbox.put(&message);
        if let JsonRpcMessage::Response(response) = &message {
            self.in_flight.remove(&response.id);
        } else if let JsonRpcMessage::Error(error) = &message
            && let Some(id) = &error.id
        {
            self.in_flight.remove(id);
        }
        let outbox = self.outbox.clone();
        async move { outbox.flush().await }
    }

    /// Returns the next message of the client for `rmcp` (the MCP library). `rmcp` drops the returned future whenever
    /// it has other work, and calls this function again.
    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            if self.owes && self.outbox.flush().await.is_ok() {
                self.owes = false;
            }
            if self.outbox.broken().is_cancelled() {
                self.abandon.cancel();
                return None;
            }
            if let StdioPhase::Draining(left) = &mut self.phase {
                if !self.in_flight.is_empty() {
                    left.as_mut().await;
                    self.abandon.cancel();
                }
                return None;
            }
            match self.next().await {
                NextRead::Line(Ok(MessageLine::Whole(range))) => {
                    let message = match message::read(self.lines.text(range)) {
                        Incoming::Call(call) => call.into_message(),
                        Incoming::Other(message) => *message,
                        Incoming::Answer => continue,
                        Incoming::Refused(refused) => {
                            self.refuse(refused);
                            continue;
                        }
                    };
                    if let Some(message) = self.admit(message) {
                        return Some(message);
                    }
                }
                NextRead::Line(Ok(MessageLine::TooLong { id, bytes_max })) => {
                    self.refuse(message::too_long(id, bytes_max))
                }
                NextRead::Line(Ok(MessageLine::End) | Err(_)) | NextRead::Stop => {
                    self.closing.cancel();
                    self.phase = StdioPhase::Draining(Box::pin(tokio::time::sleep(limits::DRAIN_MAX)));
                }
                NextRead::Broken => {}
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.outbox.flush().await
    }
}

impl<B, R, W> StdioWire<B, R, W>
where
    B: Backend,
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    async fn next(&mut self) -> NextRead {
        let room = self.in_flight.len() < limits::CALLS_IN_FLIGHT_MAX && !self.outbox.is_full();
        let backend = &self.backend;
        tokio::select! {
            biased;
            () = self.outbox.broken().cancelled() => NextRead::Broken,
            () = &mut self.stop => NextRead::Stop,
            // Reads a line only while the client has few unanswered calls. Otherwise the future waits until `rmcp` (the
            // MCP library) sends an answer. `rmcp` then drops the future and calls `receive` again.
            line = self.lines.next(|tool| backend.message_bytes_max(tool)), if room => NextRead::Line(line),
        }
    }

    #[expect(clippy::boxed_local, reason = "it comes in a box")]
    fn refuse(&mut self, refused: Box<Refused>) {
        self.outbox.put(&refused.into_message());
        self.owes = true;
    }

    fn admit(&mut self, message: ClientJsonRpcMessage) -> Option<ClientJsonRpcMessage> {
        match message {
            JsonRpcMessage::Request(request) => self.admit_request(request),
            JsonRpcMessage::Notification(notification) => {
                if matches!(self.era, Era::Unopened) {
                    return None;
                }
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    // Forget the cancelled request, because it will not be answered.
                    self.in_flight.remove(id);
                }
                Some(JsonRpcMessage::Notification(notification))
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => None,
        }
    }

    fn admit_request(&mut self, mut request: JsonRpcRequest<ClientRequest>) -> Option<ClientJsonRpcMessage> {
        if let Err(error) = self.judge(&request.request) {
            self.refuse(message::refused(Some(request.id), error));
            return None;
        }
        if self.in_flight.contains_key(&request.id) {
            let words = "the id is in use by a request that is not answered yet; choose another";
            self.refuse(message::refused(Some(request.id), ErrorData::invalid_request(words, None)));
            return None;
        }
        let ticket = if let ClientRequest::CallToolRequest(call) = &mut request.request {
            let ticket = self.gate.enter();
            call.extensions.insert(ticket.act());
            Some(ticket)
        } else {
            None
        };
        self.in_flight.insert(request.id.clone(), ticket);
        Some(JsonRpcMessage::Request(request))
    }

    /// Checks that the request is allowed in the current era of the connection, and changes the era if necessary.
    /// `initialize` starts the old era (before revision 2026-07-28). A request that names its own protocol version
    /// starts the new era.
    fn judge(&mut self, request: &ClientRequest) -> Result<(), ErrorData> {
        if let ClientRequest::InitializeRequest(initialize) = request {
            if matches!(self.era, Era::New) {
                let requested = initialize.params.protocol_version.clone();
                return Err(ErrorData::unsupported_protocol_version(requested, &[ProtocolVersion::V_2026_07_28]));
            }
            self.era = Era::Old;
            return Ok(());
        }
        if matches!(request, ClientRequest::DiscoverRequest(_)) {
            return Ok(());
        }
        let own_version = request.get_meta().protocol_version();
        match (&self.era, own_version) {
            (Era::Old, _) => Ok(()),
            (Era::New, Some(_)) => Ok(()),
            (Era::Unopened, Some(version)) => {
                if version >= ProtocolVersion::V_2026_07_28 && ProtocolVersion::KNOWN_VERSIONS.contains(&version) {
                    self.era = Era::New;
                }
                Ok(())
            }
            (Era::Unopened, None) if matches!(request, ClientRequest::PingRequest(_)) => Ok(()),
            (Era::Unopened, None) => Err(ErrorData::invalid_request(
                "the connection is not initialized; send initialize, or name io.modelcontextprotocol/protocolVersion \
                 in _meta",
                None,
            )),
            (Era::New, None) => Err(ErrorData::invalid_params(
                "_meta must name io.modelcontextprotocol/protocolVersion, as the requests before did",
                None,
            )),
        }
    }
}
