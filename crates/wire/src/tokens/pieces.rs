//! The receiver of the pieces of a text and of the places of their prices.
//!
//! The estimate adds the prices up. The program `examples/fit_token_prices` notes the places instead, so it fits the
//! prices of exactly the pieces that the estimate sees.

use super::UNIT;
use super::prices::PRICES;

/// Receives the pieces of a text in their order.
pub trait PieceSink {
    /// The prices of one piece while the piece is read.
    type Prices: PiecePrices;

    /// Takes a piece with fitted prices. It weighs one token and its prices, but not less than `least`. `end` is the
    /// position in the text after the piece.
    fn priced(&mut self, prices: Self::Prices, least: i64, end: usize);

    /// Takes a piece with a fixed weight. `end` is the position in the text after the piece.
    fn fixed(&mut self, weight: u64, end: usize);
}

/// The prices of one piece. The default value has no prices.
pub trait PiecePrices: Default {
    /// Adds the price at a place of the table several times.
    fn add(&mut self, place: usize, times: i64);
}

/// The sum of the prices of one piece, in weight units.
#[derive(Debug, Default)]
pub(super) struct PriceSum(i64);

impl PiecePrices for PriceSum {
    fn add(&mut self, place: usize, times: i64) {
        self.0 += i64::from(PRICES[place]) * times;
    }
}

/// The weight of all pieces of a text.
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

/// Returns the weight of a piece with fitted prices: one token and the sum of its prices, but not less than `least`.
pub fn priced_weight(prices: i64, least: i64) -> u64 {
    u64::try_from((ONE + prices).max(least)).unwrap_or(UNIT)
}

/// The weight of one token, for sums that may be negative.
pub(super) const ONE: i64 = UNIT as i64;
