//! Formats numbers for people: counts with their nouns, durations, amounts of money.

use engine::Timestamp;
use engine::turn::{Spent, Turn, TurnEnd};

const SECOND_MS: u64 = 1_000;
const MINUTE_MS: u64 = 60 * SECOND_MS;
const HOUR_MS: u64 = 60 * MINUTE_MS;
const DAY_MS: u64 = 24 * HOUR_MS;

/// Returns a number with its noun: `1 task`, `2 tasks`, `0 entries`. The caller gives the noun in the singular. When
/// the noun has several words, the last word gets the plural.
pub fn count(number: impl TryInto<u64>, noun: &str) -> String {
    let number = number.try_into().unwrap_or(u64::MAX);
    if number == 1 { format!("1 {noun}") } else { format!("{number} {}", plural(noun)) }
}

fn plural(noun: &str) -> String {
    let is_vowel = |letter: char| "aeiou".contains(letter);
    match noun.strip_suffix('y') {
        Some(stem) if !stem.ends_with(is_vowel) => format!("{stem}ies"),
        Some(_) => format!("{noun}s"),
        None if ["s", "x", "ch", "sh"].iter().any(|ending| noun.ends_with(ending)) => format!("{noun}es"),
        None => format!("{noun}s"),
    }
}

/// Returns a duration in its two largest units: `6.4 s`, `38 s`, `4 min 12 s`, `2 h 5 min`, `3 d 4 h`.
pub fn duration(ms: u64) -> String {
    engine::time::duration_words(ms)
}

/// Returns how long ago a time was, in the largest unit that fits: `38 s`, `12 min`, `2 h`, `3 d`.
pub fn age(since: Timestamp, now: Timestamp) -> String {
    let ms = u64::try_from(now.0.saturating_sub(since.0)).unwrap_or(0);
    match ms {
        0..MINUTE_MS => format!("{} s", ms / SECOND_MS),
        MINUTE_MS..HOUR_MS => format!("{} min", ms / MINUTE_MS),
        HOUR_MS..DAY_MS => format!("{} h", ms / HOUR_MS),
        DAY_MS.. => format!("{} d", ms / DAY_MS),
    }
}

/// Returns a duration as a stopwatch shows it, for columns of tables: `0:48`, `4:05`, `1:02:03`.
pub fn stopwatch(ms: u64) -> String {
    let (hours, minutes, seconds) = (ms / HOUR_MS, ms % HOUR_MS / MINUTE_MS, ms % MINUTE_MS / SECOND_MS);
    if hours == 0 { format!("{minutes}:{seconds:02}") } else { format!("{hours}:{minutes:02}:{seconds:02}") }
}

/// Formats an amount of dollars that is given in millionths, such as `$3.12`. An amount below a cent is shown with up
/// to two significant digits, such as `$0.0042`.
pub fn usd(micros: u64) -> String {
    let digits: u32 = match micros {
        0 | 9_950.. => 2,
        950..9_950 => 4,
        95..950 => 5,
        1..95 => 6,
    };
    let unit = 10_u64.pow(6 - digits);
    let rounded = micros.saturating_add(unit / 2) / unit;
    let whole = 10_u64.pow(digits);
    let width = usize::try_from(digits).unwrap_or(2);
    format!("${}.{:0width$}", rounded / whole, rounded % whole)
}

/// The exactness of a cost that a program reported: the whole cost, or only a lower bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CostKnowledge {
    /// The cost is complete, because the agent's program reported it at its end.
    Complete,
    /// The program did not end by itself, so it may have spent more than it reported.
    AtLeast,
}

impl CostKnowledge {
    /// Returns the exactness of a turn's cost. A running turn, or a turn that was cut off, may cost more than its
    /// program reported.
    pub fn of(turn: &Turn) -> Self {
        match turn.ended().map(|ended| ended.end) {
            Some(TurnEnd::Finished | TurnEnd::Failed | TurnEnd::SpawnFailed | TurnEnd::ConversationLost) => {
                Self::Complete
            }
            Some(
                TurnEnd::Signalled
                | TurnEnd::TimedOut
                | TurnEnd::OverBudget
                | TurnEnd::ClaimLost
                | TurnEnd::ApiError
                | TurnEnd::Interrupted
                | TurnEnd::Cancelled,
            )
            | None => Self::AtLeast,
        }
    }
}

/// Returns a cost in dollars: `$0.42`, `at least $0.42`, or `cost unknown`. An unknown cost is never shown as zero.
pub fn cost(usd_micros: Option<u64>, knowledge: CostKnowledge) -> String {
    match (usd_micros, knowledge) {
        (None, _) => "cost unknown".to_owned(),
        (Some(micros), CostKnowledge::Complete) => usd(micros),
        (Some(micros), CostKnowledge::AtLeast) => format!("at least {}", usd(micros)),
    }
}

/// Returns tokens in words: `12,400 tokens in, 900 out`, or only the total where the two parts are unknown. Returns `None`
/// when no program reported tokens.
pub fn tokens(spent: Spent) -> Option<String> {
    match spent.tokens_apart() {
        Some((1, written)) => Some(format!("1 token in, {} out", grouped(written))),
        Some((read, written)) => Some(format!("{} tokens in, {} out", grouped(read), grouped(written))),
        None => spent.tokens.map(|tokens| count(tokens, "token")),
    }
}

/// Returns a number with a comma before each group of three digits: `12,400`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Returns the costs of turns in words: `$0.12, 12,400 tokens in, 900 out, 3 s, 1 turn`. Tokens are left out when they
/// are unknown.
pub fn spent(spent: Spent, knowledge: CostKnowledge) -> String {
    let parts = [Some(cost(spent.usd_micros, knowledge)), tokens(spent), Some(duration(spent.ms))];
    parts.into_iter().flatten().chain([count(spent.turns, "turn")]).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn count_puts_the_noun_into_the_plural_unless_the_number_is_one() {
        let cases = [
            (0, "task", "0 tasks"),
            (1, "task", "1 task"),
            (2, "task", "2 tasks"),
            (2, "entry", "2 entries"),
            (2, "key", "2 keys"),
            (2, "branch", "2 branches"),
            (2, "process", "2 processes"),
            (3, "unread message", "3 unread messages"),
        ];
        for (number, noun, expected) in cases {
            assert_eq!(count(number, noun), expected);
        }
    }

    #[test]
    fn duration_has_at_most_two_units() {
        let cases = [
            (0, "0 s"),
            (99, "0 s"),
            (400, "0.4 s"),
            (2_000, "2 s"),
            (6_449, "6.4 s"),
            (19_999, "19.9 s"),
            (20_400, "20 s"),
            (59_999, "59 s"),
            (60_000, "1 min"),
            (252_000, "4 min 12 s"),
            (7_500_000, "2 h 5 min"),
            (7_201_000, "2 h"),
            (86_400_000, "1 d"),
            (273_600_000, "3 d 4 h"),
        ];
        for (ms, expected) in cases {
            assert_eq!(duration(ms), expected, "{ms} ms");
        }
    }

    #[test]
    fn age_is_in_the_largest_unit_and_never_negative() {
        let cases = [(0, "0 s"), (-5_000, "0 s"), (59_000, "59 s"), (720_000, "12 min"), (7_500_000, "2 h")];
        for (ms, expected) in cases {
            assert_eq!(age(Timestamp(1_000_000), Timestamp(1_000_000 + ms)), expected, "{ms} ms");
        }
    }

    #[test]
    fn stopwatch_shows_minutes_and_seconds() {
        for (ms, expected) in [(0, "0:00"), (48_900, "0:48"), (245_000, "4:05"), (3_723_000, "1:02:03")] {
            assert_eq!(stopwatch(ms), expected, "{ms} ms");
        }
    }

    #[test]
    fn usd_has_enough_digits_to_differ_from_zero() {
        let cases = [
            (0, "$0.00"),
            (1, "$0.000001"),
            (94, "$0.000094"),
            (95, "$0.00010"),
            (420, "$0.00042"),
            (4_200, "$0.0042"),
            (9_949, "$0.0099"),
            (9_950, "$0.01"),
            (10_000, "$0.01"),
            (420_000, "$0.42"),
            (3_125_000, "$3.13"),
            (120_000_000, "$120.00"),
        ];
        for (micros, expected) in cases {
            assert_eq!(usd(micros), expected, "{micros}");
        }
    }

    #[test]
    fn unknown_cost_is_never_zero() {
        let nothing = Spent { ms: 3_000, turns: 1, ..Spent::default() };
        assert_eq!(spent(nothing, CostKnowledge::Complete), "cost unknown, 3 s, 1 turn");
        assert_eq!(spent(nothing, CostKnowledge::AtLeast), "cost unknown, 3 s, 1 turn");
        let some = Spent { usd_micros: Some(120_000), tokens: Some(1), ms: 252_000, turns: 2, ..Spent::default() };
        assert_eq!(spent(some, CostKnowledge::Complete), "$0.12, 1 token, 4 min 12 s, 2 turns");
        assert_eq!(spent(some, CostKnowledge::AtLeast), "at least $0.12, 1 token, 4 min 12 s, 2 turns");
    }

    #[test]
    fn tokens_are_apart_only_where_the_parts_are_the_whole() {
        let of = |tokens: Option<u64>, tokens_in: Option<u64>, tokens_out: Option<u64>| {
            super::tokens(Spent { tokens, tokens_in, tokens_out, ..Spent::default() })
        };
        assert_eq!(of(Some(13_300), Some(12_400), Some(900)).as_deref(), Some("12,400 tokens in, 900 out"));
        assert_eq!(of(Some(1), Some(1), Some(0)).as_deref(), Some("1 token in, 0 out"));
        assert_eq!(of(Some(1_234_567), None, None).as_deref(), Some("1234567 tokens"));
        // One of two turns reported only its total.
        assert_eq!(of(Some(20_000), Some(12_400), Some(900)).as_deref(), Some("20000 tokens"));
        assert_eq!(of(None, None, None), None);
        for (number, expected) in [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(grouped(number), expected);
        }
    }
}
