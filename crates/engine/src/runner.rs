//! A runner: a process that starts programs for agents. Other processes see in the store when the runner gave its last
//! sign of life.

use serde::{Deserialize, Serialize};

use crate::limits;
use crate::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Runner {
    /// The name of the runner, which is the name of its machine. A store has at most one runner for each machine.
    pub name: String,
    pub host: String,
    pub pid: u32,
    /// The slugs (short names) of the agents that the runner works for.
    pub agents: Vec<String>,
    pub since: Timestamp,
    pub seen: Timestamp,
}

impl Runner {
    /// Returns true when the runner gave a sign of life recently.
    pub fn is_alive(&self, now: Timestamp) -> bool {
        now < self.seen + limits::RUNNER_MS
    }
}
