//! Reviews (Agent Feedback Protocol 1.2): the layer between a requester and the agent that reviews.
//!
//! ```text
//! request ──> judge ──> round begins ──> provider ──> judge ──> round ends ──> response, stream
//!              │          (store)         ▲      │      │         (store)
//!              └─> INVALID_REQUEST        └ repair, twice, then INTERNAL_ERROR
//! ```
//!
//! This module owns the session: its id, the order of iterations, the findings and their decisions. The requester gets
//! a well-formed response even when the provider fails.

pub mod ask;
pub mod base;
pub mod program;
pub mod prompt;
pub mod provider;
pub mod request;
pub mod round;
pub mod show;
pub mod task_work;
pub mod work;

pub use provider::{NoProvider, Provider};
pub use round::{Bench, ReviewResponse, RoundToRun, open, round};

use agents::host::TURN;

/// Tells whether this process runs below a turn or a review. No review may be requested there: a provider could ask
/// itself without end.
pub fn is_below_a_turn() -> bool {
    std::env::var_os(TURN).is_some_and(|turn| !turn.is_empty())
}

/// Tells whether this process runs below a provider outside of any task's turn. Such a process may only read.
pub fn is_below_a_review() -> bool {
    std::env::var(TURN).is_ok_and(|turn| turn.parse::<engine::id::ReviewId>().is_ok())
}
