//! Shows the setup and the checks of a merged commit, each command with its result, while `handover merge` waits for
//! them.

use base::ground::words;
use git::land::Landing;
use runner::claim::merged::{MergedCheck, MergedStep};
use runner::verify::project::{ProjectCheckResult, ProjectVerdict, UncheckedCause};
use work::landing::LandingWatch;

use super::super::say;
use super::super::show::plain;
use super::landing_words::moved;

/// Prints the steps of checking a merged commit: a heading before the first command, and one line for each command.
/// Prints nothing if the project has no check.
#[derive(Debug)]
pub(super) struct StepLines {
    /// The setup commands that run now. Their line is printed after they ended.
    setup: Option<String>,
    heading: Option<String>,
    is_quiet: bool,
}

impl StepLines {
    pub(super) fn new(is_quiet: bool) -> Self {
        Self { setup: None, heading: None, is_quiet }
    }

    fn setup_ended(&mut self) {
        if let Some(command) = self.setup.take() {
            self.line(&command, "ok", None);
        }
    }

    fn tell_result(&self, result: &ProjectCheckResult) {
        let word = match &result.verdict {
            ProjectVerdict::Checked => "ok",
            ProjectVerdict::CheckedFlaky { .. } => "flaky",
            ProjectVerdict::Failed => "fails",
            ProjectVerdict::Unchecked(cause) => match cause {
                UncheckedCause::Baseline => "fails on your branch, too",
                UncheckedCause::TimedOut => "timed out",
                UncheckedCause::CheckChanged { .. } => "changed by this task",
                UncheckedCause::NoTests => "no tests",
                UncheckedCause::NotStarted => "not started",
            },
        };
        self.line(&result.command(), word, Some(result.ms()));
    }

    /// Prints a line such as `  npm test   ok      6.6 s`.
    fn line(&self, command: &str, word: &str, ms: Option<u64>) {
        if self.is_quiet {
            return;
        }
        let time = ms.map(words::duration).unwrap_or_default();
        tell(format!("  {}   {word:<6}  {time}", plain(command)).trim_end());
    }
}

impl LandingWatch for StepLines {
    fn begins(&mut self, landing: &Landing) {
        (self.setup, self.heading) = (None, Some(format!("{}; checking the merged result", moved(landing))));
    }

    fn step(&mut self, step: MergedStep) {
        if let Some(heading) = self.heading.take().filter(|_| !self.is_quiet) {
            tell(&heading);
        }
        match step {
            MergedStep::Setup { command } => self.setup = Some(command),
            MergedStep::Check { .. } => self.setup_ended(),
        }
    }

    fn checked(&mut self, found: &MergedCheck) {
        match found {
            MergedCheck::NotNeeded => {}
            MergedCheck::SetupFailed(problem) => self.line(&problem.command, "fails", None),
            MergedCheck::Ran { results, .. } => {
                self.setup_ended();
                results.iter().for_each(|result| self.tell_result(result));
            }
        }
    }
}

/// Prints a line. Ignores the error when the person has closed the output, because the merge must continue.
fn tell(line: &str) {
    let _closed = say(line);
}
