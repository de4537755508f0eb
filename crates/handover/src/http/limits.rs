//! What a client may cost: connections, time and memory. The defaults are for people; a test makes them short.

use std::time::Duration;

#[derive(Debug, Clone)]
pub struct Limits {
    /// Each costs some kilobytes and a file; a team has a few dozen. One more is answered 503.
    pub connections_max: usize,
    /// A client that has not sent the head of its request by then, or says nothing between two, is let go.
    pub head_max: Duration,
    /// The body of a request is here by then, or the request is answered 408. A plan of 32 MiB comes in time over a slow link.
    pub body_max: Duration,
    /// A client that reads nothing of what is sent to it for so long is let go.
    pub stall_max: Duration,
    /// What all bodies that are being read hold together. One more is answered 503.
    pub bodies_bytes_max: usize,
    /// What is still running when the server stops gets this long.
    pub drain_max: Duration,
    /// Sessions of MCP's old era, and how long one may be silent.
    pub sessions_max: usize,
    pub session_idle_max: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections_max: 4_096,
            head_max: Duration::from_secs(30),
            body_max: Duration::from_secs(60),
            stall_max: Duration::from_secs(60),
            bodies_bytes_max: 128 << 20,
            drain_max: Duration::from_secs(10),
            sessions_max: mcp::limits::SESSIONS_DEFAULT,
            session_idle_max: mcp::limits::SESSION_IDLE_DEFAULT,
        }
    }
}
