//! Checks the result of a merge into a person's branch before the branch moves. The checks run in a slot (a worktree
//! that the runner reuses) that no task uses.

use tokio::sync::watch;

use super::open::{NotOpened, RunSite, session, slots};
use crate::attempt::AttemptError;
use crate::attempt::place::{WorkPlace, WorktreeGround};
use crate::attempt::setup::CommandSite;
use crate::attempt::shared::{FailedSetup, RunnerOrder, RunnerParts, RunnerShared};
use crate::finish::checks::own_checks;
use crate::verify::project::{
    BaselineEnd, CheckedWork, ProjectCheckHelp, ProjectCheckPlace, ProjectCheckResult, run_checks,
};
use base::people::principal;
use base::project::settings::VerifyCheck;
use base::project::team::Team;
use base::project::trust;
use engine::id::TaskId;
use git::Git;

/// The name of the slot (a reusable worktree) in which merged results are checked.
const MERGED: &str = "merged";

/// The commits of a merge that is about to be made.
#[derive(Debug, Clone, Copy)]
pub struct MergedCommits<'a> {
    /// The commit to which the person's branch would move.
    pub result: &'a str,
    /// The last commit of the person's branch before the merge. A check that already fails on this commit cannot judge
    /// the merged result.
    pub before: &'a str,
    /// The last commit of the work that is merged.
    pub work: &'a str,
    /// The task whose work is merged, which may have checks of its own. `None` for a plan.
    pub task: Option<TaskId>,
}

/// The result of checking merged work before the person's branch moves.
#[derive(Debug)]
pub enum MergedCheck {
    /// The checks ran. `outcome` is their combined result.
    Ran { outcome: CheckedWork, results: Vec<ProjectCheckResult> },
    /// The setup commands of the project, such as `npm ci`, failed on the merged result.
    SetupFailed(FailedSetup),
    /// Neither side of the merge changed a file that the other side changed. With `recheck = "files"`, the result of
    /// such a merge is not checked again.
    NotNeeded,
}

/// A step of checking a merged result. It is shown to the person who waits for the merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MergedStep {
    Setup { command: String },
    Check { command: String },
}

/// The reason why merged work could not be checked.
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
    let own = match commits.task {
        Some(id) => {
            let found = shared.service.view(move |world| Ok((world.task(id)?.clone(), world.detail(id)?.clone())));
            let (task, detail) = found.await.map_err(AttemptError::from)?;
            own_checks(&task, &detail)
        }
        None => Vec::new(),
    };
    if shared.settings.verify.checks.is_empty() && own.is_empty() {
        return Ok(MergedCheck::Ran { outcome: CheckedWork::of(&[]), results: Vec::new() });
    }
    if !shared.needs_recheck(commits.work, commits.before).await.map_err(AttemptError::from)? {
        return Ok(MergedCheck::NotNeeded);
    }
    let place = shared.ground.side_place(MERGED, commits.result).await.map_err(AttemptError::from)?;
    let found = checked(&shared, &place, (commits, &own), tell).await;
    // Free the slot (a reusable worktree) also after a failure, so that the next merge and other tasks can use it.
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
    (commits, own): (MergedCommits<'_>, &[VerifyCheck]),
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
    // Run all checks, also the checks that the settings reserve for the merged work of all tasks.
    let checks: Vec<&VerifyCheck> = shared.settings.verify.checks.iter().chain(own).collect();
    let mut help =
        MergedHelp { own, ground: &shared.ground, place, check_place, result: &result, before: &before, tell };
    let results = run_checks(check_place, &checks, &mut help).await?;
    Ok(MergedCheck::Ran { outcome: CheckedWork::of(&results), results })
}

/// The operations that the checks of a merged result need: to put other files into the worktree, and to report each
/// step to the person.
struct MergedHelp<'a> {
    /// The checks of the task itself. They usually fail before the merge, so they do not also run on the branch as it
    /// was before the merge.
    own: &'a [VerifyCheck],
    ground: &'a WorktreeGround,
    place: &'a WorkPlace,
    check_place: ProjectCheckPlace<'a>,
    /// The git tree (the files) of the merged result.
    result: &'a str,
    /// The git tree (the files) of the person's branch before the merge.
    before: &'a str,
    tell: &'a mut (dyn FnMut(MergedStep) + Send),
}

impl ProjectCheckHelp for MergedHelp<'_> {
    type Fault = AttemptError;

    /// Runs a check on the branch as it is before the merge, in the same worktree. This happens only after the check
    /// failed on the merged result, so a second worktree is not worth its cost.
    async fn baseline(&mut self, check: &VerifyCheck) -> Result<BaselineEnd, AttemptError> {
        if self.own.contains(check) {
            return Ok(BaselineEnd::Unknown);
        }
        let (end, _last) = self.ground.run_unchanged((self.place, self.before), self.check_place, check).await?;
        self.ground.restore(self.place, self.result).await?;
        Ok(end)
    }

    async fn restore(&mut self) -> Result<(), AttemptError> {
        Ok(self.ground.restore(self.place, self.result).await?)
    }

    fn begins(&mut self, check: &VerifyCheck, _run: u32) {
        (self.tell)(MergedStep::Check { command: check.command.join(" ") });
    }
}

/// Returns the state of a runner without agents. It claims no task; only its slots (worktrees) and its checks are used.
pub(super) async fn shared(site: RunSite<'_>) -> Result<RunnerShared, NotOpened> {
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
