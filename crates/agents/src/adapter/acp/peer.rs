//! The agent at the other end of two pipes.

use std::collections::VecDeque;

use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::super::account::Account;
use super::super::said::Heard;
use super::super::stream::{Lines, event};
use super::message::{Failure, Message};
use super::overheard::Overheard;
use super::permit::{Asked, Permit, Request};

const READ_BYTES: usize = 64 << 10;
/// An agent that asks and does not read our answers is not read either, until it does.
const OUTGOING_BYTES_MAX: usize = 16 << 20;
const METHOD_NOT_FOUND: i64 = -32601;

/// Who said a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    ToAgent,
    FromAgent,
}

/// Whoever runs the turn.
pub trait Host: Send {
    /// Every line of the conversation, for the transcript.
    fn line(&mut self, way: Way, line: &[u8]);

    fn heard(&mut self, heard: Heard);

    /// Nothing else is read from the agent until this is answered.
    fn permit(&mut self, asked: Asked) -> impl Future<Output = Permit> + Send;
}

/// What an answer to one of our requests was.
pub(super) type Answer = Result<Option<Box<RawValue>>, Failure>;

/// The agent closed its output, or does not take our input.
#[derive(Debug)]
pub(super) struct Gone;

pub(super) struct Peer<'a, R, W, H> {
    reader: R,
    writer: W,
    host: &'a mut H,
    lines: Lines,
    buffer: Vec<u8>,
    /// Lines of the last read that were not looked at yet.
    ready: VecDeque<Vec<u8>>,
    outgoing: VecDeque<u8>,
    requests: u64,
    /// Until the prompt is sent, what the agent tells is history.
    pub(super) live: bool,
    pub(super) account: Account,
    pub(super) overheard: Overheard,
}

impl<'a, R: AsyncRead + Unpin + Send, W: AsyncWrite + Unpin + Send, H: Host> Peer<'a, R, W, H> {
    pub(super) fn new(reader: R, writer: W, host: &'a mut H) -> Self {
        Self {
            reader,
            writer,
            host,
            lines: Lines::default(),
            buffer: vec![0; READ_BYTES],
            ready: VecDeque::new(),
            outgoing: VecDeque::new(),
            requests: 0,
            live: false,
            account: Account::default(),
            overheard: Overheard::default(),
        }
    }

    /// Sends a request and says under which number its answer will come.
    pub(super) fn ask(&mut self, method: &str, params: &Value) -> u64 {
        self.requests += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": self.requests, "method": method, "params": params}));
        self.requests
    }

    pub(super) fn tell(&mut self, method: &str, params: &Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Waits for the answer to a request and serves the agent meanwhile. It can be given up and called again.
    pub(super) async fn answer(&mut self, id: u64) -> Result<Answer, Gone> {
        let id = id.to_string();
        loop {
            let message = self.next().await?;
            if message.method.is_none() && message.id.as_ref().is_some_and(|its| its.get() == id) {
                return Ok(match message.error {
                    Some(failure) => Err(failure),
                    None => Ok(message.result),
                });
            }
            self.serve(message).await;
        }
    }

    pub(super) fn report(&mut self) {
        for heard in self.account.take_heard() {
            self.host.heard(heard);
        }
    }

    /// Nothing more will be read.
    pub(super) fn close(mut self) -> (Account, Overheard) {
        if self.lines.lost > 0 {
            self.account.warn(&format!("{} lines were too long to be read", self.lines.lost));
        }
        self.report();
        (self.account, self.overheard)
    }

    /// Answers a request, or notes what is told.
    pub(super) async fn serve(&mut self, message: Message) {
        match (message.method.as_deref(), &message.id) {
            (Some("session/request_permission"), Some(id)) => self.permission(id, &message).await,
            // Files and terminals were not offered.
            (Some(_), Some(id)) => self.send(&json!({
                "jsonrpc": "2.0", "id": id, "error": {"code": METHOD_NOT_FOUND, "message": "method not found"},
            })),
            (Some("session/update"), None) if self.live => self.overheard.updated(&message, &mut self.account),
            (Some(_), None) | (None, _) => self.account.progress(),
        }
        self.report();
    }

    async fn permission(&mut self, id: &RawValue, message: &Message) {
        let Some(request) = Message::read::<Request>(message.params.as_deref()) else {
            self.send(&json!({"jsonrpc": "2.0", "id": id, "result": {"outcome": {"outcome": "cancelled"}}}));
            return;
        };
        let call = &request.tool_call;
        self.overheard.call(Some(&call.tool_call_id), call.title.as_deref(), true, &mut self.account);
        self.report();
        let asked = request.asked();
        let title = asked.title.clone();
        let permit = self.host.permit(asked).await;
        if permit == Permit::RejectOnce {
            self.account.warn(&format!("not permitted: {title}"));
        }
        self.send(&json!({"jsonrpc": "2.0", "id": id, "result": request.answer(permit)}));
    }

    fn send(&mut self, message: &Value) {
        let line = message.to_string();
        self.host.line(Way::ToAgent, line.as_bytes());
        self.outgoing.extend(line.as_bytes());
        self.outgoing.push_back(b'\n');
    }

    /// The next message, while ours are on their way: each side may wait for the other to read. Given up, it has lost
    /// nothing.
    pub(super) async fn next(&mut self) -> Result<Message, Gone> {
        loop {
            while let Some(line) = self.ready.pop_front() {
                self.host.line(Way::FromAgent, &line);
                if let Some(message) = event(&line) {
                    return Ok(message);
                }
            }
            let crowded = self.outgoing.len() > OUTGOING_BYTES_MAX;
            let (out, _) = self.outgoing.as_slices();
            tokio::select! {
                read = self.reader.read(&mut self.buffer), if !crowded => match read {
                    Ok(0) | Err(_) => return Err(Gone),
                    Ok(count) => self.lines.feed(&self.buffer[..count], |line| self.ready.push_back(line.to_vec())),
                },
                written = self.writer.write(out), if !out.is_empty() => match written {
                    Ok(0) | Err(_) => return Err(Gone),
                    Ok(count) => drop(self.outgoing.drain(..count)),
                },
            }
        }
    }
}
