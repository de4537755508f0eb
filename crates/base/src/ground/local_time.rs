//! Formats times for people, in the time zone of this machine.

use engine::Timestamp;
use jiff::Zoned;
use jiff::tz::TimeZone;

use super::clock::{Clock as _, SystemClock};

/// The present time and the time zone of the person who reads.
#[derive(Debug, Clone)]
pub struct LocalClock {
    now: Timestamp,
    zone: TimeZone,
}

impl LocalClock {
    /// Returns the time of this machine and its time zone: the zone in `TZ`, else the one of `/etc/localtime`, else
    /// UTC.
    pub fn here() -> Self {
        Self { now: SystemClock.now(), zone: TimeZone::try_system().unwrap_or(TimeZone::UTC) }
    }

    /// Returns a clock that shows this time, in the time zone of this machine.
    pub fn here_at(now: Timestamp) -> Self {
        Self { now, ..Self::here() }
    }

    /// Returns a clock that stands still at this time, in UTC. Tests use it.
    pub fn fixed(now: Timestamp) -> Self {
        Self { now, zone: TimeZone::UTC }
    }

    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// Returns the time at which the present day began.
    pub fn today(&self) -> Timestamp {
        let began = self.zoned(self.now).and_then(|now| now.start_of_day().ok());
        began.map_or(self.now, |began| Timestamp(began.timestamp().as_millisecond()))
    }

    /// Returns the time of day in minutes, 0 at 00:00. Also returns 0 for a time that no calendar date can express.
    pub fn minute_of_day(&self) -> u32 {
        let now = self.zoned(self.now).map(|now| now.time());
        let part = |number: i8| u32::try_from(number).unwrap_or(0);
        now.map_or(0, |now| part(now.hour()) * 60 + part(now.minute()))
    }

    /// Returns a time as `09:41` when it is today, else as a date such as `2026-11-17`. Returns `None` for a time that
    /// is too far away for a date.
    pub fn short(&self, at: Timestamp) -> Option<String> {
        let (at, now) = (self.zoned(at)?, self.zoned(self.now)?);
        let form = if at.date() == now.date() { "%H:%M" } else { "%Y-%m-%d" };
        Some(at.strftime(form).to_string())
    }

    /// Returns a time that is still to come: `09:00` when it is today, `tomorrow 09:00`, else `2026-11-20 09:00`. Returns
    /// `None` for a time that is too far away for a date.
    pub fn ahead(&self, at: Timestamp) -> Option<String> {
        let (at, now) = (self.zoned(at)?, self.zoned(self.now)?);
        let form = match now.date().tomorrow() {
            _ if at.date() == now.date() => "%H:%M",
            Ok(tomorrow) if at.date() == tomorrow => "tomorrow %H:%M",
            Ok(_) | Err(_) => "%Y-%m-%d %H:%M",
        };
        Some(at.strftime(form).to_string())
    }

    /// Returns the day of a time, such as `2026-11-17`. Returns `None` for a time that is too far away for a date.
    pub fn day(&self, at: Timestamp) -> Option<String> {
        Some(self.zoned(at)?.strftime("%Y-%m-%d").to_string())
    }

    /// Returns a time with its date and seconds, such as `2026-11-17 09:41:05`. Returns `None` for a time that is too
    /// far away for a date.
    pub fn full(&self, at: Timestamp) -> Option<String> {
        Some(self.zoned(at)?.strftime("%Y-%m-%d %H:%M:%S").to_string())
    }

    fn zoned(&self, at: Timestamp) -> Option<Zoned> {
        Some(jiff::Timestamp::from_millisecond(at.0).ok()?.to_zoned(self.zone.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The time 2026-11-17 23:30:05 UTC.
    const NOW: i64 = 1_794_958_205_000;
    const HOUR: i64 = 3_600_000;

    #[test]
    fn today_is_a_time_of_day_and_any_other_day_a_date() {
        let utc = LocalClock::fixed(Timestamp(NOW));
        let east = LocalClock { now: Timestamp(NOW), zone: TimeZone::fixed(jiff::tz::offset(1)) };
        let cases = [
            (&utc, NOW, "23:30", "2026-11-17 23:30:05"),
            (&utc, NOW - 23 * HOUR, "00:30", "2026-11-17 00:30:05"),
            (&utc, NOW - 24 * HOUR, "2026-11-16", "2026-11-16 23:30:05"),
            (&utc, NOW + HOUR, "2026-11-18", "2026-11-18 00:30:05"),
            // One hour to the east of UTC it is already the next day at this time.
            (&east, NOW, "00:30", "2026-11-18 00:30:05"),
            (&east, NOW - HOUR, "2026-11-17", "2026-11-17 23:30:05"),
        ];
        assert_eq!((utc.minute_of_day(), east.minute_of_day()), (23 * 60 + 30, 30));
        for (clock, at, short, full) in cases {
            assert_eq!(clock.short(Timestamp(at)).as_deref(), Some(short), "{at}");
            assert_eq!(clock.full(Timestamp(at)).as_deref(), Some(full), "{at}");
        }
        assert_eq!(utc.short(Timestamp(i64::MAX)), None);
        let ahead = [(0, "23:30"), (HOUR, "tomorrow 00:30"), (25 * HOUR, "2026-11-19 00:30")];
        for (later, expected) in ahead {
            assert_eq!(utc.ahead(Timestamp(NOW + later)).as_deref(), Some(expected), "{later}");
        }
        assert_eq!(
            (utc.day(Timestamp(NOW)), east.day(Timestamp(NOW))),
            (Some("2026-11-17".to_owned()), Some("2026-11-18".to_owned()))
        );
        assert_eq!(utc.day(Timestamp(i64::MAX)), None);
        assert_eq!(utc.full(utc.today()).as_deref(), Some("2026-11-17 00:00:00"));
        assert_eq!(east.full(east.today()).as_deref(), Some("2026-11-18 00:00:00"));
    }
}
