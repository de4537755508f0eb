//! Tests the commands with which a person hands work in and out (`add`, `diff`, `merge`, `drop`, `send-back`, …) with
//! the built program and real git repositories.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test fails where something unforeseen happens")]

mod choices;
mod drops;
mod kills;
mod merges;
mod rights;
mod scene;
mod status;
mod steering;
