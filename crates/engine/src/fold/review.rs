//! Turns the events of reviews into database rows to write: rounds, findings, and the task that waits for a review.

use super::{Fold, Write};
use crate::review::{Finding, Review, ReviewRound};

impl Fold<'_> {
    pub(super) fn review_opened(&mut self, review: &Review) {
        self.review(review);
        if let Some(gate) = review.gate {
            self.task(gate.task, |task| task.review = true);
        }
    }

    pub(super) fn round_changed(&mut self, review: &Review, round: &ReviewRound, findings: &[Finding]) {
        self.review(review);
        self.writes.push(Write::Round(Box::new(round.clone())));
        findings.iter().for_each(|finding| self.finding(finding));
    }

    pub(super) fn finding_decided(&mut self, review: &Review, finding: &Finding) {
        self.review(review);
        self.finding(finding);
    }

    fn review(&mut self, review: &Review) {
        self.world.reviews.insert(review.id, Some(review.clone()));
        self.writes.push(Write::Review(Box::new(review.clone())));
    }

    fn finding(&mut self, finding: &Finding) {
        self.writes.push(Write::Finding(Box::new(finding.clone())));
    }
}
