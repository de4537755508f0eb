//! Frees the slots (worktrees) of tasks that have waited for a person too long. Their work is committed to their branches.

use std::time::Duration;

use super::run::ClaimLoop;
use crate::attempt::remains;

/// The longest time for which a task that waits for a person keeps its worktree, in milliseconds: seven days.
const KEPT_MS_MAX: i64 = 7 * 24 * 60 * 60 * 1_000;
/// The time between two searches of a runner for slots (worktrees) that their tasks have kept for too long.
pub(super) const SLOTS_LOOK: Duration = Duration::from_secs(60 * 60);

impl ClaimLoop {
    /// Commits the work of tasks that have waited for a person for seven days, and frees their slots.
    pub(super) async fn give_up_slots(&self) {
        let before_ms = self.shared.service.now().0.saturating_sub(KEPT_MS_MAX);
        if let Err(problem) = self.shared.ground.give_up_before(before_ms).await {
            self.warn(remains::stays(&problem));
        }
    }
}
