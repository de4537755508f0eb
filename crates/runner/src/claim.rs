//! Claims tasks for the agents that the project's settings name, and works on the tasks, attempt by attempt, until
//! nothing is left to do.

pub mod agent_trouble;
mod fit;
pub mod follow;
mod kept;
pub mod lack;
mod lease;
pub mod lock;
pub mod merged;
pub mod open;
pub mod over;
mod prospect;
pub mod run;
mod take_up;
mod takers;
pub mod trial;
pub mod work;
