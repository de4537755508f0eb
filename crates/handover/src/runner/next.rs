//! Decides the next step after the end of a turn, from the verdict on its output. The functions here are pure: they
//! read and write nothing.

use engine::task::BlockKind;
use serde::{Deserialize, Serialize};
use wire::envelope::Recommendation;
use wire::handoff::HandoffStatus;
use wire::output::{AgentOutput, OutputKind};

use super::chain::Chain;

/// The status that an output reports. Handoffs and envelopes have different words for the same status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Says {
    /// The work is done: `COMPLETE` in a handoff, `proceed` in an envelope.
    Done,
    /// The agent needs another turn: `IN_PROGRESS` in a handoff, `retry` in an envelope.
    GoesOn,
    /// The agent asks a question: `NEEDS_INPUT` in a handoff, `escalate` in an envelope.
    Asks,
    /// The agent asks for an approval: `APPROVAL_REQUEST` in a handoff.
    WantsApproval,
    Blocked,
}

/// The verdict on the output of a turn. The store keeps it with the turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputVerdict {
    /// The format of the output: `handoff` or `envelope`. `None` when the answer contains neither.
    pub kind: Option<String>,
    /// The status of the output. `None` when the output is not valid.
    pub says: Option<Says>,
    /// The codes of the errors in the output.
    pub codes: Vec<String>,
    pub warnings: Vec<String>,
    pub summary: String,
}

impl OutputVerdict {
    pub fn of(output: &AgentOutput<'_>, wanted: OutputKind) -> Self {
        let mut warnings = match output {
            AgentOutput::Handoff(verdict) => verdict.warnings.iter().map(wire::handoff::HandoffProblem::code).collect(),
            AgentOutput::Envelope(judged) => judged.report.codes().1,
            AgentOutput::Missing => Vec::new(),
        };
        let kind = output.kind();
        if kind.is_some_and(|kind| kind != wanted) {
            warnings.push("OTHER_OUTPUT_KIND".to_owned());
        }
        let (says, summary) = said(output).map_or((None, String::new()), |(says, summary)| (Some(says), summary));
        let word = |kind| match kind {
            OutputKind::Handoff => "handoff".to_owned(),
            OutputKind::Envelope => "envelope".to_owned(),
        };
        let codes = output.problems().into_iter().map(|(code, _)| code).collect();
        Self { kind: kind.map(word), says, codes, warnings, summary }
    }
}

fn said(output: &AgentOutput<'_>) -> Option<(Says, String)> {
    match output {
        AgentOutput::Handoff(verdict) => {
            let contract = verdict.contract.as_ref()?;
            let says = match contract.status() {
                HandoffStatus::Complete { .. } => Says::Done,
                HandoffStatus::InProgress => Says::GoesOn,
                HandoffStatus::NeedsInput => Says::Asks,
                HandoffStatus::ApprovalRequest { .. } => Says::WantsApproval,
                HandoffStatus::Blocked => Says::Blocked,
            };
            Some((says, contract.summary().unwrap_or_else(|| contract.next_action()).to_owned()))
        }
        AgentOutput::Envelope(judged) => {
            let output = judged.value.as_ref()?;
            let says = match output.recommendation {
                Recommendation::Proceed => Says::Done,
                Recommendation::Retry => Says::GoesOn,
                Recommendation::Escalate => Says::Asks,
            };
            Some((says, output.summary.to_string()))
        }
        AgentOutput::Missing => None,
    }
}

/// The next step of an attempt after the end of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NextStep {
    /// Applies the artifacts, verifies the output, merges the work and completes the task.
    Finish,
    /// Starts another turn of the same attempt, because the agent reported progress.
    GoOn,
    Ask,
    AskApproval,
    /// Blocks the task with the reason that the agent gave.
    Block,
    /// Sends the invalid output back to the agent with its error codes.
    Repair,
    /// Blocks the task, because more turns of this attempt would not help.
    GiveUp {
        kind: BlockKind,
        reason: String,
    },
}

/// The number of turns in a row that may report progress. At the next such report, the task is blocked, because the
/// agent does not finish.
const GOES_ON_MAX: u32 = 2;

/// Returns the next step after the end of a turn. `chain` sums up the stored turns of the attempt, including the turn
/// that just ended.
pub fn next(verdict: &OutputVerdict, chain: &Chain, repairs_max: u32) -> NextStep {
    let Some(says) = verdict.says else {
        if chain.repairs < repairs_max {
            return NextStep::Repair;
        }
        let codes = verdict.codes.iter().take(10).cloned().collect::<Vec<_>>().join(", ");
        let reason = format!("its output is still not valid after {} repairs: {codes}", chain.repairs);
        return NextStep::GiveUp { kind: BlockKind::VerificationFail, reason };
    };
    match says {
        Says::Done => NextStep::Finish,
        Says::GoesOn if chain.goes_on > GOES_ON_MAX => {
            let reason = format!(
                "IN_PROGRESS_LIMIT: it reported progress {} times in a row: {}",
                chain.goes_on, verdict.summary
            );
            NextStep::GiveUp { kind: BlockKind::Ambiguity, reason }
        }
        Says::GoesOn => NextStep::GoOn,
        Says::Asks => NextStep::Ask,
        Says::WantsApproval => NextStep::AskApproval,
        Says::Blocked => NextStep::Block,
    }
}
