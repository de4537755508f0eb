//! Plays the steps of transcripts over `handover mcp`: lines of JSON-RPC, in the MCP versions 2025-11-25 and
//! 2026-07-28.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{ChildStdin, ChildStdout, Stdio as Io};

use serde_json::{Value, json};

use super::{Door, Library, Place, Who, program};
use crate::schema;
use crate::script::Answer;
use crate::stand_in::StandIn;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    /// Version 2025-11-25: a client opens a connection first, and then sends requests on it.
    Old,
    /// Version 2026-07-28: each request names its caller and the version.
    New,
}

impl Era {
    pub(crate) fn version(self) -> &'static str {
        match self {
            Self::Old => "2025-11-25",
            Self::New => "2026-07-28",
        }
    }

    pub(crate) fn request(self, id: u64, method: &str, mut params: Value) -> Value {
        if self == Self::New {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": self.version(),
                "io.modelcontextprotocol/clientInfo": {"name": "transcript", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {},
            });
        }
        json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
    }

    pub(crate) fn initialize(self, id: u64) -> Value {
        let client = json!({"name": "transcript", "version": "1"});
        let params = json!({"protocolVersion": self.version(), "capabilities": {}, "clientInfo": client});
        self.request(id, "initialize", params)
    }
}

pub(super) struct Stdio {
    place: Place,
    era: Era,
    clients: HashMap<String, Client>,
    /// Handover called as a library. It does the steps of people, because no caller over a pipe has a person's rights.
    /// It also does the steps of coordinators, because the settings of the test list no coordinators.
    beside: Option<Library>,
}

pub(crate) struct Client {
    process: StandIn,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    era: Era,
    last: u64,
}

impl Stdio {
    pub(super) fn new(place: &Place, era: Era) -> Self {
        Self { place: place.clone(), era, clients: HashMap::new(), beside: None }
    }
}

impl Door for Stdio {
    fn call(&mut self, who: Who<'_>, tool: &str, arguments: &str) -> Answer {
        let (place, era) = (&self.place, self.era);
        if who.scope() != "agent" {
            return self.beside.get_or_insert_with(|| Library::beside(place)).call(who, tool, arguments);
        }
        let client = self.clients.entry(who.name.to_owned()).or_insert_with(|| Client::start(place, era));
        let arguments: Value = serde_json::from_str(arguments).unwrap();
        client.call(tool, &arguments)
    }

    fn close(&mut self, who: &str) {
        self.clients.remove(who).unwrap().end();
    }
}

impl Drop for Stdio {
    fn drop(&mut self) {
        self.clients.drain().for_each(|(_, client)| client.end());
    }
}

impl Client {
    fn start(place: &Place, era: Era) -> Self {
        let mut client = Self::open(place, era, &[]);
        schema::check_catalog(&client.ask("tools/list", json!({})));
        client
    }

    /// Starts a server with additional arguments, and opens the connection.
    pub(crate) fn open(place: &Place, era: Era, more: &[&str]) -> Self {
        let mut command = program(&place.folder, &place.store);
        command.args(["mcp", "--tools", "full"]).args(more);
        let mut process = StandIn::start(&command, |client| {
            client.stdin(Io::piped()).stdout(Io::piped());
        });
        let input = process.child.stdin.take();
        let output = BufReader::new(process.child.stdout.take().unwrap());
        let mut client = Self { process, input, output, era, last: 0 };
        if era == Era::Old {
            let opened = client.send(&era.initialize(0));
            assert_eq!(opened["protocolVersion"], era.version(), "{opened}");
            client.write(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        }
        client
    }

    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Answer {
        answer(tool, &self.ask("tools/call", json!({"name": tool, "arguments": arguments})))
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.last += 1;
        self.send(&self.era.request(self.last, method, params))
    }

    fn write(&mut self, message: &Value) {
        let input = self.input.as_mut().unwrap();
        input.write_all(format!("{message}\n").as_bytes()).unwrap();
        input.flush().unwrap();
    }

    fn send(&mut self, message: &Value) -> Value {
        let said = self.exchange(message);
        assert!(said.get("error").is_none(), "{message} is answered {said}");
        said["result"].clone()
    }

    fn exchange(&mut self, message: &Value) -> Value {
        self.write(message);
        loop {
            let mut line = String::new();
            assert_ne!(self.output.read_line(&mut line).unwrap(), 0, "no answer to {message}");
            let said: Value = serde_json::from_str(&line).unwrap();
            if said["id"] == message["id"] {
                return said;
            }
        }
    }

    /// Closes the pipe, as a client does, and waits for the end of the server. After that the store has recorded the
    /// end of the connection.
    pub(crate) fn end(mut self) {
        drop(self.input.take());
        let status = self.process.wait();
        assert!(status.success(), "handover mcp ended with {status}");
    }
}

/// Returns the answer of `handover mcp` to the call of an unknown tool.
pub(crate) fn unknown_tool(place: &Place, era: Era) -> Value {
    let mut client = Client::start(place, era);
    let said = client.exchange(&era.request(9, "tools/call", json!({"name": "task_frobnicate", "arguments": {}})));
    client.end();
    said["error"].clone()
}

/// Returns the answer that an MCP result contains, after checking the form of the result.
pub(crate) fn answer(tool: &str, result: &Value) -> Answer {
    let blocks = result["content"].as_array().unwrap();
    assert_eq!(blocks.len(), 1, "{tool}: one block of text: {result}");
    assert_eq!(blocks[0]["type"], "text", "{tool}: {result}");
    let text = blocks[0]["text"].as_str().unwrap();
    let value: Value = serde_json::from_str(text).unwrap();
    assert_eq!(value.to_string(), text, "{tool}: the text is compact");
    if result["isError"] == true {
        assert!(result.get("structuredContent").is_none(), "{tool}: a refusal has no structured content: {result}");
        return Answer::Refused(value);
    }
    assert_eq!(result["structuredContent"].to_string(), text, "{tool}: the text is the structured content");
    Answer::Done(value)
}
