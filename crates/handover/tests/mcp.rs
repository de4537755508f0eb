//! The MCP door: a toy behind it, spoken to through a pipe and over HTTP, and `handover mcp` as a process.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test says best what went wrong by stopping there")]

#[path = "mcp/http.rs"]
mod http;
#[path = "mcp/process.rs"]
mod process;
#[path = "mcp/site.rs"]
mod site;
#[path = "mcp/stdio.rs"]
mod stdio;
#[path = "mcp/toy.rs"]
mod toy;
#[path = "mcp/transcript.rs"]
mod transcript;

use std::time::Duration;

use serde_json::Value;

/// The `_meta` of a request of the new era.
const NEW: &str = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"test","version":"0"},"io.modelcontextprotocol/clientCapabilities":{}}"#;
/// Whoever says nothing for so long hangs. Calls that wait take longer, so they do not end in time by themselves.
const PATIENCE: Duration = Duration::from_secs(30);

/// Whether all that is wanted is there. A list that ends with `"..."` may go on.
fn is_part(wanted: &Value, found: &Value) -> bool {
    match (wanted, found) {
        (Value::Object(wanted), Value::Object(found)) => {
            wanted.iter().all(|(name, wanted)| found.get(name).is_some_and(|found| is_part(wanted, found)))
        }
        (Value::Array(wanted), Value::Array(found)) => {
            let open = wanted.last() == Some(&Value::from("..."));
            let wanted = &wanted[..wanted.len() - usize::from(open)];
            (if open { wanted.len() <= found.len() } else { wanted.len() == found.len() })
                && wanted.iter().zip(found).all(|(wanted, found)| is_part(wanted, found))
        }
        (wanted, found) => wanted == found,
    }
}
