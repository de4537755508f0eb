//! The `[verify]` section of the settings: the checks that every task with changed files must pass.

use serde::{Deserialize, Serialize};

use super::SettingSource;
use super::worktree::{command_problem, source, ten_minutes};

/// The `[verify]` section of the settings.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "VerifyText")]
pub struct VerifySettings {
    pub checks: Vec<VerifyCheck>,
    pub checks_source: SettingSource,
    /// The number of times that a failing check runs again on the same files before the failure counts.
    pub retries: u32,
    /// The maximum number of checks that run at the same time, for all agents together.
    pub parallel: u32,
    pub recheck: RecheckRule,
}

/// A command that checks the work. The work passes when the command exits with code 0.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VerifyCheck {
    pub command: Vec<String>,
    #[serde(default = "ten_minutes")]
    pub seconds: u32,
    #[serde(default)]
    pub when: CheckMoment,
    /// The folder in which the command runs, relative to the root of the repository. Empty for the root.
    #[serde(default)]
    pub folder: String,
}

impl VerifyCheck {
    /// Returns a check with the default time that runs after each task, in the root of the repository.
    pub fn of_command(command: Vec<String>) -> Self {
        Self { command, seconds: ten_minutes(), when: CheckMoment::Task, folder: String::new() }
    }
}

/// The moment at which a check runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckMoment {
    /// The check runs after each task.
    #[default]
    Task,
    /// The check runs once, on the merged result of all tasks.
    End,
}

/// The rule that decides if the checks run again after other work was merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RecheckRule {
    #[default]
    Always,
    /// The checks run again only when both the task and the merged work changed the same file.
    Files,
}

/// The text of the section `[verify]`. A missing list of checks means that the detected check applies; an empty list
/// means that no check applies.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct VerifyText {
    checks: Option<Vec<VerifyCheck>>,
    retries: Option<u32>,
    parallel: Option<u32>,
    #[serde(default)]
    recheck: RecheckRule,
}

const RETRIES_DEFAULT: u32 = 1;
/// The largest `retries`; a larger value is an error. A check that fails so often is broken.
const RETRIES_MAX: u32 = 10;
/// The number of checks that run at the same time when the settings name no other number.
const PARALLEL_DEFAULT: u32 = 2;
/// The largest `parallel`; a larger value is an error.
const PARALLEL_MAX: u32 = 64;

impl From<VerifyText> for VerifySettings {
    fn from(text: VerifyText) -> Self {
        let VerifyText { checks, retries, parallel, recheck } = text;
        Self {
            checks_source: source(checks.as_ref()),
            checks: checks.unwrap_or_default(),
            retries: retries.unwrap_or(RETRIES_DEFAULT),
            parallel: parallel.unwrap_or(PARALLEL_DEFAULT),
            recheck,
        }
    }
}

impl Default for VerifySettings {
    fn default() -> Self {
        VerifyText::default().into()
    }
}

impl VerifySettings {
    pub(super) fn problem(&self) -> Option<String> {
        let wrong = |check: &VerifyCheck| command_problem(&check.command, check.seconds, &check.folder);
        if let Some(problem) = self.checks.iter().find_map(wrong) {
            return Some(format!("verify.checks: {problem}"));
        }
        if self.retries > RETRIES_MAX {
            return Some(format!("verify.retries: must be 0 to {RETRIES_MAX}"));
        }
        let is_known = (1..=PARALLEL_MAX).contains(&self.parallel);
        (!is_known).then(|| format!("verify.parallel: must be 1 to {PARALLEL_MAX}"))
    }
}
