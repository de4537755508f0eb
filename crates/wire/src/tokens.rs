//! How many tokens a text costs a model, estimated from above without a vocabulary.
//!
//! The walk cuts a text where the o200k pretokenizer cuts it: words at changes of case, digits in threes, runs of
//! punctuation, white space. A piece costs at least one token. What a word costs beyond that depends on how usual its
//! sequences of letters are, and on its case; a character of another script has the price of its block.
//!
//! The prices were fitted to lie above the real counts of prose, source code, JSON and the larger languages. They are
//! statistics: lists of stems, tables of rare ideographs and a few languages with letters of their own cost up to a quarter
//! more than they say, and a text made to deceive them may, too.

mod letters;
mod marks;
mod scripts;

use letters::word;

/// Parts of a token, so that sums stay whole numbers.
pub(crate) const UNIT: u64 = 32;

/// Prices are averages, so a text of rare words costs more than they say: a 48th is added, ...
const MARGIN_SHARE: u64 = 48;
/// ... and, because chance weighs more in a short text, a quarter of it, ...
const SHORT_SHARE: u64 = 4;
/// ... but of that never more than these tokens.
const SHORT_MAX: u64 = 8 * UNIT;

/// At least as many tokens as the text has, for anything people write; on English and code rarely a quarter more.
///
/// ```
/// assert_eq!(wire::tokens::estimate(""), 0);
/// let estimate = wire::tokens::estimate("Claims are leases: whoever works renews, whoever dies loses.");
/// assert!((14..=24).contains(&estimate), "{estimate}");
/// ```
pub fn estimate(text: &str) -> usize {
    tokens(weight(text))
}

/// Weights of parts may be added before they are made tokens: parts that are cut at punctuation weigh no less than the whole.
pub(crate) fn tokens(weight: u64) -> usize {
    let margin = weight / MARGIN_SHARE + (weight / SHORT_SHARE).min(SHORT_MAX);
    usize::try_from((weight + margin).div_ceil(UNIT)).unwrap_or(usize::MAX)
}

/// A weight that makes no more than these tokens, and nearly as many.
pub(crate) fn weight_within(tokens: usize) -> u64 {
    let whole = u64::try_from(tokens).unwrap_or(u64::MAX).min(u64::MAX >> 16) * UNIT;
    let without = |whole: u64| whole * MARGIN_SHARE / (MARGIN_SHARE + 1);
    let short = without(whole) * SHORT_SHARE / (SHORT_SHARE + 1);
    short.max(without(whole.saturating_sub(SHORT_MAX)))
}

/// What a text costs, in parts of a token and without the margin.
pub(crate) fn weight(text: &str) -> u64 {
    let mut walk = Walk { bytes: text.as_bytes(), text, at: 0, weight: 0 };
    walk.run();
    walk.weight
}

/// What a byte begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Upper,
    Lower,
    Digit,
    /// A line feed or carriage return.
    Line,
    /// Other white space.
    Blank,
    /// ASCII punctuation and control characters.
    Mark,
    /// The first byte of a longer character.
    High,
}

/// By byte, because a table is faster than comparing.
const CLASSES: [Class; 256] = {
    let mut classes = [Class::High; 256];
    let mut byte: u8 = 0;
    while byte < 128 {
        classes[byte as usize] = match byte {
            b'A'..=b'Z' => Class::Upper,
            b'a'..=b'z' => Class::Lower,
            b'0'..=b'9' => Class::Digit,
            b'\n' | b'\r' => Class::Line,
            b' ' | b'\t' | 0x0b | 0x0c => Class::Blank,
            _ => Class::Mark,
        };
        byte += 1;
    }
    classes
};

/// What stands directly before a word and is tokenized with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Before {
    Space,
    Nothing,
    Mark,
    Backslash,
}

struct Walk<'t> {
    text: &'t str,
    bytes: &'t [u8],
    at: usize,
    weight: u64,
}

impl Walk<'_> {
    fn run(&mut self) {
        while let Some(byte) = self.bytes.get(self.at) {
            match CLASSES[usize::from(*byte)] {
                Class::Upper | Class::Lower => self.word(Before::Nothing),
                Class::Digit => self.digits(),
                Class::Line | Class::Blank => self.blanks(),
                Class::Mark => self.mark(*byte),
                Class::High => self.high(),
            }
        }
    }

    fn class(&self, at: usize) -> Option<Class> {
        self.bytes.get(at).map(|byte| CLASSES[usize::from(*byte)])
    }

    fn pay(&mut self, weight: u64) {
        self.weight += weight;
    }

    /// Letters from here, behind what was already passed.
    fn word(&mut self, before: Before) {
        let (weight, length) = word(&self.bytes[self.at..], before);
        self.at += length;
        self.pay(weight);
    }

    /// All numbers of three digits are tokens.
    fn digits(&mut self) {
        let rest = &self.bytes[self.at..];
        let length = rest.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(rest.len());
        self.at += length;
        self.pay(u64::try_from(length.div_ceil(3)).unwrap_or(u64::MAX / UNIT) * UNIT);
    }

    /// Lines end in one piece with the blanks before them; the last blank goes with the word or punctuation behind it.
    fn blanks(&mut self) {
        let rest = &self.bytes[self.at..];
        let is_white = |byte: &u8| matches!(CLASSES[usize::from(*byte)], Class::Line | Class::Blank);
        let length = rest.iter().position(|byte| !is_white(byte)).unwrap_or(rest.len());
        let run = &rest[..length];
        let lines = run.iter().rposition(|byte| matches!(byte, b'\n' | b'\r')).map_or(0, |last| last + 1);
        self.pay(white(&run[..lines]));
        let blanks = &run[lines..];
        self.at += length;
        let Some((last, others)) = blanks.split_last() else { return };
        let next = self.class(self.at);
        match next {
            None => return self.pay(white(blanks)),
            Some(_) => self.pay(white(others)),
        }
        match (next, last) {
            (Some(Class::Upper | Class::Lower), b' ') => self.word(Before::Space),
            (Some(Class::Upper | Class::Lower), _) => self.word(Before::Mark),
            (Some(Class::Mark), b' ') => self.marks(),
            // Ideographs and kana are not tokenized together with a blank before them, other scripts are.
            (Some(Class::High), _) if !matches!(self.bytes[self.at], 0xe3..=0xe9) => {}
            (None | Some(Class::Digit | Class::Mark | Class::Line | Class::Blank | Class::High), _) => self.pay(UNIT),
        }
    }

    fn mark(&mut self, byte: u8) {
        if matches!(self.class(self.at + 1), Some(Class::Upper | Class::Lower)) {
            self.at += 1;
            return self.word(if byte == b'\\' { Before::Backslash } else { Before::Mark });
        }
        self.marks();
    }

    /// A run of punctuation, with the line ends and slashes behind it.
    fn marks(&mut self) {
        let (weight, length) = marks::run(&self.bytes[self.at..]);
        self.at += length;
        self.pay(weight);
    }

    /// One character beyond ASCII, or a word that begins with a Latin one.
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

/// White space of one piece: a run of one kind is nearly free, up to sixteen line ends or eighty blanks are one token.
fn white(run: &[u8]) -> u64 {
    if run.is_empty() {
        return 0;
    }
    // In quarters of a unit.
    let step = |pair: &[u8]| match (pair[0], pair[1]) {
        (b' ', b' ') => 1,
        (left, right) if left == right => 11,
        (b'\r', b'\n') => 16,
        _ => 56,
    };
    UNIT + run.windows(2).map(step).sum::<u64>() / 4
}
