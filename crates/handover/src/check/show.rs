//! Shows the problems of a document to a person: the line, a caret below the wrong place, and the advice on how to fix
//! it.

use std::fmt::Write as _;
use std::ops::Range;

use base::ground::words;
use unicode_width::UnicodeWidthChar;
use wire::check::{CheckFinding, CheckNote, DocumentKind, Severity};
use wire::json::Value;
use wire::visible::is_hidden;

/// The largest number of a document's problems that are shown. The rest is only counted, because people do not read
/// more. `--json` prints all of them.
const SHOWN_MAX: usize = 40;
/// The number of columns that are shown of a line with a problem. A longer line is cut around the wrong place.
const WIDTH: usize = 100;

/// A switch for colours: `true` adds escape codes to texts, `false` leaves texts as they are.
struct Paint(bool);

impl Paint {
    fn with(&self, code: &str, text: &str) -> String {
        if self.0 { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    fn severity(&self, severity: Severity) -> String {
        match severity {
            Severity::Error => self.with("1;31", "error"),
            Severity::Warning => self.with("1;33", "warning"),
        }
    }
}

pub(super) fn text(kind: DocumentKind, name: &str, bytes: &[u8], finding: &CheckFinding, colour: bool) -> String {
    let paint = Paint(colour);
    let mut out = String::new();
    for note in finding.notes.iter().take(SHOWN_MAX) {
        problem(&mut out, note, name, bytes, &paint);
    }
    let more = finding.notes.len().saturating_sub(SHOWN_MAX);
    if more > 0 {
        let _ = writeln!(out, "and {}; --json shows them all\n", words::count(more, "more problem"));
    }
    result(&mut out, kind, finding);
    let count = |severity| finding.notes.iter().filter(|note| note.severity == severity).count();
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    let verdict = if finding.valid { paint.with("1;32", "valid") } else { paint.with("1;31", "not valid") };
    let counts = match (errors, warnings) {
        (0, 0) => String::new(),
        (0, warnings) => format!(": {}", words::count(warnings, "warning")),
        (errors, 0) => format!(": {}", words::count(errors, "error")),
        (errors, warnings) => format!(": {}, {}", words::count(errors, "error"), words::count(warnings, "warning")),
    };
    // For some kinds of document, such as a merge, a result was printed above. If such a document has no problems,
    // leave out the line with "valid".
    if !(finding.valid && finding.notes.is_empty() && is_result(kind)) {
        let _ = writeln!(out, "{}: {verdict} {}{counts}", plain(name), kind.as_str());
    }
    out
}

/// Tells whether checking a document of this kind prints a result, such as a merged text, and not only "valid" or "not
/// valid".
fn is_result(kind: DocumentKind) -> bool {
    match kind {
        DocumentKind::Prompt
        | DocumentKind::Merge
        | DocumentKind::Remote
        | DocumentKind::Reference
        | DocumentKind::Transitions => true,
        DocumentKind::EnvelopeInput
        | DocumentKind::EnvelopeOutput
        | DocumentKind::FeedbackRequest
        | DocumentKind::FeedbackResponse
        | DocumentKind::Stream
        | DocumentKind::Handoff
        | DocumentKind::Wire
        | DocumentKind::Card => false,
    }
}

fn result(out: &mut String, kind: DocumentKind, finding: &CheckFinding) {
    if !finding.valid || !is_result(kind) {
        return;
    }
    match finding.verdict.get("prompt").and_then(Value::as_text) {
        Some(prompt) => out.push_str(prompt),
        None => out.push_str(&finding.verdict.pretty()),
    }
}

fn problem(out: &mut String, note: &CheckNote, name: &str, bytes: &[u8], paint: &Paint) {
    let _ = writeln!(out, "{}: {}", paint.severity(note.severity), paint.with("1", &plain(&note.code)));
    let place = note.place.as_ref().and_then(|place| Some((std::str::from_utf8(bytes).ok()?, place)));
    match place.and_then(|(text, place)| locate(text, place)) {
        Some(found) => {
            let margin = " ".repeat(found.number.to_string().len());
            let bar = paint.with("34", "|");
            let _ = writeln!(out, "{margin}--> {}:{}:{}", plain(name), found.number, found.column);
            let _ = writeln!(out, "{margin} {bar}");
            let _ = writeln!(out, "{} {bar} {}", paint.with("34", &found.number.to_string()), found.line);
            let carets = paint.with("1;31", &"^".repeat(found.carets));
            let _ = writeln!(out, "{margin} {bar} {}{carets}", " ".repeat(found.before));
            let _ = writeln!(out, "{margin} = {}\n", plain(&note.message));
        }
        None => {
            let _ = writeln!(out, "  = {}\n", plain(&note.message));
        }
    }
}

/// The line with a problem, cut to `WIDTH` columns, and the place in it that the carets mark.
struct Located {
    number: usize,
    column: usize,
    line: String,
    before: usize,
    carets: usize,
}

fn locate(text: &str, place: &Range<usize>) -> Option<Located> {
    let start = place.start.min(text.len());
    let head = text.get(..start)?;
    let line_start = head.rfind('\n').map_or(0, |newline| newline + 1);
    let line_end = text[start..].find('\n').map_or(text.len(), |newline| start + newline);
    let number = head.bytes().filter(|byte| *byte == b'\n').count() + 1;
    let column = head[line_start..].chars().count() + 1;
    let end = place.end.clamp(start, line_end);
    // Skip the start of a long line, so that the wrong place is visible.
    let skipped = column.saturating_sub(WIDTH * 2 / 3);
    let shown_start = head[line_start..].char_indices().nth(skipped).map_or(start, |(at, _)| line_start + at);
    let mut line = if skipped > 0 { "...".to_owned() } else { String::new() };
    line.push_str(&plain(&text[shown_start..start]));
    let before = width(&line);
    let (rest, marked) = (plain(text.get(start..line_end)?), plain(text.get(start..end)?));
    let room = WIDTH.saturating_sub(before).max(8);
    let tail: String = fit(&rest, room);
    line.push_str(&tail);
    if tail.len() < rest.len() {
        line.push_str("...");
    }
    Some(Located { number, column, before, carets: width(&marked).clamp(1, width(&tail).max(1)), line })
}

fn width(text: &str) -> usize {
    text.chars().map(|letter| letter.width().unwrap_or(0)).sum()
}

fn fit(text: &str, room: usize) -> String {
    let mut used = 0;
    let fits = |letter: &char| {
        used += letter.width().unwrap_or(0);
        used <= room
    };
    text.chars().take_while(fits).collect()
}

/// Returns a text of the document without characters that would move the terminal's cursor or change its colours.
fn plain(text: &str) -> String {
    let shown = |letter: char| match letter {
        '\t' => ' ',
        // Replace each hidden character by exactly one character, because the carets are aligned to columns.
        letter if is_hidden(letter) => '\u{fffd}',
        letter => letter,
    };
    text.trim_end_matches('\r').chars().map(shown).collect()
}
