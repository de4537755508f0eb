//! The token costs of words of Latin letters. They depend on the letters, their case and the character before the word.

use super::{Before, CLASSES, CharacterClass, UNIT};

/// The number of symbols in the price tables: the border of a word, the 26 letters, and one symbol for all Latin
/// letters beyond ASCII.
const LETTERS: usize = 28;
const OTHER: usize = LETTERS - 1;

/// The number of prices for sequences of two, three and four letters. A common sequence is usually inside one token, so
/// it has a low price; a rare sequence is split. Each pair of letters has its own price. Sequences of three or four
/// letters with the same hash share a price.
const PAIRS: usize = LETTERS * LETTERS;
const TRIPLES: usize = 1 << 10;
const FOURS: usize = 1 << 13;

/// The prices of sequences of letters, in parts of a token. The file has one character for each price, a hundred on
/// each line. A price is the distance of its character from `[` in ASCII.
const PRICES: [i8; PAIRS + TRIPLES + FOURS] = {
    let text = include_bytes!("prices.txt");
    let mut prices = [0; PAIRS + TRIPLES + FOURS];
    let mut at = 0;
    while at < prices.len() {
        prices[at] = text[at + at / 100] as i8 - b'[' as i8;
        at += 1;
    }
    prices
};

/// The amounts that are added to the token cost of a word. The row depends on the character before the word: a space,
/// nothing, a mark, a backslash. The column depends on the word's case: `small`, `Capital`, `A` (one capital letter),
/// `ALL`, `SOMEFirst`.
const SHAPES: [[i8; 5]; 4] = [[-7, -8, -10, 1, 4], [-6, -3, -11, -5, 4], [7, 20, 18, 13, 29], [10, 29, 27, 24, 35]];

/// The amounts that are added to the token cost of a word. The index is the word's number of letters. The last amount
/// is for all words with 15 or more letters.
const LENGTHS: [i8; 16] = [0, 2, -3, -2, -2, -2, -3, -2, -1, -2, -1, 0, 0, 1, 0, 1];
/// The amounts that each capital letter adds to the token cost of a word. The first is for a word of only capital
/// letters, the second for a word that begins with several capital letters.
const CAPITALS: [i64; 2] = [2, 1];
/// The amount that a contraction such as `'s` adds to the token cost of the word before it.
const CONTRACTION: i64 = 20;

/// Tells whether the bytes begin with a Latin letter beyond ASCII.
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

/// Returns the token cost and the length in bytes of the word with which the bytes begin. A word has capital letters
/// first, then small letters.
pub(super) fn word(bytes: &[u8], before: Before) -> (u64, usize) {
    let mut letters = Letters { bytes, at: 0, last: [0; 3], count: 0, price: 0 };
    letters.take(CharacterClass::Upper);
    let capitals = letters.count;
    letters.take(CharacterClass::Lower);
    letters.step(0);
    let Letters { at, count, price, .. } = letters;
    let shape = match (capitals, count - capitals) {
        (0, _) => 0,
        (1, 1..) => 1,
        (1, 0) => 2,
        (_, 0) => 3,
        (_, _) => 4,
    };
    let many = |count: usize| i64::try_from(count).unwrap_or(i64::MAX / 64);
    let of_capitals = match shape {
        3 => CAPITALS[0] * many(capitals),
        4 => CAPITALS[1] * many(capitals),
        _ => 0,
    };
    let tail = contraction(&bytes[at..]);
    let behind = match before {
        Before::Space => 0,
        Before::Nothing => 1,
        Before::Mark => 2,
        Before::Backslash => 3,
    };
    let total = ONE
        + price
        + i64::from(SHAPES[behind][shape])
        + i64::from(LENGTHS[count.min(15)])
        + of_capitals
        + if tail > 0 { CONTRACTION } else { 0 };
    // A long run of one letter would get too low a price, because each of its sequences of letters is common. The real
    // tokens of such a run have at most eight letters. Therefore a long word has a least price.
    let least = ONE + 5 * many(count.saturating_sub(12));
    (u64::try_from(total.max(least)).unwrap_or(UNIT), at + tail)
}

const ONE: i64 = UNIT as i64;

struct Letters<'t> {
    bytes: &'t [u8],
    at: usize,
    /// The last three letters of the word that were read, the newest first. A position before the beginning of the word
    /// has the value 0.
    last: [usize; 3],
    count: usize,
    price: i64,
}

impl Letters<'_> {
    /// Reads all following letters of one case and adds their token costs. Letters beyond ASCII count as small letters.
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

    /// Adds the token cost of a letter. When `letter` is 0, adds the token cost of the end of the word.
    fn step(&mut self, letter: usize) {
        let [one, two, three] = self.last;
        let pair = one * LETTERS + letter;
        let mut price = i64::from(PRICES[pair]);
        if self.count > 0 {
            let triple = two * PAIRS + pair;
            price += i64::from(PRICES[PAIRS + (triple.wrapping_mul(SPREAD) >> 4) % TRIPLES]);
            if self.count > 1 {
                let four = three * PAIRS * LETTERS + triple;
                price += i64::from(PRICES[PAIRS + TRIPLES + (four.wrapping_mul(SPREAD) >> 5) % FOURS]);
            }
        }
        self.price += price;
        self.last = [letter, one, two];
    }
}

/// A factor for hashing sequences of letters, so that they are spread evenly over the table of prices. Only low bits of
/// the product are used, so an overflow does no harm.
const SPREAD: usize = 40_503;

/// Returns the length in bytes of the English contraction with which the bytes begin: `'s`, `'t`, `'re`, `'ve`, `'m`,
/// `'ll` or `'d` in any case. Returns 0 when there is none.
fn contraction(bytes: &[u8]) -> usize {
    let [b'\'', rest @ ..] = bytes else { return 0 };
    let small = |at: usize| rest.get(at).map(u8::to_ascii_lowercase);
    match (small(0), small(1)) {
        (Some(b's' | b't' | b'm' | b'd'), _) => 2,
        (Some(b'r' | b'v'), Some(b'e')) | (Some(b'l'), Some(b'l')) => 3,
        _ => 0,
    }
}
