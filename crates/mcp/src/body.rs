//! Wraps the HTTP bodies that `rmcp` (the library for the MCP protocol) reads and writes. The wrapper checks the
//! request body and takes the arguments of a tool call out of it, so that they bypass `rmcp`. It marks the call as
//! answered when the response body ends.
//!
//! `rmcp` reads the body only after it has checked the headers. So the check is a wrapper around the body. It collects
//! the whole message, checks it, and passes the message without the arguments to `rmcp`.

use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use http::{Response, StatusCode};
use http_body::{Body, Frame, SizeHint};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use rmcp::model::{ClientRequest, JsonRpcMessage};
use tokio_util::task::task_tracker::TaskTrackerToken;
use wire::json::Span;

use super::gate::CallTicket;
use super::handler::listening;
use super::limits::{MESSAGE_BYTES_DEFAULT, MESSAGE_BYTES_MAX};
use super::message::{self, Incoming};
use super::outbox;
use super::passage::{Denied, Passage, SeenResources};
use super::skim::Skim;

impl Denied {
    pub(super) fn into_response(self) -> Response<BoxBody<Bytes, Infallible>> {
        let (status, refused) = match self {
            // The status is 200 when the refused message has an id, because clients match an error with its request
            // only in a successful HTTP response.
            Self::Message(refused) if refused.id.is_some() => (StatusCode::OK, refused),
            Self::Message(refused) => (StatusCode::BAD_REQUEST, refused),
            Self::TooLong(refused) => (StatusCode::PAYLOAD_TOO_LARGE, refused),
            Self::NoSession => return plain(StatusCode::NOT_FOUND, "session not found; initialize again"),
            Self::SessionsFull => {
                let words = "this token has reached its limit of open sessions, and all of them are in use; end one \
                    with DELETE and its mcp-session-id, or use another token";
                return plain(StatusCode::SERVICE_UNAVAILABLE, words);
            }
            Self::Closed => return plain(StatusCode::SERVICE_UNAVAILABLE, "the server is stopping; try again later"),
        };
        let mut text = Vec::new();
        // Our own types always serialize, so an error cannot occur and is ignored.
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

/// The error with which a refused request body ends. Only `rmcp` (the MCP library) sees this error, and the answer that
/// `rmcp` makes from it is replaced.
#[derive(Debug)]
pub(super) struct UnreadBody;

impl fmt::Display for UnreadBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the message was refused")
    }
}

/// The functions of the backend that the check of an HTTP request body calls.
pub(super) trait Behind: Send + Unpin + 'static {
    /// Returns the maximum length in bytes of any message. The method `of` returns the maximum length of a message that
    /// calls the given tool.
    fn most(&self) -> usize;
    fn of(&self, tool: &str) -> usize;

    /// Returns a future that reads the current versions of the resources that the client asks to follow. Returns `None`
    /// when the request does not ask to follow resources.
    fn look(&self, uris: Vec<String>) -> Option<Looking>;
}

pub(super) type Looking = Pin<Box<dyn Future<Output = SeenResources> + Send>>;

/// A request body whose message is checked before `rmcp` (the MCP library) reads it.
pub(super) struct CheckedBody<B, L> {
    body: B,
    behind: L,
    passage: Arc<Passage>,
    text: Vec<u8>,
    skim: Option<Skim>,
    /// For a message that is too long: the maximum length, and the number of bytes beyond it that were dropped so far.
    /// `None` while the message is not too long.
    over: Option<(usize, usize)>,
    done: bool,
    /// The future that reads the current versions of the resources that the client asks to follow. The message is
    /// passed to `rmcp` (the MCP library) only after this future ends.
    looking: Option<Looking>,
}

impl<B, L> CheckedBody<B, L> {
    pub(super) fn new(body: B, behind: L, passage: Arc<Passage>) -> Self {
        Self { body, behind, passage, text: Vec::new(), skim: None, over: None, done: false, looking: None }
    }
}

impl<B, L: Behind> CheckedBody<B, L> {
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

    /// Tells whether to stop reading a message that is too long. Most clients read the answer only after they have sent
    /// the whole message, so reading does not stop at once. It stops after [`MESSAGE_BYTES_MAX`] dropped bytes.
    fn is_hopeless(&self) -> bool {
        self.over.is_some_and(|(_, dropped)| dropped > MESSAGE_BYTES_MAX)
    }

    /// Checks the complete message. Returns the text that is passed to `rmcp` (the MCP library) instead of the message.
    fn finish(&mut self) -> Result<Vec<u8>, UnreadBody> {
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

    fn deny(&self, denied: Denied) -> Result<Vec<u8>, UnreadBody> {
        self.passage.deny(denied);
        Err(UnreadBody)
    }
}

/// Returns the message of a tool call with its arguments replaced by `{}`. The real arguments bypass `rmcp` (the MCP
/// library).
fn without(mut text: Vec<u8>, span: Option<Span>) -> Vec<u8> {
    let place = |at: u32| usize::try_from(at).unwrap_or(usize::MAX);
    if let Some(span) = span
        && place(span.end) <= text.len()
    {
        text.splice(place(span.start)..place(span.end), *b"{}");
    }
    text
}

impl<B: Body + Unpin, L: Behind> Body for CheckedBody<B, L> {
    type Data = Bytes;
    type Error = UnreadBody;

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
                // An error means that the client has disconnected. A client that has disconnected reads no answer, so
                // no refusal is recorded.
                Some(Err(_)) => {
                    self.done = true;
                    self.text = Vec::new();
                    return Poll::Ready(Some(Err(UnreadBody)));
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

/// A response body that marks its tool call as answered when the body ends.
#[derive(Debug)]
pub struct AnsweredBody {
    body: BoxBody<Bytes, Infallible>,
    _ticket: Option<CallTicket>,
    _owed: Option<TaskTrackerToken>,
}

impl AnsweredBody {
    /// Wraps the body of an answer. `ticket` marks the tool call as running, and `owed` marks the request as
    /// unanswered. Both are dropped when the answer has been sent.
    pub(super) fn new(
        body: BoxBody<Bytes, Infallible>,
        ticket: Option<CallTicket>,
        owed: Option<TaskTrackerToken>,
    ) -> Self {
        Self { body, _ticket: ticket, _owed: owed }
    }
}

impl Body for AnsweredBody {
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
