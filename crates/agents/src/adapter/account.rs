//! Keeps what a stream says while it passes: the answer so far, counts, and what is worth a warning.

use super::said::{End, Exit, Heard, Said, Spent};
use super::stream::head;

/// An answer is a report and at most a few files; the end of it is what is searched.
const TEXT_BYTES_MAX: usize = 4 << 20;
/// One line of a live view.
const SHOWN_BYTES_MAX: usize = 400;
const NAME_BYTES_MAX: usize = 200;
const REASON_BYTES_MAX: usize = 2000;
const WARNINGS_MAX: usize = 16;

/// What the events say about the end, before the exit code is looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The program's own sign that its answer is complete.
    Answered,
    /// No such sign; the text says what is missing, for a program that then exits with 0.
    Open(&'static str),
    /// The program has no signs of its own; its exit code is all there is.
    Unsaid,
    Ended(End),
}

#[derive(Debug, Default)]
pub(super) struct Account {
    conversation: Option<String>,
    text: String,
    text_cut: bool,
    tool_calls: u32,
    tokens: Option<Spent<u64>>,
    usd: Option<Spent<f64>>,
    warnings: Vec<String>,
    heard: Vec<Heard>,
}

impl Account {
    /// The first one counts; every line of some streams names it again. It becomes an argument of a later turn, so what
    /// could be read as an option is no name.
    pub(super) fn conversation(&mut self, id: &str) {
        let plain = id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.:".contains(&byte));
        let usable = plain && !id.is_empty() && !id.starts_with('-') && id.len() <= NAME_BYTES_MAX;
        if self.conversation.is_none() && usable {
            self.conversation = Some(id.to_owned());
            self.heard.push(Heard::Conversation(id.to_owned()));
        }
    }

    pub(super) fn spent(&self) -> (Option<Spent<f64>>, Option<Spent<u64>>) {
        (self.usd, self.tokens)
    }

    /// A piece of text that continues the last one.
    pub(super) fn chunk(&mut self, text: &str) {
        self.text.push_str(text);
        if self.text.len() > 2 * TEXT_BYTES_MAX {
            self.shorten();
        }
        self.heard.push(Heard::Text(head(text, SHOWN_BYTES_MAX).to_owned()));
    }

    /// A text of its own.
    pub(super) fn block(&mut self, text: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.chunk(text);
    }

    /// What was said before a tool call is not the answer.
    pub(super) fn tool_call(&mut self, name: &str) {
        self.text.clear();
        self.inner_tool_call(name);
    }

    /// A call made by an agent of the agent leaves its text alone.
    pub(super) fn inner_tool_call(&mut self, name: &str) {
        self.tool_calls = self.tool_calls.saturating_add(1);
        self.heard.push(Heard::ToolCall { name: head(name, NAME_BYTES_MAX).to_owned() });
    }

    /// The program says itself what its answer is.
    pub(super) fn answer(&mut self, text: String) {
        self.text = text;
    }

    /// Many lines that show nothing are one sign of life.
    pub(super) fn progress(&mut self) {
        if self.heard.last() != Some(&Heard::Progress) {
            self.heard.push(Heard::Progress);
        }
    }

    pub(super) fn tokens(&mut self, tokens: Spent<u64>) {
        self.tokens = Some(tokens);
    }

    pub(super) fn add_tokens(&mut self, more: u64) {
        let so_far = match self.tokens {
            Some(Spent::ThisTurn(tokens)) => tokens,
            Some(Spent::WholeConversation(_)) | None => 0,
        };
        self.tokens = Some(Spent::ThisTurn(so_far.saturating_add(more)));
    }

    pub(super) fn usd(&mut self, usd: Spent<f64>) {
        self.usd = Some(usd);
    }

    pub(super) fn add_usd(&mut self, more: f64) {
        let so_far = match self.usd {
            Some(Spent::ThisTurn(usd)) => usd,
            Some(Spent::WholeConversation(_)) | None => 0.0,
        };
        self.usd = Some(Spent::ThisTurn(so_far + more));
    }

    pub(super) fn warn(&mut self, warning: &str) {
        let warning = head(warning, SHOWN_BYTES_MAX);
        if self.warnings.len() < WARNINGS_MAX && !self.warnings.iter().any(|there| there == warning) {
            self.warnings.push(warning.to_owned());
        }
    }

    pub(super) fn take_heard(&mut self) -> Vec<Heard> {
        std::mem::take(&mut self.heard)
    }

    pub(super) fn close(mut self, verdict: Verdict, exit: Exit, stderr_tail: &str) -> Said {
        let end = self.judge(verdict, exit, stderr_tail);
        self.said(end)
    }

    pub(super) fn said(mut self, end: End) -> Said {
        self.shorten();
        if self.text_cut {
            self.warn("the beginning of a very long text was left out");
        }
        Said {
            conversation: self.conversation,
            text: self.text,
            tool_calls: self.tool_calls,
            tokens: self.tokens,
            usd: self.usd,
            end,
            warnings: self.warnings,
        }
    }

    fn judge(&mut self, verdict: Verdict, exit: Exit, stderr_tail: &str) -> End {
        match (verdict, exit) {
            (Verdict::Ended(End::Failed { code: None, reason }), Exit::Code(code)) => {
                End::Failed { code: Some(code), reason }
            }
            (Verdict::Ended(end), _) => end,
            (Verdict::Answered | Verdict::Unsaid, Exit::Code(0)) => End::Finished,
            (Verdict::Answered, Exit::Signal(signal)) => {
                self.warn(&format!("signal {signal} ended it after its answer"));
                End::Finished
            }
            (Verdict::Answered, Exit::Code(code)) => {
                End::Failed { code: Some(code), reason: reason(stderr_tail, "it failed after its answer") }
            }
            (Verdict::Open(_) | Verdict::Unsaid, Exit::Signal(signal)) => End::Signalled { signal },
            // How a program says that it caught a signal: hang-up, interrupt, kill of its child, termination.
            (Verdict::Open(_) | Verdict::Unsaid, Exit::Code(code @ (129 | 130 | 137 | 143))) => {
                End::Signalled { signal: code - 128 }
            }
            (Verdict::Open(missing), Exit::Code(0)) => End::Failed { code: Some(0), reason: missing.to_owned() },
            (Verdict::Open(missing), Exit::Code(code)) => {
                End::Failed { code: Some(code), reason: reason(stderr_tail, missing) }
            }
            (Verdict::Unsaid, Exit::Code(code)) => {
                let silent = format!("it ended with exit code {code} and gave no reason");
                End::Failed { code: Some(code), reason: reason(stderr_tail, &silent) }
            }
        }
    }

    fn shorten(&mut self) {
        if self.text.len() <= TEXT_BYTES_MAX {
            return;
        }
        let mut from = self.text.len() - TEXT_BYTES_MAX;
        while !self.text.is_char_boundary(from) {
            from += 1;
        }
        self.text.drain(..from);
        self.text_cut = true;
    }
}

/// A reason of bounded length.
pub(super) fn short(reason: &str) -> String {
    head(reason.trim(), REASON_BYTES_MAX).to_owned()
}

/// What standard error gives as the reason: its first line that says so, else its last line.
fn reason(stderr_tail: &str, otherwise: &str) -> String {
    let lines = || stderr_tail.lines().map(plain).filter(|line| !line.trim().is_empty());
    let line = lines().find(|line| line.trim_start().to_ascii_lowercase().starts_with("error"));
    short(&line.or_else(|| lines().next_back()).unwrap_or_else(|| otherwise.to_owned()))
}

/// Without the colours of a terminal.
fn plain(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        if letter == '\u{1b}' {
            letters.by_ref().find(char::is_ascii_alphabetic);
        } else if !letter.is_control() {
            text.push(letter);
        }
    }
    text
}
