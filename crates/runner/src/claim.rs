//! Claims tasks for the agents that the project's settings name, and works on the tasks, attempt by attempt, until
//! nothing is left to do.

mod fit;
mod lease;
pub mod open;
mod prospect;
pub mod run;
pub mod work;
