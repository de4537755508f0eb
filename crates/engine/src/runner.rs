//! A runner: a process that starts programs for agents. Other processes know of it by its signs of life.

use serde::{Deserialize, Serialize};

use crate::limits;
use crate::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Runner {
    /// The name of the runner, unique for each store and host.
    pub name: String,
    pub host: String,
    pub pid: u32,
    /// The slugs of the agents that the runner works for.
    pub agents: Vec<String>,
    pub since: Timestamp,
    pub seen: Timestamp,
}

impl Runner {
    /// Returns whether the runner gave a sign of life recently.
    pub fn is_alive(&self, now: Timestamp) -> bool {
        now < self.seen + limits::RUNNER_MS
    }
}
