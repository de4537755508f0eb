//! The token costs of words of Latin letters. They depend on the letters, their case and the character before the word.

use super::pieces::{ONE, PiecePrices};
use super::prices::{self, OTHER};
use super::{Before, CLASSES, CharacterClass};

/// Returns true when the bytes begin with a Latin letter beyond ASCII.
pub(super) fn is_latin(bytes: &[u8]) -> bool {
    latin(bytes) > 0
}

/// Returns the length in bytes of the Latin letter beyond ASCII with which the bytes begin, or 0 when they begin with
/// something else.
fn latin(bytes: &[u8]) -> usize {
    match bytes {
        // The signs `×` and `÷` are in the same Unicode block as the letters, but they are not letters.
        [0xc3, 0x97 | 0xb7, ..] => 0,
        [0xc3, 0x80..=0xbf, ..] | [0xc4..=0xc8, ..] | [0xc9, 0x80..=0x8f, ..] => 2,
        [0xe1, 0xb8..=0xbb, ..] => 3,
        _ => 0,
    }
}

/// The shape of a word: which of its letters are capital letters.
#[derive(Debug, Clone, Copy)]
pub(super) enum WordShape {
    /// A word of small letters only, such as `small`.
    Small,
    /// A word with one capital letter at its beginning, such as `Capital`.
    Capital,
    /// A word that is only one capital letter, such as `A`.
    Single,
    /// A word of several capital letters only, such as `ALL`.
    All,
    /// A word such as `SOMEFirst`: several capital letters, then small letters.
    Several,
}

/// The length and the least token cost of a word that was read.
pub(super) struct PricedWord {
    /// The number of bytes of the word.
    pub(super) bytes: usize,
    /// The least weight (token cost) of the word. It is used when the sum of the word's prices is lower.
    pub(super) least: i64,
}

/// Reads the word with which the bytes begin, and adds its prices (parts of its token cost) to `prices`. A word has
/// capital letters first, then small letters.
pub(super) fn read(bytes: &[u8], before: Before, prices: &mut impl PiecePrices) -> PricedWord {
    let mut letters = Letters { bytes, at: 0, last: [0; 3], count: 0, prices };
    letters.take(CharacterClass::Upper);
    let capitals = letters.count;
    letters.take(CharacterClass::Lower);
    letters.step(0);
    let Letters { at, count, prices, .. } = letters;
    let shape = match (capitals, count - capitals) {
        (0, _) => WordShape::Small,
        (1, 1..) => WordShape::Capital,
        (1, 0) => WordShape::Single,
        (_, 0) => WordShape::All,
        (_, _) => WordShape::Several,
    };
    let many = |count: usize| i64::try_from(count).unwrap_or(i64::MAX / 64);
    prices.add(prices::shape(before, shape), 1);
    prices.add(prices::length(count), 1);
    if let Some(place) = prices::capital(shape) {
        prices.add(place, many(capitals));
    }
    let tail = contraction(&bytes[at..]);
    if tail > 0 {
        prices.add(prices::CONTRACTION, 1);
    }
    // In a long run of one letter, such as `aaaaaaaa`, all sequences of letters are common, so the sum of their prices
    // is too low. In fact, the tokenizer splits such a run into tokens of at most eight letters. Therefore a word with
    // more than twelve letters has a higher least weight (token cost).
    PricedWord { bytes: at + tail, least: ONE + 5 * many(count.saturating_sub(12)) }
}

struct Letters<'t, P> {
    bytes: &'t [u8],
    at: usize,
    /// The last three letters of the word that were read, the newest first. A position before the beginning of the word
    /// has the value 0.
    last: [usize; 3],
    count: usize,
    prices: &'t mut P,
}

impl<P: PiecePrices> Letters<'_, P> {
    /// Reads all following letters of one case and adds their prices (parts of the word's token cost). Letters beyond
    /// ASCII count as small letters.
    fn take(&mut self, case: CharacterClass) {
        while let Some(byte) = self.bytes.get(self.at) {
            let class = CLASSES[usize::from(*byte)];
            let (letter, length) = if class == case {
                (usize::from(byte & 0x1f), 1)
            } else if class == CharacterClass::High && case == CharacterClass::Lower {
                match latin(&self.bytes[self.at..]) {
                    0 => return,
                    length => (OTHER, length),
                }
            } else {
                return;
            };
            self.step(letter);
            self.count += 1;
            self.at += length;
        }
    }

    /// Adds the prices of a letter (parts of the word's token cost). The letter 0 stands for the end of the word.
    fn step(&mut self, letter: usize) {
        prices::letter(letter, self.last, self.count, |place| self.prices.add(place, 1));
        let [one, two, _] = self.last;
        self.last = [letter, one, two];
    }
}

/// Returns the length in bytes of the contraction with which the bytes begin: `'s`, `'t`, `'re`, `'ve`, `'m`, `'ll` or
/// `'d` in any case. Returns 0 when there is none.
fn contraction(bytes: &[u8]) -> usize {
    let [b'\'', rest @ ..] = bytes else { return 0 };
    let small = |at: usize| rest.get(at).map(u8::to_ascii_lowercase);
    match (small(0), small(1)) {
        (Some(b's' | b't' | b'm' | b'd'), _) => 2,
        (Some(b'r' | b'v'), Some(b'e')) | (Some(b'l'), Some(b'l')) => 3,
        _ => 0,
    }
}
