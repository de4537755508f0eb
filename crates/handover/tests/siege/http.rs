//! A small HTTP client that sends requests of any shape, even invalid requests, and shows the state of the connection.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::busy::patience;
use crate::pipe::SILENCE_MAX;

/// The time without use after which a connection is not used again. The server closes a silent connection after thirty
/// seconds.
const IDLE_MAX: Duration = Duration::from_secs(10);

/// An HTTP connection. Bytes that were read beyond the end of an answer stay in its buffer.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: TcpStream,
    read: Vec<u8>,
    used: Instant,
}

#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let of = |line: &'_ str| line.split_once(": ").filter(|(found, _)| found.eq_ignore_ascii_case(name)).is_some();
        self.head.lines().find(|line| of(line)).and_then(|line| line.split_once(": ")).map(|(_, value)| value)
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or(Value::Null)
    }

    /// Returns the code of a refusal, or an empty text when the answer is no refusal.
    pub(crate) fn code(&self) -> String {
        self.json()["code"].as_str().unwrap_or_default().to_owned()
    }

    /// Returns the message of an MCP answer, which is JSON or one server-sent event.
    pub(crate) fn message(&self) -> Value {
        let text = self.text();
        let event = text.lines().rfind(|line| line.starts_with("data: {")).map(|line| line[6..].to_owned());
        serde_json::from_str(&event.unwrap_or(text)).unwrap_or(Value::Null)
    }
}

impl Connection {
    pub(crate) fn open(port: u16) -> Self {
        Self::try_open(port).unwrap()
    }

    /// Connects to the server, or returns `None` when no server listens on the port.
    pub(crate) fn try_open(port: u16) -> Option<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(patience(SILENCE_MAX))).unwrap();
        stream.set_write_timeout(Some(patience(SILENCE_MAX))).unwrap();
        Some(Self { stream, read: Vec::new(), used: Instant::now() })
    }

    /// Sends the bytes unchanged. Returns `false` when the server takes no more bytes.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> bool {
        self.stream.write_all(bytes).is_ok()
    }

    /// Sends a request with a body and returns its answer, or `None` when the server closed the connection without an
    /// answer.
    pub(crate) fn request(
        &mut self,
        method: &str,
        target: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Option<Answer> {
        // The server may refuse a request and answer it before the whole body is sent.
        let _refused_early = self.ask(method, target, headers, body);
        self.answer()
    }

    /// Sends a request without waiting for the answer. Returns `false` when the server takes no more bytes.
    pub(crate) fn ask(&mut self, method: &str, target: &str, headers: &[(&str, &str)], body: &[u8]) -> bool {
        let mut head = format!("{method} {target} HTTP/1.1\r\n");
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            head.push_str("Host: 127.0.0.1\r\n");
        }
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str(&format!("Content-Length: {}\r\n\r\n", body.len()));
        self.used = Instant::now();
        self.send(head.as_bytes()) && self.send(body)
    }

    /// Tells whether the connection was unused for so long that the server may have closed it.
    pub(crate) fn is_stale(&self) -> bool {
        self.used.elapsed() > IDLE_MAX
    }

    /// Reads the next answer with its whole body. Returns `None` when the server closed the connection without an
    /// answer.
    pub(crate) fn answer(&mut self) -> Option<Answer> {
        let mut answer = self.head()?;
        if answer.header("transfer-encoding") == Some("chunked") {
            while let Some(chunk) = self.chunk() {
                answer.body.extend(chunk);
            }
        } else {
            let length = answer.header("content-length").map_or(0, |text| text.parse().unwrap());
            while self.read.len() < length {
                self.more()?;
            }
            answer.body = self.read.drain(..length).collect();
        }
        Some(answer)
    }

    /// Reads the head of the next answer. The caller reads the body with [`Self::chunk`].
    pub(crate) fn head(&mut self) -> Option<Answer> {
        let end = self.until(b"\r\n\r\n")?;
        let head = String::from_utf8(self.read.drain(..end).collect()).unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Some(Answer { status, head, body: Vec::new() })
    }

    /// Reads the next chunk of a body. Returns `None` at the end of the body or when the server closed the connection.
    pub(crate) fn chunk(&mut self) -> Option<Vec<u8>> {
        let end = self.until(b"\r\n")?;
        let line = String::from_utf8(self.read.drain(..end).collect()).unwrap();
        let length = usize::from_str_radix(line.trim(), 16).unwrap();
        while self.read.len() < length + 2 {
            self.more()?;
        }
        let chunk: Vec<u8> = self.read.drain(..length + 2).take(length).collect();
        (length > 0).then_some(chunk)
    }

    /// Tells whether bytes came from the server, or the server closed the connection, within this time.
    pub(crate) fn has_come(&mut self, time: Duration) -> bool {
        self.stream.set_read_timeout(Some(time)).unwrap();
        let mut byte = [0];
        let came = self.stream.peek(&mut byte);
        self.stream.set_read_timeout(Some(patience(SILENCE_MAX))).unwrap();
        !matches!(came, Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut))
    }

    /// Waits until the server closes the connection. Returns `false` when it does not close within this time.
    pub(crate) fn closes_within(&mut self, time: Duration) -> bool {
        self.stream.set_read_timeout(Some(time)).unwrap();
        let mut buffer = [0; 4096];
        loop {
            match self.stream.read(&mut buffer) {
                Ok(0) => return true,
                Ok(_) => {}
                Err(error) => return !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
            }
        }
    }

    fn until(&mut self, end: &[u8]) -> Option<usize> {
        loop {
            if let Some(at) = self.read.windows(end.len()).position(|found| found == end) {
                return Some(at + end.len());
            }
            self.more()?;
        }
    }

    fn more(&mut self) -> Option<()> {
        let mut buffer = [0; 16_384];
        match self.stream.read(&mut buffer) {
            Ok(0) => None,
            Ok(count) => {
                self.read.extend_from_slice(&buffer[..count]);
                Some(())
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                panic!("no answer within {:?}", self.stream.read_timeout().unwrap())
            }
            Err(_) => None,
        }
    }
}
