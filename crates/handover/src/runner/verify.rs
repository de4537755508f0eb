//! Verification: compares the output of a task with its contract.
//!
//! ```text
//! brief, settings ──> Contract ─┐
//! result of the turn ──> Facts ─┴─> reference ──> text ──> schema ──> checks ──> Verified      mechanical, by us
//!                                                                         └─> ask ──> judge    semantic, by an agent
//! ```
//!
//! All problems are reported at once, because the agent has only one more try.

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
pub use check::{KEPT, Place};
pub use contract::{Contract, Unresolved, resolve, survey};
pub use evaluation::{Asked, Criterion, Judgement, ask, judge};
pub use evidence::{Checked, Code, Ended, Evaluation, Evidence, Output, Problem};
pub use finish::{Completed, Finished, Order, Unfinished, finish};
pub use mechanical::{Progress, Verified, verify};
pub use reference::{Facts, Found, Said, find};
pub use schema::Schema;
pub use tree::{Tree, tree};

use wire::message::Brief;

/// Tells whether a task can be completed only by its verification. `wire` gives the engine the same answer when the
/// task is planned.
pub fn needs_verification(brief: &Brief) -> bool {
    brief.output_contract.is_verified()
}

/// The failures of the machine, not of the agent, that leave an output without a result.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
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
