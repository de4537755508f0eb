//! Tests the branches of workflows and tasks with the real git: commits, merges, conflicts, and programs that git must
//! not run.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod changes;
mod commit;
mod copies;
mod facts;
#[path = "../worktree/git.rs"]
mod git;
mod hostile;
mod land;
mod left;
mod merge;
mod push;
mod scene;
mod stops;
mod tree;
