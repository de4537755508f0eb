//! The four interfaces that take a tool's arguments as JSON (pipe, MCP with and without a session, API), and their
//! answers.

use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use crate::busy::patience;
use crate::http::{Answer, Connection};
use crate::pipe::Pipe;
use crate::place::Place;
use crate::serve::{Era, Server, post_mcp, tool_call};

/// The longest time until a call is answered. A slower answer fails the test.
const ANSWER_MAX: Duration = Duration::from_secs(5);

pub(crate) enum Door {
    Pipe(Pipe),
    Http { port: u16, token: String, era: Era, connection: Connection },
    Api { port: u16, token: String, connection: Connection },
}

/// An answer of an interface. The code is `done`, the code of a refusal, the number of a protocol error, or `closed`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Heard {
    pub(crate) code: String,
    pub(crate) status: Option<u16>,
    /// The arguments that the refusal names as wrong.
    pub(crate) fields: Vec<String>,
    pub(crate) words: String,
}

impl Door {
    /// Connects to one store over each of the four interfaces that take JSON arguments.
    pub(crate) fn all(place: &Place, server: &Server) -> Vec<Self> {
        place.allow_coordinator();
        let (port, token) = (server.port, server.coordinator.clone());
        let http = |era| Self::Http { port, token: token.clone(), era, connection: Connection::open(port) };
        vec![
            Self::Pipe(Pipe::open(place, &["--tools", "full", "--as", "coordinator"])),
            http(server.session(&token)),
            http(Era::New),
            Self::Api { port, token: token.clone(), connection: Connection::open(port) },
        ]
    }

    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Pipe(_) => "stdio",
            Self::Http { era: Era::New, .. } => "mcp, new era",
            Self::Http { era: Era::Old { .. }, .. } => "mcp, old era",
            Self::Api { .. } => "api",
        }
    }

    /// Returns the name and the schema of all tools, as this interface publishes them.
    pub(crate) fn schemas(&mut self) -> Vec<(String, Value)> {
        self.renew();
        if let Self::Api { token, connection, .. } = self {
            let headers = [("Authorization", format!("Bearer {token}"))];
            let headers = [(headers[0].0, headers[0].1.as_str())];
            let all = connection.request("GET", "/api/v1/openapi.json", &headers, b"").unwrap().json();
            let Value::Object(schemas) = all["components"]["schemas"].clone() else { panic!("no schemas") };
            let tools = schemas
                .into_iter()
                .filter_map(|(name, schema)| Some((name.strip_suffix(".arguments")?.to_owned(), schema)));
            return tools.collect();
        }
        let mut params = json!({});
        if let Self::Http { era: Era::New, .. } = self {
            params["_meta"] = tool_call(&Era::New, "", &json!({}))["params"]["_meta"].clone();
        }
        let list = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/list", "params": params});
        let answer = self.message(list.to_string().as_bytes()).unwrap();
        let tools = answer["result"]["tools"].as_array().unwrap_or_else(|| panic!("{answer}")).clone();
        tools.into_iter().map(|tool| (tool["name"].as_str().unwrap().to_owned(), tool["inputSchema"].clone())).collect()
    }

    /// Calls a tool with any bytes as its arguments. For a pipe the bytes must have no line break.
    pub(crate) fn call(&mut self, tool: &str, arguments: &[u8]) -> Heard {
        let asked = Instant::now();
        let heard = self.heard(tool, arguments);
        assert!(
            asked.elapsed() < patience(ANSWER_MAX),
            "{}: {tool} was answered after {:?}",
            self.name(),
            asked.elapsed()
        );
        heard
    }

    /// Opens a new connection when the old one was not used for long: the server may have closed it while other
    /// interfaces were tested.
    fn renew(&mut self) {
        if let Self::Http { port, connection, .. } | Self::Api { port, connection, .. } = self
            && connection.is_stale()
        {
            *connection = Connection::open(*port);
        }
    }

    fn heard(&mut self, tool: &str, arguments: &[u8]) -> Heard {
        self.renew();
        if let Self::Api { port, token, connection } = self {
            let bearer = format!("Bearer {token}");
            let headers = [("Authorization", bearer.as_str())];
            let answer = connection.request("POST", &format!("/api/v1/tools/{tool}"), &headers, arguments);
            let heard = answer.as_ref().map_or_else(Heard::closed, Heard::of_api);
            if answer.is_none_or(|answer| answer.header("connection") == Some("close")) {
                *connection = Connection::open(*port);
            }
            return heard;
        }
        let era = if let Self::Http { era, .. } = self { era.clone() } else { Era::Old { session: String::new() } };
        let frame = tool_call(&era, tool, &json!("@")).to_string();
        let (before, after) = frame.split_once("\"@\"").unwrap();
        let message = [before.as_bytes(), arguments, after.as_bytes()].concat();
        match self {
            Self::Http { port, token, era, connection } => {
                let answer = post_mcp(connection, token, era, &message);
                let heard = answer.as_ref().map_or_else(Heard::closed, Heard::of_mcp);
                if answer.is_none_or(|answer| answer.header("connection") == Some("close") || answer.status == 413) {
                    *connection = Connection::open(*port);
                }
                heard
            }
            Self::Pipe(pipe) => {
                pipe.send(&message);
                Heard::of_message(&pipe.next().unwrap(), None)
            }
            Self::Api { .. } => Heard::closed(),
        }
    }

    /// Sends the bytes as an MCP message. Returns `None` when no answer came.
    pub(crate) fn message(&mut self, bytes: &[u8]) -> Option<Value> {
        self.renew();
        match self {
            Self::Pipe(pipe) => {
                pipe.send(bytes);
                pipe.next()
            }
            Self::Http { token, era, connection, .. } => {
                post_mcp(connection, token, era, bytes).map(|answer| answer.message())
            }
            Self::Api { .. } => None,
        }
    }

    /// Closes the connection over this interface. The process behind a pipe must exit with success and write nothing to
    /// standard error.
    pub(crate) fn close(self) {
        if let Self::Pipe(pipe) = self {
            let (status, errors) = pipe.leave();
            assert!(status.success() && errors.is_empty(), "{status}: {errors}");
        }
    }
}

impl Heard {
    fn closed() -> Self {
        Self { code: "closed".to_owned(), status: None, fields: Vec::new(), words: String::new() }
    }

    fn of_refusal(refused: &Value, status: Option<u16>) -> Self {
        let fields = refused["details"]["fields"].as_array().cloned().unwrap_or_default();
        let fields = fields.iter().map(|field| field["field"].as_str().unwrap_or_default().to_owned()).collect();
        let code = refused["code"].as_str().unwrap_or("no code").to_owned();
        Self { code, status, fields, words: refused.to_string() }
    }

    fn of_api(answer: &Answer) -> Self {
        if answer.status == 200 {
            return Self { code: "done".to_owned(), status: Some(200), fields: Vec::new(), words: answer.text() };
        }
        Self::of_refusal(&answer.json(), Some(answer.status))
    }

    fn of_mcp(answer: &Answer) -> Self {
        Self::of_message(&answer.message(), Some(answer.status))
    }

    fn of_message(message: &Value, status: Option<u16>) -> Self {
        if let Some(error) = message.get("error") {
            return Self { code: error["code"].to_string(), status, fields: Vec::new(), words: error.to_string() };
        }
        let result = &message["result"];
        if result["isError"] == true {
            let text = result["content"][0]["text"].as_str().unwrap_or_default();
            return Self::of_refusal(&serde_json::from_str(text).unwrap_or_default(), status);
        }
        let code = if result["isError"] == false { "done" } else { "no answer" };
        Self { code: code.to_owned(), status, fields: Vec::new(), words: message.to_string() }
    }
}

/// Returns the fields of an object that a JSON schema describes, each with its own schema.
pub(crate) fn properties(schema: &Value) -> Map<String, Value> {
    schema["properties"].as_object().cloned().unwrap_or_default()
}
