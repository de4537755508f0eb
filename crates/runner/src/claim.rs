//! Claims tasks for the agents of the settings and works on them, attempt by attempt, until nothing is left to do.

mod fit;
mod lease;
pub mod open;
mod prospect;
pub mod run;
pub mod work;
