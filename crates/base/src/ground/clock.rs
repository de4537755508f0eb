//! The clocks that give the time to the rules of Handover. Tests use a clock that they set themselves.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{PoisonError, RwLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use engine::Timestamp;
use store::{Fault, Store};

pub trait Clock: Send + Sync {
    fn now(&self) -> Timestamp;
}

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        #[expect(clippy::disallowed_methods, reason = "the one place that reads the time")]
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }
}

/// The largest difference in milliseconds between a host's clock and the database server's clock at which the host's
/// time is not corrected. If the clocks differ by more, the host's time is corrected and the host gets a warning.
pub const SKEW_MAX_MS: i64 = 1_000;
/// The time in milliseconds that must pass after the end of a lease (an agent's claim of a task) before another host
/// may take the lease over. It applies when several hosts share a store: two hosts may each be off by [`SKEW_MAX_MS`]
/// without a correction, and a measurement is not exact.
pub const LEASE_SLACK_MS: i64 = 3 * SKEW_MAX_MS;
/// The longest time that the database server may take to answer when its clock is read. A slower answer is too inexact
/// to measure the host's clock by. The server is then asked again, at most `SAMPLES` times in total, and the fastest
/// answer counts.
const ANSWER_MAX: Duration = Duration::from_millis(500);
const SAMPLES: u32 = 3;

/// The clock of a host that shares a database server with other hosts: the machine's clock, corrected when it is wrong.
///
/// ```text
/// host's clock within a second of the server's:  the host's time, unchanged
/// host's clock further off:                      the host's time plus the measured difference
/// host's clock was set after the measurement:    the time of the measurement plus the time that has passed since then,
///                                                until the next measurement
/// ```
///
/// The server gives only the measured difference; the time itself always comes from the host.
#[derive(Debug)]
pub struct ServerClock {
    measured: RwLock<ClockMeasure>,
    /// The last time that this clock returned. The clock never returns an earlier time than before.
    last: AtomicI64,
}

/// One comparison of this host's clock with the database server's clock.
#[derive(Debug, Clone, Copy)]
pub struct ClockMeasure {
    host: Timestamp,
    at: Instant,
    /// The server's time minus the host's time, in milliseconds.
    pub difference_ms: i64,
}

impl ServerClock {
    /// Measures the difference between this host's clock and the database server's clock for the first time. Returns
    /// `None` when the database is not on a server (SQLite, memory).
    pub async fn measured_by(store: &dyn Store) -> Result<Option<Self>, Fault> {
        let first = measure(store).await?;
        Ok(first.map(|first| Self { measured: RwLock::new(first), last: AtomicI64::new(i64::MIN) }))
    }

    /// Measures the difference between this host's clock and the database server's clock again. Keeps the last
    /// measurement when the server does not answer.
    pub async fn measure(&self, store: &dyn Store) {
        if let Ok(Some(found)) = measure(store).await {
            *self.measured.write().unwrap_or_else(PoisonError::into_inner) = found;
        }
    }

    /// Returns the last comparison of this host's clock with the database server's clock.
    pub fn last_measure(&self) -> ClockMeasure {
        *self.measured.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns true when the host's clock was set, or the machine slept, since the last measurement.
    pub fn is_stale(&self) -> bool {
        let measured = self.last_measure();
        (SystemClock.now().0 - measured.host_time(instant()).0).abs() > SKEW_MAX_MS
    }
}

impl ClockMeasure {
    /// Returns the time that the host's clock would show at `now` if no one had set the clock since the measurement.
    fn host_time(&self, now: Instant) -> Timestamp {
        let passed = now.saturating_duration_since(self.at).as_millis();
        Timestamp(self.host.0.saturating_add(i64::try_from(passed).unwrap_or(i64::MAX)))
    }

    /// Returns the milliseconds that must be added to the host's time to correct it. Returns 0 when the host's clock
    /// differs from the server's clock by at most `SKEW_MAX_MS`.
    pub fn correction_ms(&self) -> i64 {
        if self.difference_ms.abs() > SKEW_MAX_MS { self.difference_ms } else { 0 }
    }
}

impl Clock for ServerClock {
    fn now(&self) -> Timestamp {
        let measured = self.last_measure();
        let (wall, expected) = (SystemClock.now(), measured.host_time(instant()));
        let host = if (wall.0 - expected.0).abs() > SKEW_MAX_MS { expected } else { wall };
        let now = host.0.saturating_add(measured.correction_ms());
        Timestamp(self.last.fetch_max(now, Ordering::SeqCst).max(now))
    }
}

/// Asks the database server for its time up to three times and uses the fastest answer. Assumes that the server read
/// its clock halfway between the request and the answer.
async fn measure(store: &dyn Store) -> Result<Option<ClockMeasure>, Fault> {
    let mut best: Option<(Duration, ClockMeasure)> = None;
    for sample in 0..SAMPLES {
        let (host, at) = (SystemClock.now(), instant());
        let Some(server) = store.server_time().await? else { return Ok(None) };
        let took = instant().saturating_duration_since(at);
        let half = i64::try_from(took.as_millis() / 2).unwrap_or(i64::MAX);
        let found = ClockMeasure { host, at, difference_ms: server.0.saturating_sub(host.0.saturating_add(half)) };
        if best.is_none_or(|(quickest, _)| took < quickest) {
            best = Some((took, found));
        }
        // The first answer may be slow because it waited for a connection, so always ask the server at least twice.
        if sample > 0 && best.is_some_and(|(quickest, _)| quickest < ANSWER_MAX) {
            break;
        }
    }
    Ok(best.map(|(_, found)| found))
}

fn instant() -> Instant {
    #[expect(clippy::disallowed_methods, reason = "tells how much time has passed, whatever the clock was set to")]
    Instant::now()
}

/// A clock that changes only when a test sets or advances it.
#[derive(Debug, Default)]
pub struct ManualClock(AtomicI64);

impl ManualClock {
    pub fn starting_at(now: Timestamp) -> Self {
        Self(AtomicI64::new(now.0))
    }

    pub fn set(&self, now: Timestamp) {
        self.0.store(now.0, Ordering::SeqCst);
    }

    pub fn advance(&self, ms: i64) {
        self.0.fetch_add(ms, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::SeqCst))
    }
}
