//! Reviews (Agent Feedback Protocol 1.2): the layer between who wants something looked at and whichever agent looks.
//!
//! ```text
//! request ──> judge ──> round begins ──> provider ──> judge ──> round ends ──> response, stream
//!              │          (store)         ▲      │      │         (store)
//!              └─> INVALID_REQUEST        └ repair, twice, then INTERNAL_ERROR
//! ```
//!
//! It owns the session: its id, the order of iterations, what was found and what became of it. Whatever a provider does, the
//! requester gets a response that is well formed.

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
pub use round::{Answered, Bench, Round, open, round};

use agents::host::TURN;

/// Below a turn or a review nobody asks for another one: a provider could ask itself without end.
pub fn is_below_a_turn() -> bool {
    std::env::var_os(TURN).is_some_and(|turn| !turn.is_empty())
}

/// This process runs below a provider that is not in a turn of a task: it looks, and does nothing.
pub fn is_below_a_review() -> bool {
    std::env::var(TURN).is_ok_and(|turn| turn.parse::<engine::id::ReviewId>().is_ok())
}
