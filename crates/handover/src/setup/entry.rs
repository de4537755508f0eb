//! The entry for Handover's server in each client's configuration: a program that the client starts, or a server that
//! it reaches over HTTP.

use serde_json::{Value, json};

use super::client::{ClientProgram, SERVER};
use super::plan::SetupSurroundings;

/// The URL of `handover serve` with the default port.
pub const URL_DEFAULT: &str = "http://127.0.0.1:4747/mcp";

/// The text that setup shows in place of a token's secret before the token is created.
pub(super) const TO_BE_MADE: &str = "hnd_made_when_this_is_written";

/// The text before the token's secret in the `Authorization` header.
const BEARER: &str = "Bearer ";

/// The URL of a server that a client reaches over HTTP, and the secret of the token that the client sends.
#[derive(Clone, PartialEq, Eq)]
pub struct HttpEntry {
    pub url: String,
    pub secret: String,
}

/// Shows the entry without its secret, so that logs do not contain the secret.
impl std::fmt::Debug for HttpEntry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpEntry").field("url", &self.url).finish_non_exhaustive()
    }
}

impl HttpEntry {
    /// Returns an entry with a placeholder instead of a token's secret. `ClientTokens::make` fills in the secret later.
    pub fn new(url: &str) -> Self {
        Self { url: url.to_owned(), secret: TO_BE_MADE.to_owned() }
    }

    /// Returns the HTTP headers with which the client authorizes itself at Handover's server.
    fn headers(&self) -> Value {
        json!({"Authorization": format!("{BEARER}{}", self.secret)})
    }
}

/// Returns the token's secret from the `Authorization` header of a client's entry.
pub(super) fn secret_of(headers: &Value) -> Option<&str> {
    headers.get("Authorization")?.as_str()?.strip_prefix(BEARER)
}

/// Returns the keys and values of the entry for Handover's server in a client's configuration.
pub(super) fn keys(client: ClientProgram, around: &SetupSurroundings) -> Vec<(&'static str, Value)> {
    let keys = match &around.http {
        Some(http) => reaching(client, http),
        None => starting(client, &around.program),
    };
    keys.into_iter().chain(common(client)).collect()
}

/// Returns the key that holds the HTTP headers in the entry for Handover's server in a client's configuration.
pub(super) fn headers_key(client: ClientProgram) -> &'static str {
    match client {
        ClientProgram::Codex => "http_headers",
        ClientProgram::ClaudeCode
        | ClientProgram::Opencode
        | ClientProgram::Gemini
        | ClientProgram::Copilot
        | ClientProgram::Goose
        | ClientProgram::Qwen => "headers",
    }
}

fn starting(client: ClientProgram, program: &str) -> Vec<(&'static str, Value)> {
    let args = ("args", json!(["mcp"]));
    match client {
        ClientProgram::ClaudeCode => vec![("type", json!("stdio")), ("command", json!(program)), args],
        ClientProgram::Opencode => vec![("type", json!("local")), ("command", json!([program, "mcp"]))],
        ClientProgram::Codex | ClientProgram::Gemini | ClientProgram::Qwen => vec![("command", json!(program)), args],
        ClientProgram::Copilot => vec![("type", json!("local")), ("command", json!(program)), args],
        ClientProgram::Goose => {
            let mut keys = goose("stdio");
            keys.extend([("cmd", json!(program)), args]);
            keys
        }
    }
}

fn reaching(client: ClientProgram, http: &HttpEntry) -> Vec<(&'static str, Value)> {
    let headers = (headers_key(client), http.headers());
    let url = json!(http.url);
    match client {
        ClientProgram::ClaudeCode | ClientProgram::Copilot => vec![("type", json!("http")), ("url", url), headers],
        // Without the key `oauth`, opencode tries to log in before it sends the `Authorization` header.
        ClientProgram::Opencode => vec![("type", json!("remote")), ("url", url), headers, ("oauth", json!(false))],
        ClientProgram::Codex => vec![("url", url), headers],
        ClientProgram::Gemini | ClientProgram::Qwen => vec![("httpUrl", url), headers],
        ClientProgram::Goose => {
            let mut keys = goose("streamable_http");
            keys.extend([("uri", url), headers]);
            keys
        }
    }
}

fn goose(kind: &str) -> Vec<(&'static str, Value)> {
    vec![
        ("enabled", json!(true)),
        ("type", json!(kind)),
        ("name", json!(SERVER)),
        ("description", json!("Hands work between agents")),
    ]
}

/// Returns the keys that an entry has in both cases: for a server that the client starts, and for a server over HTTP.
/// Most of them allow the client to use Handover's tools.
fn common(client: ClientProgram) -> Vec<(&'static str, Value)> {
    match client {
        ClientProgram::ClaudeCode => Vec::new(),
        ClientProgram::Opencode => vec![("enabled", json!(true))],
        ClientProgram::Codex => vec![("default_tools_approval_mode", json!("approve"))],
        ClientProgram::Gemini => vec![("trust", json!(true))],
        ClientProgram::Copilot => vec![("tools", json!(["*"]))],
        ClientProgram::Goose => vec![("timeout", json!(300))],
        // Without the key `alwaysLoadTools`, Qwen Code hides every tool until its model searches for it.
        ClientProgram::Qwen => vec![("trust", json!(true)), ("alwaysLoadTools", json!(true))],
    }
}
