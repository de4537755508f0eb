//! The branches of workflows and tasks with the real git: what is committed, merged and mended, and what never runs.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "branch/commit.rs"]
mod commit;
#[path = "worktree/git.rs"]
mod git;
#[path = "branch/hostile.rs"]
mod hostile;
#[path = "branch/merge.rs"]
mod merge;
#[path = "branch/scene.rs"]
mod scene;
#[path = "branch/stops.rs"]
mod stops;
