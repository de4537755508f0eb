//! Estimates how many tokens a text costs a model. The estimate is meant as an upper bound, and it works without the
//! vocabulary of a tokenizer.
//!
//! A text is split into the same pieces into which the pretokenizer of the o200k encoding splits it: words, groups of
//! up to three digits, runs of punctuation, and white space. A word also ends where a capital letter follows a small
//! letter. Each piece costs at least one token. How much more a word costs depends on its case and on how common its
//! sequences of letters are. The price of a character that is not Latin depends on its Unicode block.
//!
//! The prices were fitted so that the estimate is above the real count for prose, source code, JSON and widely used
//! languages. The program `examples/fit_token_prices` writes the fitted prices into the file `tokens/prices.txt`. The
//! prices of white space and of scripts other than Latin, and the margins that are added at the end, are set by hand.
//!
//! All prices are averages. Therefore some texts cost up to a quarter more than the estimate: lists of word stems,
//! tables of rare ideographs, and a few languages with special letters. A text that was made to deceive the estimate
//! may also cost more.

mod letters;
mod marks;
pub mod pieces;
pub mod prices;
mod scripts;

use pieces::{ONE, PieceSink, WeightSum};

/// The number of weight units in one token. Weights are whole numbers of these units, so that sums of weights have no
/// rounding errors.
pub const UNIT: u64 = 32;

/// The margin for rare words: one 48th of a text's weight (token cost) is added to it. Prices are averages, and rare
/// words cost more than the average.
const MARGIN_SHARE: u64 = 48;
/// The margin for short texts: a quarter of a text's weight (token cost) is added to it. In a short text, the estimate
/// deviates more from the real count.
const SHORT_SHARE: u64 = 4;
/// The maximum weight (token cost) that the margin for short texts adds. Without this limit, the weight of a long text
/// would also grow by a quarter.
const SHORT_MAX: u64 = 8 * UNIT;

/// Estimates the number of tokens of a text. For almost any text that people write, the estimate is at least the real
/// number. For English and code, the estimate is rarely more than a quarter too high.
///
/// ```
/// assert_eq!(wire::tokens::estimate(""), 0);
/// let estimate = wire::tokens::estimate("Claims are leases: whoever works renews, whoever dies loses.");
/// assert!((14..=24).contains(&estimate), "{estimate}");
/// ```
pub fn estimate(text: &str) -> usize {
    tokens(weight(text))
}

/// Converts a weight (a cost in parts of a token) to a number of tokens, and adds the margins for rare words and for
/// short texts. A caller may add the weights of several parts of a text and convert the sum. If the text is split at
/// punctuation, this sum is seldom lower than the weight of the whole text.
pub fn tokens(weight: u64) -> usize {
    let margin = weight / MARGIN_SHARE + (weight / SHORT_SHARE).min(SHORT_MAX);
    usize::try_from((weight + margin).div_ceil(UNIT)).unwrap_or(usize::MAX)
}

/// Returns a weight (token cost) that [`tokens`] converts to at most this number of tokens. The returned weight is
/// nearly the largest weight with this property.
pub(crate) fn weight_within(tokens: usize) -> u64 {
    let whole = u64::try_from(tokens).unwrap_or(u64::MAX).min(u64::MAX >> 16) * UNIT;
    let without = |whole: u64| whole * MARGIN_SHARE / (MARGIN_SHARE + 1);
    let short = without(whole) * SHORT_SHARE / (SHORT_SHARE + 1);
    short.max(without(whole.saturating_sub(SHORT_MAX)))
}

/// Returns the weight of a text (its cost in parts of a token), without the margins that [`tokens`] adds.
pub(crate) fn weight(text: &str) -> u64 {
    let mut sum = WeightSum::default();
    read(text, &mut sum);
    sum.0
}

/// Splits a text into words, groups of digits, runs of punctuation and other pieces, and passes each piece with its
/// token cost to `sink`.
pub fn read(text: &str, sink: &mut impl PieceSink) {
    TokenWalk { bytes: text.as_bytes(), text, at: 0, sink }.run();
}

/// The class of a character, such as capital letter or digit. The first byte of the character in UTF-8 decides the
/// class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CharacterClass {
    Upper,
    Lower,
    Digit,
    /// A line feed or a carriage return.
    Line,
    /// White space other than line ends.
    Blank,
    /// ASCII punctuation and control characters.
    Mark,
    /// The first byte of a character beyond ASCII.
    High,
}

/// The character class of each byte. Looking it up in a table is faster than comparing ranges.
const CLASSES: [CharacterClass; 256] = {
    let mut classes = [CharacterClass::High; 256];
    let mut byte: u8 = 0;
    while byte < 128 {
        classes[byte as usize] = match byte {
            b'A'..=b'Z' => CharacterClass::Upper,
            b'a'..=b'z' => CharacterClass::Lower,
            b'0'..=b'9' => CharacterClass::Digit,
            b'\n' | b'\r' => CharacterClass::Line,
            b' ' | b'\t' | 0x0b | 0x0c => CharacterClass::Blank,
            _ => CharacterClass::Mark,
        };
        byte += 1;
    }
    classes
};

/// The character directly before a word. The tokenizer joins it with the word, so it changes the token cost of the
/// word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Before {
    Space,
    Nothing,
    Mark,
    Backslash,
}

struct TokenWalk<'t, S> {
    text: &'t str,
    bytes: &'t [u8],
    at: usize,
    sink: &'t mut S,
}

impl<S: PieceSink> TokenWalk<'_, S> {
    fn run(&mut self) {
        while let Some(byte) = self.bytes.get(self.at) {
            match CLASSES[usize::from(*byte)] {
                CharacterClass::Upper | CharacterClass::Lower => self.word(Before::Nothing),
                CharacterClass::Digit => self.digits(),
                CharacterClass::Line | CharacterClass::Blank => self.blanks(),
                CharacterClass::Mark => self.mark(*byte),
                CharacterClass::High => self.high(),
            }
        }
    }

    fn class(&self, at: usize) -> Option<CharacterClass> {
        self.bytes.get(at).map(|byte| CLASSES[usize::from(*byte)])
    }

    /// Tells the sink (the receiver of the pieces) that a piece of the text with this weight (token cost) ends at the
    /// current position.
    fn pay(&mut self, weight: u64) {
        self.sink.fixed(weight, self.at);
    }

    /// Reads the word at the current position. `before` is the character before the word. The position is already after
    /// that character.
    fn word(&mut self, before: Before) {
        let mut prices = S::Prices::default();
        let word = letters::read(&self.bytes[self.at..], before, &mut prices);
        self.at += word.bytes;
        self.sink.priced(prices, word.least, self.at);
    }

    /// Adds the token cost of a run of digits to the weight of the text. Every three digits cost one token.
    fn digits(&mut self) {
        let rest = &self.bytes[self.at..];
        let length = rest.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(rest.len());
        self.at += length;
        self.pay(u64::try_from(length.div_ceil(3)).unwrap_or(u64::MAX / UNIT) * UNIT);
    }

    /// Adds the token cost of a run of white space to the weight of the text. Line ends form one piece with the blanks
    /// before them. The last blank is joined with the word or punctuation after it.
    fn blanks(&mut self) {
        let rest = &self.bytes[self.at..];
        let is_white = |byte: &u8| matches!(CLASSES[usize::from(*byte)], CharacterClass::Line | CharacterClass::Blank);
        let length = rest.iter().position(|byte| !is_white(byte)).unwrap_or(rest.len());
        let run = &rest[..length];
        let lines = run.iter().rposition(|byte| matches!(byte, b'\n' | b'\r')).map_or(0, |last| last + 1);
        let blanks = &run[lines..];
        self.white(&run[..lines]);
        let Some((last, others)) = blanks.split_last() else { return };
        let next = self.class(self.at + blanks.len());
        match next {
            None => return self.white(blanks),
            Some(_) => self.white(others),
        }
        self.at += 1;
        match (next, last) {
            (Some(CharacterClass::Upper | CharacterClass::Lower), b' ') => self.word(Before::Space),
            (Some(CharacterClass::Upper | CharacterClass::Lower), _) => self.word(Before::Mark),
            (Some(CharacterClass::Mark), b' ') => self.marks(),
            // A blank before most characters beyond ASCII costs nothing, because the tokenizer joins the blank with the
            // character. The exceptions are ideographs and kana.
            (Some(CharacterClass::High), _) if !matches!(self.bytes[self.at], 0xe3..=0xe9) => {}
            (
                None
                | Some(
                    CharacterClass::Digit
                    | CharacterClass::Mark
                    | CharacterClass::Line
                    | CharacterClass::Blank
                    | CharacterClass::High,
                ),
                _,
            ) => self.pay(UNIT),
        }
    }

    /// Adds the token cost of a piece of white space to the weight of the text.
    fn white(&mut self, run: &[u8]) {
        if !run.is_empty() {
            self.at += run.len();
            self.pay(white(run));
        }
    }

    fn mark(&mut self, byte: u8) {
        if matches!(self.class(self.at + 1), Some(CharacterClass::Upper | CharacterClass::Lower)) {
            self.at += 1;
            return self.word(if byte == b'\\' { Before::Backslash } else { Before::Mark });
        }
        self.marks();
    }

    /// Adds the token cost of a run of punctuation, with the line ends and slashes after it, to the weight of the text.
    fn marks(&mut self) {
        let mut prices = S::Prices::default();
        self.at += marks::read(&self.bytes[self.at..], &mut prices);
        self.sink.priced(prices, ONE, self.at);
    }

    /// Adds the token cost of one character beyond ASCII to the weight of the text. If the character is a Latin letter,
    /// adds the cost of the word that begins with it.
    fn high(&mut self) {
        if letters::is_latin(&self.bytes[self.at..]) {
            return self.word(Before::Nothing);
        }
        let Some(found) = self.text.get(self.at..).and_then(|rest| rest.chars().next()) else {
            self.at += 1;
            return;
        };
        self.at += found.len_utf8();
        self.pay(scripts::price(found));
        if scripts::is_ruled(found) {
            let mut spelling = [0; 4];
            let again = found.encode_utf8(&mut spelling).as_bytes();
            while self.bytes[self.at..].starts_with(again) {
                self.at += again.len();
                self.pay(scripts::RULED_PRICE);
            }
        }
    }
}

/// Returns the token cost of a piece of white space, in weight units. A run of the same character costs little more
/// than one token, because tokenizers have tokens for up to sixteen line ends or eighty blanks.
fn white(run: &[u8]) -> u64 {
    // The numbers in this match are prices in quarters of a weight unit. One token has [`UNIT`] weight units.
    let step = |pair: &[u8]| match (pair[0], pair[1]) {
        (b' ', b' ') => 1,
        (left, right) if left == right => 11,
        (b'\r', b'\n') => 16,
        _ => 56,
    };
    UNIT + run.windows(2).map(step).sum::<u64>() / 4
}
