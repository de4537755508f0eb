//! Collects the different pieces of the texts, such as words, each with its real number of tokens.

use std::collections::{BTreeMap, HashMap};

use tiktoken_rs::CoreBPE;
use wire::tokens;
use wire::tokens::pieces::{PiecePrices, PieceSink};

use crate::texts::TextFolder;

/// The prices of one piece of text: the index of each price in the price table, and the number of times that this price
/// is added.
#[derive(Debug, Default)]
pub(crate) struct PricePlaces(pub(crate) Vec<(usize, i64)>);

impl PiecePrices for PricePlaces {
    fn add(&mut self, place: usize, times: i64) {
        self.0.push((place, times));
    }
}

/// A piece of text (such as a word) that occurs in the folders and has fitted prices.
#[derive(Debug)]
pub(crate) struct PieceSample {
    pub(crate) prices: PricePlaces,
    /// The lowest weight (token cost) that the piece of text can have. It is used when the sum of the prices is lower.
    pub(crate) least: i64,
    /// The number of tokens that the real tokenizer makes of the piece of text.
    pub(crate) tokens: usize,
    /// The importance of the piece for the fit. In each folder, it is the share of the piece among all pieces,
    /// multiplied by the importance of the folder. The values of all folders are added.
    pub(crate) importance: f64,
}

/// Returns the different pieces of text in the folders, sorted by their spelling.
pub(crate) fn collect(folders: &[TextFolder], tokenizer: &CoreBPE) -> Vec<PieceSample> {
    let mut samples: BTreeMap<&str, PieceSample> = BTreeMap::new();
    for folder in folders {
        let mut counter = PieceCounter::default();
        for text in &folder.fitted {
            (counter.text, counter.start) = (text, 0);
            tokens::read(text, &mut counter);
        }
        let all: u32 = counter.pieces.values().map(|piece| piece.count).sum();
        for (spelling, CountedPiece { prices, least, count }) in counter.pieces {
            let sample = samples.entry(spelling).or_insert_with(|| {
                let tokens = tokenizer.encode_ordinary(spelling).len();
                PieceSample { prices, least, tokens, importance: 0.0 }
            });
            sample.importance += f64::from(count) / f64::from(all) * folder.importance;
        }
    }
    samples.into_values().collect()
}

/// Counts the pieces of a folder's texts that have fitted prices, such as words.
#[derive(Default)]
struct PieceCounter<'t> {
    text: &'t str,
    /// The position in the text at which the next piece (such as a word) begins.
    start: usize,
    pieces: HashMap<&'t str, CountedPiece>,
}

struct CountedPiece {
    prices: PricePlaces,
    least: i64,
    count: u32,
}

impl PieceSink for PieceCounter<'_> {
    type Prices = PricePlaces;

    fn priced(&mut self, prices: PricePlaces, least: i64, end: usize) {
        let spelling = &self.text[self.start..end];
        self.pieces.entry(spelling).or_insert(CountedPiece { prices, least, count: 0 }).count += 1;
        self.start = end;
    }

    fn fixed(&mut self, _weight: u64, end: usize) {
        self.start = end;
    }
}
