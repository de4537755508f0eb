//! Checks the merged commit before `handover merge` moves the person's branch to it, and shows each command with its
//! result.

use base::ground::words;
use base::project::trust::Untrusted;
use engine::id::TaskId;
use git::land::Landing;
use handover::office::Office;
use runner::claim::merged::{MergedCheck, MergedCommits, MergedProblem, MergedStep, check_merged};
use runner::claim::open::NotOpened;
use runner::verify::project::{CheckedWork, ProjectCheckResult, ProjectVerdict, UncheckedCause};

use super::super::say;
use super::super::show::plain;

/// The result of the checks of a merged commit, for the person who decides about the merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ResultCheck {
    /// The merged commit may be used. The text has the results of the checks: `checked: npm test passed on the merged
    /// result`.
    Fine(String),
    /// The merged commit must not be used. The text says why.
    Failed(String),
    /// No check ran: with `recheck = "files"` in the settings, a merged commit is checked only if both sides of the
    /// merge changed the same file.
    NotNeeded,
}

/// Runs the checks of the project on the merged commit. Prints `heading` before the first check and one line for each
/// check, unless `is_quiet`. Prints nothing if the project has no check.
pub(super) async fn check(
    office: &Office,
    (landing, task): (&Landing, Option<TaskId>),
    (heading, is_quiet): (&str, bool),
) -> anyhow::Result<ResultCheck> {
    let commits = MergedCommits { result: &landing.commit, before: &landing.tip, work: &landing.work_tip, task };
    let mut lines = StepLines { setup: None, heading: Some(heading) };
    let mut step = |step: MergedStep| lines.begins(step, is_quiet);
    let found = match check_merged(office.run_site(), commits, &mut step).await {
        Ok(found) => found,
        Err(MergedProblem::NotOpened(NotOpened::Untrusted(Untrusted::Settings(problem)))) => return Err(problem.into()),
        // No person accepted a command of this project on this machine, so no check may run.
        Err(MergedProblem::NotOpened(NotOpened::Untrusted(Untrusted::Never { .. } | Untrusted::Nowhere))) => {
            return Ok(ResultCheck::Fine("unchecked: you have accepted no check on this machine".to_owned()));
        }
        Err(MergedProblem::NotOpened(NotOpened::Untrusted(refused))) => {
            return Ok(ResultCheck::Failed(format!("the merged result cannot be checked: {refused}")));
        }
        Err(problem) => return Err(problem.into()),
    };
    Ok(match found {
        MergedCheck::NotNeeded => ResultCheck::NotNeeded,
        MergedCheck::SetupFailed(problem) => {
            line(&problem.command, "fails", None, is_quiet);
            ResultCheck::Failed(format!(
                "{} {} on the merged result: {}",
                problem.command, problem.how, problem.last_lines
            ))
        }
        MergedCheck::Ran { outcome, results } => {
            lines.setup_ended(is_quiet);
            results.iter().for_each(|result| tell_result(result, is_quiet));
            judged(&outcome, &results, &landing.target)
        }
    })
}

/// Returns the results of all checks as one sentence, and decides whether the work may be merged.
fn judged(outcome: &CheckedWork, results: &[ProjectCheckResult], target: &str) -> ResultCheck {
    match outcome {
        CheckedWork::Checked { command, .. } => {
            ResultCheck::Fine(format!("checked: {command} passed on the merged result"))
        }
        CheckedWork::CheckedFlaky { command, run, of, .. } => {
            ResultCheck::Fine(format!("checked, flaky: {command} passed on run {run} of {of} on the merged result"))
        }
        CheckedWork::Unchecked(why) => ResultCheck::Fine(format!("unchecked: {}", why.told(target))),
        CheckedWork::Failed => {
            let failed = results.iter().find(|result| result.verdict == ProjectVerdict::Failed);
            let text = failed.map_or_else(
                || "a check failed on the merged result".to_owned(),
                |result| format!("{} fails on the merged result: {}", result.command(), result.last_line),
            );
            ResultCheck::Failed(text)
        }
    }
}

/// The lines that are still to be printed while a merged commit is checked.
struct StepLines<'a> {
    /// The setup commands that run now. Their line is printed after they ended.
    setup: Option<String>,
    heading: Option<&'a str>,
}

impl StepLines<'_> {
    fn begins(&mut self, step: MergedStep, is_quiet: bool) {
        if let Some(heading) = self.heading.take().filter(|_| !is_quiet) {
            tell(heading);
        }
        match step {
            MergedStep::Setup { command } => self.setup = Some(command),
            MergedStep::Check { .. } => self.setup_ended(is_quiet),
        }
    }

    fn setup_ended(&mut self, is_quiet: bool) {
        if let Some(command) = self.setup.take() {
            line(&command, "ok", None, is_quiet);
        }
    }
}

fn tell_result(result: &ProjectCheckResult, is_quiet: bool) {
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
    line(&result.command(), word, Some(result.ms()), is_quiet);
}

/// Prints a line such as `  npm test   ok      6.6 s`.
fn line(command: &str, word: &str, ms: Option<u64>, is_quiet: bool) {
    if is_quiet {
        return;
    }
    let time = ms.map(words::duration).unwrap_or_default();
    tell(format!("  {}   {word:<6}  {time}", plain(command)).trim_end());
}

/// Prints a line. Ignores the error when the person has closed the output, because the merge must continue.
fn tell(line: &str) {
    let _closed = say(line);
}
