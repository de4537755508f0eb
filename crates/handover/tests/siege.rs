//! Attacks on the MCP, HTTP and command-line interfaces: many processes at once, bad input, callers with false
//! identities, slow clients, and a stop under load.
//!
//! Every test starts the `handover` program in a temporary folder and ends every process that it started.

#![expect(clippy::unwrap_used, reason = "a proof that cannot go on has failed")]
#![expect(clippy::disallowed_methods, reason = "it starts the program, and bounds what it waits for")]

#[path = "support/agent_client.rs"]
mod agent_client;
#[path = "siege/approvals.rs"]
mod approvals;
#[path = "siege/bad_input.rs"]
mod bad_input;
#[path = "siege/below.rs"]
mod below;
#[path = "siege/browser.rs"]
mod browser;
#[path = "siege/browser_link.rs"]
mod browser_link;
#[path = "proof/busy.rs"]
mod busy;
#[path = "siege/door.rs"]
mod door;
#[path = "siege/http.rs"]
mod http;
#[path = "siege/impostor.rs"]
mod impostor;
#[path = "siege/inside.rs"]
mod inside;
#[path = "siege/intrusion.rs"]
mod intrusion;
#[path = "siege/lifecycle.rs"]
mod lifecycle;
#[path = "siege/many.rs"]
mod many;
#[path = "siege/openapi.rs"]
mod openapi;
#[path = "siege/pipe.rs"]
mod pipe;
#[path = "siege/place.rs"]
mod place;
#[path = "siege/replies.rs"]
mod replies;
#[path = "siege/security.rs"]
mod security;
#[path = "siege/serve.rs"]
mod serve;
#[path = "siege/sessions.rs"]
mod sessions;
#[path = "siege/slow.rs"]
mod slow;
#[path = "siege/spend.rs"]
mod spend;
#[path = "support/stand_in.rs"]
mod stand_in;
#[path = "siege/stop.rs"]
mod stop;
#[path = "support/terminal.rs"]
mod terminal;
#[path = "siege/terminals.rs"]
mod terminals;
#[path = "siege/ways.rs"]
mod ways;
#[path = "siege/webhook.rs"]
mod webhook;
