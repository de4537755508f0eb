//! Plays the steps of transcripts over `handover serve`: the API, and MCP over HTTP. The HTTP client here is only a few
//! lines of code over a socket.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Stdio as Io};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::stdio::{Era, answer};
use super::{Door, Library, Place, Who, program};
use crate::schema;
use crate::script::Answer;
use crate::terminal::Terminal;

/// A `handover serve` process, and the tokens of its callers.
pub(crate) struct Server {
    process: Child,
    /// The server's standard output, kept open so that the server can print.
    _output: BufReader<ChildStdout>,
    address: String,
    /// The admin token, which can make tokens for agents.
    pub(crate) admin: String,
    place: Place,
    tokens: HashMap<String, String>,
}

pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) headers: HashMap<String, String>,
    body: Vec<u8>,
}

impl Response {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: status {}, {}", self.status, String::from_utf8_lossy(&self.body)))
    }
}

impl Server {
    pub(crate) fn start(place: &Place) -> Self {
        let mut command = program(&place.folder, &place.store);
        command.args(["serve", "--port", "0", "--tools", "full"]).stdout(Io::piped());
        let mut process = command.spawn().unwrap();
        let mut output = BufReader::new(process.stdout.take().unwrap());
        let (mut address, mut admin) = (String::new(), String::new());
        while admin.is_empty() {
            let mut line = String::new();
            assert_ne!(output.read_line(&mut line).unwrap(), 0, "the server ended");
            if let Some(found) = line.trim().strip_prefix("listening on http://") {
                found.clone_into(&mut address);
            }
            if let Some(path) = line.trim().strip_prefix("token  ") {
                std::fs::read_to_string(path).unwrap().trim().clone_into(&mut admin);
            }
        }
        Self { process, _output: output, address, admin, place: place.clone(), tokens: HashMap::new() }
    }

    /// Returns the token of a caller. Tokens for agents are made with the machine's admin token. A person at a terminal
    /// makes all other tokens.
    fn token(&mut self, who: Who<'_>) -> String {
        if let Some(token) = self.tokens.get(who.name) {
            return token.clone();
        }
        let token = if who.scope() == "agent" { self.agents_token(who.name) } else { self.peoples_token(who.scope()) };
        self.tokens.insert(who.name.to_owned(), token.clone());
        token
    }

    fn agents_token(&self, name: &str) -> String {
        self.made_token(&json!({"name": name, "shared": true}))["token"].as_str().unwrap().to_owned()
    }

    /// Makes a token for an agent. Returns its id, its secret and its agent.
    pub(crate) fn made_token(&self, asked: &Value) -> Value {
        let admin = format!("Bearer {}", self.admin);
        let made = self.send("POST", "/api/v1/tokens", &[("Authorization", &admin)], &asked.to_string());
        assert_eq!(made.status, 201);
        made.json()
    }

    pub(crate) fn peoples_token(&self, scope: &str) -> String {
        let terminal = Terminal::new();
        let mut command = program(&self.place.folder, &self.place.store);
        terminal.seat(&mut command);
        let output = command.args(["token", "create", scope, "--scope", scope]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    pub(crate) fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Response {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let mut head = format!("{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n", self.address);
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str(&format!("Content-Type: application/json\r\nContent-Length: {}\r\n\r\n", body.len()));
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(body.as_bytes()).unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        parse(&bytes)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        kill_process(Pid::from_child(&self.process), Signal::TERM).unwrap();
        self.process.wait().unwrap();
    }
}

fn parse(bytes: &[u8]) -> Response {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
    let head = std::str::from_utf8(&bytes[..end]).unwrap();
    let mut lines = head.split("\r\n");
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let pairs = lines.filter_map(|line| line.split_once(": "));
    let headers: HashMap<String, String> =
        pairs.map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned())).collect();
    let mut body = bytes[end + 4..].to_vec();
    if headers.get("transfer-encoding").is_some_and(|coding| coding == "chunked") {
        body = unchunked(&body);
    }
    Response { status, headers, body }
}

fn unchunked(mut bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    loop {
        let end = bytes.windows(2).position(|two| two == b"\r\n").unwrap();
        let size = usize::from_str_radix(std::str::from_utf8(&bytes[..end]).unwrap(), 16).unwrap();
        if size == 0 {
            return out;
        }
        out.extend_from_slice(&bytes[end + 2..end + 2 + size]);
        bytes = &bytes[end + 4 + size..];
    }
}

/// Plays the steps of transcripts over `POST /api/v1/tools/{tool}`.
pub(super) struct Api(Server);

impl Api {
    pub(super) fn new(place: &Place) -> Self {
        Self(Server::start(place))
    }
}

impl Door for Api {
    fn call(&mut self, who: Who<'_>, tool: &str, arguments: &str) -> Answer {
        let bearer = format!("Bearer {}", self.0.token(who));
        let mut arguments: Value = serde_json::from_str(arguments).unwrap();
        let key = key_of(&mut arguments);
        let mut headers = vec![("Authorization", bearer.as_str())];
        headers.extend(who.agent.map(|agent| ("Handover-Agent", agent)));
        headers.extend(key.as_deref().map(|key| ("Idempotency-Key", key)));
        let response = self.0.send("POST", &format!("/api/v1/tools/{tool}"), &headers, &arguments.to_string());
        let (status, value) = (response.status, response.json());
        if status == 200 {
            assert_eq!(response.headers["content-type"], "application/json");
            return Answer::Done(value);
        }
        assert_eq!(response.headers["content-type"], "application/problem+json", "{value}");
        Answer::Refused(without_frame(status, value))
    }

    fn close(&mut self, _who: &str) {
        panic!("there is no connection to close");
    }
}

/// Removes the idempotency key from the arguments, because HTTP has a header for it. An invalid key stays, so that the
/// server refuses it.
fn key_of(arguments: &mut Value) -> Option<String> {
    let members = arguments.as_object_mut()?;
    let key = members.get("idempotency_key")?.as_str().filter(|key| !key.trim().is_empty())?.to_owned();
    members.remove("idempotency_key");
    Some(key)
}

/// Returns the refusal inside a problem document (RFC 9457), after checking the fields around it.
fn without_frame(status: u16, mut value: Value) -> Value {
    let code = value["code"].as_str().unwrap_or_else(|| panic!("status {status}: {value}")).to_owned();
    let right = match code.as_str() {
        "INVALID_INPUT" | "INVALID_WIRE" => 422,
        "NOT_PERMITTED" | "AGENT_ELSEWHERE" | "PROTECTED" => 403,
        code if code.ends_with("_NOT_FOUND") => 404,
        _ => 409,
    };
    let frame = json!([value["type"], value["title"], value["status"], value["detail"], status]);
    let title = code.to_ascii_lowercase().replace('_', " ");
    assert_eq!(frame, json!(["about:blank", title, right, value["message"], right]), "{value}");
    let members = value.as_object_mut().unwrap();
    members.retain(|name, _| !["type", "title", "status", "detail"].contains(&name.as_str()));
    value
}

/// Plays the steps of transcripts over `/mcp`, that is, MCP over HTTP.
pub(super) struct Mcp {
    server: Server,
    era: Era,
    /// The session ids by caller, for the older MCP version, which has sessions.
    sessions: HashMap<String, String>,
    last: u64,
    /// Handover called as a library. It does the steps of people, because no caller over MCP has a person's rights.
    beside: Option<Library>,
}

impl Mcp {
    pub(super) fn new(place: &Place, era: Era) -> Self {
        Self { server: Server::start(place), era, sessions: HashMap::new(), last: 0, beside: None }
    }

    fn post(&mut self, who: Who<'_>, message: &Value) -> Response {
        let bearer = format!("Bearer {}", self.server.token(who));
        let mut headers = vec![
            ("Authorization", bearer.as_str()),
            ("Accept", "application/json, text/event-stream"),
            ("MCP-Protocol-Version", self.era.version()),
        ];
        match (self.era, self.sessions.get(who.name)) {
            (Era::Old, session) => headers.extend(session.map(|session| ("Mcp-Session-Id", session.as_str()))),
            (Era::New, _) => {
                headers.extend(who.agent.map(|agent| ("Handover-Agent", agent)));
                headers.push(("Mcp-Method", message["method"].as_str().unwrap()));
                headers.extend(message["params"]["name"].as_str().map(|name| ("Mcp-Name", name)));
            }
        }
        self.server.send("POST", "/mcp", &headers, &message.to_string())
    }

    fn open(&mut self, who: Who<'_>) {
        let opened = self.post(who, &self.era.initialize(0));
        assert_eq!(said(&opened)["result"]["protocolVersion"], self.era.version());
        self.sessions.insert(who.name.to_owned(), opened.headers["mcp-session-id"].clone());
        let told = self.post(who, &json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        assert_eq!(told.status, 202);
        let listed = self.post(who, &self.era.request(1, "tools/list", json!({})));
        schema::check_catalog(&said(&listed)["result"]);
    }
}

/// Returns the answers to the call of an unknown tool: of `/mcp` in the old and in the new MCP version, and of the API.
pub(crate) fn unknown_tool(place: &Place) -> [Value; 3] {
    let person = Who { name: "person", agent: None };
    let over_mcp = |era: Era| {
        let mut door = Mcp::new(place, era);
        if era == Era::Old {
            door.open(person);
        }
        let call = era.request(9, "tools/call", json!({"name": "task_frobnicate", "arguments": {}}));
        spoken(&door.post(person, &call))["error"].clone()
    };
    let server = Server::start(place);
    let bearer = format!("Bearer {}", server.admin);
    let api = server.send("POST", "/api/v1/tools/task_frobnicate", &[("Authorization", &bearer)], "{}");
    [over_mcp(Era::Old), over_mcp(Era::New), json!([api.status, api.json()["code"]])]
}

/// Returns the answer, from a JSON body or from the last event of a stream.
fn spoken(response: &Response) -> Value {
    let text = String::from_utf8_lossy(&response.body);
    let event = text.lines().rfind(|line| line.starts_with("data:")).map(|line| line.trim_start_matches("data:"));
    serde_json::from_str(event.unwrap_or(&text))
        .unwrap_or_else(|error| panic!("{error}: status {}, {text}", response.status))
}

pub(crate) fn said(response: &Response) -> Value {
    let value = spoken(response);
    assert!(value.get("error").is_none(), "status {}: {value}", response.status);
    value
}

impl Door for Mcp {
    fn call(&mut self, who: Who<'_>, tool: &str, arguments: &str) -> Answer {
        if who.scope() == "person" {
            let place = &self.server.place;
            return self.beside.get_or_insert_with(|| Library::beside(place)).call(who, tool, arguments);
        }
        if self.era == Era::Old && !self.sessions.contains_key(who.name) {
            self.open(who);
        }
        self.last += 1;
        let arguments: Value = serde_json::from_str(arguments).unwrap();
        let request = self.era.request(self.last, "tools/call", json!({"name": tool, "arguments": arguments}));
        answer(tool, &said(&self.post(who, &request))["result"])
    }

    fn close(&mut self, who: &str) {
        let session = self.sessions.remove(who).unwrap();
        let bearer = format!("Bearer {}", self.server.token(Who { name: who, agent: None }));
        let headers = [("Authorization", bearer.as_str()), ("Mcp-Session-Id", session.as_str())];
        let closed = self.server.send("DELETE", "/mcp", &headers, "");
        assert_eq!(closed.status, 204);
    }
}
