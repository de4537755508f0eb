//! The MCP door: messages of the Model Context Protocol in, calls of a [`Backend`] out, over standard input and output or
//! over HTTP, for every protocol revision that clients in the field speak.
//!
//! ```text
//!   bytes ── pipes, lines ──> message ── transport ──> rmcp ── handler ──> Backend
//!   HTTP  ── body ─────────────────────> StreamableHttpService ── handler ──> Backend
//! ```
//!
//! `rmcp` keeps the protocol: dispatch, progress, cancellation, subscriptions, HTTP sessions. What it parses leniently or
//! drops in silence is checked before it: a message reaches it only when it is whole, strict and of a bearable size.
//! The arguments of a call go around it as text, and so does a reply on its way out through a pipe.

mod backend;
mod body;
mod catalog;
mod gate;
mod handler;
mod http;
mod lines;
mod listening;
mod message;
mod outbox;
mod pipes;
mod sessions;
mod shape;
mod skim;
mod stdio;
mod stop;
mod subscriptions;
mod words;

pub use backend::{
    Argument, Backend, Call, Client, Hints, Outcome, Page, Problem, Progress, Prompt, Resource, Said, Server, Speaker,
    Template, Tool, Who,
};
pub use body::Answer;
pub use gate::Act;
pub use http::{Http, Settings};
pub use stdio::{serve_pipe, serve_stdio};
pub use stop::asked_to_stop;

/// Bounds of the door. What they bound is one client, or one process.
pub mod limits {
    use std::time::Duration;

    /// A message of no special kind. The rules say so.
    pub const MESSAGE_BYTES_DEFAULT: usize = 1 << 20;
    /// No message is longer, whatever a backend says of a tool: it is held in memory while it arrives.
    pub const MESSAGE_BYTES_MAX: usize = 32 << 20;
    /// Calls of one pipe that are not answered yet. Reading stops there, so a client that pipelines is slowed, not refused.
    pub const CALLS_IN_FLIGHT_MAX: usize = 256;
    /// Answers a client has not read yet. Reading stops there, too.
    pub const OUTBOX_BYTES_MAX: usize = 4 << 20;
    /// What is still running when the client has gone gets this long to be answered.
    pub const DRAIN_MAX: Duration = Duration::from_secs(10);
    /// A notice waits for the answer of the call that may have caused it. It is only a hint, so not for ever.
    pub const NOTICE_WAIT_MAX: Duration = Duration::from_secs(10);
    /// Resources one connection may watch; each costs a small task.
    pub const SUBSCRIPTIONS_MAX: usize = 256;
    /// Tools, templates and prompts of one page of a list.
    pub const PAGE_ITEMS: usize = 100;
    /// How long a client may keep the lists, which are the same for the life of the process.
    pub const LIST_FRESH_MS: u64 = 300_000;
    /// An agent may think for hours between two calls and still be served.
    pub const SESSION_IDLE_DEFAULT: Duration = Duration::from_secs(12 * 3600);
    /// Streams for notices that one session may have open; a client needs one.
    pub const STANDING_STREAMS_MAX: usize = 4;
    /// Sessions of one token. All clients of one person may share a token.
    pub const SESSIONS_DEFAULT: usize = 250;
    /// Sessions of all tokens. A session with its stream costs under 100 KB, so these are under 400 MB.
    pub const SESSIONS_TOTAL_MAX: usize = 4_000;
}
