//! Exchanges messages of the Agent Client Protocol (ACP) with the agent's program over two pipes.

use std::collections::VecDeque;

use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::super::account::Account;
use super::super::said::HeardEvent;
use super::super::stream::{LineBuffer, event};
use super::message::{AcpFailure, AcpMessage};
use super::overheard::Overheard;
use super::permit::{PermissionQuestion, PermissionRequest, Permit};

const READ_BYTES: usize = 64 << 10;
/// The largest number of bytes of Handover's own messages that may wait to be written. When more wait, nothing is read
/// from the agent until the agent has read some of them.
const OUTGOING_BYTES_MAX: usize = 16 << 20;
const METHOD_NOT_FOUND: i64 = -32601;

/// The direction of a line in the conversation between Handover and the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    ToAgent,
    FromAgent,
}

/// The code that runs a turn (one run of an agent's program). It gets all lines for the transcript, and decides about
/// permissions.
pub trait AcpHost: Send {
    /// Receives every line of the conversation with the agent, for the transcript.
    fn line(&mut self, way: Way, line: &[u8]);

    fn heard(&mut self, heard: HeardEvent);

    /// Decides whether the agent may make a tool call. Nothing else is read from the agent until the decision is made.
    fn permit(&mut self, asked: PermissionQuestion) -> impl Future<Output = Permit> + Send;
}

/// The agent's answer to one of Handover's requests.
pub(super) type AcpAnswer = Result<Option<Box<RawValue>>, AcpFailure>;

/// An error: the agent has closed its output, or no longer reads its input.
#[derive(Debug)]
pub(super) struct Gone;

pub(super) struct Peer<'a, R, W, H> {
    reader: R,
    writer: W,
    host: &'a mut H,
    lines: LineBuffer,
    buffer: Vec<u8>,
    /// Complete lines that the agent sent and that are not handled yet.
    ready: VecDeque<Vec<u8>>,
    outgoing: VecDeque<u8>,
    requests: u64,
    /// True after the prompt is sent. Updates that arrive before the prompt only repeat the history of the
    /// conversation.
    pub(super) live: bool,
    pub(super) account: Account,
    pub(super) overheard: Overheard,
}

impl<'a, R: AsyncRead + Unpin + Send, W: AsyncWrite + Unpin + Send, H: AcpHost> Peer<'a, R, W, H> {
    pub(super) fn new(reader: R, writer: W, host: &'a mut H) -> Self {
        Self {
            reader,
            writer,
            host,
            lines: LineBuffer::default(),
            buffer: vec![0; READ_BYTES],
            ready: VecDeque::new(),
            outgoing: VecDeque::new(),
            requests: 0,
            live: false,
            account: Account::default(),
            overheard: Overheard::default(),
        }
    }

    /// Sends a request to the agent and returns the request's id. The agent's answer repeats the id.
    pub(super) fn ask(&mut self, method: &str, params: &Value) -> u64 {
        self.requests += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": self.requests, "method": method, "params": params}));
        self.requests
    }

    pub(super) fn tell(&mut self, method: &str, params: &Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Waits for the agent's answer to a request. In the meantime, the agent's own requests are served. The caller can
    /// drop the future and call the function again.
    pub(super) async fn answer(&mut self, id: u64) -> Result<AcpAnswer, Gone> {
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

    /// Ends the conversation with the agent, and returns the facts that were collected from it.
    pub(super) fn close(mut self) -> (Account, Overheard) {
        if self.lines.lost > 0 {
            self.account.warn(&format!("{} lines were too long to be read", self.lines.lost));
        }
        self.overheard.flush(&mut self.account);
        self.report();
        (self.account, self.overheard)
    }

    /// Answers a request that the agent sends, or records a notification that it sends.
    pub(super) async fn serve(&mut self, message: AcpMessage) {
        match (message.method.as_deref(), &message.id) {
            (Some("session/request_permission"), Some(id)) => self.permission(id, &message).await,
            // All other requests are refused, because Handover offered neither files nor terminals to the agent.
            (Some(_), Some(id)) => self.send(&json!({
                "jsonrpc": "2.0", "id": id, "error": {"code": METHOD_NOT_FOUND, "message": "method not found"},
            })),
            (Some("session/update"), None) if self.live => self.overheard.updated(&message, &mut self.account),
            (Some(_), None) | (None, _) => self.account.progress(),
        }
        self.report();
    }

    async fn permission(&mut self, id: &RawValue, message: &AcpMessage) {
        let Some(request) = AcpMessage::read::<PermissionRequest>(message.params.as_deref()) else {
            self.send(&json!({"jsonrpc": "2.0", "id": id, "result": {"outcome": {"outcome": "cancelled"}}}));
            return;
        };
        self.overheard.asked(message, &mut self.account);
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

    /// Returns the next message of the agent, and writes Handover's waiting messages at the same time. Without that,
    /// each side could wait forever for the other side to read. Dropping the future loses nothing.
    pub(super) async fn next(&mut self) -> Result<AcpMessage, Gone> {
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
