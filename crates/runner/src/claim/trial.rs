//! Tries the setup and the checks of a project on a fresh worktree, before any agent works. The results of the checks
//! are stored, so that the first run does not repeat them.

use super::merged::shared;
use super::open::{NotOpened, RunSite};
use crate::attempt::AttemptError;
use crate::attempt::place::WorkPlace;
use crate::attempt::setup::CommandSite;
use crate::attempt::shared::RunnerShared;
use crate::verify::project::baseline::{self, BaselineFolder};
use crate::verify::project::setup::SetupStep;
use crate::verify::project::{BaselineEnd, ProjectRunEnd, last_line, milliseconds};
use git::branch::CopyMode;

/// The name of the slot (a reusable worktree) in which commands are tried. Also the name of the lock that lets only one
/// trial run at a time.
const TRIAL: &str = "trial";

/// A step of trying the setup and the checks of a project. It is shown to the person who waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TrialStep {
    Begins { command: String },
    Ended(TriedCommand),
}

/// The result of trying one setup command or check of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TriedCommand {
    pub kind: TriedKind,
    pub command: Vec<String>,
    pub folder: String,
    pub end: TriedEnd,
    /// The last line that the command printed.
    pub last_line: String,
    pub ms: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TriedKind {
    Setup,
    Check,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TriedEnd {
    Passed,
    Failed { exit_code: Option<i32> },
    TimedOut,
    NoTests,
    NotStarted,
}

/// The result of trying the setup and the checks of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProjectTrial {
    /// All commands ran, or the setup failed.
    Ended(Vec<TriedCommand>),
    /// The person stopped the trial.
    Stopped,
}

/// The reason why the commands of a project could not be tried.
#[derive(Debug, thiserror::Error)]
pub enum TrialProblem {
    #[error(transparent)]
    NotOpened(#[from] NotOpened),
    #[error(transparent)]
    Attempt(#[from] AttemptError),
}

/// Runs the setup and then each check of the project on the files of a commit, in a slot of its own. Only commands that a
/// person accepted run. When `stop` is ready, the running command is ended and the trial is over.
pub async fn try_project(
    site: RunSite<'_>,
    commit: &str,
    tell: &mut (dyn FnMut(TrialStep) + Send),
    stop: impl Future<Output = ()>,
) -> Result<ProjectTrial, TrialProblem> {
    let shared = shared(site).await?;
    let Some(folder) = shared.baseline_folder() else { return Ok(ProjectTrial::Ended(Vec::new())) };
    let mut stop = std::pin::pin!(stop);
    let _one_at_a_time = tokio::select! {
        lock = folder.lock(TRIAL) => lock.map_err(AttemptError::from)?,
        () = &mut stop => return Ok(ProjectTrial::Stopped),
    };
    let found = tokio::select! {
        found = tried(&shared, &folder, commit, tell) => found.map(ProjectTrial::Ended),
        () = stop => Ok(ProjectTrial::Stopped),
    };
    // Free the slot also after a failure, so that tasks can use it with everything that the setup installed.
    shared.ground.free_side(TRIAL).await.map_err(AttemptError::from)?;
    Ok(found?)
}

async fn tried(
    shared: &RunnerShared,
    folder: &BaselineFolder,
    commit: &str,
    tell: &mut (dyn FnMut(TrialStep) + Send),
) -> Result<Vec<TriedCommand>, AttemptError> {
    let place = shared.ground.side_place(TRIAL, commit).await?;
    let WorkPlace::Worktree { slot, .. } = &place else { return Ok(Vec::new()) };
    let files = shared.state.join("turns").join(TRIAL);
    let site = CommandSite { worktree: place.path(), slot: *slot, folder: &files, mark: TRIAL };
    let _warnings = shared.ground.copy_files(&place, &shared.settings.worktree.copy, CopyMode::Replace).await?;
    let mut found = setup(shared, site, tell).await?;
    if found.iter().any(|setup| setup.end != TriedEnd::Passed) {
        return Ok(found);
    }
    let tree = shared.ground.tree_of_commit(commit).await?;
    for check in &shared.settings.verify.checks {
        tell(TrialStep::Begins { command: check.command.join(" ") });
        let record = shared.run_on_baseline(site, (&place, &tree), check).await?;
        if record.end != BaselineEnd::Unknown {
            let kept = baseline::key(&tree, check, &shared.settings.worktree.setup);
            folder.keep(&kept, &record)?;
        }
        let end = match record.end {
            BaselineEnd::Passes => TriedEnd::Passed,
            BaselineEnd::Fails => TriedEnd::Failed { exit_code: record.exit_code },
            BaselineEnd::TimesOut => TriedEnd::TimedOut,
            BaselineEnd::NoTests => TriedEnd::NoTests,
            BaselineEnd::Unknown => TriedEnd::NotStarted,
        };
        let (command, folder) = (check.command.clone(), check.folder.clone());
        let (last_line, ms) = (record.last_line, record.ms);
        let ended = TriedCommand { kind: TriedKind::Check, command, folder, end, last_line, ms };
        tell(TrialStep::Ended(ended.clone()));
        found.push(ended);
    }
    Ok(found)
}

/// Runs the setup commands, until one fails.
async fn setup(
    shared: &RunnerShared,
    site: CommandSite<'_>,
    tell: &mut (dyn FnMut(TrialStep) + Send),
) -> Result<Vec<TriedCommand>, AttemptError> {
    let mut found: Vec<TriedCommand> = Vec::new();
    let mut step = |step: SetupStep<'_>| match step {
        SetupStep::Begins(setup) => tell(TrialStep::Begins { command: setup.command.join(" ") }),
        SetupStep::Ended(result) => {
            let end = match ProjectRunEnd::of(result, None) {
                ProjectRunEnd::Passed => TriedEnd::Passed,
                ProjectRunEnd::Failed | ProjectRunEnd::NoTests => TriedEnd::Failed { exit_code: result.exit_code },
                ProjectRunEnd::TimedOut => TriedEnd::TimedOut,
                ProjectRunEnd::NotStarted => TriedEnd::NotStarted,
            };
            let (command, folder) = (result.command.clone(), String::new());
            let (last_line, ms) = (last_line(&result.tail), milliseconds(result));
            let ended = TriedCommand { kind: TriedKind::Setup, command, folder, end, last_line, ms };
            tell(TrialStep::Ended(ended.clone()));
            found.push(ended);
        }
    };
    if !shared.settings.worktree.setup.is_empty() {
        let _failure = shared.run_told_setup(site, &mut step).await?;
    }
    Ok(found)
}
