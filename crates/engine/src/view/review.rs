//! A review with its rounds and findings.

use super::{ListRows, paged, rows_of};
use crate::id::{ReviewId, TaskId};
use crate::limits;
use crate::list::List;
use crate::review::{Finding, Review, ReviewRound};
use crate::time::Timestamp;
use crate::world::{DecisionStop, Fact, Need, World};

/// The maximum number of rounds that are shown: the newest ones.
const ROUND_ROWS: u32 = 100;

#[derive(Debug, Clone, PartialEq)]
pub struct Reviewed {
    pub review: Review,
    /// The newest rounds, in their order, oldest first.
    pub rounds: Vec<ReviewRound>,
    /// The findings, in the order in which the reviewing agent first gave them.
    pub findings: Vec<Finding>,
}

pub fn review(world: &World, id: ReviewId) -> Result<Reviewed, DecisionStop> {
    let review = world.review(id)?;
    let after = review.next().saturating_sub(ROUND_ROWS);
    let rounds = List::Rounds { review: id, after, limit: ROUND_ROWS };
    let findings = List::Findings { review: id, after: 0, limit: limits::FINDINGS_MAX };
    world.want([rounds.clone(), findings.clone()].map(Need::List))?;
    Ok(Reviewed {
        review: review.clone(),
        rounds: rows_of!(world, RoundRows, rounds).to_vec(),
        findings: rows_of!(world, FindingRows, findings).to_vec(),
    })
}

/// Returns reviews, newest first.
pub fn reviews(
    world: &World,
    before: Option<(Timestamp, ReviewId)>,
    limit: u32,
) -> Result<ListRows<Review, (Timestamp, ReviewId)>, DecisionStop> {
    let list = List::Reviews { before, limit: limit + 1 };
    Ok(paged(rows_of!(world, ReviewRows, list), limit, |row: &Review| (row.opened, row.id)))
}

/// Returns the newest review that this claim of a task must have before the task can be completed.
pub fn gating(world: &World, task: TaskId, attempt: u32) -> Result<Option<Reviewed>, DecisionStop> {
    let list = List::TaskReviews { task, limit: 20 };
    let own = |row: &&Review| row.gate.is_some_and(|gate| gate.attempt == attempt);
    let Some(found) = rows_of!(world, ReviewRows, list).iter().find(own) else { return Ok(None) };
    review(world, found.id).map(Some)
}

impl Reviewed {
    pub fn last(&self) -> Option<&ReviewRound> {
        self.rounds.last()
    }
}
