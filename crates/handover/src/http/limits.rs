//! The limits on the connections, time and memory that HTTP clients may use. Real servers use the defaults; tests set
//! shorter times.

use std::time::Duration;

#[derive(Debug, Clone)]
pub struct HttpLimits {
    /// The largest number of open connections. A further connection gets status 503. Each connection uses some
    /// kilobytes and an open file; the clients of a team need a few dozen.
    pub connections_max: usize,
    /// The longest time to receive the head of a request, and the longest silence between two requests. A client that
    /// takes longer is disconnected.
    pub head_max: Duration,
    /// The longest time to receive the body of a request. A slower request gets status 408. The time is long enough for
    /// a plan of 32 MiB over a slow link.
    pub body_max: Duration,
    /// The longest time for which a client may read none of the bytes sent to it. After this time it is disconnected.
    pub stall_max: Duration,
    /// The memory for all request bodies that are being read, in bytes. A request that needs more gets status 503.
    pub bodies_bytes_max: usize,
    /// The time that running requests get to finish when the server stops. After it, they are cut off.
    pub drain_max: Duration,
    /// The largest number of MCP sessions for one token. Only the older versions of MCP have sessions. A further
    /// session replaces the oldest session that is idle and holds no task, or is refused.
    pub sessions_max: usize,
    /// The longest silence of an MCP session. After this time, the session ends. Only the older versions of MCP have
    /// sessions.
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
