//! A seeded random generator (SplitMix64), so that a run can be repeated from its seed.

use std::collections::BTreeMap;

#[derive(Debug, Clone)]
pub(super) struct Chance(u64);

impl Chance {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed ^ 0x5DEE_CE66_D1CE_4E5B)
    }

    fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        word ^ (word >> 31)
    }

    pub(super) fn seed(&mut self) -> u128 {
        (u128::from(self.word()) << 64) | u128::from(self.word())
    }

    /// Returns a number from 0 up to, but not including, `end`; returns 0 when `end` is 0.
    pub(super) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.word() % u64::try_from(end.max(1)).unwrap_or(1)).unwrap_or(0)
    }

    /// Returns a number from `low` to `high`, both included.
    pub(super) fn between(&mut self, low: u32, high: u32) -> u32 {
        low + u32::try_from(self.word() % (u64::from(high - low) + 1)).unwrap_or(0)
    }

    pub(super) fn percent(&mut self, chance: usize) -> bool {
        self.below(100) < chance
    }

    pub(super) fn pick<T: Clone>(&mut self, from: &[T]) -> Option<T> {
        from.get(self.below(from.len())).cloned()
    }

    pub(super) fn key<K: Clone, V>(&mut self, from: &BTreeMap<K, V>) -> Option<K> {
        from.keys().nth(self.below(from.len())).cloned()
    }

    /// Returns one word of a list that must not be empty.
    pub(super) fn word_of(&mut self, words: &[&str]) -> String {
        words.get(self.below(words.len())).copied().unwrap_or_default().to_owned()
    }
}
