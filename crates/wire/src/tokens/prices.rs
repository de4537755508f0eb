//! The table of fitted prices: the place of each price in it, and the file that holds it.
//!
//! The program `examples/fit_token_prices` makes the file. It uses these places, so that it fits exactly the prices that
//! the estimate looks up.

use super::Before;
use super::letters::WordShape;

/// The number of symbols that have prices: the border of a word, the 26 letters, and one symbol for all Latin letters
/// beyond ASCII.
const LETTERS: usize = 28;
/// The symbol for a Latin letter beyond ASCII.
pub(super) const OTHER: usize = LETTERS - 1;

/// The numbers of prices for a letter after one, two and three other letters. A common sequence of letters is usually
/// inside one token, a rare one is split. Each pair of letters has its own price. Sequences of three or four letters
/// share prices by a hash.
const PAIRS: usize = LETTERS * LETTERS;
const TRIPLES: usize = 1 << 10;
const FOURS: usize = 1 << 13;

/// The numbers of the other kinds of prices: characters before a word, shapes and lengths of a word, and groups of
/// punctuation characters. All words with 15 or more letters have the last length.
const BEFORES: usize = 4;
const SHAPES: usize = 5;
const LENGTHS: usize = 16;
const MARK_GROUPS: usize = 9;

/// The first place of each kind of price. The table begins with the pairs of letters.
const TRIPLE: usize = PAIRS;
const FOUR: usize = TRIPLE + TRIPLES;
const SHAPE: usize = FOUR + FOURS;
const LENGTH: usize = SHAPE + BEFORES * SHAPES;
const CAPITAL: usize = LENGTH + LENGTHS;
const MARK_PAIR: usize = CONTRACTION + 1;
const MARK_SAME: usize = MARK_PAIR + MARK_GROUPS * MARK_GROUPS;

/// The place of the price of a contraction such as `'s`. It belongs to the word before it.
pub(super) const CONTRACTION: usize = CAPITAL + 2;
/// The place of the price of a character with which people draw lines, after the same character.
pub(super) const MARK_RULED: usize = MARK_SAME + MARK_GROUPS;
/// The place of the price that every run of punctuation has. It is negative: short runs are common, so tokenizers have
/// tokens for them.
pub(super) const MARK_RUN: usize = MARK_RULED + 1;

/// The number of prices in the table.
pub const PRICE_COUNT: usize = MARK_RUN + 1;

/// A table of prices in weight units. One token has [`UNIT`](super::UNIT) of them.
pub type PriceTable = [i8; PRICE_COUNT];

/// The prices that the estimate uses.
pub static PRICES: PriceTable = parse(include_bytes!("prices.txt"));

/// The lowest and the highest price that the file can hold.
pub const PRICE_RANGE: (i8, i8) = (b'!' as i8 - ZERO as i8, b'~' as i8 - ZERO as i8);

/// The character of the price 0. The file has one character for each price: the price is its distance from this
/// character in ASCII.
const ZERO: u8 = b'O';
/// The number of prices on each line of the file.
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

/// Returns the text of the file `prices.txt` that holds these prices.
pub fn file_text(prices: &PriceTable) -> String {
    let character = |price: &i8| char::from(ZERO.wrapping_add_signed(*price));
    prices.chunks(LINE_PRICES).flat_map(|line| line.iter().map(character).chain(['\n'])).collect()
}

/// An odd factor of the hash that spreads sequences of letters over the shared prices. Only low bits of the product are
/// used, so an overflow does no harm.
const SPREAD: usize = 40_503;

/// Calls `add` with the place of each price of a letter after the last three letters, the newest first. A position
/// before the beginning of the word has the value 0. `count` is the number of letters before this one.
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

/// Returns the place of the price of a word by the character before it and by its shape.
pub(super) fn shape(before: Before, shape: WordShape) -> usize {
    SHAPE + before as usize * SHAPES + shape as usize
}

/// Returns the place of the price of a word by its number of letters.
pub(super) fn length(letters: usize) -> usize {
    LENGTH + letters.min(LENGTHS - 1)
}

/// Returns the place of the price of each capital letter, for words that begin with several.
pub(super) fn capital(shape: WordShape) -> Option<usize> {
    match shape {
        WordShape::Small | WordShape::Capital | WordShape::Single => None,
        WordShape::All => Some(CAPITAL),
        WordShape::Several => Some(CAPITAL + 1),
    }
}

/// Returns the place of the price of a punctuation character after another one, by the groups of both.
pub(super) fn mark_pair(left: u8, right: u8) -> usize {
    MARK_PAIR + usize::from(left) * MARK_GROUPS + usize::from(right)
}

/// Returns the place of the price of a punctuation character after the same character, by its group.
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
