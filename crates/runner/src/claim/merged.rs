//! Checks the result of a merge into a person's branch, in a slot of its own, before the branch moves.

use tokio::sync::watch;

use super::open::{NotOpened, RunSite, session, slots};
use crate::attempt::AttemptError;
use crate::attempt::place::{WorkPlace, WorktreeGround};
use crate::attempt::setup::CommandSite;
use crate::attempt::shared::{FailedSetup, RunnerOrder, RunnerParts, RunnerShared};
use crate::verify::project::{
    BaselineEnd, CheckedWork, ProjectCheckHelp, ProjectCheckPlace, ProjectCheckResult, ProjectRunEnd, run_checks,
    run_once,
};
use base::people::principal;
use base::project::detect::no_tests_exit_code;
use base::project::settings::VerifyCheck;
use base::project::team::Team;
use base::project::trust;
use git::Git;

/// The name of the slot in which merged results are checked.
const MERGED: &str = "merged";

/// The commits of a merge that is about to be made.
#[derive(Debug, Clone, Copy)]
pub struct MergedCommits<'a> {
    /// The commit to which the branch would move.
    pub result: &'a str,
    /// The commit of the branch before the merge. A check that already fails there cannot judge the result.
    pub before: &'a str,
}

/// The result of checking a merged result.
#[derive(Debug)]
pub enum MergedCheck {
    /// The checks ran. `outcome` says what they mean together.
    Ran { outcome: CheckedWork, results: Vec<ProjectCheckResult> },
    /// The setup of the worktree failed on the merged result.
    SetupFailed(FailedSetup),
}

/// A step of checking a merged result, for the person who waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MergedStep {
    Setup { command: String },
    Check { command: String },
}

/// The reason why a merged result could not be checked.
#[derive(Debug, thiserror::Error)]
pub enum MergedProblem {
    #[error(transparent)]
    NotOpened(#[from] NotOpened),
    #[error(transparent)]
    Attempt(#[from] AttemptError),
}

/// Runs the setup and all checks of the project on the result of a merge. Only commands that a person accepted run. The
/// caller makes sure that no other process of this host checks a merged result of the same store at the same time.
pub async fn check_merged(
    site: RunSite<'_>,
    commits: MergedCommits<'_>,
    tell: &mut (dyn FnMut(MergedStep) + Send),
) -> Result<MergedCheck, MergedProblem> {
    let shared = shared(site).await?;
    if shared.settings.verify.checks.is_empty() {
        return Ok(MergedCheck::Ran { outcome: CheckedWork::of(&[]), results: Vec::new() });
    }
    let place = shared.ground.side_place(MERGED, commits.result).await.map_err(AttemptError::from)?;
    let found = checked(&shared, &place, commits, tell).await;
    // Free the slot also after a failure, so that the next merge and other tasks can use it.
    shared.ground.free_side(MERGED).await.map_err(AttemptError::from)?;
    let _gone = std::fs::remove_dir_all(folder(&shared));
    Ok(found?)
}

fn folder(shared: &RunnerShared) -> std::path::PathBuf {
    shared.state.join("turns").join(MERGED)
}

async fn checked(
    shared: &RunnerShared,
    place: &WorkPlace,
    commits: MergedCommits<'_>,
    tell: &mut (dyn FnMut(MergedStep) + Send),
) -> Result<MergedCheck, AttemptError> {
    let files = folder(shared);
    let site = CommandSite { worktree: place.path(), slot: place.slot(), folder: &files, mark: MERGED };
    let setup = &shared.settings.worktree.setup;
    let is_ready = place.slot().is_none_or(|slot| shared.is_set_up(slot, place.path()));
    if !is_ready {
        let command = setup.iter().map(|setup| setup.command.join(" ")).collect::<Vec<_>>().join(" and ");
        tell(MergedStep::Setup { command });
        if let Err(failure) = shared.run_setup(site).await? {
            return Ok(MergedCheck::SetupFailed(failure.problem()));
        }
    }
    let (binary, environment) = (agents::host::own_binary()?, shared.command_environment(site));
    let check_place = ProjectCheckPlace {
        place: shared.check_place(site, (&binary, &environment), Some(commits.result)),
        scripts: shared.settings.scripts.as_ref(),
        retries: shared.settings.verify.retries,
        permits: &shared.checks,
    };
    let (result, before) =
        (shared.ground.tree_of_commit(commits.result).await?, shared.ground.tree_of_commit(commits.before).await?);
    // A merged result is a whole result, so the checks that run only at the end run, too.
    let checks: Vec<&VerifyCheck> = shared.settings.verify.checks.iter().collect();
    let mut help = MergedHelp { ground: &shared.ground, place, check_place, result: &result, before: &before, tell };
    let results = run_checks(check_place, &checks, &mut help).await?;
    Ok(MergedCheck::Ran { outcome: CheckedWork::of(&results), results })
}

/// The help that the checks of a merged result need.
struct MergedHelp<'a> {
    ground: &'a WorktreeGround,
    place: &'a WorkPlace,
    check_place: ProjectCheckPlace<'a>,
    /// The tree of the merged result.
    result: &'a str,
    /// The tree of the branch before the merge.
    before: &'a str,
    tell: &'a mut (dyn FnMut(MergedStep) + Send),
}

impl ProjectCheckHelp for MergedHelp<'_> {
    type Fault = AttemptError;

    /// Runs the check in the same slot on the branch as it is before the merge. This happens only after a failure, so it
    /// needs no slot of its own.
    async fn baseline(&mut self, check: &VerifyCheck) -> Result<BaselineEnd, AttemptError> {
        self.ground.restore(self.place, self.before).await?;
        let run = run_once(self.check_place, 1, check).await?;
        self.ground.restore(self.place, self.result).await?;
        Ok(BaselineEnd::of(&[ProjectRunEnd::of(&run, no_tests_exit_code(&check.command))]))
    }

    async fn restore(&mut self) -> Result<(), AttemptError> {
        Ok(self.ground.restore(self.place, self.result).await?)
    }

    fn begins(&mut self, check: &VerifyCheck, _run: u32) {
        (self.tell)(MergedStep::Check { command: check.command.join(" ") });
    }
}

/// Returns the state of a runner without agents. It claims no task; only its slots and its checks are used.
async fn shared(site: RunSite<'_>) -> Result<RunnerShared, NotOpened> {
    let root = site.place.root.clone().ok_or(NotOpened::NoProject)?;
    let all = trust::accepted(&root, base::project::place::data_folder().as_deref())?.settings;
    let (_no_order, wish) = watch::channel(RunnerOrder::Work);
    let host = principal::host();
    let git = Git::default();
    let store = base::project::place::absolute(&site.place.store);
    let slots = slots(&git, &root, all.worktrees.as_deref(), &store).await?;
    let parts = RunnerParts {
        service: site.service.clone(),
        store,
        ground: WorktreeGround::new(git, root, slots),
        state: site.state.to_owned(),
        settings: all.team,
        team: Team { members: Vec::new(), shared_skills: Vec::new(), notices: Vec::new() },
        session: session(&host),
        name: host,
        at_once: 1,
        wish,
    };
    let (shared, _news) = RunnerShared::open(parts).await?;
    Ok(shared)
}
