//! The fields that describe the state of a task's work in git, as the reply of `task_get` shows them.

use engine::Timestamp;

use crate::reply::reply;

reply! {
    pub struct DeliveryRow {
        state: &'static str,
        check: String,
        checked: bool,
        agent: Option<String>,
        attempt: u32,
        tries: u32,
        base_branch: Option<String>,
        base: String,
        branch: String,
        commit: String,
        files: u32,
        added: u32,
        removed: u32,
        delivered_at: Timestamp,
        plan_commit: some String,
        merged_into: some String,
        merge_commit: some String,
        merged_by: some String,
        merged_at: some Timestamp,
        dropped_by: some String,
        dropped_at: some Timestamp,
        kept_as: some String,
    }
}
