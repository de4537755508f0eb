//! Reads a unified diff of git into files, hunks and numbered lines, up to a bounded size.

/// The maximum number of lines that are kept of one file. No person reads more in one piece.
const FILE_LINES_MAX: usize = 5_000;
/// The maximum number of lines that are kept of all files together. It bounds the memory for a diff of many short lines.
const LINES_MAX: usize = 60_000;
/// The maximum number of bytes that are kept of one line. A longer line, such as a minified script, is cut.
const LINE_BYTES_MAX: usize = 4_000;

/// The part of a diff that is about one file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FilePatch {
    pub path: String,
    /// The old path of a renamed file. `None` for a file that was not renamed.
    pub old_path: Option<String>,
    pub status: FileStatus,
    pub hunks: Vec<DiffHunk>,
    /// True when lines of the file are missing, because the diff or the file is too long.
    pub is_cut: bool,
    lines: usize,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum FileStatus {
    #[default]
    Changed,
    Added,
    Removed,
    Renamed,
}

/// A run of changed lines of a file, with a few unchanged lines around them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffHunk {
    pub old_start: u32,
    pub new_start: u32,
    /// The text behind the line numbers, usually the function in which the change is. `None` when git shows none.
    pub heading: Option<String>,
    pub lines: Vec<DiffLine>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffLine {
    pub kind: DiffLineKind,
    /// The number of the line in the old file. `None` for an added line.
    pub old: Option<u32>,
    /// The number of the line in the new file. `None` for a removed line.
    pub new: Option<u32>,
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiffLineKind {
    Same,
    Added,
    Removed,
}

impl FileStatus {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Changed => "changed",
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Renamed => "renamed",
        }
    }
}

impl DiffLineKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Added => "add",
            Self::Removed => "remove",
        }
    }
}

/// The number of lines of a hunk that the diff has not shown yet, and the numbers of the next lines.
#[derive(Debug, Default)]
struct HunkPlace {
    old: u32,
    new: u32,
    old_left: u32,
    new_left: u32,
}

/// Reads a unified diff, up to a maximum number of files. A diff whose end is missing gives the files and lines up to
/// there.
pub fn patches(diff: &[u8], files_max: usize) -> Vec<FilePatch> {
    let mut found: Vec<FilePatch> = Vec::new();
    let (mut place, mut lines) = (HunkPlace::default(), 0);
    for line in diff.split(|byte| *byte == b'\n') {
        if place.is_inside() {
            if let Some(file) = found.last_mut() {
                let room = LINES_MAX.saturating_sub(lines);
                let before = file.lines;
                place.take(file, line, room);
                lines += file.lines - before;
            }
        } else if let Some(names) = line.strip_prefix(b"diff --git ") {
            let path = same_name(names);
            // A file that became a link is a removed and an added file in a diff. It is one file here.
            if found.last().is_none_or(|last| last.path != path) {
                if found.len() == files_max {
                    return found;
                }
                found.push(FilePatch { path, ..FilePatch::default() });
            }
        } else if let Some(file) = found.last_mut() {
            file.read_header(line, &mut place);
        }
    }
    if place.is_inside()
        && let Some(last) = found.last_mut()
    {
        last.is_cut = true;
    }
    found
}

impl FilePatch {
    /// Returns a changed file whose lines are not known.
    pub(super) fn without_lines(path: String, old_path: Option<String>) -> Self {
        Self { path, old_path, is_cut: true, ..Self::default() }
    }

    fn read_header(&mut self, line: &[u8], place: &mut HunkPlace) {
        if line.starts_with(b"new file mode ") {
            self.status = if self.status == FileStatus::Removed { FileStatus::Changed } else { FileStatus::Added };
        } else if line.starts_with(b"deleted file mode ") {
            self.status = FileStatus::Removed;
        } else if let Some(name) = line.strip_prefix(b"rename from ") {
            (self.status, self.old_path) = (FileStatus::Renamed, Some(unquoted(name)));
        } else if let Some(name) = line.strip_prefix(b"rename to ") {
            self.path = unquoted(name);
        } else if let Some(numbers) = line.strip_prefix(b"@@ -")
            && let Some((hunk, begin)) = hunk(numbers)
        {
            *place = begin;
            if self.lines < FILE_LINES_MAX {
                self.hunks.push(hunk);
            }
        }
    }
}

impl HunkPlace {
    fn is_inside(&self) -> bool {
        self.old_left > 0 || self.new_left > 0
    }

    /// Adds one line of a hunk to its file, and counts it. Keeps no line when there is no room for it.
    fn take(&mut self, file: &mut FilePatch, line: &[u8], room: usize) {
        let (kind, rest) = match line.split_first() {
            Some((b'+', rest)) => (DiffLineKind::Added, rest),
            Some((b'-', rest)) => (DiffLineKind::Removed, rest),
            // The line `\ No newline at end of file` is no line of the file.
            Some((b'\\', _)) => return,
            Some((_, rest)) => (DiffLineKind::Same, rest),
            // Only the end of the diff is a line without a first character. So the rest of the hunk is missing.
            None => return,
        };
        let (old, new) = match kind {
            DiffLineKind::Same => (Some(self.old), Some(self.new)),
            DiffLineKind::Added => (None, Some(self.new)),
            DiffLineKind::Removed => (Some(self.old), None),
        };
        if old.is_some() {
            (self.old, self.old_left) = (self.old.saturating_add(1), self.old_left.saturating_sub(1));
        }
        if new.is_some() {
            (self.new, self.new_left) = (self.new.saturating_add(1), self.new_left.saturating_sub(1));
        }
        if file.lines >= FILE_LINES_MAX || room == 0 {
            file.is_cut = true;
            return;
        }
        file.lines += 1;
        if let Some(hunk) = file.hunks.last_mut() {
            hunk.lines.push(DiffLine { kind, old, new, text: line_text(rest) });
        }
    }
}

/// Reads the numbers of a hunk, which look like `1,7 +1,9 @@ fn main() {`.
fn hunk(numbers: &[u8]) -> Option<(DiffHunk, HunkPlace)> {
    let text = String::from_utf8_lossy(numbers);
    let (ranges, heading) = text.split_once(" @@")?;
    let (old, new) = ranges.split_once(" +")?;
    let range = |text: &str| -> Option<(u32, u32)> {
        match text.split_once(',') {
            Some((start, count)) => Some((start.parse().ok()?, count.parse().ok()?)),
            None => Some((text.parse().ok()?, 1)),
        }
    };
    let ((old_start, old_left), (new_start, new_left)) = (range(old)?, range(new)?);
    let heading = Some(heading.trim()).filter(|heading| !heading.is_empty()).map(str::to_owned);
    let hunk = DiffHunk { old_start, new_start, heading, lines: Vec::new() };
    Some((hunk, HunkPlace { old: old_start, new: new_start, old_left, new_left }))
}

/// Returns the text of a line without a carriage return at its end, cut to a bounded length.
fn line_text(bytes: &[u8]) -> String {
    let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
    let text = String::from_utf8_lossy(bytes.get(..LINE_BYTES_MAX).unwrap_or(bytes)).into_owned();
    if bytes.len() > LINE_BYTES_MAX { format!("{text}…") } else { text }
}

/// Returns the path of a file from the words `a/PATH b/PATH` of a diff. Both paths are the same, except for a renamed
/// file, whose paths follow on lines of their own.
fn same_name(names: &[u8]) -> String {
    let half = names.len().saturating_sub(1) / 2;
    let last = names.get(half + 1..).unwrap_or_default();
    let name = unquoted(last);
    name.strip_prefix("b/").unwrap_or(&name).to_owned()
}

/// Returns a path that git may have put in quotes. In quotes, git writes unusual bytes as `\303` or `\t`.
fn unquoted(name: &[u8]) -> String {
    let Some(inner) = name.strip_prefix(b"\"").and_then(|name| name.strip_suffix(b"\"")) else {
        return String::from_utf8_lossy(name).into_owned();
    };
    let mut bytes = Vec::with_capacity(inner.len());
    let mut rest = inner.iter().copied();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        match rest.next() {
            Some(digit @ b'0'..=b'3') => {
                let octal = rest.by_ref().take(2).fold(u32::from(digit - b'0'), |number, digit| {
                    number * 8 + u32::from(digit.wrapping_sub(b'0') & 7)
                });
                bytes.push(u8::try_from(octal).unwrap_or(b'?'));
            }
            Some(b'n') => bytes.push(b'\n'),
            Some(b't') => bytes.push(b'\t'),
            Some(b'r') => bytes.push(b'\r'),
            Some(b'a') => bytes.push(7),
            Some(b'b') => bytes.push(8),
            Some(b'v') => bytes.push(11),
            Some(b'f') => bytes.push(12),
            Some(other) => bytes.push(other),
            None => {}
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
#[path = "hunks_tests.rs"]
mod tests;
