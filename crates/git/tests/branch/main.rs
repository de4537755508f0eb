//! The branches of workflows and tasks with the real git: what is committed, merged and mended, and what never runs.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod commit;
#[path = "../worktree/git.rs"]
mod git;
mod hostile;
mod merge;
mod scene;
mod stops;
