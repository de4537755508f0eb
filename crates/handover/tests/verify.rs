//! Tests verification with real processes: checks that pass, fail, hang, write too much or leave a process behind, and
//! outputs that break their contract.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test fails where something unforeseen happens")]

#[path = "support/agent_client.rs"]
#[expect(dead_code, reason = "of a client only some of its acts are needed here")]
#[expect(clippy::disallowed_methods, reason = "bounds what it waits for")]
mod agent_client;
#[path = "verify/checks.rs"]
mod checks;
#[path = "verify/command.rs"]
mod command;
#[path = "verify/outputs.rs"]
mod outputs;
#[path = "verify/scene.rs"]
mod scene;
