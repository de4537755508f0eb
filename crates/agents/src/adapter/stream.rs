//! Cuts a program's output into lines, in bounded memory for any output.

use serde::de::DeserializeOwned;

/// The longest line that is read, in bytes. Pictures in tool results make the longest lines, and nothing in them is
/// needed.
const LINE_BYTES_MAX: usize = 8 << 20;

/// A buffer for bytes that are not a whole line yet.
#[derive(Debug, Default)]
pub(super) struct LineBuffer {
    open: Vec<u8>,
    /// The open line is too long, and its rest is discarded.
    drowned: bool,
    /// The number of discarded lines.
    pub(super) lost: u32,
}

impl LineBuffer {
    /// Calls `line` with every line that these bytes complete, without its line feed.
    pub(super) fn feed(&mut self, bytes: &[u8], mut line: impl FnMut(&[u8])) {
        let mut pieces = bytes.split(|byte| *byte == b'\n');
        // There is always a last piece: the bytes that no line feed has ended yet.
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

    /// Ends the open line. A killed program leaves half a line, and some programs omit the last line feed.
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

/// Reads one line as an event. Returns None for other lines: banners, half lines and events of unknown kinds are all
/// part of a normal stream. Only the fields that we name are kept, so a line never takes much more memory than its
/// bytes.
pub(super) fn event<T: DeserializeOwned>(line: &[u8]) -> Option<T> {
    let line = line.trim_ascii();
    if line.first() != Some(&b'{') {
        return None;
    }
    let read = serde_json::from_slice(line).ok();
    // A text that was cut in the middle of a character must not lose the rest of the line.
    read.or_else(|| match std::str::from_utf8(line) {
        Ok(_) => None,
        Err(_) => serde_json::from_str(&String::from_utf8_lossy(line)).ok(),
    })
}

/// Returns the beginning of a text, cut at a border between characters.
pub(super) fn head(text: &str, bytes_max: usize) -> &str {
    let mut end = bytes_max.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
