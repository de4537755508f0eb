//! Times and durations as values. The engine never reads a clock. The service that calls the engine reads the clock and
//! passes the time to the engine.

use std::ops::{Add, Sub};

use serde::{Deserialize, Serialize};

/// A time in milliseconds since 1970, UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// Returns the time as people read it: RFC 3339, in UTC, to the second, such as `2026-04-28T12:00:00Z`.
    pub fn to_rfc3339(self) -> String {
        let seconds = self.0.div_euclid(1_000);
        let (year, month, day) = date_of_day(seconds.div_euclid(86_400));
        let second = seconds.rem_euclid(86_400);
        let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
        format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
    }
}

/// Returns the number of days from 1970-01-01 to a date. In this calculation a year begins in March, so that the leap
/// day is the last day of a year.
pub fn day_of_date(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + (153 * month + 2) / 5 + day
        - 719_469
}

/// Returns year, month and day of the day that is `since` days after the start of 1970.
fn date_of_day(since: i64) -> (i64, i64, i64) {
    let mut year = 1970 + since.div_euclid(366);
    while day_of_date(year + 1, 1, 1) <= since {
        year += 1;
    }
    let mut month = 1;
    while month < 12 && day_of_date(year, month + 1, 1) <= since {
        month += 1;
    }
    (year, month, since - day_of_date(year, month, 1) + 1)
}

const SECOND_MS: u64 = 1_000;
const MINUTE_MS: u64 = 60 * SECOND_MS;
const HOUR_MS: u64 = 60 * MINUTE_MS;
const DAY_MS: u64 = 24 * HOUR_MS;
/// The duration in milliseconds below which tenths of a second are shown.
const TENTHS_BELOW_MS: u64 = 20 * SECOND_MS;

/// Returns a duration in its two largest units: `6.4 s`, `38 s`, `4 min 12 s`, `2 h 5 min`, `3 d 4 h`. A duration below
/// 20 seconds is shown with tenths, because people compare such durations.
pub fn duration_words(ms: u64) -> String {
    if ms < TENTHS_BELOW_MS {
        let (seconds, tenths) = (ms / SECOND_MS, ms % SECOND_MS / 100);
        return if tenths == 0 { format!("{seconds} s") } else { format!("{seconds}.{tenths} s") };
    }
    let (large, small) = match ms {
        0..MINUTE_MS => return format!("{} s", ms / SECOND_MS),
        MINUTE_MS..HOUR_MS => ((MINUTE_MS, "min"), (SECOND_MS, "s")),
        HOUR_MS..DAY_MS => ((HOUR_MS, "h"), (MINUTE_MS, "min")),
        DAY_MS.. => ((DAY_MS, "d"), (HOUR_MS, "h")),
    };
    let rest = ms % large.0 / small.0;
    let whole = format!("{} {}", ms / large.0, large.1);
    if rest == 0 { whole } else { format!("{whole} {rest} {}", small.1) }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_become_rfc_3339_times_to_the_second() {
        for (ms, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (-1, "1969-12-31T23:59:59Z"),
            (951_782_400_000, "2000-02-29T00:00:00Z"),
            (1_798_761_599_999, "2026-12-31T23:59:59Z"),
        ] {
            assert_eq!(Timestamp(ms).to_rfc3339(), text);
        }
    }
}
