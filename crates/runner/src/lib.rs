//! The runner claims tasks for the agents that the project's settings name, and runs their programs turn by turn (one
//! turn is one run of a program). It brings each task to a checked end, or passes the task to a person or an agent
//! that can decide.
//!
//! ```text
//!   claim ──> turn ──> output ──> step ──┬─> repair, continue       another turn of the same attempt
//!             (host,    (wire)   (pure)  ├─> ask, approval          the task waits for a person
//!             adapter)                   ├─> artifacts, verify, merge, complete
//!                                        └─> blocked, over budget   routed to a person or agent that can decide
//! ```

pub mod artifacts;
pub mod ask;
pub mod attempt;
pub mod claim;
pub mod complete;
mod finish;
mod look;
pub mod outcome;
pub mod plan_draft;
pub mod review;
pub mod screen;
pub mod turn;
pub mod turn_proof;
pub mod verify;
