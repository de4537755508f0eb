//! Random test commands about reviews, with mostly sensible arguments.

use engine::command::{EndRound, FoundProblem, OpenReview, RoundAnswer, RoundEnd, StartRound};
use engine::id::{AgentId, ReviewId};
use engine::review::{FindingDecision, Review, ReviewRound, ReviewedVersion, RoundState, Verdict};
use engine::tables::Tables;
use engine::turn::{Spent, StoredObject};
use engine::{Actor, Caller, Command, Rights, Timestamp};

use super::plans::{maybe_text, text};
use super::script::ConformanceScript;

const NAMES: [&str; 5] = ["finding-one", "finding-two", "finding.three", "finding_four", "never-given"];

impl ConformanceScript {
    pub(super) fn review(&mut self, tables: &Tables) -> (Caller, Command) {
        match self.chance.below(20) {
            0..3 => self.open_review(tables),
            3..10 => self.start_round(tables),
            10..16 => self.end_round(tables),
            _ => self.decide_finding(tables),
        }
    }

    fn open_review(&mut self, tables: &Tables) -> (Caller, Command) {
        let held = self.held(tables).filter(|_| self.chance.percent(60));
        let caller = match held {
            Some((_, holder, _)) => Caller { agent: Some(holder), ..Caller::with_rights(Rights::Runner) },
            None => Self::person(),
        };
        let open = OpenReview {
            provider: self.chance.word_of(&["quinn", "judge"]),
            gate: held.map(|(task, _, attempt)| (task, attempt)),
            rounds_max: self.chance.percent(50).then(|| self.chance.between(0, 4)),
        };
        (caller, Command::OpenReview(open))
    }

    fn one_review(&mut self, tables: &Tables) -> Option<Review> {
        let all: Vec<Review> = tables.reviews.values().cloned().collect();
        self.chance
            .pick(&all.iter().map(|review| review.id).collect::<Vec<_>>())
            .and_then(|id| tables.reviews.get(&id).cloned())
    }

    /// Returns, in most cases, a caller that may act on the review.
    fn of_review(&mut self, tables: &Tables, review: Option<&Review>) -> Caller {
        let agent: Option<AgentId> = match review.map(|review| (review.gate, review.by)) {
            Some((Some(gate), _)) => tables.tasks.get(&gate.task).and_then(engine::task::Task::holder),
            Some((None, Actor::Agent(agent))) => Some(agent),
            Some((None, _)) | None => None,
        };
        match agent.filter(|_| self.chance.percent(80)) {
            Some(agent) => Caller { agent: Some(agent), ..Caller::with_rights(Rights::Runner) },
            None => Self::person(),
        }
    }

    fn decision(&mut self) -> FindingDecision {
        FindingDecision {
            verdict: self.chance.pick(Verdict::ALL).unwrap_or(Verdict::Accepted),
            code: maybe_text(&mut self.chance),
            explanation: maybe_text(&mut self.chance),
        }
    }

    fn start_round(&mut self, tables: &Tables) -> (Caller, Command) {
        let review = self.one_review(tables);
        let caller = self.of_review(tables, review.as_ref());
        let mut decisions = Vec::new();
        for name in NAMES {
            if self.chance.percent(30) {
                decisions.push((name.to_owned(), self.decision()));
            }
        }
        let next = review.as_ref().map_or(1, Review::next);
        let number = if self.chance.percent(90) { next } else { self.chance.between(0, 3) };
        let bytes = u64::from(self.chance.between(0, u32::MAX));
        let reference = maybe_text(&mut self.chance);
        let host = self.chance.word_of(&["here", "there"]);
        let until = Timestamp(self.now + i64::from(self.chance.between(0, 1_000_000)));
        let start = StartRound {
            review: review.map_or(ReviewId::LAST, |review| review.id),
            number,
            turn: self.chance.key(&tables.turns),
            artifact: ReviewedVersion {
                media_type: "text/plain".to_owned(),
                reference,
                request: StoredObject { hash: "00ff".to_owned(), bytes },
            },
            decisions,
            host,
            until,
        };
        (caller, Command::StartRound(Box::new(start)))
    }

    fn end_round(&mut self, tables: &Tables) -> (Caller, Command) {
        let running = |round: &&ReviewRound| matches!(round.state, RoundState::Running { .. });
        let running: Vec<(ReviewId, u32)> =
            tables.rounds.values().filter(running).map(|round| (round.review, round.number)).collect();
        let known = self.chance.pick(&running).filter(|_| self.chance.percent(90));
        let (review, number) = known.or_else(|| self.chance.key(&tables.rounds)).unwrap_or((ReviewId::LAST, 1));
        let tries = tables.rounds.get(&(review, number)).map_or(1, |round| round.tries);
        let spent = Spent {
            usd_micros: self.chance.percent(50).then_some(7),
            tokens: self.chance.percent(50).then_some(9),
            tokens_in: self.chance.percent(50).then_some(5),
            tokens_out: self.chance.percent(50).then_some(4),
            ms: u64::from(self.chance.between(0, 5)),
            turns: 1,
        };
        let conversation = self.chance.percent(50).then(|| "c-1".to_owned());
        let end = if self.chance.percent(25) {
            let message = text(&mut self.chance);
            RoundEnd::Failed { code: "INTERNAL_ERROR".to_owned(), message, conversation, spent }
        } else {
            let mut found = Vec::new();
            for name in &NAMES[..4] {
                if self.chance.percent(40) {
                    found.push(FoundProblem {
                        name: (*name).to_owned(),
                        aspect: text(&mut self.chance),
                        description: text(&mut self.chance),
                        recommendation: text(&mut self.chance),
                    });
                }
            }
            let response = self.chance.percent(50).then(|| StoredObject { hash: "ff00".to_owned(), bytes: 3 });
            let summary = text(&mut self.chance);
            let answer = RoundAnswer { confidence: "high".to_owned(), summary, found, conversation, response, spent };
            RoundEnd::Answered(answer)
        };
        let tries = if self.chance.percent(95) { tries } else { tries + 1 };
        let end = EndRound { review, number, tries, end };
        (Caller::with_rights(Rights::Runner), Command::EndRound(Box::new(end)))
    }

    fn decide_finding(&mut self, tables: &Tables) -> (Caller, Command) {
        let known = self.chance.key(&tables.findings);
        let (review, finding) = known.unwrap_or_else(|| (ReviewId::LAST, NAMES[0].to_owned()));
        let finding = if self.chance.percent(90) { finding } else { "never-given".to_owned() };
        let caller = self.of_review(tables, tables.reviews.get(&review));
        (caller, Command::DecideFinding { review, finding, decision: self.decision() })
    }
}
