//! A seeded random generator for tests (SplitMix64). A failed test prints its seed, and the same seed repeats the run
//! on every machine.

/// A sequence of pseudo-random numbers. The same seed gives the same sequence.
#[derive(Debug, Clone)]
pub struct SeededRandom(u64);

impl SeededRandom {
    pub fn new(seed: u64) -> Self {
        Self(seed ^ 0x5DEE_CE66_D1CE_4E5B)
    }

    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        word ^ (word >> 31)
    }

    /// Returns a random seed for the ids that one decision of the engine creates.
    pub fn seed(&mut self) -> u128 {
        (u128::from(self.word()) << 64) | u128::from(self.word())
    }

    /// Returns a random number from 0 up to, but not including, `end`. Returns 0 when `end` is 0.
    pub fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.word() % u64::try_from(end.max(1)).unwrap_or(1)).unwrap_or(0)
    }

    /// Returns a random number from `low` to `high`, both included.
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        low + i64::try_from(self.word() % u64::try_from(high - low + 1).unwrap_or(1)).unwrap_or(0)
    }

    /// Returns true in `chance` of 100 calls, on average.
    pub fn percent(&mut self, chance: usize) -> bool {
        self.below(100) < chance
    }

    /// Returns one random item of the list, or `None` when the list is empty.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        from.get(self.below(from.len()))
    }

    /// Returns one random item of a list that is not empty.
    pub fn one_of<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_seeds_give_equal_numbers_within_their_bounds() {
        let run = |seed| {
            let mut random = SeededRandom::new(seed);
            (0..100).map(|_| (random.below(7), random.between(-3, 3), random.seed())).collect::<Vec<_>>()
        };
        assert_eq!(run(1), run(1));
        assert_ne!(run(1), run(2));
        assert!(run(3).iter().all(|(below, between, _)| *below < 7 && (-3..=3).contains(between)));
    }
}
