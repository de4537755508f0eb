//! Reads whole lines of a program's output, from a byte offset on.

use std::fs::File;
use std::io::{self, Read, Seek as _, SeekFrom};

use base::ground::objects;

use super::TranscriptRange;
use crate::conversation::TurnOutput;

/// The longest line of a program's output that is read, in bytes. A longer line is left out.
pub(super) const LINE_BYTES_MAX: usize = 8 << 20;
/// The number of bytes before a piece that are read again, so that the result of a tool finds its call. They are not
/// shown again.
const CONTEXT_BYTES: u64 = 128 << 10;

/// The bytes of one piece: whole lines of the program's output.
pub(super) struct ReadLines {
    pub(super) bytes: Vec<u8>,
    /// True when the piece reaches the end of the output.
    pub(super) at_end: bool,
    /// True when a line that is too long was left out.
    pub(super) is_skipped: bool,
    pub(super) next: u64,
}

/// Opens the program's output for reading at any place. Returns `None` when this machine does not have it.
pub(super) fn open(output: TurnOutput<'_>) -> Option<File> {
    let kept = output.turn.ended().and_then(|ended| ended.stream.as_ref());
    let kept = kept.and_then(|stream| objects::open(output.state, &stream.hash).ok());
    kept.or_else(|| File::open(output.live()).ok())
}

/// Reads the end of the output before an offset, from the beginning of a line on.
pub(super) fn context(file: &mut File, before: u64) -> io::Result<Vec<u8>> {
    let from = before.saturating_sub(CONTEXT_BYTES);
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(before - from).read_to_end(&mut bytes)?;
    let begin =
        if from == 0 { 0 } else { bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |at| at + 1) };
    Ok(bytes.split_off(begin))
}

/// Reads whole lines from an offset on: about as many bytes as asked for, or one line that is longer. The last bytes of
/// an ended output count as a line, too.
pub(super) fn whole_lines(file: &mut File, range: TranscriptRange, is_ended: bool) -> io::Result<ReadLines> {
    let mut from = range.after;
    let mut is_skipped = false;
    loop {
        file.seek(SeekFrom::Start(from))?;
        let (mut bytes, mut most) = (Vec::new(), range.bytes_max.max(1));
        loop {
            let wanted = u64::try_from(most.saturating_sub(bytes.len())).unwrap_or(u64::MAX);
            let count = file.take(wanted).read_to_end(&mut bytes)?;
            let at_end = u64::try_from(count).unwrap_or(u64::MAX) < wanted;
            let end = bytes.iter().rposition(|byte| *byte == b'\n').map(|at| at + 1);
            let end = if at_end && is_ended { Some(bytes.len()) } else { end };
            if let Some(end) = end.filter(|end| *end > 0 || at_end) {
                let at_end = at_end && end == bytes.len();
                bytes.truncate(end);
                let next = from.saturating_add(u64::try_from(end).unwrap_or(u64::MAX));
                return Ok(ReadLines { bytes, at_end, is_skipped, next });
            }
            if at_end {
                // The program has not finished its line yet.
                return Ok(ReadLines { bytes: Vec::new(), at_end: false, is_skipped, next: from });
            }
            if most >= LINE_BYTES_MAX {
                break;
            }
            most = most.saturating_mul(4).min(LINE_BYTES_MAX);
        }
        // The line is longer than any line that is read. Skip the bytes, and look for its end behind them.
        is_skipped = true;
        from = from.saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
    }
}
