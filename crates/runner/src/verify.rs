//! Verification: compares the output of a task with its contract.
//!
//! ```text
//! brief, settings ──> Contract ─┐
//! result of the turn ──> Facts ─┴─> reference ──> text ──> schema ──> checks ──> Verified      mechanical, by us
//!                                                                         └─> ask ──> judge    semantic, by an agent
//! ```
//!
//! A verification reports all problems together, because the agent gets only one more try to fix them.

mod brief;
mod changed;
mod check;
mod contract;
mod evaluation;
mod evidence;
mod file;
mod mechanical;
pub mod project;
mod reference;
mod run;
mod schema;
mod tree;

pub use crate::outcome::SaidReference;
pub use brief::{BadBrief, stored_brief};
pub use check::CheckPlace;
pub use contract::{Unresolved, VerifiedContract, resolve, survey};
pub use evaluation::{Criterion, EvaluatorQuestion, Judgement, ask, judge};
pub use evidence::{
    CheckEnded, CheckResult, Evaluation, EvidenceCode, JudgedOutput, VerificationEvidence, VerificationProblem,
    plain_tail,
};
pub use mechanical::{VerificationProgress, Verified, verify};
pub use reference::{FoundReference, TurnFacts, find};
pub use run::{EvaluatorAnswer, VerificationEnd, VerificationFound, VerificationOrder, failed_reason, verify_output};
pub use schema::Schema;
pub use tree::{CheckedTree, tree};

use wire::message::Brief;

/// Returns true when a task with this brief must pass a verification before it can be completed. The engine gets the
/// same answer from the crate `wire` when the task is planned.
pub fn needs_verification(brief: &Brief) -> bool {
    brief.output_contract.is_verified()
}

/// A failure of the machine, not of the agent, during a verification. The output then has no verification result,
/// neither pass nor fail.
#[derive(Debug, thiserror::Error)]
pub enum VerifyFault {
    #[error("run the check `{command}`")]
    Check {
        command: String,
        #[source]
        cause: std::io::Error,
    },
    #[error("the result of the check `{command}` was lost: {why}")]
    Lost { command: String, why: String },
    #[error("read the output")]
    Output(#[source] std::io::Error),
}
