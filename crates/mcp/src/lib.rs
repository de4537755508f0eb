//! The MCP server. It turns messages of the Model Context Protocol into calls of a [`Backend`], over standard input and
//! output or over HTTP. It supports every protocol revision that clients use. The comments call revisions before
//! 2026-07-28 the old era; the new era begins with 2026-07-28.
//!
//! ```text
//!   bytes ── pipes, lines ──> message ── transport ──> rmcp ── handler ──> Backend
//!   HTTP  ── body ─────────────────────> StreamableHttpService ── handler ──> Backend
//! ```
//!
//! `rmcp` implements the protocol: dispatch, progress, cancellation, subscriptions, HTTP sessions. But it accepts some
//! malformed messages and drops others silently. So this crate checks each message first, and passes on only messages
//! that are complete, strict JSON and not too long. The arguments of a call bypass `rmcp` as text. The reply to a call
//! over a pipe also bypasses `rmcp` as text.

mod backend;
mod body;
mod catalog;
mod gate;
mod handler;
mod http;
mod lines;
mod message;
mod outbox;
mod passage;
mod pipes;
mod sessions;
mod skim;
mod stdio;
mod stop;
mod subscriptions;
mod words;

pub use backend::{
    Argument, Backend, BackendProblem, CallOutcome, CallerIdentity, Hints, McpCall, McpClient, McpProgress, McpTool,
    Prompt, PromptText, Resource, ResourcePage, ServerInfo, Speaker, UriTemplate,
};
pub use body::AnsweredBody;
pub use gate::WaitNotice;
pub use http::{Http, HttpSettings};
pub use stdio::{serve_pipe, serve_stdio};
pub use stop::asked_to_stop;

/// The limits of the MCP server, for one client or for the whole process.
pub mod limits {
    use std::time::Duration;

    /// The maximum length of a message in bytes. A longer message is refused, unless the backend allows more for the
    /// tool that the message calls.
    pub const MESSAGE_BYTES_DEFAULT: usize = 1 << 20;
    /// The maximum length of any message in bytes, even when the backend allows more for a tool. A longer message is
    /// refused, because a message is held in memory while it arrives.
    pub const MESSAGE_BYTES_MAX: usize = 32 << 20;
    /// The maximum number of unanswered calls of a client that is connected by a pipe. At this number the server stops
    /// reading until a call is answered. So a client that sends many calls at once is slowed down and not refused.
    pub const CALLS_IN_FLIGHT_MAX: usize = 256;
    /// The maximum size, in bytes, of the answers that wait until a client behind a pipe reads them. At this size the
    /// server stops reading new calls.
    pub const OUTBOX_BYTES_MAX: usize = 4 << 20;
    /// The time that running tool calls have to finish after the client is gone. After this time they are cancelled.
    pub const DRAIN_MAX: Duration = Duration::from_secs(10);
    /// The longest time that the notice of a change waits until the calls that may have made the change are answered.
    /// After this time the notice is sent anyway.
    pub const NOTICE_WAIT_MAX: Duration = Duration::from_secs(10);
    /// The maximum number of resources that one connection may follow. A further subscription is refused, because each
    /// subscription runs an async task.
    pub const SUBSCRIPTIONS_MAX: usize = 256;
    /// The number of tools, resource templates or prompts on one page of a list. A longer list has further pages.
    pub const PAGE_ITEMS: usize = 100;
    /// The time in milliseconds for which a client may cache a list of tools, resource templates or prompts. These
    /// lists stay the same while the process runs.
    pub const LIST_FRESH_MS: u64 = 300_000;
    /// The default time without a request after which an HTTP session ends. It is long, because an agent may think for
    /// hours between two calls.
    pub const SESSION_IDLE_DEFAULT: Duration = Duration::from_secs(12 * 3600);
    /// The maximum number of open streams for notices of changes in one HTTP session. When a client opens a further
    /// stream, the oldest one ends. A client needs only one.
    pub const STANDING_STREAMS_MAX: usize = 4;
    /// The default maximum number of HTTP sessions of one access token. It is high, because all clients of one person
    /// may share a token.
    pub const SESSIONS_DEFAULT: usize = 250;
    /// The maximum number of HTTP sessions of all access tokens together. A session with its stream takes less than 100
    /// KB, so all sessions take less than 400 MB.
    pub const SESSIONS_TOTAL_MAX: usize = 4_000;
}
