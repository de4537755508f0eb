//! Decides what the runs of one project check say about the work of a task. The decision depends only on its arguments.
//!
//! A project check is a command of `[verify]` in the settings. A failure does not count against the task when the check
//! also fails on the commit from which the task started. The run on that commit is called the baseline.

use serde::{Deserialize, Serialize};

use super::super::evidence::{CheckEnded, CheckResult};

/// The end of one run of a project check. It distinguishes only the ends that lead to different verdicts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProjectRunEnd {
    Passed,
    Failed,
    TimedOut,
    /// The program found no tests. It reports this with a special exit code.
    NoTests,
    /// The command could not be started, for example because its program is missing.
    NotStarted,
}

/// The result of a project check on the commit from which the work started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BaselineEnd {
    Passes,
    Fails,
    TimesOut,
    NoTests,
    /// There is no result on the commit from which the work started: the check could not be started, or there is no
    /// commit.
    Unknown,
}

/// The verdict of one project check on the work of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProjectVerdict {
    Checked,
    /// The check failed first, and then passed on the same files.
    CheckedFlaky {
        run: u32,
        of: u32,
    },
    /// The check failed in every run. The agent gets the output of the check.
    Failed,
    Unchecked(UncheckedCause),
}

/// The reason why a project check says nothing about the work of a task. None of these reasons is a fault of the agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UncheckedCause {
    /// The check already fails on the commit that the task started from.
    Baseline,
    TimedOut,
    /// The task changed a script that the check runs, and no person has accepted the new content.
    CheckChanged {
        script: String,
    },
    NoTests,
    NotStarted,
}

/// The facts from which the verdict of one project check follows.
#[derive(Debug, Clone, Copy)]
pub struct CheckFacts<'a> {
    /// The ends of the runs on the task's files, oldest first. There is at least one.
    pub runs: &'a [ProjectRunEnd],
    pub baseline: BaselineEnd,
    /// The number of times that a check that does not pass runs again on the same files.
    pub retries: u32,
    /// The first script of the check whose content no person accepted. `None` when there is no such script.
    pub changed_script: Option<&'a str>,
}

impl ProjectRunEnd {
    /// Returns the end of a run. `no_tests` is the exit code with which the check's program says that it found no tests.
    pub fn of(result: &CheckResult, no_tests: Option<i32>) -> Self {
        match (&result.ended, result.exit_code) {
            (CheckEnded::Exited, Some(0)) => Self::Passed,
            (CheckEnded::Exited, Some(code)) if Some(code) == no_tests => Self::NoTests,
            (CheckEnded::TimedOut, _) => Self::TimedOut,
            (CheckEnded::NotStarted { .. }, _) => Self::NotStarted,
            (CheckEnded::Exited | CheckEnded::Signalled { .. } | CheckEnded::TooMuchOutput, _) => Self::Failed,
        }
    }
}

impl BaselineEnd {
    /// Returns the result of a check on the commit from which a task starts. The check passes when one of its runs
    /// passes. The same rule applies to a check on the work of a task.
    pub fn of(runs: &[ProjectRunEnd]) -> Self {
        let has = |end: ProjectRunEnd| runs.contains(&end);
        match () {
            () if has(ProjectRunEnd::Passed) => Self::Passes,
            () if has(ProjectRunEnd::TimedOut) => Self::TimesOut,
            () if has(ProjectRunEnd::Failed) => Self::Fails,
            () if has(ProjectRunEnd::NoTests) => Self::NoTests,
            () => Self::Unknown,
        }
    }
}

/// Returns the verdict of a project check, or `None` when the check must be run again first.
pub fn verdict(facts: CheckFacts<'_>) -> Option<ProjectVerdict> {
    use ProjectRunEnd::{Failed, NoTests, NotStarted, Passed, TimedOut};
    let made = u32::try_from(facts.runs.len()).unwrap_or(u32::MAX);
    let last = facts.runs.last()?;
    if let Some(script) = facts.changed_script {
        // A result of a changed script does not count, not even a failure. Therefore the check does not run again.
        let script = script.to_owned();
        return Some(ProjectVerdict::Unchecked(UncheckedCause::CheckChanged { script }));
    }
    let may_repeat = made <= facts.retries;
    let unchecked = |cause| Some(ProjectVerdict::Unchecked(cause));
    match (last, facts.baseline) {
        (Passed, _) if made == 1 => Some(ProjectVerdict::Checked),
        (Passed, _) => Some(ProjectVerdict::CheckedFlaky { run: made, of: facts.retries.saturating_add(1).max(made) }),
        (NoTests, _) => unchecked(UncheckedCause::NoTests),
        (NotStarted, _) => unchecked(UncheckedCause::NotStarted),
        // The check also fails without the work of the task, so the task is not the cause. Another run would not change
        // this.
        (Failed, BaselineEnd::Fails) => unchecked(UncheckedCause::Baseline),
        (Failed | TimedOut, BaselineEnd::TimesOut) => unchecked(UncheckedCause::TimedOut),
        (Failed | TimedOut, _) if may_repeat => None,
        // If one of the runs timed out, the failures do not count, because a run that timed out does not confirm a
        // failure.
        (Failed | TimedOut, _) if facts.runs.contains(&TimedOut) => unchecked(UncheckedCause::TimedOut),
        (Failed | TimedOut, _) => Some(ProjectVerdict::Failed),
    }
}

#[cfg(test)]
#[path = "judgement_tests.rs"]
mod tests;
