//! Compares estimates with real numbers of tokens.

use std::collections::HashMap;

use tiktoken_rs::CoreBPE;
use wire::tokens::pieces::{PieceSink, priced_weight};
use wire::tokens::prices::PriceTable;
use wire::tokens::{self, UNIT};

use crate::samples::PricePlaces;

/// The names of the columns of [`EstimateJudge::row`]. Each pair of figures is before and after the fit.
pub(crate) const HEADER: &str = "\
folder           part          texts   estimate/real    texts below     lowest ratio    pieces below";

/// Compares the estimates of two tables of prices with the real tokenizer.
pub(crate) struct EstimateJudge<'t> {
    tokenizer: &'t CoreBPE,
    tables: [&'t PriceTable; 2],
    /// The real numbers of tokens of pieces.
    pieces: HashMap<String, usize>,
}

impl<'t> EstimateJudge<'t> {
    pub(crate) fn new(tokenizer: &'t CoreBPE, tables: [&'t PriceTable; 2]) -> Self {
        Self { tokenizer, tables, pieces: HashMap::new() }
    }

    /// Returns a line with the figures of these texts.
    pub(crate) fn row(&mut self, name: &str, part: &str, texts: &[String]) -> String {
        let (mut real, mut pieces) = (0, 0);
        let mut sums = [TableFigures { lowest: f64::INFINITY, ..TableFigures::default() }; 2];
        for text in texts {
            let real_here = self.tokenizer.encode_ordinary(text).len();
            let mut walk = JudgedText { judge: self, text, start: 0, pieces: 0, weights: [0; 2], below: [0; 2] };
            tokens::read(text, &mut walk);
            real += real_here;
            pieces += walk.pieces;
            for ((sum, weight), below) in sums.iter_mut().zip(walk.weights).zip(walk.below) {
                let estimate = tokens::tokens(weight);
                sum.estimate += estimate;
                sum.texts_below += usize::from(estimate < real_here);
                sum.lowest = sum.lowest.min(ratio(estimate, real_here));
                sum.pieces_below += below;
            }
        }
        let [before, after] = sums;
        let percent = |part: usize, all: usize| 100.0 * ratio(part, all);
        format!(
            "{name:16} {part:11} {:7}   {:.3}  {:.3}   {:5.2} % {:5.2} %   {:.2}  {:.2}   {:5.2} % {:5.2} %",
            texts.len(),
            ratio(before.estimate, real),
            ratio(after.estimate, real),
            percent(before.texts_below, texts.len()),
            percent(after.texts_below, texts.len()),
            before.lowest,
            after.lowest,
            percent(before.pieces_below, pieces),
            percent(after.pieces_below, pieces),
        )
    }
}

/// The figures of one table for several texts.
#[derive(Clone, Copy, Default)]
struct TableFigures {
    estimate: usize,
    texts_below: usize,
    /// The lowest ratio of the estimate and the real number of a text.
    lowest: f64,
    pieces_below: usize,
}

/// The weights of one text with both tables.
struct JudgedText<'j, 't> {
    judge: &'j mut EstimateJudge<'t>,
    text: &'j str,
    /// The position in the text after the last piece.
    start: usize,
    pieces: usize,
    weights: [u64; 2],
    /// The number of pieces whose weight is below the real number of tokens.
    below: [usize; 2],
}

impl PieceSink for JudgedText<'_, '_> {
    type Prices = PricePlaces;

    fn priced(&mut self, prices: PricePlaces, least: i64, end: usize) {
        let spelling = &self.text[self.start..end];
        let real = match self.judge.pieces.get(spelling) {
            Some(tokens) => *tokens,
            None => {
                let tokens = self.judge.tokenizer.encode_ordinary(spelling).len();
                *self.judge.pieces.entry(spelling.to_owned()).or_insert(tokens)
            }
        };
        for (at, table) in self.judge.tables.iter().enumerate() {
            let sum = prices.0.iter().map(|(place, times)| i64::from(table[*place]) * times).sum();
            let weight = priced_weight(sum, least);
            self.weights[at] += weight;
            self.below[at] += usize::from(weight < real as u64 * UNIT);
        }
        self.pieces += 1;
        self.start = end;
    }

    fn fixed(&mut self, weight: u64, end: usize) {
        self.weights = self.weights.map(|sum| sum + weight);
        self.start = end;
    }
}

/// Returns the ratio of two numbers. Of nothing, every part is nothing.
fn ratio(part: usize, all: usize) -> f64 {
    part as f64 / all.max(1) as f64
}
