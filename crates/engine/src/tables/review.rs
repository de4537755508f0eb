//! Answers needs about reviews, rounds and findings from the maps in memory, with the same results as a database.

use std::cmp::Reverse;

use super::Tables;
use super::answer::first;
use super::list::{page, size};
use crate::list::List;
use crate::review::Review;
use crate::world::{Fact, Need};

impl Tables {
    #[expect(clippy::wildcard_enum_match_arm, reason = "`list` sends these lists here")]
    pub(super) fn review_list(&self, list: &List) -> Fact {
        match list {
            List::Reviews { before, limit } => {
                let is_before = |row: &&Review| before.is_none_or(|before| (row.opened, row.id) < before);
                Fact::ReviewRows(newest(self.reviews.values().filter(is_before), *limit))
            }
            List::TaskReviews { task, limit } => {
                let of_task = |row: &&Review| row.gate.is_some_and(|gate| gate.task == *task);
                Fact::ReviewRows(newest(self.reviews.values().filter(of_task), *limit))
            }
            List::Rounds { review, after, limit } => {
                let rows = self.rounds.range((*review, after.saturating_add(1))..=(*review, u32::MAX));
                Fact::RoundRows(first(rows.map(|(_, row)| row.clone()), size(*limit)))
            }
            List::Findings { review, after, limit } => {
                let rows = self.findings.values().filter(|row| row.review == *review);
                let rows = page(rows, |row| row.number, |number| number > after, *limit);
                Fact::FindingRows(rows.into_iter().cloned().collect())
            }
            _ => Fact::Number(0),
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "`answer` sends these needs here")]
    pub(super) fn review_fact(&self, need: &Need) -> Fact {
        match need {
            Need::Round(review, number) => {
                Fact::RoundRows(self.rounds.get(&(*review, *number)).cloned().into_iter().collect())
            }
            Need::Finding(review, name) => {
                Fact::FindingRows(self.findings.get(&(*review, name.clone())).cloned().into_iter().collect())
            }
            _ => Fact::Number(0),
        }
    }
}

fn newest<'a>(rows: impl Iterator<Item = &'a Review>, limit: u32) -> Vec<Review> {
    let mut rows: Vec<&Review> = rows.collect();
    rows.sort_by_key(|row| Reverse((row.opened, row.id)));
    first(rows.into_iter().cloned(), size(limit))
}
