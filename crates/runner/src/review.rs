//! Runs reviews by the rules of the Agent Feedback Protocol 1.2. This module passes the request of a requester to the
//! agent that reviews (the provider), and passes the provider's response back to the requester.
//!
//! ```text
//! request ──> judge ──> round begins ──> provider ──> judge ──> round ends ──> response, stream
//!              │          (store)         ▲      │      │         (store)
//!              └─> INVALID_REQUEST        └ repair, twice, then INTERNAL_ERROR
//! ```
//!
//! This module owns the review session: its id, the order of its iterations, its findings and the decisions on them.
//! When the provider fails, the requester still gets a well-formed response.

pub mod ask;
pub mod claim_base;
pub mod program;
pub mod prompt;
pub mod provider;
pub mod request;
pub mod round;
pub mod show;
pub mod task_work;
pub mod work;

pub use provider::{NoProvider, Provider};
pub use round::{ReviewContext, ReviewResponse, RoundToRun, open, round};

use agents::host::TURN;

/// Returns true when the program of a turn or of a review started this process, directly or through other processes.
/// Such a process may not request a review: a reviewer could otherwise request reviews from itself without end.
pub fn is_below_a_turn() -> bool {
    std::env::var_os(TURN).is_some_and(|turn| !turn.is_empty())
}

/// Returns true when the program of a provider (an agent that reviews outside of any task's turn) started this process.
/// Such a process may only read.
pub fn is_below_a_review() -> bool {
    std::env::var(TURN).is_ok_and(|turn| turn.parse::<engine::id::ReviewId>().is_ok())
}
