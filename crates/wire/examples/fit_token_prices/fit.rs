//! Finds the prices for which the weights of pieces are nearest to their real numbers of tokens.
//!
//! The fit minimizes the squares of the differences, multiplied by the importance of the pieces. It changes one price at
//! a time to the best value for the current values of all others (coordinate descent). The order is fixed, and nothing
//! is random.

use wire::tokens::UNIT;
use wire::tokens::prices::{PRICE_COUNT, PRICE_RANGE, PriceTable};

use crate::samples::PieceSample;

/// The factor for a weight that is too low. The estimate is an upper bound, so too low is worse than too high.
const UNDER_FACTOR: f64 = 8.0;
/// The importance of a price being 0, compared with a folder of texts. It keeps prices small that few pieces have.
const RIDGE: f64 = 1e-4;
/// The number of times that all prices are improved, first as fractions, then as whole numbers. Further passes change
/// the sum of squares by less than a thousandth.
const FRACTION_PASSES: usize = 40;
const WHOLE_PASSES: usize = 4;

/// Returns the fitted prices.
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
    /// The pieces that have the price at each place.
    uses: Vec<Vec<PriceUse>>,
    prices: Vec<f64>,
    /// The weight of each piece with the current prices, without its lower limit.
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

    /// Returns the best value of a price by one step of Newton's method.
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

/// Returns by how much the weight of a piece differs from its real number of tokens, and the factor of its square.
fn difference(sample: &PieceSample, weight: f64) -> (f64, f64) {
    let (real, least) = ((sample.tokens as u64 * UNIT) as f64, sample.least as f64);
    // A piece never weighs less than its limit, so prices that would make it lighter do no harm when the limit is not
    // below the real number.
    if real <= least {
        return if weight > least { (weight - least, sample.importance) } else { (0.0, 0.0) };
    }
    let factor = if weight < real { UNDER_FACTOR } else { 1.0 };
    (weight - real, sample.importance * factor)
}
