//! Collects facts from an agent program's output while it arrives: the answer so far, the token and tool counts, and
//! the warnings.

use super::said::{AgentEnd, Exit, HeardEvent, SpentAmount, TokenUse, TurnSaid};
use super::stream::head;
use super::tool::{NAME_BYTES_MAX, ToolCallDetail, ToolCallResult};

/// The longest answer of an agent's program that is kept, in bytes. Of a longer answer only the end is kept, because
/// Handover looks for the agent's report only there. The limit leaves room for a report and a few files.
const TEXT_BYTES_MAX: usize = 4 << 20;
/// The longest text of an agent that a live view shows in one line, in bytes. A longer text is cut.
const SHOWN_BYTES_MAX: usize = 400;
/// The longest text of an agent that a transcript shows in one piece, in bytes. A longer text is cut.
const WHOLE_BYTES_MAX: usize = 64 << 10;
const REASON_BYTES_MAX: usize = 2000;
const WARNINGS_MAX: usize = 16;

/// The conclusion from the events in the program's output about how the turn (one run of the program) ended.
/// `Account::close` considers the exit code later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum EventVerdict {
    /// The program printed the event that marks its answer as complete, such as `turn.completed` of Codex.
    Answered,
    /// The program did not mark its answer as complete. The text says what is missing. If the program exits with code
    /// 0, the text becomes the reason of the failure.
    Open(&'static str),
    /// Programs of this kind do not mark an answer as complete, so only the exit code counts.
    Unsaid,
    Ended(AgentEnd),
}

#[derive(Debug, Default)]
pub(super) struct Account {
    conversation: Option<String>,
    text: String,
    text_cut: bool,
    tool_calls: u32,
    tokens: Option<SpentAmount<TokenUse>>,
    usd: Option<SpentAmount<f64>>,
    model: Option<String>,
    warnings: Vec<String>,
    heard: Vec<HeardEvent>,
    /// True if the reported texts are for a transcript. Then they are not cut for one line of a live view, and the pieces
    /// of one message are joined.
    is_transcript: bool,
}

impl Account {
    /// Returns an account whose reported texts are for a transcript.
    pub(super) fn for_transcript() -> Self {
        Self { is_transcript: true, ..Self::default() }
    }

    /// Records the id of the program's conversation. Only the first id is kept, because some programs repeat it in
    /// every line. An id that could be read as an option is ignored, because a later run of the program gets the id as
    /// an argument.
    pub(super) fn conversation(&mut self, id: &str) {
        let plain = id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.:".contains(&byte));
        let usable = plain && !id.is_empty() && !id.starts_with('-') && id.len() <= NAME_BYTES_MAX;
        if self.conversation.is_none() && usable {
            self.conversation = Some(id.to_owned());
            self.heard.push(HeardEvent::Conversation(id.to_owned()));
        }
    }

    pub(super) fn spent(&self) -> (Option<SpentAmount<f64>>, Option<SpentAmount<TokenUse>>) {
        (self.usd, self.tokens)
    }

    /// Adds text to the answer that is collected from the program's output, without a line break before it.
    pub(super) fn chunk(&mut self, text: &str) {
        self.add(text);
        match self.heard.last_mut() {
            Some(HeardEvent::Text(last)) if self.is_transcript && last.len() + text.len() <= WHOLE_BYTES_MAX => {
                last.push_str(text);
            }
            Some(_) | None => self.report_text(text),
        }
    }

    fn add(&mut self, text: &str) {
        self.text.push_str(text);
        if self.text.len() > 2 * TEXT_BYTES_MAX {
            self.shorten();
        }
    }

    fn report_text(&mut self, text: &str) {
        let most = if self.is_transcript { WHOLE_BYTES_MAX } else { SHOWN_BYTES_MAX };
        self.heard.push(HeardEvent::Text(head(text, most).to_owned()));
    }

    /// Adds a separate text, on a new line, to the answer that is collected from the program's output.
    pub(super) fn block(&mut self, text: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.add(text);
        self.report_text(text);
    }

    /// Counts a tool call, reports it, and clears the text, because text before a tool call is not the answer.
    pub(super) fn tool_call(&mut self, name: &str, call: ToolCallDetail) {
        self.count_call();
        self.report_call(name, call);
    }

    /// Counts and reports a tool call that a sub-agent made. The answer text is kept, because it belongs to the agent
    /// itself.
    pub(super) fn inner_tool_call(&mut self, name: &str, call: ToolCallDetail) {
        self.tool_calls = self.tool_calls.saturating_add(1);
        self.report_call(name, call);
    }

    /// Counts a tool call that is reported later, when the program has shown its input. Clears the text, because text
    /// before a tool call is not the answer.
    pub(super) fn count_call(&mut self) {
        self.text.clear();
        self.tool_calls = self.tool_calls.saturating_add(1);
    }

    /// Reports a tool call that was counted before.
    pub(super) fn report_call(&mut self, name: &str, call: ToolCallDetail) {
        let name = head(name, NAME_BYTES_MAX).to_owned();
        self.heard.push(HeardEvent::ToolCall { name, call: call.bounded() });
    }

    pub(super) fn tool_result(&mut self, result: ToolCallResult) {
        self.heard.push(HeardEvent::ToolResult(result.bounded()));
    }

    /// Replaces the collected text, for example by the final answer that the program states at the end.
    pub(super) fn answer(&mut self, text: String) {
        self.text = text;
    }

    /// Records that the program is alive. Several of these events in a row are kept as one.
    pub(super) fn progress(&mut self) {
        if self.heard.last() != Some(&HeardEvent::Progress) {
            self.heard.push(HeardEvent::Progress);
        }
    }

    pub(super) fn tokens(&mut self, tokens: SpentAmount<TokenUse>) {
        self.tokens = Some(tokens);
    }

    pub(super) fn add_tokens(&mut self, more: TokenUse) {
        let sum = match self.tokens {
            Some(SpentAmount::ThisTurn(tokens)) => tokens.and(more),
            Some(SpentAmount::WholeConversation(_)) | None => more,
        };
        self.tokens = Some(SpentAmount::ThisTurn(sum));
    }

    /// Records the name of the model. The last name is kept, because a program can change its model. A name that does
    /// not fit into one line of a table is ignored.
    pub(super) fn model(&mut self, name: &str) {
        let name = name.trim();
        if !name.is_empty() && name.len() <= NAME_BYTES_MAX && !name.chars().any(char::is_control) {
            self.model = Some(name.to_owned());
        }
    }

    pub(super) fn usd(&mut self, usd: SpentAmount<f64>) {
        self.usd = Some(usd);
    }

    pub(super) fn add_usd(&mut self, more: f64) {
        let so_far = match self.usd {
            Some(SpentAmount::ThisTurn(usd)) => usd,
            Some(SpentAmount::WholeConversation(_)) | None => 0.0,
        };
        self.usd = Some(SpentAmount::ThisTurn(so_far + more));
    }

    pub(super) fn warn(&mut self, warning: &str) {
        let warning = head(warning, SHOWN_BYTES_MAX);
        if self.warnings.len() < WARNINGS_MAX && !self.warnings.iter().any(|there| there == warning) {
            self.warnings.push(warning.to_owned());
        }
    }

    pub(super) fn take_heard(&mut self) -> Vec<HeardEvent> {
        std::mem::take(&mut self.heard)
    }

    pub(super) fn close(mut self, verdict: EventVerdict, exit: Exit, stderr_tail: &str) -> TurnSaid {
        let end = self.judge(verdict, exit, stderr_tail);
        self.said(end)
    }

    pub(super) fn said(mut self, end: AgentEnd) -> TurnSaid {
        self.shorten();
        if self.text_cut {
            self.warn("the beginning of a very long text is missing");
        }
        TurnSaid {
            conversation: self.conversation,
            text: self.text,
            tool_calls: self.tool_calls,
            tokens: self.tokens,
            usd: self.usd,
            model: self.model,
            end,
            warnings: self.warnings,
        }
    }

    fn judge(&mut self, verdict: EventVerdict, exit: Exit, stderr_tail: &str) -> AgentEnd {
        match (verdict, exit) {
            (EventVerdict::Ended(AgentEnd::Failed { code: None, reason }), Exit::Code(code)) => {
                AgentEnd::Failed { code: Some(code), reason }
            }
            (EventVerdict::Ended(end), _) => end,
            (EventVerdict::Answered | EventVerdict::Unsaid, Exit::Code(0)) => AgentEnd::Finished,
            (EventVerdict::Answered, Exit::Signal(signal)) => {
                self.warn(&format!("the program was killed by signal {signal} after its answer"));
                AgentEnd::Finished
            }
            (EventVerdict::Answered, Exit::Code(code)) => AgentEnd::Failed {
                code: Some(code),
                reason: reason(stderr_tail, "the program failed after its answer"),
            },
            (EventVerdict::Open(_) | EventVerdict::Unsaid, Exit::Signal(signal)) => AgentEnd::Signalled { signal },
            // By convention, an exit code of 128 plus N means that signal N ended the program, or ended a child of the
            // program. The codes here stand for hang-up (1), interrupt (2), kill (9) and termination (15).
            (EventVerdict::Open(_) | EventVerdict::Unsaid, Exit::Code(code @ (129 | 130 | 137 | 143))) => {
                AgentEnd::Signalled { signal: code - 128 }
            }
            (EventVerdict::Open(missing), Exit::Code(0)) => {
                AgentEnd::Failed { code: Some(0), reason: missing.to_owned() }
            }
            (EventVerdict::Open(missing), Exit::Code(code)) => {
                AgentEnd::Failed { code: Some(code), reason: reason(stderr_tail, missing) }
            }
            (EventVerdict::Unsaid, Exit::Code(code)) => {
                let silent = format!("the program ended with exit code {code} and gave no reason");
                AgentEnd::Failed { code: Some(code), reason: reason(stderr_tail, &silent) }
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

/// Shortens the reason of a failure to at most `REASON_BYTES_MAX` bytes.
pub(super) fn short(reason: &str) -> String {
    head(reason.trim(), REASON_BYTES_MAX).to_owned()
}

/// Returns the reason of a failure from the text on standard error: its first line that starts with "error", or its
/// last line if no line does. Returns `otherwise` when the text is empty.
fn reason(stderr_tail: &str, otherwise: &str) -> String {
    let lines = || stderr_tail.lines().map(plain).filter(|line| !line.trim().is_empty());
    let line = lines().find(|line| line.trim_start().to_ascii_lowercase().starts_with("error"));
    short(&line.or_else(|| lines().next_back()).unwrap_or_else(|| otherwise.to_owned()))
}

/// Removes terminal colour codes from a line of a program's standard error.
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
