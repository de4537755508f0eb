//! Tests that `handover` checks the right code in JavaScript, Python, Go and Rust projects. The tests use the real
//! tools of these languages, which `scripts/tools` installs. Shell scripts of a few lines act as agents.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test fails where something unforeseen happens")]

mod copies;
mod javascript;
mod python;
mod rust;
mod scene;
mod trees;
