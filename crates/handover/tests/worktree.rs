//! Worktrees with the real git: what is made and removed, and above all what is not.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "worktree/create.rs"]
mod create;
#[path = "worktree/git.rs"]
mod git;
#[path = "worktree/hostile.rs"]
mod hostile;
#[path = "worktree/remove.rs"]
mod remove;
#[path = "worktree/scene.rs"]
mod scene;
