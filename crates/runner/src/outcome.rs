//! Decides the effects of an agent's output. The runner uses this module after a turn, and the Stop hook uses it when
//! an agent in a person's own session stops. So an output has the same effects in both cases.
//!
//! ```text
//! last text ──> read ──> AgentAnswer ──> decide ──> Outcome ──> steps ──> one transaction
//!               (wire)   (codes, or      (pure:     (acts, and
//!                        AgentResult)    rules)     what follows)
//! ```
//!
//! Nothing here reads a file, a clock or the store. The callers gather the facts, execute the acts (effects on the
//! store) and inform people.

mod acts;
mod answer;
mod lesson;
mod progress;
mod repair;
pub mod route;
mod steps;
mod verdict;

pub use acts::{AfterOutcome, Outcome, OutcomeAct, OutcomeContext, PersonQuestion, block, decide};
pub use answer::{AgentAnswer, AgentResult, AnswerContext, AnswerForm, SaidReference, read};
pub use lesson::{FindingNote, Lesson};
pub use progress::note;
pub use repair::{AfterInvalid, RepairLimits, still_invalid};
pub use steps::{ProgressRecord, StepScope, steps};
pub use verdict::{OutputStatus, OutputVerdict};

/// The message to an agent whose output is not valid.
pub const REPAIR: &str = "Your output is not valid. Repair it and send the whole of it again.";
/// The message to an agent whose output failed its verification.
pub const VERIFICATION_FAILED: &str =
    "Your output was checked and failed. Fix it, and end again with your whole output.";

/// Cuts a text to the length of the longest reason that the store accepts. Replaces an empty text by a default.
pub fn cut(text: &str) -> String {
    const CHARS_MAX: usize = 8_000;
    let cut: String = text.chars().take(CHARS_MAX).collect();
    if cut.trim().is_empty() { "no reason was given".to_owned() } else { cut }
}
