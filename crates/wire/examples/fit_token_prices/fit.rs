//! Finds the prices with which the weights (estimated token costs) of pieces of text, such as words, are nearest to
//! their real numbers of tokens.
//!
//! The fit minimizes the sum of the squared differences, each multiplied by the importance of the piece. It changes one
//! price at a time to the best value for the current values of all other prices (coordinate descent). The order of the
//! prices is fixed, and nothing is random.

use wire::tokens::UNIT;
use wire::tokens::prices::{PRICE_COUNT, PRICE_RANGE, PriceTable};

use crate::samples::PieceSample;

/// The factor by which a difference counts more when the estimated weight (token cost) is too low. The estimate is
/// meant as an upper bound, so a weight that is too low is worse than a weight that is too high.
const UNDER_FACTOR: f64 = 8.0;
/// The factor with which the square of each price is added to the sum that the fit minimizes. It keeps a price near 0
/// when only few pieces of text use the price.
const RIDGE: f64 = 1e-4;
/// The numbers of passes in which all prices are improved, first as fractions, then as whole numbers. Further passes
/// change the sum of squares by less than a thousandth.
const FRACTION_PASSES: usize = 40;
const WHOLE_PASSES: usize = 4;

/// Returns the prices with which the weights (estimated token costs) of the samples are nearest to their real numbers
/// of tokens.
pub(crate) fn fit(samples: &[PieceSample]) -> PriceTable {
    let mut fit = PriceFit::new(samples);
    for _ in 0..FRACTION_PASSES {
        fit.improve(|price| price);
    }
    for _ in 0..WHOLE_PASSES {
        fit.improve(f64::round);
    }
    let mut table = [0; PRICE_COUNT];
    for (price, fraction) in table.iter_mut().zip(&fit.prices) {
        *price = *fraction as i8;
    }
    table
}

struct PriceFit<'s> {
    samples: &'s [PieceSample],
    /// For each index in the price table, the pieces of text that have the price at this index.
    uses: Vec<Vec<PriceUse>>,
    prices: Vec<f64>,
    /// The estimated number of tokens of each piece of text, computed with the current values of `prices`. The estimate
    /// in `wire::tokens` also has a minimum for each piece. This value ignores that minimum, so it may be lower.
    weights: Vec<f64>,
}

struct PriceUse {
    sample: usize,
    times: f64,
}

impl<'s> PriceFit<'s> {
    fn new(samples: &'s [PieceSample]) -> Self {
        let mut uses: Vec<Vec<PriceUse>> = (0..PRICE_COUNT).map(|_| Vec::new()).collect();
        for (at, sample) in samples.iter().enumerate() {
            for (place, times) in &sample.prices.0 {
                let times = *times as f64;
                match uses[*place].last_mut() {
                    Some(last) if last.sample == at => last.times += times,
                    _ => uses[*place].push(PriceUse { sample: at, times }),
                }
            }
        }
        Self { samples, uses, prices: vec![0.0; PRICE_COUNT], weights: vec![UNIT as f64; samples.len()] }
    }

    /// Changes each price to the best value for the current values of all other prices.
    fn improve(&mut self, round: impl Fn(f64) -> f64) {
        let (lowest, highest) = (f64::from(PRICE_RANGE.0), f64::from(PRICE_RANGE.1));
        for place in 0..PRICE_COUNT {
            let best = round(self.best(place)).clamp(lowest, highest);
            let change = best - self.prices[place];
            self.prices[place] = best;
            for PriceUse { sample, times } in &self.uses[place] {
                self.weights[*sample] += change * times;
            }
        }
    }

    /// Returns the best value of the price with the index `place`, which one step of Newton's method finds.
    fn best(&self, place: usize) -> f64 {
        let (mut slope, mut curvature) = (RIDGE * self.prices[place], RIDGE);
        for PriceUse { sample, times } in &self.uses[place] {
            let (difference, factor) = difference(&self.samples[*sample], self.weights[*sample]);
            slope += factor * times * difference;
            curvature += factor * times * times;
        }
        self.prices[place] - slope / curvature
    }
}

/// Returns the difference between the weight (estimated token cost) of a piece of text and its real number of tokens.
/// Also returns the factor with which the squared difference counts in the fit.
fn difference(sample: &PieceSample, weight: f64) -> (f64, f64) {
    let (real, least) = ((sample.tokens as u64 * UNIT) as f64, sample.least as f64);
    // The estimate uses `least` instead of a lower weight. When `least` is enough for the real number of tokens, only a
    // weight above `least` is an error.
    if real <= least {
        return if weight > least { (weight - least, sample.importance) } else { (0.0, 0.0) };
    }
    let factor = if weight < real { UNDER_FACTOR } else { 1.0 };
    (weight - real, sample.importance * factor)
}
