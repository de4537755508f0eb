//! Tests the commands with which a person gives work to agents and takes their work (`add`, `diff`, `merge`, `drop`,
//! `send-back`, …), with the built program and real git repositories.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test fails where something unforeseen happens")]

mod choices;
mod drops;
mod http_acts;
mod http_live;
mod http_merges;
mod http_reads;
mod http_rights;
mod kills;
mod lists;
mod merges;
#[path = "../proof/postgres.rs"]
mod postgres;
mod rights;
mod scene;
mod server;
mod status;
mod steering;
mod troubles;
