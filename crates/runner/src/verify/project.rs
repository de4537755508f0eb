//! Project checks: the commands of `[verify]` in the settings, which every task that changes files must pass. Also
//! prepares the worktree in which they run.
//!
//! ```text
//! setup ──> run ──> judgement <── baseline (the same check on the commit that the work started from)
//!            ^          │
//!            └─ again ──┴──> checked, flaky, failed or unchecked
//! ```

pub mod baseline;
mod judgement;
mod run;
pub mod setup;

use serde::{Deserialize, Serialize};

pub use judgement::{BaselineEnd, CheckFacts, ProjectRunEnd, ProjectVerdict, UncheckedCause, verdict};
#[cfg(test)]
pub(crate) use run::tail_max;
pub use run::{ProjectCheckHelp, ProjectCheckPlace, run_checks, run_once};

use super::evidence::CheckResult;

/// The maximum number of characters that are shown from the last line of a check's output. A longer line is cut.
const LAST_LINE_CHARS_MAX: usize = 200;

/// The verdict of one project check (a command of `[verify]`), with the result of its last run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProjectCheckResult {
    pub verdict: ProjectVerdict,
    /// The number of times that the check ran on the same files.
    pub runs: u32,
    /// The last line that the check printed in its last run.
    pub last_line: String,
    pub last: CheckResult,
}

/// The result of all project checks on the work of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckedWork {
    Checked { command: String, ms: u64 },
    CheckedFlaky { command: String, run: u32, of: u32, ms: u64 },
    Failed,
    Unchecked(UncheckedWork),
}

/// The reason why no check judged the work of a task, with the command of the check that could not judge it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UncheckedWork {
    /// The settings have no check, or the check found no tests.
    NoCheck,
    Baseline {
        command: String,
    },
    TimedOut {
        command: String,
    },
    CheckChanged {
        script: String,
    },
    NotRun,
}

impl ProjectCheckResult {
    pub fn command(&self) -> String {
        self.last.command.join(" ")
    }

    /// Returns the duration of the check's last run in milliseconds.
    pub fn ms(&self) -> u64 {
        milliseconds(&self.last)
    }
}

/// Returns the duration of one run of a check in milliseconds.
pub fn milliseconds(result: &CheckResult) -> u64 {
    let ms = (result.seconds * 1_000.0).round();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the number is clamped before")]
    let whole = ms.clamp(0.0, 1e15) as u64;
    whole
}

impl UncheckedWork {
    /// Returns the reason as text for a person. `base` is the branch from which the task started.
    pub fn told(&self, base: &str) -> String {
        match self {
            Self::NoCheck => "no check".to_owned(),
            Self::Baseline { command } => format!("{command} already fails on {base}"),
            Self::TimedOut { command } => format!("{command} timed out"),
            Self::CheckChanged { script } => format!("check changed by this task: {script}"),
            Self::NotRun => "the check could not be started".to_owned(),
        }
    }
}

impl CheckedWork {
    /// Returns the result as text for a person. `base` is the branch from which the task started.
    pub fn told(&self, base: &str) -> String {
        match self {
            Self::Checked { .. } => "checked".to_owned(),
            Self::CheckedFlaky { run, of, .. } => format!("checked, flaky: passed on run {run} of {of}"),
            Self::Failed => "check failed".to_owned(),
            Self::Unchecked(why) => format!("unchecked ({})", why.told(base)),
        }
    }

    /// Combines the verdicts of all checks of a task. The work counts as checked only when every check passed.
    pub fn of(results: &[ProjectCheckResult]) -> Self {
        if results.iter().any(|result| result.verdict == ProjectVerdict::Failed) {
            return Self::Failed;
        }
        if let Some(why) = results.iter().find_map(ProjectCheckResult::unchecked) {
            return Self::Unchecked(why);
        }
        if results.is_empty() {
            return Self::Unchecked(UncheckedWork::NoCheck);
        }
        let command = results.iter().map(ProjectCheckResult::command).collect::<Vec<_>>().join(" and ");
        let ms = results.iter().map(ProjectCheckResult::ms).sum();
        let flaky = results.iter().find_map(|result| match result.verdict {
            ProjectVerdict::CheckedFlaky { run, of } => Some((run, of)),
            ProjectVerdict::Checked | ProjectVerdict::Failed | ProjectVerdict::Unchecked(_) => None,
        });
        match flaky {
            Some((run, of)) => Self::CheckedFlaky { command, run, of, ms },
            None => Self::Checked { command, ms },
        }
    }
}

impl ProjectCheckResult {
    fn unchecked(&self) -> Option<UncheckedWork> {
        let ProjectVerdict::Unchecked(cause) = &self.verdict else { return None };
        let command = self.command();
        Some(match cause {
            UncheckedCause::Baseline => UncheckedWork::Baseline { command },
            UncheckedCause::TimedOut => UncheckedWork::TimedOut { command },
            UncheckedCause::CheckChanged { script } => UncheckedWork::CheckChanged { script: script.clone() },
            UncheckedCause::NoTests => UncheckedWork::NoCheck,
            UncheckedCause::NotStarted => UncheckedWork::NotRun,
        })
    }
}

/// Returns the last non-blank line of an output. Cuts the line after `LAST_LINE_CHARS_MAX` characters.
pub fn last_line(tail: &str) -> String {
    let line = tail.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    line.chars().take(LAST_LINE_CHARS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::super::evidence::CheckEnded;
    use super::*;

    fn result(command: &str, verdict: ProjectVerdict) -> ProjectCheckResult {
        let last = CheckResult {
            command: vec![command.to_owned()],
            ended: CheckEnded::Exited,
            exit_code: Some(0),
            seconds: 1.5,
            output_sha256: String::new(),
            tail: String::new(),
            leaked: false,
            changed: Vec::new(),
        };
        ProjectCheckResult { verdict, runs: 1, last_line: String::new(), last }
    }

    #[test]
    fn work_is_checked_only_when_every_check_says_so() {
        let checked = || result("a", ProjectVerdict::Checked);
        let flaky = || result("b", ProjectVerdict::CheckedFlaky { run: 2, of: 2 });
        let failed = || result("c", ProjectVerdict::Failed);
        let late = || result("d", ProjectVerdict::Unchecked(UncheckedCause::TimedOut));
        let none = || result("e", ProjectVerdict::Unchecked(UncheckedCause::NoTests));
        let timed_out = || CheckedWork::Unchecked(UncheckedWork::TimedOut { command: "d".to_owned() });
        for (results, wanted) in [
            (vec![], CheckedWork::Unchecked(UncheckedWork::NoCheck)),
            (vec![checked()], CheckedWork::Checked { command: "a".to_owned(), ms: 1_500 }),
            (
                vec![checked(), flaky()],
                CheckedWork::CheckedFlaky { command: "a and b".to_owned(), run: 2, of: 2, ms: 3_000 },
            ),
            (vec![checked(), failed()], CheckedWork::Failed),
            (vec![late(), failed()], CheckedWork::Failed),
            (vec![checked(), late()], timed_out()),
            (vec![late(), flaky()], timed_out()),
            (vec![none()], CheckedWork::Unchecked(UncheckedWork::NoCheck)),
        ] {
            assert_eq!(CheckedWork::of(&results), wanted, "{results:?}");
        }
    }

    #[test]
    fn the_last_line_is_the_last_that_is_not_empty() {
        for (tail, wanted) in [("", ""), ("a\n  b  \n\n", "b"), ("\n \n", "")] {
            assert_eq!(last_line(tail), wanted, "{tail:?}");
        }
    }
}
