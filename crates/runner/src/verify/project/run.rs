//! Runs the project checks on the work of a task, until each of them has a verdict.

use std::path::Path;

use tokio::sync::Semaphore;

use super::super::VerifyFault;
use super::super::check::{self, CheckPlace};
use super::super::evidence::CheckResult;
use super::judgement::{BaselineEnd, CheckFacts, ProjectRunEnd, verdict};
use super::{ProjectCheckResult, last_line};
use base::project::detect::no_tests_exit_code;
use base::project::settings::VerifyCheck;
use base::project::settings::team::{CheckSettings, ScriptSource};

/// The maximum number of bytes that the evidence (the stored details) of a verification keeps from the outputs of all
/// project checks together. The evidence must fit into one record.
const TAILS_MAX: usize = 40 << 10;
/// The maximum number of bytes that the evidence (the stored details) of a verification keeps from one project check's
/// output.
const TAIL_MAX: usize = 4 << 10;

/// The place in which project checks run, and their limits.
#[derive(Debug, Clone, Copy)]
pub struct ProjectCheckPlace<'a> {
    pub place: CheckPlace<'a>,
    pub scripts: Option<&'a ScriptSource>,
    pub retries: u32,
    /// The permits that limit how many checks run at the same time.
    pub permits: &'a Semaphore,
}

/// The operations that the caller of `run_checks` provides, such as restoring the worktree between two runs.
pub trait ProjectCheckHelp {
    type Fault: From<VerifyFault>;

    /// Returns the result of a check on the commit from which the work started. It is called only after a run that did
    /// not pass.
    fn baseline(&mut self, check: &VerifyCheck) -> impl Future<Output = Result<BaselineEnd, Self::Fault>> + Send;

    /// Removes the files that the last run left, so that the next run starts with the same files.
    fn restore(&mut self) -> impl Future<Output = Result<(), Self::Fault>> + Send;

    /// Reports to the person that a run of a check begins.
    fn begins(&mut self, check: &VerifyCheck, run: u32);
}

/// Runs checks one after the other. When the returned future is dropped, the running check is ended.
pub async fn run_checks<H: ProjectCheckHelp>(
    site: ProjectCheckPlace<'_>,
    checks: &[&VerifyCheck],
    help: &mut H,
) -> Result<Vec<ProjectCheckResult>, H::Fault> {
    let mut found = Vec::new();
    for (number, check) in (1..).zip(checks) {
        let mut result = run_one(site, number, check, help).await?;
        shorten(&mut result.last, tail_max(checks.len()));
        found.push(result);
    }
    Ok(found)
}

async fn run_one<H: ProjectCheckHelp>(
    site: ProjectCheckPlace<'_>,
    number: usize,
    check: &VerifyCheck,
    help: &mut H,
) -> Result<ProjectCheckResult, H::Fault> {
    let no_tests = no_tests_exit_code(&check.command);
    let mut runs = Vec::new();
    let mut baseline = BaselineEnd::Unknown;
    loop {
        if number > 1 || !runs.is_empty() {
            help.restore().await?;
        }
        help.begins(check, u32::try_from(runs.len() + 1).unwrap_or(u32::MAX));
        let result = run_once(site, number, check).await?;
        runs.push(ProjectRunEnd::of(&result, no_tests));
        if runs.len() == 1 && runs.first() != Some(&ProjectRunEnd::Passed) {
            baseline = help.baseline(check).await?;
        }
        let changed_script = result.changed.first().map(|(name, _)| name.as_str());
        let facts = CheckFacts { runs: &runs, baseline, retries: site.retries, changed_script };
        if let Some(verdict) = verdict(facts) {
            let runs = u32::try_from(runs.len()).unwrap_or(u32::MAX);
            return Ok(ProjectCheckResult { verdict, runs, last_line: last_line(&result.tail), last: result });
        }
    }
}

/// Runs a check once. Waits first until fewer checks run than the settings allow at the same time.
pub async fn run_once(
    site: ProjectCheckPlace<'_>,
    number: usize,
    check: &VerifyCheck,
) -> Result<CheckResult, VerifyFault> {
    // The semaphore is never closed, so an error cannot happen.
    let _permit = site.permits.acquire().await.ok();
    let place = CheckPlace { subfolder: Path::new(&check.folder), ..site.place };
    let order = CheckSettings { command: check.command.clone(), seconds: check.seconds };
    check::run(place, number, &order, site.scripts).await
}

/// Returns the maximum number of bytes that are kept from one check's output when there are this many checks.
pub(crate) fn tail_max(checks: usize) -> usize {
    (TAILS_MAX / checks.max(1)).min(TAIL_MAX)
}

fn shorten(result: &mut CheckResult, most: usize) {
    let begin = result.tail.ceil_char_boundary(result.tail.len().saturating_sub(most));
    result.tail.drain(..begin);
}
