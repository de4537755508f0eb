//! Claims tasks for the agents that the project's settings name, and works on the tasks, attempt by attempt, until
//! nothing is left to do.

pub mod agent_trouble;
mod fit;
mod lease;
pub mod lock;
pub mod merged;
pub mod open;
mod prospect;
pub mod run;
mod take_up;
pub mod work;
