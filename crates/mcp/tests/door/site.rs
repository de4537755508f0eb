//! Serves the toy backend of these tests over HTTP, in threads of this process. The HTTP client here shows the tests
//! every byte of the answers.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use axum::Router;
use axum::serve::ListenerExt as _;
use mcp::{Http, HttpSettings};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::toy::Toy;
use crate::transcript::{PATIENCE, is_part};

/// Returns HTTP settings that allow requests from web pages of this machine.
pub(crate) fn settings() -> HttpSettings {
    HttpSettings { origins: vec!["http://127.0.0.1:*".to_owned()], ..HttpSettings::default() }
}

pub(crate) fn initialize(version: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"{version}","capabilities":{{}},"clientInfo":{{"name":"test","version":"0"}}}}}}"#
    )
}

pub(crate) fn call(tool: &str, arguments: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments}}}}}"#)
}

pub(crate) struct Site {
    address: String,
    stop: CancellationToken,
    told: mpsc::Receiver<String>,
    /// Receives one value when the server ends: true when it ran without an error.
    ended: mpsc::Receiver<bool>,
}

pub(crate) struct Answer {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<String> {
        self.headers.iter().find(|(found, _)| found == name).map(|(_, value)| value.clone())
    }

    /// Returns the JSON messages of an event stream, or the single message of the body.
    pub(crate) fn messages(&self) -> Vec<Value> {
        let texts: Vec<&str> = if self.header("content-type").is_some_and(|kind| kind.starts_with("text/event-stream"))
        {
            self.body.lines().filter_map(|line| line.strip_prefix("data:")).map(str::trim).collect()
        } else {
            vec![&self.body]
        };
        texts.iter().filter_map(|text| serde_json::from_str(text).ok()).collect()
    }

    pub(crate) fn has(&self, part: &Value) -> bool {
        part.is_null() || self.messages().iter().any(|message| is_part(part, message))
    }
}

impl Site {
    pub(crate) fn start(settings: &HttpSettings) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (tell, told) = mpsc::channel();
        let (end, ended) = mpsc::channel();
        let stop = CancellationToken::new();
        let (door, stopped) = (Http::new(Arc::new(Toy::new(tell)), settings), stop.clone());
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
            let served = runtime.block_on(serve(listener, door, stopped));
            runtime.shutdown_background();
            let _given_up = end.send(served.is_ok());
        });
        Self { address, stop, told, ended }
    }

    pub(crate) fn open(&self, agent: &str) -> String {
        self.post(&[("x-agent", agent)], &initialize("2025-11-25")).header("mcp-session-id").unwrap()
    }

    pub(crate) fn post(&self, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut reader = self.request("POST", headers, body);
        let (status, headers) = head(&mut reader);
        let mut bytes = Vec::new();
        let chunked = headers.iter().any(|(name, value)| name == "transfer-encoding" && value == "chunked");
        // The read error is ignored: a server that refuses a long body may close the connection before it has read the
        // whole body.
        let _reset = reader.read_to_end(&mut bytes);
        let bytes = if chunked { unchunk(&bytes) } else { bytes };
        Answer { status, headers, body: String::from_utf8(bytes).unwrap() }
    }

    pub(crate) fn delete(&self, session: &str) -> u16 {
        head(&mut self.request("DELETE", &[("mcp-session-id", session)], "")).0
    }

    pub(crate) fn stream(&self, session: &str) -> Stream {
        let mut reader = self.request("GET", &[("mcp-session-id", session)], "");
        assert_eq!(head(&mut reader).0, 200);
        Stream(reader)
    }

    pub(crate) fn new_era_stream(&self, method: &str, name: &str, body: &str) -> Stream {
        let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", method), ("mcp-name", name)];
        let count = if name.is_empty() { 2 } else { 3 };
        let mut reader = self.request("POST", &headers[..count], body);
        assert_eq!(head(&mut reader).0, 200);
        Stream(reader)
    }

    fn request(&self, method: &str, headers: &[(&str, &str)], body: &str) -> BufReader<TcpStream> {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut text = format!("{method} /mcp HTTP/1.1\r\nconnection: close\r\n");
        text += "accept: application/json, text/event-stream\r\ncontent-type: application/json\r\n";
        if !headers.iter().any(|(name, _)| *name == "host") {
            text += &format!("host: {}\r\n", self.address);
        }
        for (name, value) in headers {
            text += &format!("{name}: {value}\r\n");
        }
        text += &format!("content-length: {}\r\n\r\n", body.len());
        stream.write_all(text.as_bytes()).unwrap();
        let _refused_early = stream.write_all(body.as_bytes());
        BufReader::new(stream)
    }

    pub(crate) fn told(&self, words: &str) {
        let mut seen = Vec::new();
        while let Ok(line) = self.told.recv_timeout(PATIENCE) {
            if line == words {
                return;
            }
            seen.push(line);
        }
        panic!("no {words:?} in {seen:#?}");
    }

    /// Tells whether the toy backend reports the line `words`. Gives up when no line comes for `ms` milliseconds.
    pub(crate) fn was_told(&self, words: &str, ms: u64) -> bool {
        while let Ok(line) = self.told.recv_timeout(Duration::from_millis(ms)) {
            if line == words {
                return true;
            }
        }
        false
    }

    pub(crate) fn stop(&self) {
        self.stop.cancel();
    }

    pub(crate) fn ended_well(&self) -> bool {
        self.ended.recv_timeout(PATIENCE).unwrap()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.stop();
    }
}

async fn serve(listener: TcpListener, door: Http<Toy>, stopped: CancellationToken) -> std::io::Result<()> {
    let app = Router::new().route_service("/mcp", door.clone());
    let stop = async move {
        stopped.cancelled().await;
        door.close().await;
    };
    // Events are sent in small pieces. With Nagle's algorithm, each piece would wait 40 ms for the client's
    // acknowledgement.
    let listener = tokio::net::TcpListener::from_std(listener)?.tap_io(|stream| drop(stream.set_nodelay(true)));
    axum::serve(listener, app).with_graceful_shutdown(stop).await
}

pub(crate) struct Stream(BufReader<TcpStream>);

impl Stream {
    /// Returns the next message of the event stream. The sizes of HTTP chunks are ignored, because each event comes in
    /// one chunk here.
    #[expect(clippy::disallowed_methods, reason = "a stream that is kept alive never times out")]
    pub(crate) fn next(&mut self) -> Value {
        let start = Instant::now();
        loop {
            assert!(start.elapsed() < PATIENCE, "no message came");
            let mut line = String::new();
            assert_ne!(self.0.read_line(&mut line).unwrap(), 0, "the stream ended");
            if let Some(data) = line.strip_prefix("data:")
                && let Ok(message) = serde_json::from_str(data.trim())
            {
                return message;
            }
        }
    }
}

fn head(reader: &mut BufReader<TcpStream>) -> (u16, Vec<(String, String)>) {
    let mut lines = reader.lines().map(Result::unwrap);
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let headers = lines.take_while(|line| !line.is_empty()).filter_map(|line| {
        let (name, value) = line.split_once(": ")?;
        Some((name.to_ascii_lowercase(), value.to_owned()))
    });
    (status, headers.collect())
}

fn unchunk(mut bytes: &[u8]) -> Vec<u8> {
    let mut whole = Vec::new();
    while let Some(end) = bytes.windows(2).position(|pair| pair == b"\r\n") {
        let size = usize::from_str_radix(std::str::from_utf8(&bytes[..end]).unwrap(), 16).unwrap();
        whole.extend_from_slice(&bytes[end + 2..end + 2 + size]);
        bytes = &bytes[end + 4 + size..];
        if size == 0 {
            break;
        }
    }
    whole
}
