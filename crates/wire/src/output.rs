//! Finds the document with which an agent ends its turn: a handoff contract or an output envelope. The document is part
//! of the last text that the agent wrote.
//!
//! ```
//! use wire::output::{AgentOutput, find};
//!
//! let said = "All done.\n```json\n{\"success\": true, \"summary\": \"Done.\", \"artifacts\": [], \"recommendation\": \"proceed\"}\n```";
//! assert!(matches!(find(said, &Default::default()), AgentOutput::Envelope(found) if found.value.is_some()));
//! ```

use crate::document::JudgedDocument;
use crate::envelope;
use crate::handoff::{self, HandoffContext, HandoffVerdict, fence};
use crate::json::parse_object;

/// The document with which an agent ends its turn, found in the agent's text and already checked. Other documents in
/// the text are ignored.
#[derive(Debug, Clone)]
pub enum AgentOutput<'t> {
    Handoff(Box<HandoffVerdict>),
    Envelope(Box<JudgedDocument<'t, envelope::EnvelopeOutput>>),
    /// The agent's text has neither a handoff contract nor an output envelope.
    Missing,
}

/// The kind of document with which an agent ends its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputKind {
    Handoff,
    Envelope,
}

impl AgentOutput<'_> {
    pub fn kind(&self) -> Option<OutputKind> {
        match self {
            Self::Handoff(_) => Some(OutputKind::Handoff),
            Self::Envelope(_) => Some(OutputKind::Envelope),
            Self::Missing => None,
        }
    }

    pub fn is_valid(&self) -> bool {
        match self {
            Self::Handoff(verdict) => verdict.is_valid(),
            Self::Envelope(judged) => judged.value.is_some(),
            Self::Missing => false,
        }
    }

    /// Returns the problems in the agent's output that the agent must repair. Each problem has a code and one line that
    /// explains it.
    pub fn problems(&self) -> Vec<(String, String)> {
        match self {
            Self::Handoff(verdict) => {
                let reason = verdict.reason.as_ref().map(|reason| (reason.code().to_owned(), reason.message()));
                let found = verdict.missing.iter().chain(&verdict.invalid);
                // Without a readable handoff contract, every field counts as missing. The reason already explains this,
                // so the list of missing fields is left out.
                let found = found.filter(|_| reason.is_none()).map(|problem| (problem.code(), problem.message()));
                reason.clone().into_iter().chain(found).collect()
            }
            Self::Envelope(judged) => {
                let report = &judged.report;
                report.errors().iter().map(|problem| (report.code(problem), report.message(problem))).collect()
            }
            Self::Missing => {
                let message = "the last text holds neither a block ```agent_contract_handoff nor a JSON object";
                vec![("NO_OUTPUT".to_owned(), message.to_owned())]
            }
        }
    }
}

/// Finds the document with which an agent ends its turn. If the text has a block that is marked as handoff contract,
/// that block is the document. Otherwise the JSON object in the text is checked as an output envelope.
pub fn find<'t>(text: &'t str, context: &HandoffContext<'_>) -> AgentOutput<'t> {
    let scan = fence::scan(text);
    if scan.opened > 0 {
        return AgentOutput::Handoff(Box::new(handoff::judge(text, context)));
    }
    match object_in(text) {
        Some(found) => AgentOutput::Envelope(Box::new(envelope::judge_output(found.as_bytes()))),
        None => AgentOutput::Missing,
    }
}

/// Returns the JSON object in the text of an agent. Tries the whole text first, then the last closed code block that is
/// marked as JSON or not marked, then the text from the last line that begins with a brace.
pub fn object_in(text: &str) -> Option<&str> {
    let fenced = fence::scan(text).json.map(|block| block.body);
    let candidates = [Some(text), fenced, last_brace(text).map(|start| &text[start..])];
    candidates.into_iter().flatten().map(str::trim).find(|candidate| parse_object(candidate).is_ok())
}

/// Returns the byte offset at which the last line with an opening brace as its first character begins.
fn last_brace(text: &str) -> Option<usize> {
    let inner = text.rfind("\n{").map(|at| at + 1);
    inner.or_else(|| text.starts_with('{').then_some(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENVELOPE: &str = r#"{"success": true, "summary": "S", "artifacts": [], "recommendation": "proceed"}"#;

    fn kind(text: &str) -> &'static str {
        match find(text, &HandoffContext::default()) {
            AgentOutput::Handoff(verdict) if verdict.is_valid() => "handoff",
            AgentOutput::Handoff(_) => "bad handoff",
            AgentOutput::Envelope(found) if found.value.is_some() => "envelope",
            AgentOutput::Envelope(_) => "bad envelope",
            AgentOutput::Missing => "missing",
        }
    }

    #[test]
    fn the_first_place_that_holds_an_object_is_judged_and_no_other() {
        let cases = [
            (ENVELOPE.to_owned(), "envelope"),
            (format!("\u{a0}\n {ENVELOPE} \n"), "envelope"),
            (format!("Done.\n```json\n{ENVELOPE}\n```\nBye."), "envelope"),
            (format!("Done.\n```\n{ENVELOPE}\n```"), "envelope"),
            (format!("Done.\n~~~ JSON\n{ENVELOPE}\n~~~"), "envelope"),
            (format!("Done.\n```rust\n{ENVELOPE}\n```"), "missing"),
            (format!("Done.\n{ENVELOPE}"), "envelope"),
            (format!("Done.\n{ENVELOPE}\nBye."), "missing"),
            (format!("Done. {ENVELOPE}"), "missing"),
            // The expected output is the last code block, even when an earlier block has a valid object.
            (format!("```json\n{ENVELOPE}\n```\n```json\n{{}}\n```"), "bad envelope"),
            // When the last code block has no JSON object, the expected output is the text from the last line that
            // begins with a brace.
            (format!("```\nls\n```\n{ENVELOPE}"), "envelope"),
            (format!("```json\n[1]\n```\nx\n{ENVELOPE}"), "envelope"),
            ("{\"a\": 1}\n".to_owned(), "bad envelope"),
            (String::new(), "missing"),
            ("no".to_owned(), "missing"),
            (format!("```agent_contract_handoff\n{{}}\n```\n{ENVELOPE}"), "bad handoff"),
            (format!("```agent_contract_handoff\n{ENVELOPE}"), "bad handoff"),
        ];
        for (text, expected) in cases {
            assert_eq!(kind(&text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_told_with_codes() {
        let codes = |text: &str| -> Vec<String> {
            find(text, &HandoffContext::default()).problems().into_iter().map(|(code, _)| code).collect()
        };
        assert_eq!(codes("x"), ["NO_OUTPUT"]);
        assert_eq!(codes("```agent_contract_handoff\nx"), ["UNCLOSED_BLOCK"]);
        assert_eq!(codes(ENVELOPE), Vec::<String>::new());
        assert!(codes("{}").contains(&"MISSING:/success".to_owned()));
    }
}
