//! The runner claims tasks for the agents of the settings and runs their programs turn by turn. It brings each task to
//! a verified end, or passes the task to a person or agent that can decide.
//!
//! ```text
//!   claim ──> turn ──> output ──> next ──┬─> repair, continue       another turn of the same attempt
//!             (host,    (wire)   (pure)  ├─> ask, approval          the task waits for a person
//!             adapter)                   ├─> artifacts, verify, merge, complete
//!                                        └─> blocked, over budget   routed to a person or agent that can decide
//! ```

pub mod artifacts;
pub(crate) mod asks;
pub mod attempt;
pub mod brief;
pub mod chain;
mod evaluate;
mod finish;
mod fit;
mod judge;
pub mod learn;
mod lease;
pub mod next;
pub mod open;
pub mod place;
pub mod plan_file;
mod prospect;
mod remains;
mod review;
pub mod route;
pub mod run;
pub mod screen;
pub mod shop;
pub mod step;
mod tell;
pub(crate) mod turn;
pub mod verify;
