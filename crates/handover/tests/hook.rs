//! Tests `handover hook` as the clients of agents call it: the hook answers every event of a session, and the answer is
//! correct.
#![expect(clippy::disallowed_methods, reason = "starts the program it tests")]
#![expect(clippy::expect_used, clippy::panic, reason = "a test that cannot go on has failed")]

#[path = "support/agent_client.rs"]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod agent_client;
#[path = "proof/busy.rs"]
mod busy;
#[path = "hook/faults.rs"]
mod faults;
#[path = "hook/gates.rs"]
mod gates;
#[path = "hook/joins.rs"]
mod joins;
#[path = "proof/postgres.rs"]
mod postgres;
#[path = "hook/samples.rs"]
mod samples;
#[path = "hook/scene.rs"]
mod scene;
#[path = "hook/sessions.rs"]
mod sessions;
#[path = "hook/stops.rs"]
mod stops;
