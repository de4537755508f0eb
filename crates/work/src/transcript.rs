//! The transcript of a turn (one run of an agent's program), read in pieces by byte offsets into the program's output.
//! A piece can be read while the program still writes.
//!
//! ```text
//! offset ── whole lines of the output ──> events ──> text, tool, result …, and the offset of the next piece
//! end    ── after the last line ─────────> warnings, the reason of a failure, standard error
//! ```

mod read;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use agents::adapter::{AdapterKind, Exit, HeardEvent, Listener, ToolCallDetail, ToolCallResult, tool_title};
use engine::turn::{TurnEnd, TurnResult};
use wire::visible;

use crate::conversation::TurnOutput;
use crate::error::WorkError;
use read::{ReadLines, context, open, whole_lines};

/// The maximum number of lines of one piece. The rest of the output is in the next piece.
const LINES_MAX: usize = 2_000;
/// The maximum number of lines that are shown of a tool's target or result.
const DETAIL_LINES_MAX: usize = 60;

/// One entry of a transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TranscriptLine {
    pub kind: TranscriptKind,
    /// The words of the agent, the name of the tool, or the message.
    pub text: String,
    /// The title of a tool call: its action, its target and its result.
    pub title: Option<String>,
    /// The target of a tool call, or the beginning of its result, by lines.
    pub detail: Vec<String>,
    /// True when the tool succeeded. `None` when this is not known yet, or not a question.
    pub ok: Option<bool>,
    /// The id of a tool call in the program's output. The result of a call in a later piece has the same id.
    pub call: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TranscriptKind {
    Text,
    /// A tool call. If its result is in the same piece, the title has it.
    Tool,
    /// The result of a tool call of an earlier piece.
    Result,
    Error,
    Stderr,
    Warning,
}

/// A piece of a transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TranscriptPiece {
    pub lines: Vec<TranscriptLine>,
    /// The offset at which the next piece begins.
    pub next: u64,
    /// True when the turn (the run of the program) ended and this piece is the last one.
    pub is_last: bool,
}

/// The part of a transcript that is asked for.
#[derive(Debug, Clone, Copy)]
pub struct TranscriptRange {
    /// The byte offset at which the piece begins: 0, or the `next` of an earlier piece.
    pub after: u64,
    /// The number of bytes that are read.
    pub bytes_max: usize,
}

impl TranscriptKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Tool => "tool",
            Self::Result => "result",
            Self::Error => "error",
            Self::Stderr => "stderr",
            Self::Warning => "warning",
        }
    }
}

/// Reads one piece of a transcript. Blocks on the disk. `slots` is the folder with the worktrees of agents, from which
/// the paths in titles are shown.
pub fn piece(
    output: TurnOutput<'_>,
    range: TranscriptRange,
    slots: Option<&Path>,
) -> Result<TranscriptPiece, WorkError> {
    let ended = output.turn.ended();
    let Some(mut file) = open(output) else { return Ok(without_output(range.after, ended.is_some())) };
    let failed = || WorkError::file("read the output of the program");
    let length = file.metadata().map_err(failed())?.len();
    if range.after > length {
        return Ok(TranscriptPiece { lines: Vec::new(), next: range.after, is_last: ended.is_some() });
    }
    let kind = AdapterKind::named(&output.turn.adapter).unwrap_or(AdapterKind::Exec);
    let mut transcript = TranscriptLines::new(slots);
    let mut listener = Listener::for_transcript(kind);
    for heard in listener.feed(&context(&mut file, range.after).map_err(failed())?) {
        transcript.know(heard);
    }
    let read = whole_lines(&mut file, range, ended.is_some()).map_err(failed())?;
    if read.is_skipped {
        transcript.lines.push(line(TranscriptKind::Warning, "A line of the output is too long to be shown."));
    }
    let next = transcript.hear_all(&mut listener, &read, range.after);
    let is_last = read.at_end && next == read.next && ended.is_some();
    let mut lines = transcript.lines;
    if let (true, Some(ended)) = (is_last, ended) {
        lines.extend(end_lines(listener, ended, &output.stderr()));
    }
    // One byte behind the end means that the lines of the end were given, too. So asking again does not repeat them.
    let next = if is_last { length.max(next).saturating_add(1) } else { next };
    Ok(TranscriptPiece { lines, next, is_last })
}

/// Returns the piece for an output that this machine does not have. The program of a running turn has perhaps not started
/// yet. An ended turn ran on another machine, or its output was deleted.
fn without_output(after: u64, is_ended: bool) -> TranscriptPiece {
    if !is_ended {
        return TranscriptPiece { lines: Vec::new(), next: after, is_last: false };
    }
    let told = line(TranscriptKind::Warning, "This machine does not have the output of this turn.");
    let lines = if after == 0 { vec![told] } else { Vec::new() };
    TranscriptPiece { lines, next: after.max(1), is_last: true }
}

/// The lines of one piece, and the tool calls whose results may follow.
struct TranscriptLines<'a> {
    lines: Vec<TranscriptLine>,
    /// The calls by their ids: the name, the call, and the position of its line in this piece.
    calls: HashMap<String, (String, ToolCallDetail, Option<usize>)>,
    slots: Option<&'a Path>,
}

impl<'a> TranscriptLines<'a> {
    fn new(slots: Option<&'a Path>) -> Self {
        Self { lines: Vec::new(), calls: HashMap::new(), slots }
    }

    /// Remembers a tool call of an earlier piece.
    fn know(&mut self, heard: HeardEvent) {
        if let HeardEvent::ToolCall { name, call } = heard
            && let Some(id) = call.id.clone()
        {
            self.calls.insert(id, (name, call, None));
        }
    }

    /// Reads the events of a piece, line by line, until the piece has enough lines. Returns the offset behind the last
    /// line that was read.
    fn hear_all(&mut self, listener: &mut Listener, read: &ReadLines, after: u64) -> u64 {
        let mut at = read.next.saturating_sub(u64::try_from(read.bytes.len()).unwrap_or(u64::MAX)).max(after);
        for bytes in read.bytes.split_inclusive(|byte| *byte == b'\n') {
            if self.lines.len() >= LINES_MAX {
                return at;
            }
            listener.feed(bytes).into_iter().for_each(|heard| self.hear(heard));
            if !bytes.ends_with(b"\n") {
                // Only the last line of an ended output has no line break.
                listener.feed(b"\n").into_iter().for_each(|heard| self.hear(heard));
            }
            at = at.saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        }
        read.next
    }

    fn hear(&mut self, heard: HeardEvent) {
        match heard {
            HeardEvent::Text(text) => {
                let text = shown(text.trim());
                if !text.is_empty() {
                    self.lines.push(TranscriptLine { text, ..line(TranscriptKind::Text, "") });
                }
            }
            HeardEvent::ToolCall { name, call } => self.call(name, call),
            HeardEvent::ToolResult(result) => self.result(&result),
            HeardEvent::Conversation(_) | HeardEvent::Progress => {}
        }
    }

    fn call(&mut self, name: String, call: ToolCallDetail) {
        let title = tool_title(&name, &call, None, folder_of(&call, self.slots).as_deref());
        let detail = call.targets.iter().flat_map(|target| detail(target)).take(DETAIL_LINES_MAX).collect();
        let (text, id) = (visible::decided(&name), call.id.clone());
        if let Some(id) = &id {
            self.calls.insert(id.clone(), (name, call, Some(self.lines.len())));
        }
        let call = id.map(|id| visible::decided(&id));
        self.lines.push(TranscriptLine { text, title: Some(title), detail, call, ..line(TranscriptKind::Tool, "") });
    }

    /// Adds the result of a tool call: to the line of the call if it is in this piece, else as a line of its own.
    fn result(&mut self, result: &ToolCallResult) {
        let known = result.id.as_ref().and_then(|id| self.calls.get(id));
        let title =
            known.map(|(name, call, _)| tool_title(name, call, Some(result), folder_of(call, self.slots).as_deref()));
        let text = known.map(|(name, ..)| visible::decided(name)).unwrap_or_default();
        let own = known.and_then(|(_, _, at)| *at).and_then(|at| self.lines.get_mut(at));
        let result_lines = detail(&result.text);
        match own {
            Some(own) => {
                (own.title, own.ok) = (title, result.ok);
                own.detail.extend(result_lines);
            }
            None => {
                let call = result.id.as_deref().map(visible::decided);
                let found =
                    TranscriptLine { text, title, detail: result_lines, call, ..line(TranscriptKind::Result, "") };
                self.lines.push(TranscriptLine { ok: result.ok, ..found });
            }
        }
    }
}

fn line(kind: TranscriptKind, text: &str) -> TranscriptLine {
    TranscriptLine { kind, text: text.to_owned(), title: None, detail: Vec::new(), ok: None, call: None }
}

/// Returns a text of an agent without secrets and with hidden characters made visible. Line breaks stay.
fn shown(text: &str) -> String {
    visible::lines(&visible::redacted(text))
}

/// Returns the first lines of a target or result.
fn detail(text: &str) -> Vec<String> {
    shown(text.trim_end()).lines().take(DETAIL_LINES_MAX).map(str::to_owned).collect()
}

/// Returns the worktree in which the target of a call is, so that titles show paths from there.
fn folder_of(call: &ToolCallDetail, slots: Option<&Path>) -> Option<PathBuf> {
    let (slots, target) = (slots?, call.targets.first()?);
    let number = Path::new(target).strip_prefix(slots).ok()?.components().next()?;
    Some(slots.join(number))
}

/// Returns the lines behind the last line of an ended output: warnings, the reason of a failure, and standard error.
fn end_lines(listener: Listener, ended: &TurnResult, stderr: &str) -> Vec<TranscriptLine> {
    let said = listener.end(Exit::Code(0), "");
    let mut lines: Vec<TranscriptLine> =
        said.warnings.iter().map(|warning| line(TranscriptKind::Warning, &shown(warning))).collect();
    let errors = shown(stderr);
    let errors = errors.lines().filter(|text| !text.trim().is_empty());
    lines.extend(errors.map(|text| line(TranscriptKind::Stderr, text)));
    if ended.end != TurnEnd::Finished {
        let how = ended.end.as_str().replace('_', " ");
        let reason = ended.reason.as_deref().map(|reason| format!(": {}", shown(reason))).unwrap_or_default();
        lines.push(line(TranscriptKind::Error, &format!("{how}{reason}")));
    }
    lines
}

#[cfg(test)]
mod tests;
