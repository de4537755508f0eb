//! Decides which settings of worktrees, checks and the environment take effect: the accepted ones, or stricter ones of
//! the file.

use super::both;
use crate::project::settings::{EnvironmentSettings, SetupCommand, VerifyCheck, VerifySettings, WorktreeSettings};
use crate::project::trust::list::work::{moment_rank, recheck_rank};

/// Returns the worktree settings that take effect. The accepted setup commands stay in force until a person accepts
/// other ones; only their time limits and inputs come from the file.
pub(super) fn worktree(file: &WorktreeSettings, accepted: &WorktreeSettings) -> WorktreeSettings {
    let mut setup = accepted.setup.clone();
    for known in &mut setup {
        let is_same = |other: &&SetupCommand| (&other.command, &other.folder) == (&known.command, &known.folder);
        if let Some(other) = file.setup.iter().find(is_same) {
            known.seconds = known.seconds.min(other.seconds);
            known.inputs.clone_from(&other.inputs);
        }
    }
    let has_order = |patterns: &[String]| patterns.iter().any(|pattern| pattern.starts_with('!'));
    let copy = if has_order(&file.copy) || has_order(&accepted.copy) {
        accepted.copy.clone()
    } else {
        both(&file.copy, &accepted.copy)
    };
    WorktreeSettings {
        setup,
        setup_source: accepted.setup_source,
        copy,
        copy_source: file.copy_source,
        slots_per_turn: file.slots_per_turn.min(accepted.slots_per_turn),
    }
}

/// Returns the settings of checks that take effect. The accepted checks stay in force until a person accepts other
/// ones.
pub(super) fn verify(file: &VerifySettings, accepted: &VerifySettings) -> VerifySettings {
    let mut checks = accepted.checks.clone();
    for known in &mut checks {
        let is_same = |other: &&VerifyCheck| (&other.command, &other.folder) == (&known.command, &known.folder);
        if let Some(other) = file.checks.iter().find(is_same) {
            known.seconds = known.seconds.min(other.seconds);
            if moment_rank(other.when).1 < moment_rank(known.when).1 {
                known.when = other.when;
            }
        }
    }
    let is_stricter = recheck_rank(file.recheck).1 <= recheck_rank(accepted.recheck).1;
    VerifySettings {
        checks,
        checks_source: accepted.checks_source,
        retries: file.retries.min(accepted.retries),
        parallel: file.parallel.min(accepted.parallel),
        recheck: if is_stricter { file.recheck } else { accepted.recheck },
    }
}

pub(super) fn environment(file: &EnvironmentSettings, accepted: &EnvironmentSettings) -> EnvironmentSettings {
    let mut drop = file.drop.clone();
    drop.extend(accepted.drop.iter().filter(|name| !file.drop.contains(name)).cloned());
    EnvironmentSettings { pass: both(&file.pass, &accepted.pass), drop }
}

pub(super) fn works(file: Option<bool>, accepted: Option<bool>) -> Option<bool> {
    match (file, accepted) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        (Some(true) | None, Some(true) | None) => None,
    }
}
