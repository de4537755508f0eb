//! What passes through an HTTP request besides `rmcp`: the check of its body, the arguments of its call, the order of notices.
//!
//! `rmcp` reads the body after it has judged the headers. So the check is part of the body: it takes in the whole message,
//! judges it, and gives `rmcp` what is left to read.

use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use http::{Response, StatusCode};
use http_body::{Body, Frame, SizeHint};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use rmcp::RoleServer;
use rmcp::model::{ClientRequest, JsonRpcMessage};
use rmcp::service::RequestContext;
use tokio_util::sync::CancellationToken;
use tokio_util::task::task_tracker::TaskTrackerToken;
use wire::json::Span;

use super::gate::{Act, Gate, Ticket};
use super::limits::{MESSAGE_BYTES_DEFAULT, MESSAGE_BYTES_MAX};
use super::listening::{self, Seen};
use super::message::{self, Arguments, Incoming, Refused};
use super::outbox;
use super::skim::Skim;

/// One HTTP request on its way.
#[derive(Debug)]
pub(super) struct Passage {
    pub(super) gate: Arc<Gate>,
    pub(super) closing: CancellationToken,
    /// The session it belongs to, which is open: a name that a client made up is none.
    pub(super) session: Option<Arc<str>>,
    /// Whose token it came with.
    pub(super) owner: Arc<str>,
    carried: Mutex<Carried>,
}

#[derive(Debug, Default)]
struct Carried {
    arguments: Option<Arguments>,
    ticket: Option<Ticket>,
    seen: Option<Seen>,
    denied: Option<Denied>,
}

/// Why a request is answered by us, whatever `rmcp` makes of it.
#[derive(Debug, Clone)]
pub(super) enum Denied {
    Message(Box<Refused>),
    TooLong(Box<Refused>),
    NoSession,
    SessionsFull,
    Closed,
}

impl Passage {
    pub(super) fn new(gate: Arc<Gate>, closing: CancellationToken, session: Option<Arc<str>>) -> Self {
        Self { gate, closing, session, owner: Arc::from(""), carried: Mutex::default() }
    }

    pub(super) fn owned_by(self, owner: &str) -> Self {
        Self { owner: Arc::from(owner), ..self }
    }

    pub(super) fn of(context: &RequestContext<RoleServer>) -> Option<&Self> {
        Self::within(context.extensions.get::<http::request::Parts>()?)
    }

    pub(super) fn within(parts: &http::request::Parts) -> Option<&Self> {
        parts.extensions.get::<Arc<Self>>().map(|passage| &**passage)
    }

    pub(super) fn take_arguments(&self) -> Option<Arguments> {
        self.carried().arguments.take()
    }

    pub(super) fn act(&self) -> Option<Act> {
        self.carried().ticket.as_ref().map(Ticket::act)
    }

    pub(super) fn take_ticket(&self) -> Option<Ticket> {
        self.carried().ticket.take()
    }

    pub(super) fn take_seen(&self) -> Option<Seen> {
        self.carried().seen.take()
    }

    pub(super) fn deny(&self, denied: Denied) {
        self.carried().denied = Some(denied);
    }

    pub(super) fn denied(&self) -> Option<Denied> {
        self.carried().denied.take()
    }

    fn carried(&self) -> std::sync::MutexGuard<'_, Carried> {
        self.carried.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Denied {
    pub(super) fn into_response(self) -> Response<BoxBody<Bytes, Infallible>> {
        let (status, refused) = match self {
            // An answer with an id is found by its caller only when the exchange itself succeeded.
            Self::Message(refused) if refused.id.is_some() => (StatusCode::OK, refused),
            Self::Message(refused) => (StatusCode::BAD_REQUEST, refused),
            Self::TooLong(refused) => (StatusCode::PAYLOAD_TOO_LARGE, refused),
            Self::NoSession => return plain(StatusCode::NOT_FOUND, "session not found; initialize again"),
            Self::SessionsFull => {
                let words = "this token has as many sessions open as it may, and all of them are in use; end one with \
                             DELETE and its mcp-session-id, or come with a token of your own";
                return plain(StatusCode::SERVICE_UNAVAILABLE, words);
            }
            Self::Closed => return plain(StatusCode::SERVICE_UNAVAILABLE, "the server stops; try again later"),
        };
        let mut text = Vec::new();
        // Our own types always serialise.
        let _always = outbox::write(&refused.into_message(), &mut text);
        let mut response = Response::new(Full::new(Bytes::from(text)).boxed());
        *response.status_mut() = status;
        let json = http::HeaderValue::from_static("application/json");
        response.headers_mut().insert(http::header::CONTENT_TYPE, json);
        response
    }
}

fn plain(status: StatusCode, words: &'static str) -> Response<BoxBody<Bytes, Infallible>> {
    let mut response = Response::new(Full::new(Bytes::from_static(words.as_bytes())).boxed());
    *response.status_mut() = status;
    if status == StatusCode::SERVICE_UNAVAILABLE {
        response.headers_mut().insert(http::header::RETRY_AFTER, http::HeaderValue::from_static("60"));
    }
    response
}

/// Seen by `rmcp` only, and the answer it makes of it is replaced.
#[derive(Debug)]
pub(super) struct Unread;

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the message was refused")
    }
}

/// What a body has to know of who is behind the door.
pub(super) trait Behind: Send + Unpin + 'static {
    /// The longest message of all, and the longest one that calls this tool.
    fn most(&self) -> usize;
    fn of(&self, tool: &str) -> usize;

    /// What the client is about to follow; `None` when it is no listener.
    fn look(&self, uris: Vec<String>) -> Option<Looking>;
}

pub(super) type Looking = Pin<Box<dyn Future<Output = Seen> + Send>>;

/// A body that is judged before it is read.
pub(super) struct Checked<B, L> {
    body: B,
    behind: L,
    passage: Arc<Passage>,
    text: Vec<u8>,
    skim: Option<Skim>,
    /// The bound the message is over, and how much of the rest was dropped.
    over: Option<(usize, usize)>,
    done: bool,
    /// Ends before the text is given on.
    looking: Option<Looking>,
}

impl<B, L> Checked<B, L> {
    pub(super) fn new(body: B, behind: L, passage: Arc<Passage>) -> Self {
        Self { body, behind, passage, text: Vec::new(), skim: None, over: None, done: false, looking: None }
    }
}

impl<B, L: Behind> Checked<B, L> {
    fn take(&mut self, piece: &[u8]) {
        if let Some(skim) = &mut self.skim {
            skim.feed(piece);
        }
        if let Some((_, dropped)) = &mut self.over {
            *dropped += piece.len();
            return;
        }
        self.text.extend_from_slice(piece);
        if self.text.len() <= MESSAGE_BYTES_DEFAULT.min(self.behind.most()) {
            return;
        }
        let text = &self.text;
        let skim = self.skim.get_or_insert_with(|| {
            let mut skim = Skim::default();
            skim.feed(text);
            skim
        });
        let most = skim.bytes_max(|tool| self.behind.of(tool)).min(self.behind.most());
        if self.text.len() > most {
            self.text = Vec::new();
            self.over = Some((most, 0));
        }
    }

    /// A client that goes on sending is read for a while, since it will not listen before it is done.
    fn is_hopeless(&self) -> bool {
        self.over.is_some_and(|(_, dropped)| dropped > MESSAGE_BYTES_MAX)
    }

    /// The text that is left for `rmcp`.
    fn finish(&mut self) -> Result<Vec<u8>, Unread> {
        self.done = true;
        let text = std::mem::take(&mut self.text);
        if let Some(skim) = self.skim.take() {
            let most = match self.over {
                Some((most, _)) => most,
                None => skim.bytes_max_in_the_end(|tool| self.behind.of(tool)).min(self.behind.most()),
            };
            if self.over.is_some() || text.len() > most {
                return self.deny(Denied::TooLong(message::too_long(skim.id().cloned(), most)));
            }
        }
        match message::read(&text) {
            Incoming::Call(call) => {
                let span = call.span;
                let mut carried = self.passage.carried();
                carried.ticket = Some(self.passage.gate.enter());
                carried.arguments = Some(call.arguments);
                drop(carried);
                Ok(without(text, span))
            }
            Incoming::Other(message) => {
                if let JsonRpcMessage::Request(request) = &*message
                    && let ClientRequest::SubscriptionsListenRequest(listen) = &request.request
                {
                    self.looking = self.behind.look(listening::wanted(listen));
                }
                Ok(text)
            }
            Incoming::Answer => Ok(text),
            Incoming::Refused(refused) => self.deny(Denied::Message(refused)),
        }
    }

    fn deny(&self, denied: Denied) -> Result<Vec<u8>, Unread> {
        self.passage.deny(denied);
        Err(Unread)
    }
}

/// The message without its arguments, which went around.
fn without(mut text: Vec<u8>, span: Option<Span>) -> Vec<u8> {
    let place = |at: u32| usize::try_from(at).unwrap_or(usize::MAX);
    if let Some(span) = span
        && place(span.end) <= text.len()
    {
        text.splice(place(span.start)..place(span.end), *b"{}");
    }
    text
}

impl<B: Body + Unpin, L: Behind> Body for Checked<B, L> {
    type Data = Bytes;
    type Error = Unread;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        while !self.done {
            match ready!(Pin::new(&mut self.body).poll_frame(cx)) {
                Some(Ok(frame)) => {
                    let Ok(mut data) = frame.into_data() else { continue };
                    while data.has_remaining() {
                        let length = data.chunk().len();
                        self.take(data.chunk());
                        data.advance(length);
                    }
                    if !self.is_hopeless() {
                        continue;
                    }
                }
                // The client is gone, so nobody hears why.
                Some(Err(_)) => {
                    self.done = true;
                    self.text = Vec::new();
                    return Poll::Ready(Some(Err(Unread)));
                }
                None => {}
            }
            match self.finish() {
                Ok(text) => self.text = text,
                Err(unread) => return Poll::Ready(Some(Err(unread))),
            }
        }
        if let Some(looking) = &mut self.looking {
            let seen = ready!(looking.as_mut().poll(cx));
            self.looking = None;
            self.passage.carried().seen = Some(seen);
        }
        let text = std::mem::take(&mut self.text);
        Poll::Ready((!text.is_empty()).then(|| Ok(Frame::data(text.into()))))
    }
}

/// A body whose end is the answer of a call.
#[derive(Debug)]
pub struct Answer {
    body: BoxBody<Bytes, Infallible>,
    _ticket: Option<Ticket>,
    _owed: Option<TaskTrackerToken>,
}

impl Answer {
    /// `owed` is dropped when the answer is given.
    pub(super) fn new(
        body: BoxBody<Bytes, Infallible>,
        ticket: Option<Ticket>,
        owed: Option<TaskTrackerToken>,
    ) -> Self {
        Self { body, _ticket: ticket, _owed: owed }
    }
}

impl Body for Answer {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
