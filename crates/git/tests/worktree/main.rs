//! Tests worktrees with the real git: what is created, what is removed, and above all what must stay.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod create;
mod git;
mod hostile;
mod remove;
mod scene;
mod slots;
