//! The verbs (command words) of test scripts for reviews, with their rounds and findings.

use engine::command::{EndRound, FoundProblem, OpenReview, RoundAnswer, RoundEnd, StartRound};
use engine::id::ReviewId;
use engine::review::{FindingDecision, ReviewedVersion, Verdict};
use engine::turn::{Spent, StoredObject};
use engine::{Command, Timestamp};

use crate::bench::{Bench, Words};

/// Reads a command about reviews. Scripts name reviews by their number, for example `review1`.
pub(crate) fn command(bench: &mut Bench, verb: &str, words: &mut Words) -> Result<Command, String> {
    if verb == "review" {
        let provider = words.word("a provider")?;
        let gate = words.named("gate");
        let attempt = words.number("attempt")?.unwrap_or(1);
        let gate = gate.map(|task| (bench.task(&task), attempt));
        return Ok(Command::OpenReview(OpenReview { provider, gate, rounds_max: words.number("rounds")? }));
    }
    let review = words.word("a review")?;
    let review = bench.known("review", &review).and_then(|id| id.parse().ok()).unwrap_or(ReviewId::LAST);
    if verb == "decide" {
        let (finding, verdict) = (words.word("a finding")?, words.word("a verdict")?);
        return Ok(Command::DecideFinding { review, finding, decision: decision(&verdict, words.maybe())? });
    }
    let number = words.word("a number")?.parse().map_err(|_| "which round")?;
    if verb == "round" {
        let minutes: i64 = words.number("minutes")?.unwrap_or(60);
        let mut decisions = Vec::new();
        for verdict in Verdict::ALL {
            for name in words.list(verdict.as_str()) {
                decisions.push((name, decision(verdict.as_str(), None)?));
            }
        }
        let start = StartRound {
            review,
            number,
            turn: None,
            artifact: ReviewedVersion {
                media_type: "text/plain".to_owned(),
                reference: words.named("shows"),
                request: StoredObject { hash: "00".to_owned(), bytes: 2 },
            },
            decisions,
            host: words.named("host").unwrap_or_else(|| "here".to_owned()),
            until: Timestamp(bench.now.0 + minutes * 60_000),
        };
        return Ok(Command::StartRound(Box::new(start)));
    }
    let tries = words.number("tries")?.unwrap_or(1);
    let end = if verb == "fails" {
        RoundEnd::Failed {
            code: "INTERNAL_ERROR".to_owned(),
            message: "it died".to_owned(),
            conversation: None,
            spent: Spent::default(),
        }
    } else {
        let found = |name: String| FoundProblem {
            name,
            aspect: "a".to_owned(),
            description: "d".to_owned(),
            recommendation: "r".to_owned(),
        };
        RoundEnd::Answered(RoundAnswer {
            confidence: "high".to_owned(),
            summary: "fine".to_owned(),
            found: words.list("found").into_iter().flat_map(|text| many(&text)).map(found).collect(),
            conversation: None,
            response: None,
            spent: Spent::default(),
        })
    };
    Ok(Command::EndRound(Box::new(EndRound { review, number, tries, end })))
}

/// Expands `x*3` to `x1`, `x2`, `x3`.
fn many(text: &str) -> Vec<String> {
    match text.split_once('*').and_then(|(name, count)| Some((name, count.parse::<u32>().ok()?))) {
        Some((name, count)) => (1..=count).map(|number| format!("{name}{number}")).collect(),
        None => vec![text.to_owned()],
    }
}

fn decision(verdict: &str, explanation: Option<String>) -> Result<FindingDecision, String> {
    let verdict = Verdict::parse(verdict).ok_or("no such verdict")?;
    Ok(FindingDecision { verdict, code: None, explanation })
}
