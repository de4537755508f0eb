//! Writes the server's messages to a pipe, one line each, in the order in which they were added. One write may contain
//! several lines.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::{ContentBlock, JsonRpcMessage, RequestId, ResultType, ServerJsonRpcMessage, ServerResult};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio_util::sync::CancellationToken;

use super::limits::OUTBOX_BYTES_MAX;

/// The maximum size in bytes of the write buffer that is kept after a write. A larger buffer is freed.
const KEPT_BYTES_MAX: usize = 256 << 10;

pub(super) struct Outbox<W>(Arc<SharedOutbox<W>>);

struct SharedOutbox<W> {
    /// Complete lines that wait to be written to the client. Each line is one message.
    waiting: Mutex<Vec<u8>>,
    writing: tokio::sync::Mutex<OutboxWriting<W>>,
    broken: CancellationToken,
}

struct OutboxWriting<W> {
    output: W,
    lines: Vec<u8>,
    written: usize,
}

impl<W> Clone for Outbox<W> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<W: AsyncWrite + Unpin> Outbox<W> {
    pub(super) fn new(output: W) -> Self {
        let writing = tokio::sync::Mutex::new(OutboxWriting { output, lines: Vec::new(), written: 0 });
        Self(Arc::new(SharedOutbox { waiting: Mutex::default(), writing, broken: CancellationToken::new() }))
    }

    /// Returns a cancellation token that is cancelled when writing fails, because the client no longer reads the
    /// output.
    pub(super) fn broken(&self) -> &CancellationToken {
        &self.0.broken
    }

    pub(super) fn is_full(&self) -> bool {
        self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner).len() > OUTBOX_BYTES_MAX
    }

    /// Appends a message to the lines that wait to be written. [`Self::flush`] writes these lines.
    pub(super) fn put(&self, message: &ServerJsonRpcMessage) {
        let mut waiting = self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let before = waiting.len();
        match write(message, &mut waiting) {
            Ok(()) => waiting.push(b'\n'),
            // Removes the incomplete line. This case does not happen in practice, because our own types always
            // serialize.
            Err(_) => waiting.truncate(before),
        }
    }

    /// Writes all waiting lines, including lines that other async tasks added. If the future is dropped before it ends,
    /// the next call continues after the last written byte.
    pub(super) async fn flush(&self) -> io::Result<()> {
        // Yields first, so that the answers to other calls become part of the same write. Several calls are often
        // answered at the same time, because the store commits their changes together.
        tokio::task::yield_now().await;
        let done = self.write_all().await;
        if done.is_err() {
            self.0.broken.cancel();
        }
        done
    }

    async fn write_all(&self) -> io::Result<()> {
        let mut writing = self.0.writing.lock().await;
        let OutboxWriting { output, lines, written } = &mut *writing;
        loop {
            if *written == lines.len() {
                *written = 0;
                lines.clear();
                lines.shrink_to(KEPT_BYTES_MAX);
                std::mem::swap(lines, &mut *self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner));
                if lines.is_empty() {
                    return output.flush().await;
                }
            }
            let rest = lines.get(*written..).unwrap_or_default();
            let count = output.write(rest).await?;
            if count == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            *written += count;
        }
    }
}

/// Writes a message of the server as JSON. When the structured content of a tool's result is null, the result's text,
/// which is JSON, is written in its place. An error without an id gets the id null, which JSON-RPC requires but `rmcp`
/// (the MCP library) leaves out.
pub(super) fn write(message: &ServerJsonRpcMessage, out: &mut Vec<u8>) -> serde_json::Result<()> {
    if let JsonRpcMessage::Error(error) = message
        && error.id.is_none()
    {
        out.extend_from_slice(br#"{"jsonrpc":"2.0","id":null,"error":"#);
        serde_json::to_writer(&mut *out, &error.error)?;
        out.push(b'}');
        return Ok(());
    }
    if let JsonRpcMessage::Response(response) = message
        && let ServerResult::CallToolResult(result) = &response.result
        && result.structured_content.as_ref().is_some_and(serde_json::Value::is_null)
        && let [ContentBlock::Text(block)] = result.content.as_slice()
    {
        return write_reply(&response.id, result.result_type.as_ref(), &block.text, out);
    }
    serde_json::to_writer(out, message)
}

fn write_reply(id: &RequestId, kind: Option<&ResultType>, reply: &str, out: &mut Vec<u8>) -> serde_json::Result<()> {
    out.reserve(reply.len() * 2 + 160);
    out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    serde_json::to_writer(&mut *out, id)?;
    out.extend_from_slice(br#","result":{"#);
    if let Some(kind) = kind {
        out.extend_from_slice(br#""resultType":"#);
        serde_json::to_writer(&mut *out, kind)?;
        out.push(b',');
    }
    out.extend_from_slice(br#""content":[{"type":"text","text":"#);
    serde_json::to_writer(&mut *out, reply)?;
    out.extend_from_slice(br#"}],"structuredContent":"#);
    out.extend_from_slice(reply.as_bytes());
    out.extend_from_slice(br#","isError":false}}"#);
    Ok(())
}
