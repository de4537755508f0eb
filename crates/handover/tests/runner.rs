//! `handover run` as a process, with programs that play agents: every row of the rules, and nothing that stays behind.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test fails where something unforeseen happens")]

#[path = "runner/people.rs"]
mod people;
#[path = "runner/rows.rs"]
mod rows;
#[path = "runner/scene.rs"]
mod scene;
