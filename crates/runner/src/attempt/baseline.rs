//! Runs the checks of the project on the commits from which tasks start, while the agents work. Such a run is called a
//! baseline. A check that already fails in its baseline says nothing about the work of a task.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use git::GitProblem;
use git::branch::{BranchTip, CopyMode};
use git::repository::{GitRepository, reference};
use git::slot::{ExistingBranch, SlotOrder};
use tokio::sync::OnceCell;
use tokio::task::JoinSet;

use super::AttemptError;
use super::place::{WorkPlace, WorktreeGround, now_ms};
use super::setup::CommandSite;
use super::shared::{RunEvent, RunNews, RunnerShared};
use crate::verify::CheckResult;
use crate::verify::project::baseline::{self, BaselineFolder, BaselineRecord};
use crate::verify::project::{BaselineEnd, ProjectCheckPlace, ProjectRunEnd, last_line, milliseconds, run_once};
use base::project::detect::no_tests_exit_code;
use base::project::settings::{CheckMoment, VerifyCheck};
use engine::id::TaskId;

/// The name of the slot (a reusable worktree) in which baselines run. A baseline is a run of a check on the commit from
/// which a task starts.
const BASELINE: &str = "baseline";

type BaselineCell = Arc<OnceCell<Option<BaselineRecord>>>;

/// The baselines that this runner runs or has run. A baseline is a run of a check on the commit from which a task
/// starts.
#[derive(Debug, Default)]
pub struct BaselineRuns {
    cells: Mutex<HashMap<String, BaselineCell>>,
    running: Mutex<JoinSet<()>>,
    /// The results of baselines (checks on the commits from which tasks start) that were already reported to the
    /// person: the command of the check, and how it ended. Each result is reported once.
    told: Mutex<BTreeSet<(String, BaselineEnd)>>,
    /// The worktree in which the baselines (checks on the commits from which tasks start) run, and the commit that is
    /// checked out there. The lock lets only one baseline run at a time.
    slot: tokio::sync::Mutex<Option<(String, WorkPlace)>>,
}

impl RunnerShared {
    /// Starts, in the background, the checks on the commit from which a task starts. When a check later fails on the
    /// task's work, its result on this commit shows whether the check failed already before the task changed anything.
    pub(crate) fn begin_baseline(self: &Arc<Self>, commit: &str) {
        for check in self.settings.verify.checks.iter().filter(|check| check.when == CheckMoment::Task) {
            let (shared, commit, check) = (Arc::clone(self), commit.to_owned(), check.clone());
            let mut running = self.baselines.running.lock().unwrap_or_else(PoisonError::into_inner);
            running.spawn(async move {
                let _end = shared.baseline(&commit, &check).await;
            });
        }
    }

    /// Returns the result of a check on the commit from which a task starts. Reports the result to the person once for
    /// each check and each way in which it ends.
    pub(crate) async fn baseline(&self, commit: &str, check: &VerifyCheck) -> Result<BaselineEnd, AttemptError> {
        let Some(record) = self.check_commit(commit, check).await? else { return Ok(BaselineEnd::Unknown) };
        let is_new = {
            let mut told = self.baselines.told.lock().unwrap_or_else(PoisonError::into_inner);
            told.insert((record.command.clone(), record.end))
        };
        if is_new {
            self.tell_baseline(&record).await;
        }
        Ok(record.end)
    }

    /// Returns the result of a check on a commit. Runs the check when no earlier result is stored. Returns `None` when
    /// the check cannot run.
    pub(crate) async fn check_commit(
        &self,
        commit: &str,
        check: &VerifyCheck,
    ) -> Result<Option<BaselineRecord>, AttemptError> {
        let Some(folder) = self.baseline_folder() else { return Ok(None) };
        let tree = self.ground.tree_of_commit(commit).await?;
        let key = baseline::key(&tree, check, &self.settings.worktree.setup);
        let cell = {
            let mut cells = self.baselines.cells.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(cells.entry(key.clone()).or_default())
        };
        let found = cell.get_or_try_init(|| self.run_baseline(&folder, &key, (commit, &tree), check)).await?;
        Ok(found.clone())
    }

    /// Stores that a check passes on a tree (the files of a commit). When a later task starts from this tree, the check
    /// does not run again.
    pub(crate) fn keep_passed(&self, tree: &str, check: &VerifyCheck, ms: u64) {
        let Some(folder) = self.baseline_folder() else { return };
        let record = BaselineRecord {
            command: check.command.join(" "),
            end: BaselineEnd::Passes,
            exit_code: Some(0),
            last_line: String::new(),
            ms,
            at_ms: now_ms(),
        };
        // A failure to store the result is ignored, because the check can run again.
        let _kept = folder.keep(&baseline::key(tree, check, &self.settings.worktree.setup), &record);
    }

    pub(crate) fn baseline_folder(&self) -> Option<BaselineFolder> {
        Some(BaselineFolder::at(self.ground.slots.as_ref()?.pool.folder().join("baseline")))
    }

    async fn run_baseline(
        &self,
        folder: &BaselineFolder,
        key: &str,
        (commit, tree): (&str, &str),
        check: &VerifyCheck,
    ) -> Result<Option<BaselineRecord>, AttemptError> {
        if let Some(known) = folder.find(key, now_ms()) {
            return Ok(Some(known));
        }
        let _lock = folder.lock(key).await?;
        if let Some(known) = folder.find(key, now_ms()) {
            return Ok(Some(known));
        }
        let mut slot = self.baselines.slot.lock().await;
        let place = match slot.as_ref().filter(|(at, _)| at == commit) {
            Some((_, place)) => place.clone(),
            None => {
                let place = self.ground.baseline_place(commit).await?;
                slot.insert((commit.to_owned(), place)).1.clone()
            }
        };
        let WorkPlace::Worktree { slot: number, .. } = &place else { return Ok(None) };
        let files = self.state.join("turns").join("baseline");
        let site = CommandSite { worktree: place.path(), slot: *number, folder: &files, mark: "baseline" };
        let _warnings = self.ground.copy_files(&place, &self.settings.worktree.copy, CopyMode::Replace).await?;
        let is_ready = number.is_none_or(|number| self.is_set_up(number, place.path()));
        if !is_ready && self.run_setup(site).await?.is_err() {
            // A failed setup is not reported here. It also fails in the worktrees of the tasks and is reported there.
            return Ok(None);
        }
        let record = self.run_on_baseline(site, (&place, tree), check).await?;
        if record.end != BaselineEnd::Unknown {
            folder.keep(key, &record)?;
        }
        Ok(Some(record))
    }

    /// Runs a check on the commit from which a task starts, until it passes. The number of runs has the same limit as
    /// for a check on the work of a task.
    pub(crate) async fn run_on_baseline(
        &self,
        site: CommandSite<'_>,
        (place, tree): (&WorkPlace, &str),
        check: &VerifyCheck,
    ) -> Result<BaselineRecord, AttemptError> {
        let (binary, environment) = (agents::host::own_binary()?, self.command_environment(site));
        let check_place = ProjectCheckPlace {
            place: self.check_place(site, (&binary, &environment), None),
            scripts: None,
            retries: self.settings.verify.retries,
            permits: &self.checks,
        };
        let (end, result) = self.ground.run_unchanged((place, tree), check_place, check).await?;
        Ok(BaselineRecord {
            command: check.command.join(" "),
            end,
            exit_code: result.exit_code,
            last_line: last_line(&result.tail),
            ms: milliseconds(&result),
            at_ms: now_ms(),
        })
    }

    async fn tell_baseline(&self, record: &BaselineRecord) {
        self.baseline_condition(record).await;
        let what = match record.end {
            BaselineEnd::Fails | BaselineEnd::TimesOut => RunEvent::BaselineFails {
                command: record.command.clone(),
                exit_code: record.exit_code,
                last_line: record.last_line.clone(),
            },
            BaselineEnd::Passes | BaselineEnd::NoTests | BaselineEnd::Unknown => {
                RunEvent::BaselinePasses { command: record.command.clone() }
            }
        };
        let (name, agent) = ("baseline".to_owned(), "runner".to_owned());
        self.tell(RunNews { task: TaskId::FIRST, number: None, name, agent, what });
    }

    pub(crate) fn is_set_up(&self, slot: u32, worktree: &std::path::Path) -> bool {
        let wanted = crate::verify::project::setup::fingerprint(worktree, &self.settings.worktree.setup).ok();
        self.settings.worktree.setup.is_empty()
            || (wanted.is_some() && self.ground.setup_of(slot).ok().flatten() == wanted)
    }

    /// Ends the baselines (checks on the commits from which tasks start) that still run, and frees their worktree. Also
    /// frees a worktree that an earlier, killed runner left.
    pub(crate) async fn end_baselines(&self) -> Result<(), GitProblem> {
        let mut running = {
            let mut running = self.baselines.running.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *running)
        };
        running.shutdown().await;
        let mut slot = self.baselines.slot.lock().await;
        *slot = None;
        self.ground.free_baseline().await?;
        let _gone = std::fs::remove_dir_all(self.state.join("turns").join("baseline"));
        Ok(())
    }
}

impl WorktreeGround {
    /// Runs a check on files that the task did not change, until it passes. The number of runs has the same limit as for
    /// a check on the work of a task, so that a check that fails only sometimes is judged alike in both places. Puts the
    /// files of the tree into the worktree before each run. Returns how all runs ended, and the last run.
    pub(crate) async fn run_unchanged(
        &self,
        (place, tree): (&WorkPlace, &str),
        site: ProjectCheckPlace<'_>,
        check: &VerifyCheck,
    ) -> Result<(BaselineEnd, CheckResult), AttemptError> {
        let mut runs = Vec::new();
        loop {
            self.restore(place, tree).await?;
            let result = run_once(site, 1, check).await?;
            runs.push(ProjectRunEnd::of(&result, no_tests_exit_code(&check.command)));
            let is_repeated = matches!(runs.last(), Some(ProjectRunEnd::Failed | ProjectRunEnd::TimedOut));
            if is_repeated && runs.len() <= usize::try_from(site.retries).unwrap_or(usize::MAX) {
                continue;
            }
            return Ok((BaselineEnd::of(&runs), result));
        }
    }

    /// Prepares the slot (a reusable worktree) in which checks run on the commits from which tasks start. Puts the
    /// files of this commit into the slot.
    async fn baseline_place(&self, commit: &str) -> Result<WorkPlace, GitProblem> {
        self.side_place(BASELINE, commit).await
    }

    /// Frees the slot (a reusable worktree) in which checks ran on the commits from which tasks start. Deletes the
    /// slot's branch, which has no commit of its own.
    async fn free_baseline(&self) -> Result<(), GitProblem> {
        self.free_side(BASELINE).await
    }

    /// Prepares a slot (a reusable worktree) with the files of a commit, for checks that belong to no task. `name` is
    /// the purpose of the slot, such as `baseline`; there is one slot for each name.
    pub(crate) async fn side_place(&self, name: &str, commit: &str) -> Result<WorkPlace, GitProblem> {
        self.free_side(name).await?;
        let Some(slots) = &self.slots else { return Ok(WorkPlace::Folder(self.root.clone())) };
        let _turn = self.turn.acquire().await;
        let short: String = commit.chars().take(12).collect();
        let branch = format!("{}/{name}-{}-{short}", git::branch::PREFIX, slots.store);
        let base = BranchTip { branch: branch.clone(), tip: commit.to_owned() };
        let owner = slots.side_owner(name);
        let (existing, limit, now_ms) = (ExistingBranch::Continue, None, now_ms());
        let order = SlotOrder { owner: &owner, branch: &branch, base: &base, existing, limit, now_ms };
        let taken = slots.pool.take(&self.git, &self.root, order).await?;
        Ok(self.worktree(taken, base))
    }

    /// Frees the slot (a reusable worktree) with this name and deletes its branch, which has no commit of its own.
    pub(crate) async fn free_side(&self, name: &str) -> Result<(), GitProblem> {
        let Some(slots) = &self.slots else { return Ok(()) };
        let _turn = self.turn.acquire().await;
        let owner = slots.side_owner(name);
        let records = slots.pool.records()?;
        let Some((_, record)) = records.into_iter().find(|(_, record)| record.used.owner() == Some(&owner)) else {
            return Ok(());
        };
        let branch = match record.used {
            git::slot::SlotUse::Making { branch, .. } | git::slot::SlotUse::Used { branch, .. } => branch,
            git::slot::SlotUse::Free => return Ok(()),
        };
        slots.pool.clean_up(&self.git, &self.root, &owner, &branch).await?;
        // Restore the files of the commit first, so that files which the checks left behind are not saved as work.
        if let Some(taken) = slots.pool.find(&self.git, &self.root, &owner).await? {
            let tree = self.tree_of_commit(&taken.base_commit).await?;
            git::branch::restore_tree(&self.git, &taken.path, &tree).await?;
        }
        let _saved = slots.pool.free(&self.git, &self.root, &owner).await?;
        let repository = GitRepository::find(&self.git, &self.root).await?;
        match repository.commit(&self.git, &reference(&branch)).await? {
            Some(tip) => repository.delete_branch(&self.git, &branch, &tip).await,
            None => Ok(()),
        }
    }
}
