//! The random choices of a test script (a sequence of random commands), made from its seed.

use std::collections::BTreeMap;

use chance::SeededRandom;

/// A source of random choices for a test script (a sequence of random commands).
#[derive(Debug, Clone)]
pub(super) struct Chance(SeededRandom);

impl Chance {
    pub(super) fn new(seed: u64) -> Self {
        Self(SeededRandom::new(seed))
    }

    pub(super) fn seed(&mut self) -> u128 {
        self.0.seed()
    }

    pub(super) fn below(&mut self, end: usize) -> usize {
        self.0.below(end)
    }

    /// Returns a random number from `low` to `high`, both included.
    pub(super) fn between(&mut self, low: u32, high: u32) -> u32 {
        u32::try_from(self.0.between(i64::from(low), i64::from(high))).unwrap_or(low)
    }

    pub(super) fn percent(&mut self, chance: usize) -> bool {
        self.0.percent(chance)
    }

    pub(super) fn pick<T: Clone>(&mut self, from: &[T]) -> Option<T> {
        self.0.pick(from).cloned()
    }

    pub(super) fn key<K: Clone, V>(&mut self, from: &BTreeMap<K, V>) -> Option<K> {
        from.keys().nth(self.below(from.len())).cloned()
    }

    /// Returns a random word of this list, which must not be empty.
    pub(super) fn word_of(&mut self, words: &[&str]) -> String {
        words.get(self.below(words.len())).copied().unwrap_or_default().to_owned()
    }
}
