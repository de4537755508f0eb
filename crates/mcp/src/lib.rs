//! The MCP server: turns messages of the Model Context Protocol into calls of a [`Backend`], over standard input and
//! output or over HTTP, for every protocol revision that clients use. Revisions before 2026-07-28 are the old era; the
//! new era begins with it.
//!
//! ```text
//!   bytes ── pipes, lines ──> message ── transport ──> rmcp ── handler ──> Backend
//!   HTTP  ── body ─────────────────────> StreamableHttpService ── handler ──> Backend
//! ```
//!
//! `rmcp` implements the protocol: dispatch, progress, cancellation, subscriptions, HTTP sessions. It parses some
//! things leniently and drops others silently. So each message is checked first: `rmcp` gets only messages that are
//! complete, strict and not too long. The arguments of a call bypass it as text, and so does a reply on its way out
//! through a pipe.

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

/// The bounds for one client or for one process.
pub mod limits {
    use std::time::Duration;

    /// The maximum length of an ordinary message, as the rules require.
    pub const MESSAGE_BYTES_DEFAULT: usize = 1 << 20;
    /// The maximum length of any message, also when a backend allows a tool more: a message is held in memory while it
    /// arrives.
    pub const MESSAGE_BYTES_MAX: usize = 32 << 20;
    /// The maximum number of unanswered calls of one pipe. Reading stops at this number, so a client that pipelines is
    /// slowed down and not refused.
    pub const CALLS_IN_FLIGHT_MAX: usize = 256;
    /// The maximum size of the answers that a client has not read yet. Reading stops at this size, too.
    pub const OUTBOX_BYTES_MAX: usize = 4 << 20;
    /// The time that running calls have to be answered after the client is gone.
    pub const DRAIN_MAX: Duration = Duration::from_secs(10);
    /// The longest time that a notice waits for the answer of the call that may have caused it. A notice is only a
    /// hint, so the wait is bounded.
    pub const NOTICE_WAIT_MAX: Duration = Duration::from_secs(10);
    /// The maximum number of resources that one connection may watch; each costs a small task.
    pub const SUBSCRIPTIONS_MAX: usize = 256;
    /// The number of tools, templates or prompts on one page of a list.
    pub const PAGE_ITEMS: usize = 100;
    /// The time in milliseconds for which a client may cache the lists, which stay the same while the process runs.
    pub const LIST_FRESH_MS: u64 = 300_000;
    /// The default idle time of a session: an agent may think for hours between two calls.
    pub const SESSION_IDLE_DEFAULT: Duration = Duration::from_secs(12 * 3600);
    /// The maximum number of open streams for notices of one session; a client needs one.
    pub const STANDING_STREAMS_MAX: usize = 4;
    /// The default maximum of sessions of one token. All clients of one person may share a token.
    pub const SESSIONS_DEFAULT: usize = 250;
    /// The maximum number of sessions of all tokens. A session with its stream takes less than 100 KB, so all take less
    /// than 400 MB.
    pub const SESSIONS_TOTAL_MAX: usize = 4_000;
}
