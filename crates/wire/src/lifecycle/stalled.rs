//! The rows that say why a workflow is stalled, and why tasks cannot be claimed.

use engine::view::StallCauses;

use crate::reply::reply;

reply! {
    pub struct StallRow {
        failed: u32,
        blocked: u32,
        waiting: u32,
    }
}

impl StallRow {
    pub fn of(causes: StallCauses) -> Self {
        Self { failed: causes.failed, blocked: causes.blocked, waiting: causes.waiting }
    }
}

reply! {
    pub struct WaitRow {
        cause: &'static str,
        tasks: u32,
        words: String,
    }
}
