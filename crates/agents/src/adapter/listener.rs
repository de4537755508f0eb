//! Listens to the output of one program, in the dialect of its kind.

use super::account::{Account, Verdict};
use super::said::{Exit, Heard, Said, Spent};
use super::stream::Lines;
use super::{Kind, acp, claude, codex, exec, gemini, opencode};

/// The dialect of a program's event stream: it reads each line and concludes how the turn ended.
pub(super) trait Dialect: std::fmt::Debug + Send {
    fn line(&mut self, line: &[u8], account: &mut Account);

    /// Returns the verdict. `stderr_tail` is used only for facts that the program prints nowhere else.
    fn verdict(&self, stderr_tail: &str, account: &mut Account) -> Verdict;
}

/// A listener for the bytes of standard output. Its memory is bounded, and no bytes make it fail.
#[derive(Debug)]
pub struct Listener {
    lines: Lines,
    account: Account,
    dialect: Box<dyn Dialect>,
}

impl Listener {
    pub fn new(kind: Kind) -> Self {
        let dialect: Box<dyn Dialect> = match kind {
            Kind::Claude => Box::<claude::Events>::default(),
            Kind::Opencode => Box::<opencode::Events>::default(),
            Kind::Codex => Box::<codex::Events>::default(),
            Kind::Gemini => Box::<gemini::Events>::default(),
            Kind::Acp => Box::<acp::Overheard>::default(),
            Kind::Exec => Box::<exec::Output>::default(),
        };
        Self { lines: Lines::default(), account: Account::default(), dialect }
    }

    pub fn feed(&mut self, bytes: &[u8]) -> Vec<Heard> {
        self.lines.feed(bytes, |line| self.dialect.line(line, &mut self.account));
        self.account.take_heard()
    }

    /// Returns the costs that the program has stated so far.
    pub fn spent(&self) -> (Option<Spent<f64>>, Option<Spent<u64>>) {
        self.account.spent()
    }

    /// Ends the stream and returns its report. `stderr_tail` is the end of standard error, as much of it as was kept.
    pub fn end(mut self, exit: Exit, stderr_tail: &str) -> Said {
        self.lines.finish(|line| self.dialect.line(line, &mut self.account));
        if self.lines.lost > 0 {
            self.account.warn(&format!("{} lines were too long to be read", self.lines.lost));
        }
        let verdict = self.dialect.verdict(stderr_tail, &mut self.account);
        self.account.close(verdict, exit, stderr_tail)
    }
}
