//! The verdict on the output of a turn, in the form in which the store keeps it with the turn.

use engine::turn::Turn;
use serde::{Deserialize, Serialize};
use wire::output::OutputKind;
use wire::translate::TurnAct;

use super::answer::AgentAnswer;

/// The status that an agent's output reports, without its texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputStatus {
    Done,
    #[serde(rename = "goes_on")]
    Continues,
    Asks,
    WantsApproval,
    Blocked,
}

impl OutputStatus {
    pub fn of(act: &TurnAct) -> Self {
        match act {
            TurnAct::Complete { .. } => Self::Done,
            TurnAct::Continue { .. } => Self::Continues,
            TurnAct::Ask { .. } => Self::Asks,
            TurnAct::RequestApproval { .. } => Self::WantsApproval,
            TurnAct::Block { .. } => Self::Blocked,
        }
    }
}

/// The verdict on the output of a turn, which the store keeps with the turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputVerdict {
    /// The format of the output: `handoff` or `envelope`. `None` when the answer contains neither.
    pub kind: Option<String>,
    /// The status of the output. `None` when the output is not valid.
    pub says: Option<OutputStatus>,
    /// The codes of the errors in the output. The list is empty for a valid output.
    pub codes: Vec<String>,
    pub warnings: Vec<String>,
    pub summary: String,
}

impl OutputVerdict {
    pub fn of(answer: &AgentAnswer) -> Self {
        let word = |kind: OutputKind| match kind {
            OutputKind::Handoff => "handoff".to_owned(),
            OutputKind::Envelope => "envelope".to_owned(),
        };
        Self {
            kind: answer.kind.map(word),
            says: answer.result.as_ref().map(|result| OutputStatus::of(&result.act)),
            codes: answer.problems.iter().map(|(code, _)| code.clone()).collect(),
            warnings: answer.warnings.clone(),
            summary: answer.result.as_ref().map(|result| result.summary.clone()).unwrap_or_default(),
        }
    }

    /// Reads the verdict that the store keeps with a turn. Returns `None` for a turn without a verdict: its program
    /// gave no answer, or the turn has not ended.
    pub fn of_turn(turn: &Turn) -> Option<Self> {
        Self::parse(turn.ended()?.verdict.as_ref()?.as_str())
    }

    pub fn parse(stored: &str) -> Option<Self> {
        serde_json::from_str(stored).ok()
    }
}
