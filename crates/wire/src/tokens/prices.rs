//! The table of fitted prices (parts of the token cost of a text). This module defines the index of each price in the
//! table, and reads the table from the file `prices.txt`.
//!
//! The program `examples/fit_token_prices` makes the file. The program uses the same indexes as the estimate, so it
//! fits exactly the prices that the estimate looks up.

use super::Before;
use super::letters::WordShape;

/// The number of symbols that have prices (token costs): the border of a word, the 26 letters, and one symbol for all
/// Latin letters beyond ASCII.
const LETTERS: usize = 28;
/// The symbol that stands for every Latin letter beyond ASCII.
pub(super) const OTHER: usize = LETTERS - 1;

/// The sizes of the three groups of prices for sequences of two, three and four letters. A common sequence of letters
/// is usually inside one token. A rare sequence is split into several tokens. Each sequence of two letters has its own
/// price. Several sequences of three or four letters share one price, which a hash of the sequence selects.
const PAIRS: usize = LETTERS * LETTERS;
const TRIPLES: usize = 1 << 10;
const FOURS: usize = 1 << 13;

/// Some prices depend on the character before a word, on the shape or the length of the word, or on the group of a
/// punctuation character. These constants are the numbers of different characters, shapes, lengths and groups that have
/// their own prices. All words with 15 or more letters count as words of the same length.
const BEFORES: usize = 4;
const SHAPES: usize = 5;
const LENGTHS: usize = 16;
const MARK_GROUPS: usize = 9;

/// The index in the price table at which each kind of price begins. The table begins with the prices of pairs of
/// letters.
const TRIPLE: usize = PAIRS;
const FOUR: usize = TRIPLE + TRIPLES;
const SHAPE: usize = FOUR + FOURS;
const LENGTH: usize = SHAPE + BEFORES * SHAPES;
const CAPITAL: usize = LENGTH + LENGTHS;
const MARK_PAIR: usize = CONTRACTION + 1;
const MARK_SAME: usize = MARK_PAIR + MARK_GROUPS * MARK_GROUPS;

/// The index, in the price table, of the price of a contraction such as `'s`. This price is added to the word before
/// the contraction.
pub(super) const CONTRACTION: usize = CAPITAL + 2;
/// The index, in the price table, of the price of a repeated character with which people draw lines: each `-` of `---`
/// except the first.
pub(super) const MARK_RULED: usize = MARK_SAME + MARK_GROUPS;
/// The index, in the price table, of the price that is added to every run of punctuation. This price is negative: short
/// runs are common, so tokenizers have tokens for them.
pub(super) const MARK_RUN: usize = MARK_RULED + 1;

/// The number of prices in the price table.
pub const PRICE_COUNT: usize = MARK_RUN + 1;

/// A table of prices (token costs) in weight units. One token has [`UNIT`](super::UNIT) weight units.
pub type PriceTable = [i8; PRICE_COUNT];

/// The prices from which the number of tokens of a text is estimated.
pub static PRICES: PriceTable = parse(include_bytes!("prices.txt"));

/// The lowest and the highest price that the file `prices.txt` can contain.
pub const PRICE_RANGE: (i8, i8) = (b'!' as i8 - ZERO as i8, b'~' as i8 - ZERO as i8);

/// The character that stands for the price 0 in the file `prices.txt`. The file has one character for each price: the
/// price is the ASCII code of the character minus the ASCII code of `ZERO`.
const ZERO: u8 = b'O';
/// The number of prices on each line of the file `prices.txt`.
const LINE_PRICES: usize = 100;

const fn parse(file: &[u8]) -> PriceTable {
    let mut prices = [0; PRICE_COUNT];
    let mut at = 0;
    while at < prices.len() {
        prices[at] = file[at + at / LINE_PRICES] as i8 - ZERO as i8;
        at += 1;
    }
    prices
}

/// Returns the text of a file `prices.txt` that contains these prices.
pub fn file_text(prices: &PriceTable) -> String {
    let character = |price: &i8| char::from(ZERO.wrapping_add_signed(*price));
    prices.chunks(LINE_PRICES).flat_map(|line| line.iter().map(character).chain(['\n'])).collect()
}

/// The factor with which letters are multiplied to find the row of their price. Many sequences of letters share one row.
/// The factor is an odd number, so that all rows are used. Only low bits of the product count, so an overflow does no harm.
const SPREAD: usize = 40_503;

/// Calls `add` with the index, in the price table, of each price of a letter. The prices depend on the letter and on
/// the letters before it. `last` has the last three letters before it, the newest first, and 0 for each position before
/// the beginning of the word. `count` is the number of letters of the word before this letter.
#[inline]
pub(super) fn letter(letter: usize, last: [usize; 3], count: usize, mut add: impl FnMut(usize)) {
    let [one, two, three] = last;
    let pair = one * LETTERS + letter;
    add(pair);
    if count > 0 {
        let triple = two * PAIRS + pair;
        add(TRIPLE + (triple.wrapping_mul(SPREAD) >> 4) % TRIPLES);
        if count > 1 {
            let four = three * PAIRS * LETTERS + triple;
            add(FOUR + (four.wrapping_mul(SPREAD) >> 5) % FOURS);
        }
    }
}

/// Returns the index, in the price table, of the price that depends on the shape of a word and on the character before
/// the word.
pub(super) fn shape(before: Before, shape: WordShape) -> usize {
    SHAPE + before as usize * SHAPES + shape as usize
}

/// Returns the index, in the price table, of the price that depends on the number of letters of a word.
pub(super) fn length(letters: usize) -> usize {
    LENGTH + letters.min(LENGTHS - 1)
}

/// Returns the index, in the price table, of the price that each capital letter adds to a word. Returns `None` for a
/// word that does not begin with several capital letters.
pub(super) fn capital(shape: WordShape) -> Option<usize> {
    match shape {
        WordShape::Small | WordShape::Capital | WordShape::Single => None,
        WordShape::All => Some(CAPITAL),
        WordShape::Several => Some(CAPITAL + 1),
    }
}

/// Returns the index, in the price table, of the price of a punctuation character that follows a different punctuation
/// character. The price depends on the groups of both characters.
pub(super) fn mark_pair(left: u8, right: u8) -> usize {
    MARK_PAIR + usize::from(left) * MARK_GROUPS + usize::from(right)
}

/// Returns the index, in the price table, of the price of a punctuation character that repeats the character before it.
/// The price depends on the group of the character.
pub(super) fn mark_same(group: u8) -> usize {
    MARK_SAME + usize::from(group)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_the_prices_is_the_file() {
        assert_eq!(file_text(&PRICES), include_str!("prices.txt"));
    }
}
