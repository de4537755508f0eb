//! Compares estimated numbers of tokens with the real numbers.

use std::collections::HashMap;

use tiktoken_rs::CoreBPE;
use wire::tokens::pieces::{PieceSink, priced_weight};
use wire::tokens::prices::PriceTable;
use wire::tokens::{self, UNIT};

use crate::samples::PricePlaces;

/// The names of the columns of [`EstimateJudge::row`]. In a column with two figures, the first figure belongs to the
/// prices before the fit, and the second figure to the fitted prices.
pub(crate) const HEADER: &str = "\
folder           part          texts   estimate/real    texts below     lowest ratio    pieces below";

/// Compares the estimates from two price tables with the real numbers of tokens. The first table has the prices before
/// the fit, the second table has the fitted prices.
pub(crate) struct EstimateJudge<'t> {
    tokenizer: &'t CoreBPE,
    tables: [&'t PriceTable; 2],
    /// The real number of tokens of each piece of text (such as a word) that was counted so far.
    pieces: HashMap<String, usize>,
}

impl<'t> EstimateJudge<'t> {
    pub(crate) fn new(tokenizer: &'t CoreBPE, tables: [&'t PriceTable; 2]) -> Self {
        Self { tokenizer, tables, pieces: HashMap::new() }
    }

    /// Returns one row of the table with the columns of [`HEADER`]. The row compares the estimates for these texts with
    /// the real numbers of tokens.
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

/// The figures about the estimates that one price table gives for several texts.
#[derive(Clone, Copy, Default)]
struct TableFigures {
    estimate: usize,
    texts_below: usize,
    /// The lowest ratio among the texts. The ratio of a text is its estimated number of tokens divided by its real
    /// number.
    lowest: f64,
    pieces_below: usize,
}

/// The weights (token costs) of one text with the two price tables.
struct JudgedText<'j, 't> {
    judge: &'j mut EstimateJudge<'t>,
    text: &'j str,
    /// The position in the text at which the next piece (such as a word) begins.
    start: usize,
    pieces: usize,
    weights: [u64; 2],
    /// For each price table, the number of pieces of text whose weight (estimated token cost) is below their real
    /// number of tokens.
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

/// Returns the ratio of two numbers. Divides by 1 when `all` is 0, so that the result is always a number.
fn ratio(part: usize, all: usize) -> f64 {
    part as f64 / all.max(1) as f64
}
