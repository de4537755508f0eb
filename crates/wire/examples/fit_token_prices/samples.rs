//! The different pieces of texts, with their real numbers of tokens.

use std::collections::{BTreeMap, HashMap};

use tiktoken_rs::CoreBPE;
use wire::tokens;
use wire::tokens::pieces::{PiecePrices, PieceSink};

use crate::texts::TextFolder;

/// The places of the prices of one piece, each with the number of times that the price is added.
#[derive(Debug, Default)]
pub(crate) struct PricePlaces(pub(crate) Vec<(usize, i64)>);

impl PiecePrices for PricePlaces {
    fn add(&mut self, place: usize, times: i64) {
        self.0.push((place, times));
    }
}

/// A piece with fitted prices that occurs in the folders.
#[derive(Debug)]
pub(crate) struct PieceSample {
    pub(crate) prices: PricePlaces,
    /// The least weight of the piece.
    pub(crate) least: i64,
    /// The real number of tokens.
    pub(crate) tokens: usize,
    /// The share of the piece in the pieces of each folder, times the importance of the folder, added up.
    pub(crate) importance: f64,
}

/// Returns the different pieces of the folders, in the order of their spellings.
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

/// Counts the pieces of texts that have fitted prices.
#[derive(Default)]
struct PieceCounter<'t> {
    text: &'t str,
    /// The position in the text after the last piece.
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
