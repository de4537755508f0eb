//! A `handover serve` process for one test: it starts on a free port, takes requests, and is stopped.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::busy::patience;
use crate::http::{Answer, Connection};
use crate::place::Place;

#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    pub(crate) port: u16,
    /// The secret of a token of scope `person`.
    pub(crate) token: String,
    /// The secret of a token of scope `coordinator`. Unlike a person's token, it has its full rights over MCP, too.
    pub(crate) coordinator: String,
    /// The secret of this machine's token, which has the scope `admin`.
    pub(crate) admin: String,
}

/// The MCP version that a client speaks: an old version with a session, or the new version in which each request is
/// complete without a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Era {
    Old { session: String },
    New,
}

impl Server {
    pub(crate) fn start(place: &Place) -> Self {
        Self::start_as(place, place.program())
    }

    pub(crate) fn start_as(place: &Place, mut program: Command) -> Self {
        program.args(["serve", "--port", "0", "--tools", "full"]);
        let mut child = program.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let Some(port) = line.trim().rsplit(':').next().and_then(|port| port.parse().ok()) else {
            let mut errors = String::new();
            child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
            panic!("the server did not start: {line}{errors}");
        };
        let admin = std::fs::read_to_string(place.state().join("token")).unwrap().trim().to_owned();
        let token = place.token(&["person", "--scope", "person"]).1;
        let coordinator = place.token(&["coordinator", "--scope", "coordinator"]).1;
        Self { child, port, token, coordinator, admin }
    }

    /// Sends one HTTP request on a new connection.
    pub(crate) fn ask(&self, method: &str, target: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        Connection::open(self.port).request(method, target, headers, body).unwrap()
    }

    /// Calls a tool over the HTTP API with a token.
    pub(crate) fn call(&self, token: &str, tool: &str, arguments: &Value) -> Answer {
        let bearer = format!("Bearer {token}");
        let headers = [("Authorization", bearer.as_str()), ("Content-Type", "application/json")];
        self.ask("POST", &format!("/api/v1/tools/{tool}"), &headers, arguments.to_string().as_bytes())
    }

    /// Calls a tool that must succeed, with the person's token.
    pub(crate) fn must(&self, tool: &str, arguments: &Value) -> Value {
        let answer = self.call(&self.token, tool, arguments);
        assert_eq!(answer.status, 200, "{tool} {arguments}: {}", answer.text());
        answer.json()
    }

    pub(crate) fn get(&self, token: &str, target: &str) -> Answer {
        self.ask("GET", target, &[("Authorization", &format!("Bearer {token}"))], b"")
    }

    /// Creates an agent's token over the HTTP API, and returns its id and its secret.
    pub(crate) fn token(&self, wanted: &Value) -> (String, String) {
        let headers = [("Authorization", format!("Bearer {}", self.admin))];
        let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let answer = self.ask("POST", "/api/v1/tokens", &headers, wanted.to_string().as_bytes());
        assert_eq!(answer.status, 201, "{}", answer.text());
        let word = |name: &str| answer.json()[name].as_str().unwrap().to_owned();
        (word("id"), word("token"))
    }

    /// Opens an MCP session, as clients of the older MCP versions do.
    pub(crate) fn session(&self, token: &str) -> Era {
        let opening = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params":
            {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "siege", "version": "1"}}});
        let answer = self.post_mcp(token, &Era::New, opening.to_string().as_bytes());
        assert_eq!(answer.status, 200, "{}", answer.text());
        let session = answer.header("mcp-session-id").unwrap().to_owned();
        let era = Era::Old { session };
        let told = self.post_mcp(token, &era, br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        assert_eq!(told.status, 202, "{}", told.text());
        era
    }

    /// Sends the bytes unchanged to `/mcp` on a new connection.
    pub(crate) fn post_mcp(&self, token: &str, era: &Era, body: &[u8]) -> Answer {
        let mut connection = Connection::open(self.port);
        post_mcp(&mut connection, token, era, body).unwrap()
    }

    /// Returns the peak and the present memory of the server, in bytes.
    pub(crate) fn memory(&self) -> (u64, u64) {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let of = |name: &str| {
            let line = status.lines().find(|line| line.starts_with(name)).unwrap();
            line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
        };
        (of("VmHWM:"), of("VmRSS:"))
    }

    pub(crate) fn terminate(&self) {
        kill_process(Pid::from_child(&self.child), Signal::TERM).unwrap();
    }

    /// Waits until the process ends, which must happen within this time. Returns the exit status and the standard
    /// error.
    pub(crate) fn ended_within(mut self, time: Duration) -> (ExitStatus, String) {
        let asked = Instant::now();
        let mut errors = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
        let status = self.child.wait().unwrap();
        assert!(asked.elapsed() <= time, "it took {:?} to end", asked.elapsed());
        (status, errors)
    }

    /// Stops the server with `SIGTERM`. The server must exit with success and write nothing to standard error.
    pub(crate) fn stop(self) {
        self.terminate();
        let (status, errors) = self.ended_within(patience(Duration::from_secs(15)));
        assert!(status.success() && errors.is_empty(), "{status}: {errors}");
    }
}

impl Drop for Server {
    /// Ends the server process, so that a failed test leaves no server running.
    fn drop(&mut self) {
        let _over = self.child.kill().and_then(|()| self.child.wait());
    }
}

/// Sends an MCP message on a connection. Returns `None` when the server closed the connection without an answer.
pub(crate) fn post_mcp(connection: &mut Connection, token: &str, era: &Era, body: &[u8]) -> Option<Answer> {
    let _refused_early = ask_mcp(connection, token, era, body);
    connection.answer()
}

/// Sends an MCP message without waiting for the answer. Returns `false` when the server takes no more bytes.
pub(crate) fn ask_mcp(connection: &mut Connection, token: &str, era: &Era, body: &[u8]) -> bool {
    let bearer = format!("Bearer {token}");
    let mut headers = vec![
        ("Authorization", bearer.as_str()),
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
    ];
    let text = String::from_utf8_lossy(body);
    // The new MCP version repeats the method and the tool's name in headers. The body may be invalid JSON here, so the
    // code cuts the method and the name out of the text without parsing it.
    let word = |before: &str| text.split_once(before).and_then(|(_, rest)| rest.split('"').next()).map(str::to_owned);
    let (method, name) = (word("\"method\":\"").unwrap_or_default(), word("\"params\":{\"name\":\""));
    match era {
        Era::Old { session } => {
            headers.extend([("Mcp-Session-Id", session.as_str()), ("MCP-Protocol-Version", "2025-06-18")]);
        }
        Era::New if method == "initialize" => {}
        Era::New => {
            headers.extend([("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", method.as_str())]);
            headers.extend(name.as_ref().map(|name| ("Mcp-Name", name.as_str())));
        }
    }
    connection.ask("POST", "/mcp", &headers, body)
}

/// Returns the message that calls a tool. In the new MCP version every request names its protocol version.
pub(crate) fn tool_call(era: &Era, tool: &str, arguments: &Value) -> Value {
    let mut params = json!({"name": tool, "arguments": arguments});
    if *era == Era::New {
        params["_meta"] = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "siege", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {}});
    }
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
}
