//! Tests of the turn host, the small process that starts an agent's program and ends it: every way in which a program
//! can end, leave processes behind, or be ended early by the host.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test fails where something unforeseen happens")]

#[path = "proof/busy.rs"]
mod busy;
#[path = "host/crowd.rs"]
mod crowd;
#[path = "host/ends.rs"]
mod ends;
#[path = "host/leftovers.rs"]
mod leftovers;
#[path = "host/relay.rs"]
mod relay;
#[path = "host/scene.rs"]
mod scene;
