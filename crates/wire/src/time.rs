//! Points in time in the format of RFC 3339.

use engine::Timestamp;
use engine::time::day_of_date;

use crate::report::Hint;
use crate::schema;
use crate::shape::texts;

fn judge(text: &str) -> Result<(), (&'static str, Hint)> {
    let hint = "must be an RFC 3339 date-time with an offset, such as 2026-04-28T12:00:00Z";
    instant(text).map_or(Err(("PATTERN", hint.into())), |_| Ok(()))
}

texts! {
    /// A date and time with an offset from UTC.
    DateTime: judge, schema::pattern(
        "^\\d{4}-\\d{2}-\\d{2}[Tt]\\d{2}:\\d{2}:\\d{2}(?:\\.\\d+)?(?:[Zz]|[+-]\\d{2}:\\d{2})$"
    ), "an RFC 3339 date-time with an offset, such as 2026-04-28T12:00:00Z";
}

impl DateTime {
    pub fn instant(&self) -> Instant {
        instant(self.as_str()).unwrap_or_default()
    }

    pub fn from_timestamp(time: Timestamp) -> Option<Self> {
        let (seconds, ms) = (time.to_rfc3339(), time.0.rem_euclid(1_000));
        Self::new(format!("{}.{ms:03}Z", seconds.trim_end_matches('Z')))
    }
}

/// A point in time: the seconds since 1970, and the digits after the decimal point of the seconds. The digits are kept
/// as text, so that times of any precision can be compared.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Instant {
    seconds: i64,
    fraction: String,
}

impl Instant {
    /// Returns the time in whole milliseconds. Further digits of the fraction are cut off.
    pub fn timestamp(&self) -> Timestamp {
        let digits = self.fraction.bytes().chain(std::iter::repeat(b'0')).take(3);
        let ms = digits.fold(0, |ms, digit| ms * 10 + i64::from(digit - b'0'));
        Timestamp(self.seconds.saturating_mul(1_000).saturating_add(ms))
    }
}

fn instant(text: &str) -> Option<Instant> {
    let bytes = text.as_bytes();
    let (head, rest) = (bytes.get(..19)?, bytes.get(19..)?);
    let shape = head.iter().zip(b"0000-00-00T00:00:00").all(|(found, wanted)| match wanted {
        b'0' => found.is_ascii_digit(),
        b'T' => matches!(found, b'T' | b't'),
        other => found == other,
    });
    if !shape {
        return None;
    }
    let number = |from: usize, to: usize| text.get(from..to)?.parse::<i64>().ok();
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    let legal = (1..=12).contains(&month) && (1..=days_of(year, month)).contains(&day) && hour < 24 && minute < 60;
    // The second 60 is a leap second. Leap seconds cannot be predicted, so 60 is always legal.
    if !legal || second > 60 {
        return None;
    }
    let (fraction, offset) = match rest.strip_prefix(b".") {
        None => ("", rest),
        Some(rest) => {
            let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            (text.get(20..20 + digits).filter(|digits| !digits.is_empty())?, &rest[digits..])
        }
    };
    let seconds =
        day_of_date(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second - offset_seconds(offset)?;
    Some(Instant { seconds, fraction: fraction.trim_end_matches('0').to_owned() })
}

fn offset_seconds(offset: &[u8]) -> Option<i64> {
    let [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] = offset else {
        return matches!(offset, [b'Z' | b'z']).then_some(0);
    };
    let digit = |byte: &u8| byte.is_ascii_digit().then(|| i64::from(byte - b'0'));
    let (hours, minutes) = (digit(h1)? * 10 + digit(h2)?, digit(m1)? * 10 + digit(m2)?);
    let seconds = (hours < 24 && minutes < 60).then_some(hours * 3_600 + minutes * 60)?;
    Some(if *sign == b'-' { -seconds } else { seconds })
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_of(year: i64, month: i64) -> i64 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 => 28 + i64::from(is_leap(year)),
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_compared_by_time_and_not_by_text() {
        let order = [
            "0000-01-01T00:00:00Z",
            "1969-12-31T23:59:59.999Z",
            "1970-01-01T01:00:00+01:00",
            "1970-01-01T00:00:00.0001Z",
            "2026-04-28T00:00:00+05:30",
            "2026-04-27T23:59:59.5Z",
            "2026-04-28T00:00:00z",
            "2026-04-27t23:59:59-23:59",
        ];
        let instants: Vec<Instant> = order.iter().filter_map(|text| instant(text)).collect();
        assert_eq!(instants.len(), order.len());
        assert!(instants.is_sorted(), "{instants:?}");
        assert_eq!(instant("2000-03-01T00:00:00Z").map(|instant| instant.seconds), Some(951_868_800));
    }

    #[test]
    fn milliseconds_become_dates_and_dates_become_milliseconds() {
        for (ms, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (-1, "1969-12-31T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_798_761_599_999, "2026-12-31T23:59:59.999Z"),
        ] {
            let time = DateTime::from_timestamp(Timestamp(ms)).unwrap();
            assert_eq!((time.as_str(), time.instant().timestamp()), (text, Timestamp(ms)));
        }
    }
}
