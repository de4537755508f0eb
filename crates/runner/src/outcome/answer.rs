//! Reads the last text of an agent in a turn, and checks the output in it. All effects of the output start from the
//! result of this module.

use engine::Json;
use engine::id::AgentId;
use wire::envelope;
use wire::handoff::{EvidenceNote, HandoffContext, HandoffContract, HandoffProblem};
use wire::json::Value;
use wire::output::{AgentOutput, OutputKind, find};
use wire::translate::TurnAct;

use super::lesson::{FindingNote, Lesson, lessons};

/// The summary of a program that printed nothing.
const SILENT: &str = "finished without a message";
/// The longest summary of an answer in plain text, in characters. The summary is the last line of the answer, and a
/// longer line is cut.
const SUMMARY_CHARS_MAX: usize = 2_000;

/// The facts against which the answer of an agent is checked.
#[derive(Debug, Clone, Copy)]
pub struct AnswerContext<'a> {
    pub wanted: AnswerForm,
    /// The agent that a handoff (an agent's final report) must name as its author. `None` when any agent may be the
    /// author.
    pub agent: Option<AgentId>,
    /// The facts about the task that the agent got (the INPUT document of the handoff protocol), or only the facts
    /// against which a handoff is checked. `None` when the agent has to answer with an envelope.
    pub input: Option<&'a Value>,
}

/// The form of the answer that an agent was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerForm {
    /// The agent must answer in this output format, handoff or envelope. An output in the other of these two formats is
    /// accepted with a warning.
    Document(OutputKind),
    /// The agent answers with plain text. The exit code of its program says that it is done, and the last line is the
    /// summary.
    Plain,
}

/// An agent's last text after it was checked: a valid result, or the problems that the agent must repair.
#[derive(Debug, Clone)]
pub struct AgentAnswer {
    /// The format of the output in the text. `None` when the text contains no output.
    pub kind: Option<OutputKind>,
    /// The problems of the answer: error codes, each with its explanation.
    pub problems: Vec<(String, String)>,
    /// The codes of the warnings about the answer.
    pub warnings: Vec<String>,
    pub result: Option<AgentResult>,
}

/// Everything that a valid output says. Handoffs and envelopes, the two output formats, both become this type.
#[derive(Debug, Clone)]
pub struct AgentResult {
    pub act: TurnAct,
    pub summary: String,
    /// The value of `success` in an envelope. `None` for a handoff, the other output format, which has no such field.
    pub success: Option<bool>,
    /// The notes of the output: the field `notes` of an envelope, or the field `key_outputs` of a handoff. Envelope and
    /// handoff are the two output formats.
    pub notes: Vec<String>,
    pub artifacts: Vec<envelope::Artifact>,
    pub reference: SaidReference,
    pub lessons: Vec<Lesson>,
    /// The agent's decisions on findings of a review, read from the notes.
    pub findings: Vec<FindingNote>,
}

/// The texts of an output that may contain the reference of its result (`output_ref`, for example a path).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SaidReference {
    pub summary: String,
    /// The notes of the output, in their order: `notes` of an envelope, or the texts among `key_outputs` of a handoff.
    pub notes: Vec<String>,
}

/// Reads the last text of an agent in the form that the agent was asked for, and checks it.
pub fn read(text: &str, context: &AnswerContext<'_>) -> AgentAnswer {
    match context.wanted {
        AnswerForm::Document(wanted) => read_document(text, wanted, context),
        AnswerForm::Plain => AgentAnswer {
            kind: None,
            problems: Vec::new(),
            warnings: Vec::new(),
            result: Some(AgentResult::of_plain(text)),
        },
    }
}

/// Reads a text as a handoff or an envelope, which are the two output formats, and checks it.
fn read_document(text: &str, wanted: OutputKind, context: &AnswerContext<'_>) -> AgentAnswer {
    let alias = context.agent.map(wire::handoff::alias);
    let handoff = HandoffContext { input: context.input, dispatch_agent_id: alias.as_deref() };
    let found = find(text, &handoff);
    let kind = found.kind();
    let output = match (kind, wanted) {
        // If the text has no output at all, an agent that must write a handoff gets the problem that the block with the
        // handoff is missing.
        (None, OutputKind::Handoff) => AgentOutput::Handoff(Box::new(wire::handoff::judge(text, &handoff))),
        (Some(_), _) | (None, OutputKind::Envelope) => found,
    };
    let mut warnings = match &output {
        AgentOutput::Handoff(verdict) => verdict.warnings.iter().map(HandoffProblem::code).collect(),
        AgentOutput::Envelope(judged) => judged.report.codes().1,
        AgentOutput::Missing => Vec::new(),
    };
    if kind.is_some_and(|kind| kind != wanted) {
        warnings.push("OTHER_OUTPUT_KIND".to_owned());
    }
    let problems = output.problems();
    let result = match output {
        AgentOutput::Handoff(verdict) => verdict.contract.as_ref().map(AgentResult::of_handoff),
        AgentOutput::Envelope(judged) => judged.value.as_ref().map(AgentResult::of_envelope),
        AgentOutput::Missing => None,
    };
    AgentAnswer { kind, problems, warnings, result }
}

impl AgentAnswer {
    /// Makes a valid answer invalid, because the files that it contains could not be written.
    pub fn reject(&mut self, codes: Vec<String>) {
        self.result = None;
        self.problems = codes.into_iter().map(|code| (code, String::new())).collect();
    }
}

impl AgentResult {
    fn of_handoff(contract: &HandoffContract) -> Self {
        let notes: Vec<String> = contract.evidence().key_outputs.iter().map(ToString::to_string).collect();
        let texts = contract.evidence().key_outputs.iter().filter_map(|note| match note {
            EvidenceNote::Text(text) => Some(text.clone()),
            EvidenceNote::Record(_) => None,
        });
        let summary = contract.summary().unwrap_or_else(|| contract.next_action()).to_owned();
        let reference = SaidReference { summary: summary.clone(), notes: texts.collect() };
        Self {
            act: TurnAct::of_handoff(contract),
            summary,
            success: None,
            findings: reference.notes.iter().filter_map(|note| FindingNote::parse(note)).collect(),
            notes,
            artifacts: Vec::new(),
            reference,
            lessons: lessons(contract),
        }
    }

    fn of_envelope(output: &envelope::EnvelopeOutput) -> Self {
        let notes: Vec<String> =
            output.notes.get().iter().flat_map(|notes| &notes.0).map(ToString::to_string).collect();
        let summary = output.summary.to_string();
        Self {
            act: TurnAct::of_output(output),
            success: Some(output.success),
            findings: notes.iter().filter_map(|note| FindingNote::parse(note)).collect(),
            reference: SaidReference { summary: summary.clone(), notes: notes.clone() },
            summary,
            notes,
            artifacts: output.artifacts.0.clone(),
            lessons: Vec::new(),
        }
    }

    /// Returns the result of a program that answers in plain text: its work is done, and its last line is the summary.
    fn of_plain(text: &str) -> Self {
        let last = text.lines().rev().map(str::trim).find(|line| !line.is_empty());
        let summary: String = last.unwrap_or(SILENT).chars().take(SUMMARY_CHARS_MAX).collect();
        Self {
            act: TurnAct::Complete { outcome: summary.clone(), detail: Json::from_stored("{}".to_owned()) },
            success: Some(true),
            findings: Vec::new(),
            reference: SaidReference { summary: summary.clone(), notes: Vec::new() },
            summary,
            notes: Vec::new(),
            artifacts: Vec::new(),
            lessons: Vec::new(),
        }
    }

    /// Returns the files that the output contains, as paths relative to the worktree.
    pub fn files(&self) -> Vec<String> {
        self.artifacts.iter().map(|artifact| artifact.path.to_string()).collect()
    }

    /// Returns the summary of a finished task. A handoff (an agent's final report) without a summary is summed up by
    /// its key outputs.
    pub fn outcome(&self) -> &str {
        match &self.act {
            TurnAct::Complete { outcome, .. } if !outcome.trim().is_empty() => outcome,
            TurnAct::Complete { .. }
            | TurnAct::Continue { .. }
            | TurnAct::Ask { .. }
            | TurnAct::RequestApproval { .. }
            | TurnAct::Block { .. } => &self.summary,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codes(text: &str, wanted: OutputKind) -> Vec<String> {
        let wanted = AnswerForm::Document(wanted);
        let answer = read(text, &AnswerContext { wanted, agent: None, input: None });
        answer.problems.into_iter().map(|(code, _)| code).collect()
    }

    #[test]
    fn a_text_without_output_names_the_wanted_format() {
        assert_eq!(codes("All done.", OutputKind::Handoff), ["NO_BLOCK"]);
        assert_eq!(codes("All done.", OutputKind::Envelope), ["NO_OUTPUT"]);
    }

    #[test]
    fn the_last_line_of_a_plain_answer_is_the_summary() {
        let envelope = r#"{"success": false, "summary": "S", "artifacts": [], "recommendation": "retry"}"#;
        for (text, wanted) in [
            ("added greet()\n", "added greet()"),
            ("reading\nwriting\n  done  \n\n", "done"),
            ("", SILENT),
            // A program that answers in plain text may print anything. Even an envelope (a JSON object) in its text is
            // not read as a document.
            (envelope, envelope),
        ] {
            let answer = read(text, &AnswerContext { wanted: AnswerForm::Plain, agent: None, input: None });
            let result = answer.result.unwrap();
            assert_eq!((result.outcome(), result.summary.as_str()), (wanted, wanted), "{text:?}");
            assert!(matches!(result.act, TurnAct::Complete { .. }), "{text:?}");
            assert!(answer.problems.is_empty() && result.artifacts.is_empty(), "{text:?}");
        }
    }

    #[test]
    fn the_other_format_is_accepted_with_a_warning() {
        let text = r#"{"success": true, "summary": "S", "artifacts": [], "recommendation": "proceed"}"#;
        let context = AnswerContext { wanted: AnswerForm::Document(OutputKind::Handoff), agent: None, input: None };
        let answer = read(text, &context);
        assert_eq!((answer.warnings, answer.result.is_some()), (vec!["OTHER_OUTPUT_KIND".to_owned()], true));
    }
}
