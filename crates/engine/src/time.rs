//! Times and durations as values. The service that calls the engine reads the clock and passes the time in. The engine
//! never reads a clock.

use std::ops::{Add, Sub};

use serde::{Deserialize, Serialize};

/// A time in milliseconds since 1970, UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

/// A duration in milliseconds. The longest possible duration is 49 days.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Millis(pub u32);

impl Millis {
    pub const fn minutes(minutes: u32) -> Self {
        Self(minutes * 60_000)
    }

    pub const fn seconds(seconds: u32) -> Self {
        Self(seconds * 1_000)
    }
}

impl Add<Millis> for Timestamp {
    type Output = Self;
    fn add(self, span: Millis) -> Self {
        Self(self.0.saturating_add(i64::from(span.0)))
    }
}

impl Sub<Millis> for Timestamp {
    type Output = Self;
    fn sub(self, span: Millis) -> Self {
        Self(self.0.saturating_sub(i64::from(span.0)))
    }
}

/// The time and the random seed of one decision. The caller of `decide` provides both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    pub now: Timestamp,
    pub seed: u128,
}
