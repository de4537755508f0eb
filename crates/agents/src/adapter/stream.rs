//! Cuts a program's output into lines, with bounded memory for output of any length.

use serde::de::DeserializeOwned;

/// The longest line of a program's output that is read, in bytes. A longer line is discarded. The longest lines are
/// tool results with pictures, which are not needed.
const LINE_BYTES_MAX: usize = 8 << 20;

/// A buffer for the bytes after the last line feed, which are not a whole line yet.
#[derive(Debug, Default)]
pub(super) struct LineBuffer {
    open: Vec<u8>,
    /// True if the current line is too long. The rest of it is then discarded.
    drowned: bool,
    /// The number of lines that were discarded because they were too long.
    pub(super) lost: u32,
}

impl LineBuffer {
    /// Adds bytes of output. Calls `line` for every line that they complete, without the line feed.
    pub(super) fn feed(&mut self, bytes: &[u8], mut line: impl FnMut(&[u8])) {
        let mut pieces = bytes.split(|byte| *byte == b'\n');
        // The last piece is the bytes after the last line feed. It always exists, but may be empty.
        let rest = pieces.next_back().unwrap_or_default();
        for piece in pieces {
            if self.open.is_empty() && !self.drowned {
                self.whole(piece, &mut line);
            } else {
                self.hold(piece);
                self.finish(&mut line);
            }
        }
        self.hold(rest);
    }

    /// Ends the output. The bytes after the last line feed count as a line, because some programs omit the last line
    /// feed. This line can be incomplete if the program was killed.
    pub(super) fn finish(&mut self, mut line: impl FnMut(&[u8])) {
        let open = std::mem::take(&mut self.open);
        if std::mem::take(&mut self.drowned) {
            self.lost = self.lost.saturating_add(1);
        } else if !open.is_empty() {
            self.whole(&open, &mut line);
        }
    }

    fn whole(&mut self, bytes: &[u8], line: &mut impl FnMut(&[u8])) {
        if bytes.len() > LINE_BYTES_MAX {
            self.lost = self.lost.saturating_add(1);
        } else {
            line(bytes.strip_suffix(b"\r").unwrap_or(bytes));
        }
    }

    fn hold(&mut self, bytes: &[u8]) {
        if self.drowned || self.open.len() + bytes.len() > LINE_BYTES_MAX {
            self.drowned = true;
            self.open = Vec::new();
        } else {
            self.open.extend_from_slice(bytes);
        }
    }
}

/// Reads one line of a program's output as an event. Returns None for a line that is no event of a known kind, because
/// normal output also has banners, half lines and other events. Only the declared fields are kept, so an event takes
/// little more memory than its line.
pub(super) fn event<T: DeserializeOwned>(line: &[u8]) -> Option<T> {
    let line = line.trim_ascii();
    if line.first() != Some(&b'{') {
        return None;
    }
    let read = serde_json::from_slice(line).ok();
    // If the program cut a text in the middle of a character, the line is not valid UTF-8. It is then read with a
    // replacement character in the place of the wrong bytes.
    read.or_else(|| match std::str::from_utf8(line) {
        Ok(_) => None,
        Err(_) => serde_json::from_str(&String::from_utf8_lossy(line)).ok(),
    })
}

/// Returns the first part of a text, of at most `bytes_max` bytes. The text is cut between two characters.
pub(super) fn head(text: &str, bytes_max: usize) -> &str {
    let mut end = bytes_max.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
