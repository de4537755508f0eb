//! Verification: compares the output of a task with its contract.
//!
//! ```text
//! brief, settings ──> Contract ─┐
//! result of the turn ──> Facts ─┴─> reference ──> text ──> schema ──> checks ──> Verified      mechanical, by us
//!                                                                         └─> ask ──> judge    semantic, by an agent
//! ```
//!
//! A verification reports all problems at once, because the agent gets only one more try to fix them.

mod changed;
mod check;
mod contract;
mod evaluation;
mod evidence;
mod file;
mod finish;
mod mechanical;
mod reference;
mod schema;
mod tree;

pub(crate) use changed::{ChangedCheck, CheckAnswer, CheckWait};
pub use check::{CheckPlace, KEPT};
pub use contract::{Unresolved, VerifiedContract, resolve, survey};
pub use evaluation::{Criterion, EvaluatorQuestion, Judgement, ask, judge};
pub use evidence::{
    CheckEnded, CheckResult, Evaluation, EvidenceCode, JudgedOutput, VerificationEvidence, VerificationProblem,
};
pub use finish::{Completed, CompletionOrder, Finished, Unfinished, finish};
pub use mechanical::{VerificationProgress, Verified, verify};
pub use reference::{FoundReference, SaidReference, TurnFacts, find};
pub use schema::Schema;
pub use tree::{CheckedTree, tree};

use wire::message::Brief;

/// Tells whether a task must pass a verification before it can be completed. The crate `wire` tells the engine the same
/// when the task is planned.
pub fn needs_verification(brief: &Brief) -> bool {
    brief.output_contract.is_verified()
}

/// The failures of the machine, not of the agent. The output then has no verification result, neither pass nor fail.
#[derive(Debug, thiserror::Error)]
pub enum VerifyFault {
    #[error("run the check `{command}`")]
    Check {
        command: String,
        #[source]
        cause: std::io::Error,
    },
    #[error("the check `{command}` was lost: {why}")]
    Lost { command: String, why: String },
    #[error("read the output")]
    Output(#[source] std::io::Error),
}
