//! Holds the limits on the cost of a task or a workflow, and finds the limit that is reached.

use agents::adapter::{self, TokenUse};
use engine::turn::Spent;
use wire::json::Value;

use crate::project::settings::team::LimitSettings;

/// The number of micro-dollars in one dollar. Costs are counted in micro-dollars (millionths of a dollar).
const MICROS: f64 = 1_000_000.0;

/// Limits on the cost of a task or a workflow. A limit that is `None` allows any amount.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bounds {
    pub usd_micros: Option<u64>,
    pub tokens: Option<u64>,
    pub seconds: Option<u64>,
    pub turns: Option<u32>,
}

/// The limit that was reached, with the amount that was spent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LimitReached {
    #[error("the limit is reached: {} of {} dollars are spent", dollars(*spent), dollars(*bound))]
    Usd { spent: u64, bound: u64 },
    #[error("the limit is reached: {spent} of {bound} tokens are used")]
    Tokens { spent: u64, bound: u64 },
    #[error("the limit is reached: {spent} of {bound} seconds are used")]
    Seconds { spent: u64, bound: u64 },
    #[error("the limit is reached: {spent} of {bound} turns are used")]
    Turns { spent: u32, bound: u32 },
}

fn dollars(micros: u64) -> String {
    format!("{}.{:02}", micros / 1_000_000, micros % 1_000_000 / 10_000)
}

/// Converts an amount of dollars, as programs report it, to millionths of a dollar. Returns `None` when the number
/// cannot be an amount.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "not negative, and below the largest number"
)]
pub fn micros(usd: f64) -> Option<u64> {
    let micros = (usd * MICROS).round();
    (micros.is_finite() && (0.0..1e18).contains(&micros)).then_some(micros as u64)
}

#[expect(clippy::cast_precision_loss, reason = "for programs that take a limit in dollars")]
pub fn usd(micros: u64) -> f64 {
    micros as f64 / MICROS
}

impl Bounds {
    /// Returns the limits that the project's settings name.
    pub fn of(limits: &LimitSettings) -> Self {
        Self {
            usd_micros: limits.usd.and_then(micros),
            tokens: limits.tokens,
            seconds: limits.seconds,
            turns: limits.turns,
        }
    }

    /// Returns the limits that the plan of a workflow or a task names. A limit that is missing, or not a number, allows
    /// any amount.
    pub fn named(limits: Option<&Value>) -> Self {
        let whole = |name: &str| limits?.get(name)?.to_string().parse::<u64>().ok();
        let usd = || limits?.get("usd")?.to_string().parse::<f64>().ok();
        Self {
            usd_micros: usd().and_then(micros),
            tokens: whole("tokens"),
            seconds: whole("seconds"),
            turns: whole("turns").map(|turns| u32::try_from(turns).unwrap_or(u32::MAX)),
        }
    }

    /// Returns, for each kind of limit, the lower of the two limits. So a workflow or a task can lower the limits of
    /// the settings, but not raise them.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        fn lower<T: Ord>(left: Option<T>, right: Option<T>) -> Option<T> {
            match (left, right) {
                (Some(left), Some(right)) => Some(left.min(right)),
                (left, right) => left.or(right),
            }
        }
        Self {
            usd_micros: lower(self.usd_micros, other.usd_micros),
            tokens: lower(self.tokens, other.tokens),
            seconds: lower(self.seconds, other.seconds),
            turns: lower(self.turns, other.turns),
        }
    }

    /// Returns the first limit that the spent amounts reach, or `None` when they reach no limit. An amount that is not
    /// known reaches no limit.
    pub fn over(&self, spent: Spent) -> Option<LimitReached> {
        let reached =
            |spent: Option<u64>, bound: Option<u64>| Some((spent?, bound?)).filter(|(spent, bound)| spent >= bound);
        if let Some((spent, bound)) = reached(spent.usd_micros, self.usd_micros) {
            return Some(LimitReached::Usd { spent, bound });
        }
        if let Some((spent, bound)) = reached(spent.tokens, self.tokens) {
            return Some(LimitReached::Tokens { spent, bound });
        }
        if let Some((spent, bound)) = reached(Some(spent.ms / 1_000), self.seconds) {
            return Some(LimitReached::Seconds { spent, bound });
        }
        let bound = self.turns.filter(|bound| spent.turns >= *bound)?;
        Some(LimitReached::Turns { spent: spent.turns, bound })
    }

    /// Returns the dollars that may still be spent before the limit is reached, or `None` without a limit.
    pub fn usd_left(&self, spent: Spent) -> Option<f64> {
        self.usd_micros.map(|bound| usd(bound.saturating_sub(spent.usd_micros.unwrap_or(0))))
    }

    /// Returns the seconds that the next turn may take: the seconds that are left below the limit, but not more than
    /// `most`, the limit of one turn.
    pub fn turn_seconds(&self, spent: Spent, most: u32) -> u32 {
        let left = self.seconds.map_or(u64::MAX, |bound| bound.saturating_sub(spent.ms / 1_000));
        u32::try_from(left).unwrap_or(u32::MAX).min(most)
    }
}

/// Returns the cost of one turn, without its time and number of turns. Some programs report the cost of the whole
/// conversation; then the cost of the earlier turns is subtracted.
pub fn amounts(
    usd: Option<adapter::SpentAmount<f64>>,
    tokens: Option<adapter::SpentAmount<TokenUse>>,
    earlier: Spent,
) -> Spent {
    let usd_micros = usd.and_then(|usd| match usd {
        adapter::SpentAmount::ThisTurn(usd) => micros(usd),
        adapter::SpentAmount::WholeConversation(usd) => {
            micros(usd).map(|all| all.saturating_sub(earlier.usd_micros.unwrap_or(0)))
        }
    });
    let used = tokens.map(|tokens| match tokens {
        adapter::SpentAmount::ThisTurn(used) => used,
        adapter::SpentAmount::WholeConversation(all) => less(all, earlier),
    });
    Spent {
        usd_micros,
        tokens: used.map(|used| used.total),
        tokens_in: used.and_then(|used| used.input),
        tokens_out: used.and_then(|used| used.output),
        ..Spent::default()
    }
}

/// Subtracts the tokens of earlier turns. Input and output stay unknown when an earlier turn reported only its total,
/// because its part of them would be counted for this turn.
fn less(all: TokenUse, earlier: Spent) -> TokenUse {
    let total = all.total.saturating_sub(earlier.tokens.unwrap_or(0));
    let (read, written) = match (earlier.tokens, earlier.tokens_apart()) {
        (None, _) => (0, 0),
        (Some(_), Some(apart)) => apart,
        (Some(_), None) => return TokenUse { total, input: None, output: None },
    };
    let part = |all: Option<u64>, earlier: u64| all.map(|all| all.saturating_sub(earlier));
    TokenUse { total, input: part(all.input, read), output: part(all.output, written) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spent(usd_micros: Option<u64>, tokens: Option<u64>, seconds: u64, turns: u32) -> Spent {
        Spent { usd_micros, tokens, ms: seconds * 1_000, turns, ..Spent::default() }
    }

    #[test]
    fn the_first_bound_that_is_reached_stops() {
        let bounds = Bounds { usd_micros: Some(5_000_000), tokens: Some(100), seconds: Some(60), turns: Some(3) };
        let cases = [
            (spent(Some(4_999_999), Some(99), 59, 2), None),
            (spent(Some(5_000_000), Some(100), 60, 3), Some("the limit is reached: 5.00 of 5.00 dollars are spent")),
            (spent(None, Some(100), 0, 0), Some("the limit is reached: 100 of 100 tokens are used")),
            (spent(None, None, 60, 0), Some("the limit is reached: 60 of 60 seconds are used")),
            (spent(None, None, 0, 3), Some("the limit is reached: 3 of 3 turns are used")),
            // A cost that is not known reaches no limit.
            (spent(None, None, 0, 0), None),
        ];
        for (spent, expected) in cases {
            assert_eq!(bounds.over(spent).map(|over| over.to_string()).as_deref(), expected, "{spent:?}");
        }
        assert_eq!(Bounds::default().over(spent(Some(u64::MAX), Some(u64::MAX), 1 << 40, u32::MAX)), None);
        assert_eq!(bounds.usd_left(spent(Some(2_000_000), None, 0, 0)), Some(3.0));
        assert_eq!(
            (bounds.turn_seconds(spent(None, None, 50, 0), 1_800), bounds.turn_seconds(spent(None, None, 90, 0), 30)),
            (10, 0)
        );
    }

    #[test]
    fn the_total_of_a_conversation_is_counted_without_its_earlier_turns() {
        let whole = |used: TokenUse| {
            let usd = adapter::SpentAmount::WholeConversation(0.5);
            move |earlier: Spent| {
                let spent = amounts(Some(usd), Some(adapter::SpentAmount::WholeConversation(used)), earlier);
                (spent.usd_micros, spent.tokens, spent.tokens_in, spent.tokens_out)
            }
        };
        let used = whole(TokenUse::apart(900, 100));
        assert_eq!(used(Spent::default()), (Some(500_000), Some(1_000), Some(900), Some(100)));
        let earlier = Spent { tokens: Some(600), tokens_in: Some(550), tokens_out: Some(50), ..Spent::default() };
        assert_eq!(used(earlier), (Some(500_000), Some(400), Some(350), Some(50)));
        // An earlier turn reported only its total, so the input and output of this turn are unknown.
        let total_only = Spent { tokens: Some(600), usd_micros: Some(200_000), ..Spent::default() };
        assert_eq!(used(total_only), (Some(300_000), Some(400), None, None));
        let one_of_two = earlier.and(total_only);
        assert_eq!(used(one_of_two), (Some(300_000), Some(0), None, None));
        let unknown = TokenUse { total: 1_000, input: None, output: None };
        assert_eq!(whole(unknown)(earlier), (Some(500_000), Some(400), None, None));
        let turn = amounts(None, Some(adapter::SpentAmount::ThisTurn(TokenUse::apart(3, 4))), earlier);
        assert_eq!((turn.usd_micros, turn.tokens, turn.tokens_apart()), (None, Some(7), Some((3, 4))));
    }

    #[test]
    fn a_task_lowers_and_never_raises() {
        let settings = Bounds::of(&LimitSettings::default());
        let task = wire::json::parse(r#"{"usd": 9.5, "turns": 2, "tokens": "many"}"#).map(|node| node.to_value()).ok();
        let both = settings.and(Bounds::named(task.as_ref()));
        assert_eq!((both.usd_micros, both.turns, both.tokens), (Some(5_000_000), Some(2), None));
        assert_eq!(micros(-1.0).or(micros(f64::NAN)).or(micros(f64::INFINITY)), None);
        assert_eq!(micros(0.000_001), Some(1));
    }
}
