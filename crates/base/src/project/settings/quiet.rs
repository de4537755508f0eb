//! The setting for the hours in which no notice is sent to people.

use serde::Deserialize;

/// A part of the day in local time, such as `22:00-08:00`. It may go past midnight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct QuietHours {
    /// The minute of the day at which the quiet hours begin, counted from 0 at midnight.
    pub from_minute: u32,
    /// The minute of the day at which the quiet hours end. This minute is no longer quiet.
    pub until_minute: u32,
}

impl QuietHours {
    /// Returns true when a minute of the day is within the quiet hours.
    pub fn holds(self, minute: u32) -> bool {
        let Self { from_minute, until_minute } = self;
        if from_minute <= until_minute {
            (from_minute..until_minute).contains(&minute)
        } else {
            minute >= from_minute || minute < until_minute
        }
    }
}

impl TryFrom<String> for QuietHours {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let read = || {
            let (from, until) = text.split_once('-')?;
            Some(Self { from_minute: minute(from.trim())?, until_minute: minute(until.trim())? })
        };
        let hours = read().filter(|hours| hours.from_minute != hours.until_minute);
        hours.ok_or_else(|| format!("notify.quiet: `{text}` is not a time of day; write it as \"22:00-08:00\""))
    }
}

fn minute(text: &str) -> Option<u32> {
    let (hour, minute) = text.split_once(':')?;
    let number = |text: &str, most: u32| {
        let is_plain = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse().ok().filter(|found: &u32| is_plain && *found <= most)
    };
    Some(number(hour, 23)? * 60 + number(minute, 59)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hours_past_midnight_hold_on_both_days() {
        let rows = [
            ("22:00-08:00", 22 * 60, true),
            ("22:00-08:00", 7 * 60 + 59, true),
            ("22:00-08:00", 8 * 60, false),
            ("22:00-08:00", 21 * 60 + 59, false),
            ("12:00-13:30", 13 * 60 + 29, true),
            ("12:00-13:30", 13 * 60 + 30, false),
            ("12:00-13:30", 0, false),
        ];
        for (text, minute, holds) in rows {
            let hours = QuietHours::try_from(text.to_owned()).unwrap();
            assert_eq!(hours.holds(minute), holds, "{text} at minute {minute}");
        }
    }

    #[test]
    fn text_that_is_no_time_of_day_is_refused() {
        for text in ["", "22-8", "22:00", "24:00-08:00", "22:60-08:00", "8:00-9:00", "08:00-08:00", "+2:00-08:00"] {
            assert!(QuietHours::try_from(text.to_owned()).is_err(), "{text}");
        }
    }
}
