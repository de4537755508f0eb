//! Verification with real processes: checks that pass, fail, hang, flood and leave something behind, and outputs that are
//! not what they should be.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test fails where something unforeseen happens")]

#[path = "verify/checks.rs"]
mod checks;
#[path = "verify/command.rs"]
mod command;
#[path = "verify/outputs.rs"]
mod outputs;
#[path = "verify/scene.rs"]
mod scene;
