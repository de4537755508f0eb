//! Tests of the MCP server with a toy backend, through a pipe and over HTTP.

#![expect(clippy::unwrap_used, reason = "a test says best what went wrong by stopping there")]

mod http;
mod site;
mod stdio;
mod toy;
mod transcript;
