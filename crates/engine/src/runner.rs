//! A runner: a process that works agents. It is known to the others by a sign of life.

use serde::{Deserialize, Serialize};

use crate::limits;
use crate::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Runner {
    /// One for each store and host.
    pub name: String,
    pub host: String,
    pub pid: u32,
    /// Slugs of the agents it works.
    pub agents: Vec<String>,
    pub since: Timestamp,
    pub seen: Timestamp,
}

impl Runner {
    /// It was heard of not long ago.
    pub fn is_alive(&self, now: Timestamp) -> bool {
        now < self.seen + limits::RUNNER_MS
    }
}
