//! The lessons of a handoff, that is, the parts of an agent's final report besides its status: knowledge about the
//! project, effects on other parts of the project, facts to remember, and the agent that should continue.

use std::collections::BTreeMap;

use engine::checkpoint::Kind;
use engine::command::Note;
use engine::review::{FindingDecision, Verdict};
use wire::handoff::{EvidenceNote, HandoffContract};
use wire::json::{Value, object};

use super::progress::note;

/// One lesson of a handoff (an agent's final report): a part that is recorded separately from the report's status.
#[derive(Debug, Clone, PartialEq)]
pub enum Lesson {
    /// Payloads to merge into the section `name` of the project context (facts that agents have learned), in the order
    /// of the handoff.
    Section {
        name: String,
        payloads: Vec<Value>,
    },
    Checkpoint(Box<Note>),
    /// The agent that should continue the work, as the handoff (an agent's final report) suggests.
    NextAgent(String),
}

/// Returns all lessons of a handoff (the parts of an agent's final report besides its status), in the order in which
/// they take effect.
pub(super) fn lessons(contract: &HandoffContract) -> Vec<Lesson> {
    let mut sections: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for update in contract.applied() {
        sections.entry(update.contract().to_owned()).or_default().push(update.payload());
    }
    let mut found: Vec<Lesson> =
        sections.into_iter().map(|(name, payloads)| Lesson::Section { name, payloads }).collect();
    found.extend(impacts(contract));
    found.extend(memory_candidates(contract));
    let next = contract.consolidation().map(|report| report.next_best_agent().value());
    if let Some(next) = next.filter(|next| *next != Value::Null && next.as_text() != Some("")) {
        found.push(Lesson::NextAgent(next.as_text().map_or_else(|| next.to_string(), str::to_owned)));
    }
    found
}

fn impacts(contract: &HandoffContract) -> Option<Lesson> {
    let impacts: Vec<String> = contract.evidence().cross_layer_impacts.iter().map(EvidenceNote::to_string).collect();
    if impacts.is_empty() {
        return None;
    }
    let detail = object([("cross_layer_impacts", impacts.clone().into())]);
    let summary = format!("affects other layers: {}", impacts.join("; "));
    Some(Lesson::Checkpoint(Box::new(note(Kind::Progress, &summary, Some(&detail)))))
}

fn memory_candidates(contract: &HandoffContract) -> Option<Lesson> {
    let memorials =
        contract.memorials().iter().map(|memorial| Value::from(format!("{}: {}", memorial.description, memorial.body)));
    let suggestions = contract.memory_suggestions().iter().map(|text| Value::from(text.as_str()));
    let candidates: Vec<Value> = memorials.chain(suggestions).collect();
    if candidates.is_empty() {
        return None;
    }
    let summary = format!("suggests {} things to remember", candidates.len());
    let detail = object([("memory_candidates", Value::List(candidates))]);
    Some(Lesson::Checkpoint(Box::new(note(Kind::Progress, &summary, Some(&detail)))))
}

/// A worker's decision on one finding of a review, as a note of the worker's output states it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FindingNote {
    /// The id of the finding in its review.
    pub finding: String,
    pub decision: FindingDecision,
}

impl FindingNote {
    /// Parses a note of the form `feedback ID accepted|rejected|partial: TEXT`. Returns `None` for any other note.
    pub(super) fn parse(note: &str) -> Option<Self> {
        let rest = note.trim().strip_prefix("feedback ")?.trim_start();
        let (finding, rest) = rest.split_once(char::is_whitespace)?;
        let (word, text) = rest.split_once(':').map_or((rest, ""), |(word, text)| (word, text));
        let verdict = Verdict::parse(word.trim())?;
        let explanation = Some(text.trim().to_owned()).filter(|text| !text.is_empty());
        Some(Self { finding: finding.to_owned(), decision: FindingDecision { verdict, code: None, explanation } })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_decides_on_a_finding() {
        let cases = [
            ("feedback missing-test-01 accepted: added one", Some(("missing-test-01", "accepted", Some("added one")))),
            ("  feedback a.b_c-123  rejected : out: of scope", Some(("a.b_c-123", "rejected", Some("out: of scope")))),
            ("feedback missing-test-01 partial", Some(("missing-test-01", "partial", None))),
            ("feedback missing-test-01", None),
            ("feedback missing-test-01 maybe: x", None),
            ("output_ref: a.txt", None),
            ("Feedback missing-test-01 accepted", None),
        ];
        for (note, expected) in cases {
            let found = FindingNote::parse(note);
            let found = found.as_ref().map(|FindingNote { finding, decision }| {
                (finding.as_str(), decision.verdict.as_str(), decision.explanation.as_deref())
            });
            assert_eq!(found, expected, "{note}");
        }
    }
}
