//! The data that travels with one HTTP request through `rmcp` (the MCP library), from the check of the body to the
//! handler and the response.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::RoleServer;
use rmcp::service::RequestContext;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::backend::BackendProblem;
use super::gate::{CallGate, CallTicket, WaitNotice};
use super::message::{Arguments, Refused};

/// The versions of the resources that a client asks to follow, by URI. They are read before `rmcp` (the MCP library)
/// confirms the request to the client.
#[derive(Debug, Clone, Default)]
pub(crate) struct SeenResources(BTreeMap<String, Result<watch::Receiver<u64>, BackendProblem>>);

impl SeenResources {
    pub(crate) fn take(&mut self, uri: &str) -> Option<Result<watch::Receiver<u64>, BackendProblem>> {
        self.0.remove(uri)
    }

    pub(crate) fn insert(&mut self, uri: String, versions: Result<watch::Receiver<u64>, BackendProblem>) {
        self.0.insert(uri, versions);
    }
}

/// The data that belongs to one HTTP request while the request is served.
#[derive(Debug)]
pub(super) struct Passage {
    pub(super) gate: Arc<CallGate>,
    pub(super) closing: CancellationToken,
    /// The id of the open HTTP session to which the request belongs. `None` when the request names no open session.
    pub(super) session: Option<Arc<str>>,
    /// The access token that the request carries. An HTTP session belongs to the token that opened it.
    pub(super) owner: Arc<str>,
    carried: Mutex<Carried>,
}

/// The values that the check of an HTTP request's body, the handler and the response pass to each other.
#[derive(Debug, Default)]
pub(super) struct Carried {
    pub(super) arguments: Option<Arguments>,
    pub(super) ticket: Option<CallTicket>,
    pub(super) seen: Option<SeenResources>,
    pub(super) denied: Option<Denied>,
}

/// The reasons why this crate refuses an HTTP request. The answer for the reason replaces the answer of `rmcp` (the MCP
/// library).
#[derive(Debug, Clone)]
pub(super) enum Denied {
    Message(Box<Refused>),
    TooLong(Box<Refused>),
    NoSession,
    SessionsFull,
    Closed,
}

impl Passage {
    pub(super) fn new(gate: Arc<CallGate>, closing: CancellationToken, session: Option<Arc<str>>) -> Self {
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

    pub(super) fn act(&self) -> Option<WaitNotice> {
        self.carried().ticket.as_ref().map(CallTicket::act)
    }

    pub(super) fn take_ticket(&self) -> Option<CallTicket> {
        self.carried().ticket.take()
    }

    pub(super) fn take_seen(&self) -> Option<SeenResources> {
        self.carried().seen.take()
    }

    pub(super) fn deny(&self, denied: Denied) {
        self.carried().denied = Some(denied);
    }

    pub(super) fn denied(&self) -> Option<Denied> {
        self.carried().denied.take()
    }

    pub(super) fn carried(&self) -> std::sync::MutexGuard<'_, Carried> {
        self.carried.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
