//! Writes Handover's section into a client's file of instructions, such as `AGENTS.md`. Two marks enclose the section,
//! so that a later version of Handover finds and replaces it.

use super::want::{FileError, RemainingText};

const BODY: &str = include_str!("instructions.md");

/// The form of the two marks around Handover's section in a client's file of instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Marks {
    /// Each of the two marks around Handover's section is an HTML comment, which Markdown does not show.
    Comment,
    /// Each of the two marks around Handover's section is a line that begins with `#`. This form is for plain text,
    /// which has no comments; people read such a line as a comment.
    Sign,
}

impl Marks {
    fn begin(self) -> &'static str {
        match self {
            Self::Comment => "<!-- handover:begin -->",
            Self::Sign => "# handover:begin",
        }
    }

    fn end(self) -> &'static str {
        match self {
            Self::Comment => "<!-- handover:end -->",
            Self::Sign => "# handover:end",
        }
    }
}

/// Replaces Handover's section in the text of a client's instructions. If the text has no such section, adds it at the
/// end.
pub(super) fn write(text: Option<&str>, marks: Marks) -> Result<String, FileError> {
    let text = text.unwrap_or_default();
    let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let section = format!("{}\n{BODY}{}\n", marks.begin(), marks.end()).replace('\n', end);
    if let Some((from, to)) = find(text, marks)? {
        return Ok(format!("{}{section}{}", &text[..from], &text[to..]));
    }
    let gap = match text {
        "" => "",
        text if text.ends_with(&end.repeat(2)) => "",
        text if text.ends_with('\n') => end,
        _ => &end.repeat(2),
    };
    Ok(format!("{text}{gap}{section}"))
}

/// Removes Handover's section from the text of a client's instructions, and the empty line before it.
pub(super) fn remove(text: &str, marks: Marks) -> Result<RemainingText, FileError> {
    let Some((from, to)) = find(text, marks)? else {
        return Ok(RemainingText { text: text.to_owned(), empty: text.trim().is_empty() });
    };
    let (before, after) = (&text[..from], &text[to..]);
    let alone = after.is_empty() || after.starts_with('\n') || after.starts_with("\r\n");
    let before = match before.strip_suffix("\r\n").or_else(|| before.strip_suffix('\n')) {
        Some(shorter) if alone && (shorter.is_empty() || shorter.ends_with('\n')) => shorter,
        Some(_) | None => before,
    };
    let text = format!("{before}{after}");
    Ok(RemainingText { empty: text.trim().is_empty(), text })
}

/// Returns the range of Handover's section in the text of a client's instructions, in bytes, including its last line
/// end.
fn find(text: &str, marks: Marks) -> Result<Option<(usize, usize)>, FileError> {
    let mut begin = None;
    let mut found = None;
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let end = start + line.len();
        let mark = line.trim();
        let wrong = |problem: &str| Err(FileError::at(text, start, problem));
        match (mark == marks.begin(), mark == marks.end(), begin, found) {
            (true, _, None, None) => begin = Some(start),
            (_, true, Some(from), None) => found = Some((from, end)),
            (true, ..) | (_, true, _, Some(_)) => {
                return wrong(
                    "the file has two sections of Handover; keep one `handover:begin` and one `handover:end`",
                );
            }
            (_, true, None, None) => {
                return wrong("`handover:end` has no `handover:begin` before it; remove this line");
            }
            (false, false, ..) => {}
        }
        start = end;
    }
    match (begin, found) {
        (Some(from), None) => Err(FileError::at(
            text,
            from,
            "`handover:begin` has no `handover:end` after it; add a line with it below \
                Handover's section",
        )),
        (_, found) => Ok(found),
    }
}
