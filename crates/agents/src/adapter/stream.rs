//! Cuts a program's output into lines, in bounded memory whatever it prints.

use serde::de::DeserializeOwned;

/// The longest line that is read. Pictures in tool results are the longest there are, and nothing in them is needed.
const LINE_BYTES_MAX: usize = 8 << 20;

/// Bytes that arrived and are no whole line yet.
#[derive(Debug, Default)]
pub(super) struct Lines {
    open: Vec<u8>,
    /// The line that is open is too long, and its rest is thrown away.
    drowned: bool,
    /// How many lines were thrown away.
    pub(super) lost: u32,
}

impl Lines {
    /// Calls `line` with every line that these bytes complete, without its end.
    pub(super) fn feed(&mut self, bytes: &[u8], mut line: impl FnMut(&[u8])) {
        let mut pieces = bytes.split(|byte| *byte == b'\n');
        // There is always a last piece; it is what no line feed ended yet.
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

    /// A program that was killed leaves half a line, and some leave out the last line feed.
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

/// One line as an event, or nothing where it is none: banners, half lines and kinds of events we do not know are all
/// part of a normal stream. Only the fields we name are kept, so a line never takes much more memory than its bytes.
pub(super) fn event<T: DeserializeOwned>(line: &[u8]) -> Option<T> {
    let line = line.trim_ascii();
    if line.first() != Some(&b'{') {
        return None;
    }
    let read = serde_json::from_slice(line).ok();
    // A text that was cut in the middle of a letter is no reason to lose the rest.
    read.or_else(|| match std::str::from_utf8(line) {
        Ok(_) => None,
        Err(_) => serde_json::from_str(&String::from_utf8_lossy(line)).ok(),
    })
}

/// The beginning of a text, at a border between letters.
pub(super) fn head(text: &str, bytes_max: usize) -> &str {
    let mut end = bytes_max.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
