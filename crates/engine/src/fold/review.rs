//! Turns the events of reviews into rows: rounds, findings, and the task that waits for a review.

use super::{Fold, Write};
use crate::event::Event;
use crate::review::{Finding, Review};

impl Fold<'_> {
    #[expect(clippy::wildcard_enum_match_arm, reason = "`apply` names every event and sends these four here")]
    pub(super) fn apply_to_review(&mut self, event: &Event) {
        match event {
            Event::ReviewOpened { review } => {
                self.review(review);
                if let Some(gate) = review.gate {
                    self.task(gate.task, |task| task.review = true);
                }
            }
            Event::RoundStarted { review, round, decided: findings }
            | Event::RoundEnded { review, round, findings } => {
                self.review(review);
                self.writes.push(Write::Round(round.clone()));
                findings.iter().for_each(|finding| self.finding(finding));
            }
            Event::FindingDecided { review, finding } => {
                self.review(review);
                self.finding(finding);
            }
            _ => {}
        }
    }

    fn review(&mut self, review: &Review) {
        self.world.reviews.insert(review.id, Some(review.clone()));
        self.writes.push(Write::Review(Box::new(review.clone())));
    }

    fn finding(&mut self, finding: &Finding) {
        self.writes.push(Write::Finding(Box::new(finding.clone())));
    }
}
