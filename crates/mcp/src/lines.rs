//! Splits a stream of bytes into lines, one message each. A line may be as long as the backend allows for the tool that
//! the message calls.

use std::io;
use std::ops::Range;

use rmcp::model::RequestId;
use tokio::io::{AsyncRead, AsyncReadExt};

use super::limits::MESSAGE_BYTES_DEFAULT;
use super::skim::Skim;

/// The free space of the read buffer before each read, in bytes. A pipe holds at most this many bytes.
const PIECE_BYTES: usize = 64 << 10;
/// The maximum size of the read buffer that is kept after a long line. A larger buffer is freed.
const KEPT_BYTES_MAX: usize = 256 << 10;

pub(super) enum MessageLine {
    /// A complete line. The value is the range of the line in [`MessageLines::text`], without the line break.
    Whole(Range<usize>),
    TooLong {
        id: Option<RequestId>,
        bytes_max: usize,
    },
    End,
}

pub(super) struct MessageLines<R> {
    input: R,
    buffer: Vec<u8>,
    /// The position in `buffer` at which the next line begins. `searched` is the position before which `buffer` was
    /// already searched for the line break.
    start: usize,
    searched: usize,
    long: Option<Long>,
    ended: bool,
}

/// The state of a line that is longer than [`MESSAGE_BYTES_DEFAULT`]. Only messages that call certain tools may be so
/// long.
struct Long {
    skim: Skim,
    /// The maximum length for the tool that the line calls, when the line is longer than that. The rest of such a line
    /// is dropped. `None` while the line is not too long.
    over: Option<usize>,
}

impl<R: AsyncRead + Unpin> MessageLines<R> {
    pub(super) fn new(input: R) -> Self {
        Self { input, buffer: Vec::new(), start: 0, searched: 0, long: None, ended: false }
    }

    pub(super) fn text(&self, range: Range<usize>) -> &[u8] {
        self.buffer.get(range).unwrap_or_default()
    }

    /// Returns the next line that is not blank. No bytes are lost when the future is dropped before it ends.
    pub(super) async fn next(&mut self, bytes_max: impl Fn(&str) -> usize) -> io::Result<MessageLine> {
        loop {
            if let Some(end) = memchr::memchr(b'\n', &self.buffer[self.searched..]).map(|at| self.searched + at) {
                if let Some(line) = self.cut(end, end + 1, &bytes_max) {
                    return Ok(line);
                }
                continue;
            }
            self.follow(self.buffer.len(), &bytes_max);
            if self.ended {
                let end = self.buffer.len();
                return Ok(self.cut(end, end, &bytes_max).unwrap_or(MessageLine::End));
            }
            self.read().await?;
        }
    }

    async fn read(&mut self) -> io::Result<()> {
        if self.start > 0 {
            self.buffer.drain(..self.start);
            self.searched -= self.start;
            self.start = 0;
        }
        if self.buffer.capacity() > KEPT_BYTES_MAX && self.buffer.len() < PIECE_BYTES {
            self.buffer.shrink_to(2 * PIECE_BYTES);
        }
        self.buffer.reserve(PIECE_BYTES);
        if self.input.read_buf(&mut self.buffer).await? == 0 {
            self.ended = true;
        }
        Ok(())
    }

    /// Passes the new bytes up to `end` to `Skim`, which finds out which tool a long line calls. Drops the line when it
    /// is too long for that tool.
    fn follow(&mut self, end: usize, bytes_max: &impl Fn(&str) -> usize) {
        let fresh = self.searched..end;
        self.searched = end;
        if let Some(long) = &mut self.long {
            long.skim.feed(&self.buffer[fresh]);
        } else if end - self.start > MESSAGE_BYTES_DEFAULT {
            let mut skim = Skim::default();
            skim.feed(&self.buffer[self.start..end]);
            self.long = Some(Long { skim, over: None });
        }
        let Some(long) = &mut self.long else { return };
        let length = end - self.start;
        if long.over.is_none() {
            let most = long.skim.bytes_max(bytes_max);
            long.over = (length > most).then_some(most);
        }
        if long.over.is_some() {
            self.start = end;
        }
    }

    /// Returns the line that ends at the position `end`, or `None` when it is blank. The line after it begins at
    /// `next`.
    fn cut(&mut self, end: usize, next: usize, bytes_max: &impl Fn(&str) -> usize) -> Option<MessageLine> {
        if end > self.searched || self.long.is_some() {
            self.follow(end, bytes_max);
        }
        let line = self.start..end;
        (self.start, self.searched) = (next, next);
        if let Some(long) = self.long.take() {
            // The line is complete, so the tool that it calls is known. Here the length of the line is compared with
            // the maximum for this tool.
            let most = long.over.unwrap_or_else(|| long.skim.bytes_max_in_the_end(bytes_max));
            if long.over.is_some() || line.len() > most {
                return Some(MessageLine::TooLong { id: long.skim.id().cloned(), bytes_max: most });
            }
        }
        let text = self.buffer.get(line.clone()).unwrap_or_default();
        let end = line.start + text.trim_ascii_end().len();
        (end > line.start).then_some(MessageLine::Whole(line.start..end))
    }
}
