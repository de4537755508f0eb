//! The limits on connections, time and memory that a client may use. The defaults are for people; tests use shorter times.

use std::time::Duration;

#[derive(Debug, Clone)]
pub struct HttpLimits {
    /// The largest number of connections. Each uses some kilobytes and a file; a team has a few dozen. One more gets
    /// status 503.
    pub connections_max: usize,
    /// The time for the head of a request, and for the silence between two requests. A client that takes longer is
    /// disconnected.
    pub head_max: Duration,
    /// The time for the body of a request; after it the request gets status 408. A plan of 32 MiB arrives in time over
    /// a slow link.
    pub body_max: Duration,
    /// The time for which a client may read none of the bytes sent to it. After this time it is disconnected.
    pub stall_max: Duration,
    /// The memory for all bodies that are being read, in bytes. A request that needs more gets status 503.
    pub bodies_bytes_max: usize,
    /// The time that running requests have left when the server stops.
    pub drain_max: Duration,
    /// The largest number of sessions of MCP's old era, and the time for which one may be silent.
    pub sessions_max: usize,
    pub session_idle_max: Duration,
}

impl Default for HttpLimits {
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
