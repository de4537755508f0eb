//! What stands behind the door, in plain types.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::{Peer, RoleServer};
use serde_json::{Map, Value};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::gate::Act;
use super::limits;

/// The rest of the program, as the door sees it.
///
/// A future given out by a method is dropped when its caller cancels or goes: what was handed on by then still happens,
/// what was not does not.
pub trait Backend: Send + Sync + 'static {
    fn server(&self) -> Server;

    /// In the order in which they are listed; the same for the life of the process.
    fn tool_names(&self) -> Vec<String>;

    /// In the same order. Asked for once, when a client first wants the list.
    fn tools(&self) -> Vec<Tool>;

    /// The longest message that may call this tool, in bytes.
    fn message_bytes_max(&self, tool: &str) -> usize {
        let _ = tool;
        limits::MESSAGE_BYTES_DEFAULT
    }

    fn call(&self, call: Call) -> impl Future<Output = Outcome> + Send;

    fn resources(
        &self,
        who: &Who,
        cursor: Option<&str>,
    ) -> impl Future<Output = Result<Page<Resource>, Problem>> + Send;

    fn templates(&self) -> &[Template];

    /// The resource as compact JSON.
    fn read(&self, who: &Who, uri: &str) -> impl Future<Output = Result<String, Problem>> + Send;

    /// A number that grows whenever the resource changes. A follower that is slow sees the last number only, so that
    /// nothing piles up.
    fn watch(&self, who: &Who, uri: &str) -> impl Future<Output = Result<watch::Receiver<u64>, Problem>> + Send;

    fn prompts(&self) -> &[Prompt];

    fn prompt(
        &self,
        who: &Who,
        name: &str,
        arguments: BTreeMap<String, String>,
    ) -> impl Future<Output = Result<Vec<Said>, Problem>> + Send;

    /// A connection begins: a pipe, or a session over HTTP.
    fn opened(&self, who: &Who);

    /// A client says what it is. In the new era it may do so with every request, here it is heard once for a connection,
    /// and over HTTP without a session for each `server/discover`.
    fn introduced(&self, who: &Who, client: Client) {
        let _ = (who, client);
    }

    /// Whether a request comes from whoever opened the session. One of somebody else is answered as if there were no such
    /// session, since its name is all that a client needs to act in it.
    fn is_same(&self, opened: &http::request::Parts, now: &http::request::Parts) -> bool {
        let _ = (opened, now);
        true
    }

    /// Returns the token that a request came with. Sessions are counted for each.
    fn owner(&self, parts: &http::request::Parts) -> String {
        let _ = parts;
        String::new()
    }

    /// Returns the first of these sessions that may be ended because there are too many: nothing is held in it.
    fn first_free(&self, sessions: Vec<Who>) -> impl Future<Output = Option<usize>> + Send {
        std::future::ready((!sessions.is_empty()).then_some(0))
    }

    /// The connection is over and all it asked is answered or given up. A process that serves a pipe ends after this.
    fn closed(&self, who: &Who) -> impl Future<Output = ()> + Send;
}

#[derive(Debug, Clone)]
pub struct Server {
    pub name: String,
    pub title: String,
    pub version: String,
    /// What a model is told about the server as a whole.
    pub instructions: String,
}

#[derive(Debug, Clone)]
pub struct Client {
    pub name: String,
    pub version: String,
}

#[derive(Debug, Clone)]
pub struct Tool {
    pub name: String,
    pub title: Option<String>,
    pub description: String,
    pub input_schema: Map<String, Value>,
    /// Its root must have `"type": "object"`: clients refuse the whole list otherwise.
    pub output_schema: Option<Map<String, Value>>,
    pub hints: Hints,
    /// Whether a client that defers tools should show this one to its model at once.
    pub always_load: bool,
}

/// What a client may show its user before it calls.
#[derive(Debug, Clone, Copy)]
pub struct Hints {
    pub read_only: bool,
    pub destructive: bool,
    pub idempotent: bool,
}

/// One call of a tool that exists.
#[derive(Debug)]
pub struct Call {
    pub tool: String,
    /// An object as compact JSON, strict: no key twice, no depth over 128.
    pub arguments: String,
    /// What the client sent beside the arguments, such as the id its transcript has for this call.
    pub meta: Map<String, Value>,
    pub who: Who,
    /// Present when the client wants to hear how it goes.
    pub progress: Option<Progress>,
    /// For work that goes on elsewhere: the call itself is dropped.
    pub cancelled: CancellationToken,
    /// The client has gone: a call that only waits should end now with what it has.
    pub closing: CancellationToken,
    pub act: Act,
}

/// Who calls.
#[derive(Debug, Clone)]
pub enum Who {
    /// The process that started this one.
    Pipe,
    Http {
        /// The session of the old era; the new one has none.
        session: Option<Arc<str>>,
        /// Headers and extensions of this very request, so also what a middleware found out about its caller.
        parts: Arc<http::request::Parts>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// A compact JSON object that fits the tool's output schema.
    Reply(String),
    /// A compact JSON object with the code of a refusal.
    Refused(String),
    /// The backend has no such tool after all.
    UnknownTool,
    /// The machine failed; a compact JSON object that says so.
    Fault(String),
}

/// Why something other than a tool was not given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    NotFound(String),
    Invalid(String),
    Fault(String),
}

#[derive(Debug, Clone)]
pub struct Page<T> {
    pub items: Vec<T>,
    pub next_cursor: Option<String>,
}

#[derive(Debug, Clone)]
pub struct Resource {
    pub uri: String,
    pub name: String,
    pub title: Option<String>,
    pub description: Option<String>,
}

#[derive(Debug, Clone)]
pub struct Template {
    pub uri_template: String,
    pub name: String,
    pub title: Option<String>,
    pub description: String,
}

#[derive(Debug, Clone)]
pub struct Prompt {
    pub name: String,
    pub title: Option<String>,
    pub description: String,
    pub arguments: Vec<Argument>,
}

#[derive(Debug, Clone)]
pub struct Argument {
    pub name: String,
    pub description: String,
    pub required: bool,
}

/// One message of a prompt.
#[derive(Debug, Clone)]
pub struct Said {
    pub by: Speaker,
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaker {
    User,
    Assistant,
}

/// Tells the caller how its call goes.
#[derive(Clone)]
pub struct Progress {
    peer: Peer<RoleServer>,
    token: ProgressToken,
}

impl Progress {
    pub(super) fn new(peer: Peer<RoleServer>, token: ProgressToken) -> Self {
        Self { peer, token }
    }

    /// The number must grow from one to the next. A client that has gone is not an error: the call is dropped then.
    pub async fn send(&self, number: u32, message: &str) {
        let told = ProgressNotificationParam::new(self.token.clone(), f64::from(number)).with_message(message);
        let _gone = self.peer.notify_progress(told).await;
    }
}

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Progress").field(&self.token).finish()
    }
}
