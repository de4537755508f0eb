//! Answers list queries for reviews, rounds and findings from the maps in memory, with the same results as a database.

use std::cmp::Reverse;

use super::Tables;
use super::list::page;
use super::need::{first, size};
use crate::list::{FindingQuery, ReviewQuery, RoundQuery};
use crate::review::{Finding, Review, ReviewRound};

impl Tables {
    pub(super) fn list_reviews(&self, query: &ReviewQuery) -> Vec<Review> {
        match query {
            ReviewQuery::All { before, limit } => {
                let is_before = |row: &&Review| before.is_none_or(|before| (row.opened, row.id) < before);
                newest(self.reviews.values().filter(is_before), *limit)
            }
            ReviewQuery::OfTask { task, limit } => {
                let of_task = |row: &&Review| row.gate.is_some_and(|gate| gate.task == *task);
                newest(self.reviews.values().filter(of_task), *limit)
            }
        }
    }

    pub(super) fn list_rounds(&self, query: &RoundQuery) -> Vec<ReviewRound> {
        let RoundQuery { review, after, limit } = *query;
        let rows = self.rounds.range((review, after.saturating_add(1))..=(review, u32::MAX));
        first(rows.map(|(_, row)| row.clone()), size(limit))
    }

    pub(super) fn list_findings(&self, query: &FindingQuery) -> Vec<Finding> {
        let rows = self.findings.values().filter(|row| row.review == query.review);
        let rows = page(rows, |row| row.number, |number| *number > query.after, query.limit);
        rows.into_iter().cloned().collect()
    }
}

fn newest<'a>(rows: impl Iterator<Item = &'a Review>, limit: u32) -> Vec<Review> {
    let mut rows: Vec<&Review> = rows.collect();
    rows.sort_by_key(|row| Reverse((row.opened, row.id)));
    first(rows.into_iter().cloned(), size(limit))
}
