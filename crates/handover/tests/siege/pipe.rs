//! A client of `handover mcp`: its process, its pipes, and the messages that it reads.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{ChildStdin, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Value, json};

use crate::busy::patience;
use crate::place::Place;
use crate::stand_in::StandIn;

/// The longest time without a message from the process. After that the process counts as hung and the test fails.
pub(crate) const SILENCE_MAX: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub(crate) struct Pipe {
    client: StandIn,
    input: Option<ChildStdin>,
    lines: Receiver<Vec<u8>>,
    reader: JoinHandle<()>,
    errors: JoinHandle<String>,
    number: u64,
}

/// A refusal of a tool call as JSON, with its code and details.
pub(crate) type Refused = Value;

impl Pipe {
    /// Starts the `handover mcp` process, but sends no message to it.
    pub(crate) fn start(place: &Place, arguments: &[&str]) -> Self {
        let mut program = place.program();
        program.arg("mcp").args(arguments);
        let mut client = StandIn::start(&program, |client| {
            client.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        });
        let child = &mut client.child;
        let (sender, lines) = channel();
        let output = BufReader::new(child.stdout.take().unwrap());
        let reader = std::thread::spawn(move || {
            for line in output.split(b'\n').map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let mut stderr = child.stderr.take().unwrap();
        let errors = std::thread::spawn(move || {
            let mut text = Vec::new();
            let _cut = stderr.read_to_end(&mut text);
            String::from_utf8_lossy(&text).into_owned()
        });
        let input = child.stdin.take();
        Self { client, input, lines, reader, errors, number: 0 }
    }

    /// Starts the server and opens the connection with `initialize`, as clients of the older MCP versions do.
    pub(crate) fn open(place: &Place, arguments: &[&str]) -> Self {
        let mut pipe = Self::start(place, arguments);
        pipe.initialize();
        pipe
    }

    pub(crate) fn initialize(&mut self) {
        self.initialize_as("siege");
    }

    /// Opens the MCP connection as a client with this name.
    pub(crate) fn initialize_as(&mut self, name: &str) {
        let opening =
            json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": name, "version": "1"}});
        self.request("initialize", &opening).unwrap();
        self.send(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    }

    /// Registers an agent, and returns its id.
    pub(crate) fn register(&mut self, name: &str) -> String {
        let agent = self.must("agent_register", &json!({"name": name, "runtime": "siege"}));
        agent["id"].as_str().unwrap().to_owned()
    }

    pub(crate) fn id(&self) -> u32 {
        self.client.server
    }

    /// Sends the bytes unchanged, followed by a line break.
    pub(crate) fn send(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().unwrap();
        input.write_all(bytes).unwrap();
        input.write_all(b"\n").unwrap();
        input.flush().unwrap();
    }

    /// Sends the bytes unchanged, without a line break.
    pub(crate) fn send_part(&mut self, bytes: &[u8]) {
        self.input.as_mut().unwrap().write_all(bytes).unwrap();
    }

    /// Returns the next MCP message of any kind from the server, or `None` when the server has ended.
    pub(crate) fn next(&mut self) -> Option<Value> {
        match self.lines.recv_timeout(patience(SILENCE_MAX)) {
            Ok(line) => Some(serde_json::from_slice(&line).unwrap()),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => panic!("no answer within {SILENCE_MAX:?}"),
        }
    }

    /// Sends a request and returns its result. `Err` is a protocol error, or null when the server has ended.
    pub(crate) fn request(&mut self, method: &str, params: &Value) -> Result<Value, Value> {
        self.number += 1;
        let message = json!({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params});
        let sent = self.input.as_mut().unwrap().write_all(format!("{message}\n").as_bytes());
        if sent.is_err() {
            return Err(Value::Null);
        }
        loop {
            let answer = self.next().ok_or(Value::Null)?;
            if answer["id"] == self.number {
                return answer.get("result").cloned().ok_or_else(|| answer["error"].clone());
            }
        }
    }

    /// Calls a tool. `Ok(Err(…))` is a refusal, `Err` a protocol error.
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Result<Result<Value, Refused>, Value> {
        let result = self.request("tools/call", &json!({"name": tool, "arguments": arguments}))?;
        if result["isError"] == true {
            return Ok(Err(serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap()));
        }
        Ok(Ok(result["structuredContent"].clone()))
    }

    /// Calls a tool that must succeed.
    pub(crate) fn must(&mut self, tool: &str, arguments: &Value) -> Value {
        self.call(tool, arguments).unwrap().unwrap_or_else(|refused| panic!("{tool} {arguments}: {refused}"))
    }

    /// Calls a tool that must refuse, and returns the refusal's code.
    pub(crate) fn refused(&mut self, tool: &str, arguments: &Value) -> String {
        match self.call(tool, arguments).unwrap() {
            Ok(reply) => panic!("{tool} {arguments} was done: {reply}"),
            Err(refused) => refused["code"].as_str().unwrap().to_owned(),
        }
    }

    /// Closes the server's input, as a client does at its end. Returns the exit status and the standard error.
    pub(crate) fn leave(self) -> (ExitStatus, String) {
        let (status, _, errors) = self.leave_with_answers();
        (status, errors)
    }

    /// Closes the server's input. Returns the exit status, the messages that came before the server ended, and the
    /// standard error.
    pub(crate) fn leave_with_answers(mut self) -> (ExitStatus, Vec<Value>, String) {
        drop(self.input.take());
        let status = self.client.wait();
        self.reader.join().unwrap();
        let answers = self.lines.iter().map(|line| serde_json::from_slice(&line).unwrap()).collect();
        (status, answers, self.errors.join().unwrap())
    }

    /// Kills the server process with `SIGKILL`, and returns its standard error.
    pub(crate) fn kill(mut self) -> String {
        self.client.signal(rustix::process::Signal::KILL);
        self.client.wait();
        self.errors.join().unwrap()
    }
}
