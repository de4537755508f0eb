//! Prepares the worktree of an attempt with the setup commands of the project, before a turn and before checks.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use agents::host;
use base::project::environment::{self, CommandPlace};
use engine::condition::ConditionKind;
use git::GitProblem;
use git::branch::CopyMode;

use super::place::{WorkPlace, WorktreeGround};
use super::shared::{FailedSetup, RunEvent, RunnerShared};
use super::{AttemptError, AttemptRun};
use crate::verify::CheckPlace;
use crate::verify::project::setup::{self, SetupFailure, SetupStep};
use engine::view::AttemptView as Facts;

/// The file in an attempt's folder with the fingerprint of the files that the setup reads (such as a lock file), from
/// before the agent changed anything.
pub(super) const BASE: &str = "setup-base";

/// The number of the last lines of a failed setup command's output that a person sees.
const LAST_LINES: usize = 5;

/// The result of running the setup commands in a worktree.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum SetupEnd {
    Ready,
    Failed {
        failure: SetupFailure,
        /// True when the agent's work changed the files that the setup reads, such as a lock file. The agent may then
        /// have caused the failure.
        is_by_task: bool,
    },
}

/// The worktree in which setup commands and checks run, with the values that they get in their environment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CommandSite<'a> {
    pub(crate) worktree: &'a Path,
    pub(crate) slot: Option<u32>,
    /// The folder for the files of the host processes (the small processes that start commands and end them).
    pub(crate) folder: &'a Path,
    /// The value of the variable `HANDOVER_TURN`, which marks all processes that the commands start.
    pub(crate) mark: &'a str,
}

impl SetupFailure {
    /// Returns the failure of a setup command as texts for a person.
    pub(crate) fn problem(&self) -> FailedSetup {
        let lines: Vec<&str> = self.result.tail.lines().filter(|line| !line.trim().is_empty()).collect();
        let last = &lines[lines.len().saturating_sub(LAST_LINES)..];
        FailedSetup { command: self.result.command.join(" "), how: self.result.how(), last_lines: last.join("\n") }
    }
}

impl AttemptRun {
    /// Runs the setup commands in the worktree when the files that they read changed since the worktree was last
    /// prepared.
    pub(crate) async fn prepare(&self, facts: &Facts, place: &WorkPlace) -> Result<SetupEnd, AttemptError> {
        let WorkPlace::Worktree { workspace, slot: Some(slot), .. } = place else { return Ok(SetupEnd::Ready) };
        let commands = &self.shared.settings.worktree.setup;
        let folder = self.shared.attempt_folder(self.task, self.attempt);
        let is_first = !folder.join(BASE).exists();
        let mode = if is_first { CopyMode::Replace } else { CopyMode::Update };
        let copy = &self.shared.settings.worktree.copy;
        let warnings = self.shared.ground.copy_files(place, copy, mode).await?;
        warnings.iter().filter(|_| is_first).for_each(|text| self.warn(text));
        let wanted = setup::fingerprint(&workspace.path, commands)?;
        let base = first_fingerprint(&folder.join(BASE), &wanted)?;
        if commands.is_empty() {
            return Ok(SetupEnd::Ready);
        }
        if self.shared.ground.setup_of(*slot)?.as_ref() == Some(&wanted) {
            return Ok(SetupEnd::Ready);
        }
        let names = commands.iter().map(|setup| setup.command.join(" ")).collect::<Vec<_>>().join(" and ");
        self.tell(facts, RunEvent::Setup { command: names });
        let (mark, files) = (format!("{}-{}-setup", self.task, self.attempt), folder.join("setup"));
        let site = CommandSite { worktree: &workspace.path, slot: Some(*slot), folder: &files, mark: &mark };
        Ok(match self.shared.run_setup(site).await? {
            Ok(()) => SetupEnd::Ready,
            Err(failure) => SetupEnd::Failed { failure, is_by_task: base != wanted },
        })
    }
}

impl RunnerShared {
    /// Runs the setup commands in a slot (a reusable worktree) and records the fingerprint of the files that they read.
    /// A killed or failed setup leaves no fingerprint, so the next call runs the commands again. After a failed setup,
    /// all files that git ignores are deleted from the slot.
    pub(crate) async fn run_setup(&self, site: CommandSite<'_>) -> Result<Result<(), SetupFailure>, AttemptError> {
        self.run_told_setup(site, &mut |_| {}).await
    }

    /// Runs the setup commands like `run_setup`, and also reports each step to `tell`.
    pub(crate) async fn run_told_setup(
        &self,
        site: CommandSite<'_>,
        tell: &mut (dyn FnMut(SetupStep<'_>) + Send),
    ) -> Result<Result<(), SetupFailure>, AttemptError> {
        let Some(slot) = site.slot else { return Ok(Ok(())) };
        let commands = &self.settings.worktree.setup;
        self.ground.record_setup(slot, None)?;
        let (binary, environment) = (host::own_binary()?, self.command_environment(site));
        let place = self.check_place(site, (&binary, &environment), None);
        if let Err(failure) = setup::prepare(place, commands, tell).await? {
            // A setup that ended in the middle may leave half of the dependencies. The next setup must not find them.
            self.ground.remove_ignored(site.worktree).await?;
            return Ok(Err(failure));
        }
        // Compute the fingerprint after the commands ran, because a setup command may have changed a file that it
        // reads, such as a lock file.
        let done = setup::fingerprint(site.worktree, commands)?;
        self.ground.record_setup(slot, Some(&done))?;
        for setup in commands {
            self.clear_condition(ConditionKind::SetupFailed, &setup.command.join(" ")).await;
        }
        Ok(Ok(()))
    }

    /// Returns the environment variables that setup commands and checks get in addition to the inherited ones.
    pub(crate) fn command_environment(&self, site: CommandSite<'_>) -> BTreeMap<String, String> {
        let slot = site.slot.unwrap_or(0);
        let place = CommandPlace { root: &self.ground.root, slot, port: self.ground.port_of(slot) };
        environment::command_variables(place)
    }

    /// Returns the folder, the environment and the limits with which a setup command or a check runs.
    pub(crate) fn check_place<'a>(
        &'a self,
        site: CommandSite<'a>,
        (binary, environment): (&'a Path, &'a BTreeMap<String, String>),
        commit: Option<&'a str>,
    ) -> CheckPlace<'a> {
        CheckPlace {
            worktree: site.worktree,
            subfolder: Path::new(""),
            binary,
            folder: site.folder,
            turn: site.mark,
            environment,
            inherit: &self.settings.environment,
            output_bytes_max: self.settings.limits.output_bytes,
            commit,
            kept_in: None,
        }
    }
}

impl WorktreeGround {
    /// Returns the fingerprint of the setup that last succeeded in a slot (a reusable worktree). The fingerprint covers
    /// the files that the setup reads.
    pub(crate) fn setup_of(&self, slot: u32) -> Result<Option<String>, GitProblem> {
        let Some(slots) = &self.slots else { return Ok(None) };
        let records = slots.pool.records()?;
        Ok(records.into_iter().find(|(number, _)| *number == slot).and_then(|(_, record)| record.setup))
    }

    /// Records the fingerprint of the setup that succeeded in a slot (a reusable worktree). `None` records that no
    /// setup succeeded.
    pub(crate) fn record_setup(&self, slot: u32, fingerprint: Option<&str>) -> Result<(), GitProblem> {
        self.slots.as_ref().map_or(Ok(()), |slots| slots.pool.record_setup(slot, fingerprint))
    }

    async fn remove_ignored(&self, worktree: &Path) -> Result<(), GitProblem> {
        let _turn = self.turn.acquire().await;
        git::slot::remove_ignored(&self.git, worktree).await
    }

    /// Returns the first network port that belongs to a slot (a reusable worktree), or 0 for a slot without ports.
    fn port_of(&self, slot: u32) -> u16 {
        let records = self.slots.as_ref().and_then(|slots| slots.pool.records().ok()).unwrap_or_default();
        let record = records.into_iter().find(|(number, _)| *number == slot);
        record.and_then(|(_, record)| record.first_port).unwrap_or(0)
    }
}

/// Returns the setup fingerprint that was stored before the first turn of an attempt. Stores the fingerprint `now` when
/// none is stored yet.
fn first_fingerprint(file: &Path, now: &str) -> io::Result<String> {
    match std::fs::read_to_string(file) {
        Ok(text) if !text.is_empty() => Ok(text),
        Ok(_) => std::fs::write(file, now).map(|()| now.to_owned()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => std::fs::write(file, now).map(|()| now.to_owned()),
        Err(error) => Err(error),
    }
}
