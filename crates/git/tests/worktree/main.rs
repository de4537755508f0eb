//! Tests with the real git that worktrees are created and removed correctly, and above all that no work is lost.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod create;
mod git;
mod hostile;
mod remove;
mod scene;
mod slots;
