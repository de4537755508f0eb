//! A `handover serve` process in the project of a test, and a small client for its HTTP API.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::scene::WorkScene;

/// The time after which a request without an answer fails the test.
const SILENCE_MAX: Duration = Duration::from_secs(120);

pub(crate) struct WorkServer {
    child: Child,
    port: u16,
    person: String,
}

/// The status and the body of an answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct HttpSaid {
    pub(crate) status: u16,
    pub(crate) body: Value,
}

impl HttpSaid {
    /// Returns the body of an answer that must be a success.
    #[track_caller]
    pub(crate) fn done(self) -> Value {
        assert!(matches!(self.status, 200 | 201), "{self:?}");
        self.body
    }

    /// Returns the status and the code of a problem.
    pub(crate) fn code(&self) -> (u16, &str) {
        (self.status, self.body["code"].as_str().unwrap_or_default())
    }
}

impl WorkServer {
    pub(crate) fn start(scene: &WorkScene) -> Self {
        let mut command = scene.handover(&["serve", "--port", "0"]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let port = line.trim().rsplit(':').next().and_then(|port| port.parse().ok());
        let port = port.unwrap_or_else(|| panic!("the server did not start: {line}"));
        let person = token(scene, "person");
        Self { child, port, person }
    }

    /// Sends a request with the person's token and returns its connection, without waiting for the answer.
    pub(crate) fn send(&self, method: &str, path: &str, body: &Value) -> TcpStream {
        self.begin(&self.person, method, path, body)
    }

    fn begin(&self, token: &str, method: &str, path: &str, body: &Value) -> TcpStream {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(SILENCE_MAX)).unwrap();
        let head = format!(
            "{method} /api/v1/{path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nAuthorization: Bearer \
             {token}\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
        stream
    }

    /// Sends a request with a token, on a new connection.
    pub(crate) fn ask(&self, token: &str, method: &str, path: &str, body: &Value) -> HttpSaid {
        let mut stream = self.begin(token, method, path, body);
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let answer = String::from_utf8(answer).unwrap();
        let (head, text) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        HttpSaid { status, body: serde_json::from_str(text).unwrap_or_else(|_| json!(text)) }
    }

    pub(crate) fn get(&self, path: &str) -> HttpSaid {
        self.ask(&self.person, "GET", path, &Value::Null)
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> HttpSaid {
        self.ask(&self.person, "POST", path, body)
    }

    /// Merges the work of a task after a look at the merge.
    pub(crate) fn merge(&self, task: u32) -> HttpSaid {
        let looked = self.get(&format!("tasks/{task}/merge")).done();
        self.post(&format!("tasks/{task}/merge"), &json!({ "tree": looked["tree"] }))
    }
}

impl Drop for WorkServer {
    /// Ends the server process, so that a failed test leaves no server running.
    fn drop(&mut self) {
        let _over = self.child.kill().and_then(|()| self.child.wait());
    }
}

/// Asks again and again until there is an answer.
#[track_caller]
#[expect(clippy::disallowed_methods, reason = "bounds what a test waits for")]
pub(crate) fn wait_for<T>(what: &str, ask: impl Fn() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = ask() {
            return found;
        }
        assert!(begun.elapsed() < SILENCE_MAX, "waited for {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Creates a token of a scope as a person at a terminal, and returns its secret.
pub(crate) fn token(scene: &WorkScene, scope: &str) -> String {
    let said = scene.at_terminal(&["token", "create", &format!("{scope}-{scope}"), "--scope", scope, "--json"], "");
    let made: Value = serde_json::from_str(&said.out).unwrap_or_else(|_| panic!("{said:?}"));
    made["token"].as_str().unwrap_or_else(|| panic!("{said:?}")).to_owned()
}
