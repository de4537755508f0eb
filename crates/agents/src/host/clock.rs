//! Reads the time for the records of a turn (one run of an agent's program). The turn host is a separate process, so
//! its caller cannot pass it a clock as a parameter.

use std::time::{SystemTime, UNIX_EPOCH};

/// Returns the current time in milliseconds since 1970.
pub(super) fn now_ms() -> i64 {
    #[expect(clippy::disallowed_methods, reason = "the turn host reads the time for its record here only")]
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
