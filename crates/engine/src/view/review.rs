//! A review with its rounds and findings.

use super::{ListRows, paged};
use crate::id::{ReviewId, TaskId};
use crate::limits;
use crate::list::{FindingQuery, ReviewQuery, RoundQuery};
use crate::review::{Finding, Review, ReviewRound};
use crate::time::Timestamp;
use crate::world::{DecisionStop, TypedQuestion, World};

/// The maximum number of rounds of a review that are shown. The newest rounds are shown.
const ROUND_ROWS: u32 = 100;

#[derive(Debug, Clone, PartialEq)]
pub struct Reviewed {
    pub review: Review,
    /// The newest rounds of the review, oldest first.
    pub rounds: Vec<ReviewRound>,
    /// The findings of the review, in the order in which the reviewing agent first gave them.
    pub findings: Vec<Finding>,
}

pub fn review(world: &World, id: ReviewId) -> Result<Reviewed, DecisionStop> {
    let review = world.review(id)?;
    let after = review.next().saturating_sub(ROUND_ROWS);
    let rounds = RoundQuery { review: id, after, limit: ROUND_ROWS };
    let findings = FindingQuery { review: id, after: 0, limit: limits::FINDINGS_MAX };
    world.want([rounds.need(), findings.need()])?;
    Ok(Reviewed {
        review: review.clone(),
        rounds: world.ask(&rounds)?.clone(),
        findings: world.ask(&findings)?.clone(),
    })
}

/// Returns reviews, newest first.
pub fn reviews(
    world: &World,
    before: Option<(Timestamp, ReviewId)>,
    limit: u32,
) -> Result<ListRows<Review, (Timestamp, ReviewId)>, DecisionStop> {
    let list = ReviewQuery::All { before, limit: limit + 1 };
    Ok(paged(world.ask(&list)?, limit, |row: &Review| (row.opened, row.id)))
}

/// Returns the newest review without which the task cannot be completed in this attempt.
pub fn gating(world: &World, task: TaskId, attempt: u32) -> Result<Option<Reviewed>, DecisionStop> {
    let list = ReviewQuery::OfTask { task, limit: 20 };
    let own = |row: &&Review| row.gate.is_some_and(|gate| gate.attempt == attempt);
    let Some(found) = world.ask(&list)?.iter().find(own) else { return Ok(None) };
    review(world, found.id).map(Some)
}

impl Reviewed {
    pub fn last(&self) -> Option<&ReviewRound> {
        self.rounds.last()
    }
}
