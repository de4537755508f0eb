//! The conversation of a turn (one run of an agent's program) as readable lines: the agent's texts, its tool calls, its
//! answer and its standard error.

use std::fs::File;
use std::io::{self, Read, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use agents::adapter::{AdapterKind, Exit, HeardEvent, Listener};
use agents::host::{STDERR, STDOUT};
use base::Service;
use base::ground::objects;
use base::service::turns::{self, NamedTurn};
use engine::id::TurnId;
use engine::turn::Turn;
use runner::turn_proof::turn_folder;
use wire::visible;

use crate::error::WorkError;

/// The maximum number of bytes that one read takes from the output of a program.
const PIECE_BYTES: usize = 64 << 10;
/// The maximum number of bytes that are shown of a program's standard error. The beginning of a longer text is left
/// out.
const STDERR_BYTES_MAX: u64 = 64 << 10;

/// Collects the readable lines of a turn (one run of an agent's program). Several calls of the same tool in a row
/// become one line.
#[derive(Debug, Default)]
struct LogLines {
    ready: Vec<String>,
    calls: Option<(String, u32)>,
}

impl LogLines {
    fn hear(&mut self, heard: HeardEvent) {
        match heard {
            HeardEvent::ToolCall { name, .. } => match &mut self.calls {
                Some((last, count)) if *last == name => *count = count.saturating_add(1),
                Some(_) | None => {
                    self.settle();
                    self.calls = Some((name, 1));
                }
            },
            HeardEvent::Text(text) => {
                self.settle();
                self.ready.extend(text.lines().filter(|line| !line.trim().is_empty()).map(shown_line));
            }
            HeardEvent::Conversation(_) | HeardEvent::ToolResult(_) | HeardEvent::Progress => {}
        }
    }

    /// Writes one line for the last tool and the number of its calls in a row.
    fn settle(&mut self) {
        if let Some((name, count)) = self.calls.take() {
            let times = if count == 1 { String::new() } else { format!(" ({count} times)") };
            self.ready.push(format!("· {}{times}", visible::one_line(&name)));
        }
    }

    fn take(&mut self) -> Vec<String> {
        std::mem::take(&mut self.ready)
    }
}

/// Returns a line that an agent wrote, without secrets and with hidden characters made visible.
pub fn shown_line(line: &str) -> String {
    visible::one_line(&visible::redacted(line.trim_end()))
}

/// The output of an agent's program. After the turn (the run of the program) ended, it is in the object store; before
/// that, it is in a file in the turn's folder.
#[derive(Debug, Clone, Copy)]
pub struct TurnOutput<'a> {
    /// Handover's state folder on this machine.
    pub state: &'a Path,
    pub turn: &'a Turn,
}

impl TurnOutput<'_> {
    fn folder(&self) -> PathBuf {
        turn_folder(self.state, self.turn.id)
    }

    /// Returns the file to which the program writes its standard output while it runs.
    pub(crate) fn live(&self) -> PathBuf {
        self.folder().join(STDOUT)
    }

    /// Opens the program's standard output. Returns `None` when this machine does not have it.
    pub fn open(&self) -> Option<Box<dyn Read>> {
        let kept = self.turn.ended().and_then(|ended| ended.stream.as_ref());
        if let Some(file) = kept.and_then(|stream| objects::get(self.state, stream).ok()) {
            return Some(Box::new(file));
        }
        let file = File::open(self.live()).ok()?;
        Some(Box::new(file))
    }

    /// Returns the end of the program's standard error, or an empty text when this machine does not have it.
    pub(crate) fn stderr(&self) -> String {
        let read = || {
            let mut file = File::open(self.folder().join(STDERR))?;
            let from = file.metadata()?.len().saturating_sub(STDERR_BYTES_MAX);
            file.seek(SeekFrom::Start(from))?;
            let mut bytes = Vec::new();
            file.take(STDERR_BYTES_MAX).read_to_end(&mut bytes)?;
            io::Result::Ok(String::from_utf8_lossy(&bytes).into_owned())
        };
        // The folder of an old turn (one run of an agent's program) is deleted, and with it the standard error. So a
        // failed read means that there are no lines.
        read().unwrap_or_default()
    }

    /// Returns the readable lines of a whole turn: the agent's texts and tool calls, its answer, and its standard
    /// error.
    pub fn lines(&self) -> Result<Vec<String>, WorkError> {
        let mut collected = LogLines::default();
        let mut answer = String::new();
        if let Some(mut file) = self.open() {
            let mut listener = listener(self.turn);
            let mut bytes = vec![0; PIECE_BYTES];
            loop {
                let count = file.read(&mut bytes).map_err(WorkError::file("read the output of the program"))?;
                let Some(fresh) = bytes.get(..count).filter(|fresh| !fresh.is_empty()) else { break };
                listener.feed(fresh).into_iter().for_each(|heard| collected.hear(heard));
            }
            if self.turn.ended().is_some() {
                answer = listener.end(Exit::Code(0), "").text;
            }
        }
        collected.settle();
        let mut lines = collected.take();
        // The events in a program's output have only the beginning of a long text. So add the agent's full answer,
        // unless the collected lines already end with it.
        let whole: Vec<String> = answer.lines().filter(|line| !line.trim().is_empty()).map(shown_line).collect();
        if !whole.is_empty() && lines.last() != whole.last() {
            lines.extend(whole);
        }
        let errors = self.stderr();
        let errors = errors.lines().filter(|line| !line.trim().is_empty());
        lines.extend(errors.map(|line| format!("! {}", shown_line(line))));
        Ok(lines)
    }
}

fn listener(turn: &Turn) -> Listener {
    Listener::new(AdapterKind::named(&turn.adapter).unwrap_or(AdapterKind::Exec))
}

/// A reader of the output of a program that still runs. Each call of [`TurnTail::read`] returns the lines that came
/// since the last one.
#[derive(Debug)]
pub struct TurnTail {
    path: PathBuf,
    turn: TurnId,
    listener: Listener,
    collected: LogLines,
    at: u64,
}

impl TurnTail {
    pub fn of(output: TurnOutput<'_>) -> Self {
        let (path, turn) = (output.live(), output.turn.id);
        Self { path, turn, listener: listener(output.turn), collected: LogLines::default(), at: 0 }
    }

    /// Returns the lines that the program wrote since the last call, and the turn (the run of the program) if it has
    /// ended. Then these lines are the last ones.
    pub async fn read(&mut self, service: &Service) -> Result<(Vec<String>, Option<NamedTurn>), WorkError> {
        // Ask whether the agent's program has ended before reading its output. In the other order, output that is
        // written between the two steps would be lost.
        let (named, _) = turns::show(service, self.turn).await?;
        let ended = named.turn.ended().is_some().then_some(named);
        if let Ok(mut file) = File::open(&self.path) {
            let mut bytes = Vec::new();
            let read = file.seek(SeekFrom::Start(self.at)).and_then(|_| file.read_to_end(&mut bytes));
            read.map_err(WorkError::file("read the output of the program"))?;
            self.at = self.at.saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
            self.listener.feed(&bytes).into_iter().for_each(|heard| self.collected.hear(heard));
        }
        if ended.is_some() {
            self.collected.settle();
        }
        Ok((self.collected.take(), ended))
    }
}

#[cfg(test)]
mod tests {
    use agents::adapter::ToolCallDetail;

    use super::*;

    #[test]
    fn equal_tool_calls_in_a_row_are_one_line_and_blank_lines_are_left_out() {
        let call = |name: &str| HeardEvent::ToolCall { name: name.to_owned(), call: ToolCallDetail::default() };
        let mut lines = LogLines::default();
        for heard in [
            HeardEvent::Conversation("c1".to_owned()),
            HeardEvent::Text("I look.\n\n  Then I change.".to_owned()),
            call("Read"),
            call("Read"),
            HeardEvent::Progress,
            call("Edit"),
            HeardEvent::Text("Done \u{1b}[31m.".to_owned()),
            call("Bash"),
        ] {
            lines.hear(heard);
        }
        lines.settle();
        let expected = ["I look.", "  Then I change.", "· Read (2 times)", "· Edit", "Done <U+001B>[31m.", "· Bash"];
        assert_eq!(lines.take(), expected);
    }
}
