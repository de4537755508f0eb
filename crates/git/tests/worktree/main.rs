//! Worktrees with the real git: what is made and removed, and above all what is not.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod create;
mod git;
mod hostile;
mod remove;
mod scene;
