//! The traits that receive the pieces of a text, such as words, and the prices (parts of the token cost) of each piece.
//! A price is passed as its index in the price table.
//!
//! The estimate adds the prices up. The program `examples/fit_token_prices` collects the indexes of the prices instead.
//! Therefore the program fits prices for exactly the pieces that the estimate counts.

use super::UNIT;
use super::prices::PRICES;

/// Receives the pieces of a text, such as words, in the order in which they occur in the text.
pub trait PieceSink {
    /// The type that collects the prices of one piece of a text (such as a word) while the piece is read.
    type Prices: PiecePrices;

    /// Takes a piece whose weight (token cost) is calculated from fitted prices. The weight is one token plus the sum
    /// of the prices, but not less than `least`. `end` is the position in the text after the piece.
    fn priced(&mut self, prices: Self::Prices, least: i64, end: usize);

    /// Takes a piece with a fixed weight (token cost). `end` is the position in the text after the piece.
    fn fixed(&mut self, weight: u64, end: usize);
}

/// Collects the prices of one piece of a text, such as a word. The token cost of the piece is calculated from these
/// prices. The default value has no prices.
pub trait PiecePrices: Default {
    /// Adds the price with the index `place` in the price table, multiplied by `times`.
    fn add(&mut self, place: usize, times: i64);
}

/// The sum of the prices of one piece of a text, in weight units (parts of a token).
#[derive(Debug, Default)]
pub(super) struct PriceSum(i64);

impl PiecePrices for PriceSum {
    fn add(&mut self, place: usize, times: i64) {
        self.0 += i64::from(PRICES[place]) * times;
    }
}

/// The sum of the weights (token costs) of all pieces of a text.
#[derive(Debug, Default)]
pub(super) struct WeightSum(pub(super) u64);

impl PieceSink for WeightSum {
    type Prices = PriceSum;

    fn priced(&mut self, prices: PriceSum, least: i64, _end: usize) {
        self.0 += priced_weight(prices.0, least);
    }

    fn fixed(&mut self, weight: u64, _end: usize) {
        self.0 += weight;
    }
}

/// Returns the weight (token cost) of a piece of a text that has fitted prices: one token plus `prices`, the sum of the
/// prices, but not less than `least`.
pub fn priced_weight(prices: i64, least: i64) -> u64 {
    u64::try_from((ONE + prices).max(least)).unwrap_or(UNIT)
}

/// The weight of one token as a signed number, because sums of prices may be negative.
pub(super) const ONE: i64 = UNIT as i64;
