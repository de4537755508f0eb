//! Reads the output of an agent program, in the event format of that program.

use super::account::{Account, EventVerdict};
use super::said::{Exit, HeardEvent, SpentAmount, TokenUse, TurnSaid};
use super::stream::LineBuffer;
use super::{AdapterKind, acp, claude, codex, exec, gemini, opencode};

/// A reader for the event format of one kind of program. It reads each line of the output, and concludes at the end how
/// the turn (the run of the program) ended.
pub(super) trait EventDialect: std::fmt::Debug + Send {
    fn line(&mut self, line: &[u8], account: &mut Account);

    /// Returns the conclusion about how the turn (the run of the program) ended. `stderr_tail`, the end of standard
    /// error, is used only for facts that the program prints nowhere else.
    fn verdict(&self, stderr_tail: &str, account: &mut Account) -> EventVerdict;
}

/// A reader for the bytes of a program's standard output. It uses bounded memory and never fails, for any bytes.
#[derive(Debug)]
pub struct Listener {
    lines: LineBuffer,
    account: Account,
    dialect: Box<dyn EventDialect>,
}

impl Listener {
    pub fn new(kind: AdapterKind) -> Self {
        let dialect: Box<dyn EventDialect> = match kind {
            AdapterKind::Claude => Box::<claude::ClaudeEvents>::default(),
            AdapterKind::Opencode => Box::<opencode::OpencodeEvents>::default(),
            AdapterKind::Codex => Box::<codex::CodexEvents>::default(),
            AdapterKind::Gemini => Box::<gemini::GeminiEvents>::default(),
            AdapterKind::Acp => Box::<acp::Overheard>::default(),
            AdapterKind::Exec => Box::<exec::ExecOutput>::default(),
        };
        Self { lines: LineBuffer::default(), account: Account::default(), dialect }
    }

    /// Returns a reader whose texts are for a transcript: they are not cut for one line of a live view, and the pieces of
    /// one message are joined.
    pub fn for_transcript(kind: AdapterKind) -> Self {
        Self { account: Account::for_transcript(), ..Self::new(kind) }
    }

    pub fn feed(&mut self, bytes: &[u8]) -> Vec<HeardEvent> {
        self.lines.feed(bytes, |line| self.dialect.line(line, &mut self.account));
        self.account.take_heard()
    }

    /// Returns the costs (dollars and tokens) that the program has stated so far.
    pub fn spent(&self) -> (Option<SpentAmount<f64>>, Option<SpentAmount<TokenUse>>) {
        self.account.spent()
    }

    /// Ends the stream and returns the report of the turn (the run of the program). `stderr_tail` is the last part of
    /// standard error.
    pub fn end(mut self, exit: Exit, stderr_tail: &str) -> TurnSaid {
        self.lines.finish(|line| self.dialect.line(line, &mut self.account));
        if self.lines.lost > 0 {
            self.account.warn(&format!("{} lines were too long to be read", self.lines.lost));
        }
        let verdict = self.dialect.verdict(stderr_tail, &mut self.account);
        self.account.close(verdict, exit, stderr_tail)
    }
}
