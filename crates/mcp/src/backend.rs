//! The backend of the server, in plain types.

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

/// The rest of the program, as this crate sees it.
///
/// The future of a method is dropped when its caller cancels or disconnects. Work that the future has handed on still
/// happens; other work does not.
pub trait Backend: Send + Sync + 'static {
    fn server(&self) -> ServerInfo;

    /// Returns the names of the tools in the order of the list. The names stay the same while the process runs.
    fn tool_names(&self) -> Vec<String>;

    /// Returns the tools in the same order. Called once, when a client first asks for the list.
    fn tools(&self) -> Vec<McpTool>;

    /// Returns the maximum length, in bytes, of a message that calls this tool.
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

    /// Returns the resource as compact JSON.
    fn read(&self, who: &CallerIdentity, uri: &str) -> impl Future<Output = Result<String, BackendProblem>> + Send;

    /// Returns a number that grows whenever the resource changes. A slow follower sees only the latest number, so no
    /// backlog builds up.
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

    /// Reports that a connection begins: a pipe, or a session over HTTP.
    fn opened(&self, who: &CallerIdentity);

    /// Reports the name and version of a client. In the new era a client may send them with every request. They are
    /// reported once for a connection, and over HTTP without a session for each `server/discover`.
    fn introduced(&self, who: &CallerIdentity, client: McpClient) {
        let _ = (who, client);
    }

    /// Tells whether a request comes from the caller that opened the session. A client needs only the session's name to
    /// act in it. So a request by another caller is answered as if the session did not exist.
    fn is_same(&self, opened: &http::request::Parts, now: &http::request::Parts) -> bool {
        let _ = (opened, now);
        true
    }

    /// Returns the token that a request carries. Sessions are counted for each token.
    fn owner(&self, parts: &http::request::Parts) -> String {
        let _ = parts;
        String::new()
    }

    /// Returns the index of the first session that may be ended to make room: no agent in it holds a claim.
    fn first_free(&self, sessions: Vec<CallerIdentity>) -> impl Future<Output = Option<usize>> + Send {
        std::future::ready((!sessions.is_empty()).then_some(0))
    }

    /// Reports that the connection ended and that all its requests are answered or abandoned. A process that serves a
    /// pipe ends after this.
    fn closed(&self, who: &CallerIdentity) -> impl Future<Output = ()> + Send;
}

#[derive(Debug, Clone)]
pub struct ServerInfo {
    pub name: String,
    pub title: String,
    pub version: String,
    /// The instructions for the model about the server as a whole.
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
    /// The root must have `"type": "object"`: otherwise clients refuse the whole list.
    pub output_schema: Option<Map<String, Value>>,
    pub hints: Hints,
    /// Tells a client that defers tools to show this one to its model at once.
    pub always_load: bool,
}

/// The properties of a tool that a client may show its user before a call.
#[derive(Debug, Clone, Copy)]
pub struct Hints {
    pub read_only: bool,
    pub destructive: bool,
    pub idempotent: bool,
}

/// One call of a known tool.
#[derive(Debug)]
pub struct McpCall {
    pub tool: String,
    /// The arguments: a strict, compact JSON object without duplicate keys and at most 128 levels deep.
    pub arguments: String,
    /// The data that the client sent with the arguments, such as the id of this call in its transcript.
    pub meta: Map<String, Value>,
    pub who: CallerIdentity,
    /// The progress reporter, when the client asks for progress.
    pub progress: Option<McpProgress>,
    /// Cancelled together with the call, whose future is dropped. It is for work that continues elsewhere.
    pub cancelled: CancellationToken,
    /// Cancelled when the client is gone. A call that only waits then ends with its present result.
    pub closing: CancellationToken,
    pub act: WaitNotice,
}

/// The caller of a tool.
#[derive(Debug, Clone)]
pub enum CallerIdentity {
    /// The process that started this one.
    Pipe,
    Http {
        /// The session of the old era; `None` in the new era, which has no sessions.
        session: Option<Arc<str>>,
        /// The headers and extensions of this request, with everything that a middleware found out about its caller.
        parts: Arc<http::request::Parts>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallOutcome {
    /// A compact JSON object that fits the tool's output schema.
    Reply(String),
    /// A compact JSON object with the code of a refusal.
    Refused(String),
    /// The backend does not have this tool.
    UnknownTool,
    /// The machine failed; a compact JSON object that describes the fault.
    Fault(String),
}

/// The reasons why a resource or prompt was not returned.
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

/// One message of a prompt.
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

/// Reports the progress of a call to its caller.
#[derive(Clone)]
pub struct McpProgress {
    peer: Peer<RoleServer>,
    token: ProgressToken,
}

impl McpProgress {
    pub(super) fn new(peer: Peer<RoleServer>, token: ProgressToken) -> Self {
        Self { peer, token }
    }

    /// Sends a progress message. The number must grow with each message. A client that is gone is not an error, because
    /// the call is dropped then.
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
