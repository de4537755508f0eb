//! The trait that connects the MCP server of this crate to the rest of the program, and the trait's types.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::{Peer, RoleServer};
use serde_json::{Map, Value};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::gate::WaitNotice;
use super::limits;

/// The program behind the MCP server: it runs the tools and reads the resources.
///
/// When a client cancels a request or disconnects, the future of the method that serves the request is dropped. Work
/// that the future has already handed to another async task continues. The rest of the work does not happen.
pub trait Backend: Send + Sync + 'static {
    fn server(&self) -> ServerInfo;

    /// Returns the names of the tools, in the order of [`Backend::tools`]. The names stay the same while the process
    /// runs.
    fn tool_names(&self) -> Vec<String>;

    /// Returns the tools in the order of [`Backend::tool_names`]. This method is called once, when a client first asks
    /// for the list of tools.
    fn tools(&self) -> Vec<McpTool>;

    /// Returns the maximum length, in bytes, of a message that calls this tool. A longer message is refused.
    fn message_bytes_max(&self, tool: &str) -> usize {
        let _ = tool;
        limits::MESSAGE_BYTES_DEFAULT
    }

    fn call(&self, call: McpCall) -> impl Future<Output = CallOutcome> + Send;

    fn resources(
        &self,
        who: &CallerIdentity,
        cursor: Option<&str>,
    ) -> impl Future<Output = Result<ResourcePage<Resource>, BackendProblem>> + Send;

    fn templates(&self) -> &[UriTemplate];

    /// Returns the content of the resource with this URI as compact JSON.
    fn read(&self, who: &CallerIdentity, uri: &str) -> impl Future<Output = Result<String, BackendProblem>> + Send;

    /// Returns a receiver of a number that grows whenever the resource with this URI changes. A slow receiver sees only
    /// the latest number, so no unread changes pile up.
    fn watch(
        &self,
        who: &CallerIdentity,
        uri: &str,
    ) -> impl Future<Output = Result<watch::Receiver<u64>, BackendProblem>> + Send;

    fn prompts(&self) -> &[Prompt];

    fn prompt(
        &self,
        who: &CallerIdentity,
        name: &str,
        arguments: BTreeMap<String, String>,
    ) -> impl Future<Output = Result<Vec<PromptText>, BackendProblem>> + Send;

    /// Tells the backend that a connection begins. A connection is a pipe or an HTTP session.
    fn opened(&self, who: &CallerIdentity);

    /// Tells the backend the name and version of a client. This method is called once for each connection. A client of
    /// the new era (revision 2026-07-28 or later) has no session over HTTP; for it, this method is called for each
    /// `server/discover` request.
    fn introduced(&self, who: &CallerIdentity, client: McpClient) {
        let _ = (who, client);
    }

    /// Tells whether the HTTP request `now` comes from the same caller as the request `opened`, which opened the
    /// session. Without this check, a stranger who knows the id of a session could act in it. A request from another
    /// caller gets the same answer as a request for a session that does not exist.
    fn is_same(&self, opened: &http::request::Parts, now: &http::request::Parts) -> bool {
        let _ = (opened, now);
        true
    }

    /// Returns the access token that an HTTP request carries. The maximum number of sessions applies to each token.
    fn owner(&self, parts: &http::request::Parts) -> String {
        let _ = parts;
        String::new()
    }

    /// Returns the index of the first of these HTTP sessions that may be ended to make room for a new session. A
    /// session may be ended when no agent in it holds a claim on a task.
    fn first_free(&self, sessions: Vec<CallerIdentity>) -> impl Future<Output = Option<usize>> + Send {
        std::future::ready((!sessions.is_empty()).then_some(0))
    }

    /// Tells the backend that a connection ended, after all its requests are answered or abandoned. A process that
    /// serves a pipe ends after this call.
    fn closed(&self, who: &CallerIdentity) -> impl Future<Output = ()> + Send;
}

#[derive(Debug, Clone)]
pub struct ServerInfo {
    pub name: String,
    pub title: String,
    pub version: String,
    /// The instructions about the whole server, which a client shows to its model.
    pub instructions: String,
}

#[derive(Debug, Clone)]
pub struct McpClient {
    pub name: String,
    pub version: String,
}

#[derive(Debug, Clone)]
pub struct McpTool {
    pub name: String,
    pub title: Option<String>,
    pub description: String,
    pub input_schema: Map<String, Value>,
    /// The JSON schema of the tool's output. Its root must have `"type": "object"`, because clients otherwise refuse
    /// the whole list of tools.
    pub output_schema: Option<Map<String, Value>>,
    pub hints: Hints,
    /// True when the model should see this tool at once. Some clients show most tools to the model only later.
    pub always_load: bool,
}

/// The properties of a tool that a client may show to its user before a call.
#[derive(Debug, Clone, Copy)]
pub struct Hints {
    pub read_only: bool,
    pub destructive: bool,
    pub idempotent: bool,
}

/// One call of a tool that the server offers.
#[derive(Debug)]
pub struct McpCall {
    pub tool: String,
    /// The arguments of the call: a strict, compact JSON object without duplicate keys and at most 128 levels deep.
    pub arguments: String,
    /// The metadata (`_meta`) that the client sent with the call, such as the id of the call in the client's
    /// transcript.
    pub meta: Map<String, Value>,
    pub who: CallerIdentity,
    /// Sends reports of progress to the client; `None` when the client did not ask for progress.
    pub progress: Option<McpProgress>,
    /// A cancellation token that is cancelled together with the call. Only work that the call handed to other async
    /// tasks needs this token, because the future of the call itself is dropped when the call is cancelled.
    pub cancelled: CancellationToken,
    /// A cancellation token that is cancelled when the client is gone or the server ends. A call that only waits for
    /// changes then returns the result that it has so far.
    pub closing: CancellationToken,
    pub act: WaitNotice,
}

/// The caller of a tool: a process at the other end of a pipe, or the sender of an HTTP request.
#[derive(Debug, Clone)]
pub enum CallerIdentity {
    /// The process that started this server. It talks to the server over standard input and output.
    Pipe,
    Http {
        /// The id of the HTTP session. `None` in the new era (protocol revision 2026-07-28 or later), which has no
        /// sessions.
        session: Option<Arc<str>>,
        /// The headers and extensions of this HTTP request. A middleware stores in the extensions everything that it
        /// found out about the caller.
        parts: Arc<http::request::Parts>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallOutcome {
    /// The result of the call: a compact JSON object that fits the tool's output schema.
    Reply(String),
    /// The rules do not allow the call. The text is a compact JSON object with the code of the refusal and the reason.
    Refused(String),
    /// The backend does not have a tool with this name.
    UnknownTool,
    /// The call failed because of an internal error. The text is a compact JSON object that describes the failure.
    Fault(String),
}

/// The reason why the backend did not return a resource or a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BackendProblem {
    NotFound(String),
    Invalid(String),
    Fault(String),
}

#[derive(Debug, Clone)]
pub struct ResourcePage<T> {
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
pub struct UriTemplate {
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

/// One message of an MCP prompt (a text that a client offers to its user).
#[derive(Debug, Clone)]
pub struct PromptText {
    pub by: Speaker,
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaker {
    User,
    Assistant,
}

/// Reports the progress of a tool call to the client that made the call.
#[derive(Clone)]
pub struct McpProgress {
    peer: Peer<RoleServer>,
    token: ProgressToken,
}

impl McpProgress {
    pub(super) fn new(peer: Peer<RoleServer>, token: ProgressToken) -> Self {
        Self { peer, token }
    }

    /// Sends a progress message. `number` must grow with each message. An error of sending is ignored: it means that
    /// the client is gone, and the call of a client that is gone is dropped anyway.
    pub async fn send(&self, number: u32, message: &str) {
        let told = ProgressNotificationParam::new(self.token.clone(), f64::from(number)).with_message(message);
        let _gone = self.peer.notify_progress(told).await;
    }
}

impl fmt::Debug for McpProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Progress").field(&self.token).finish()
    }
}
