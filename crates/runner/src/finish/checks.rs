//! Runs the project's checks on the work of a task, in the task's worktree.

use std::path::Path;

use super::{CommittedWork, FinishStage, FinishedOutput};
use crate::attempt::AttemptError;
use crate::attempt::place::WorkPlace;
use crate::attempt::setup::CommandSite;
use crate::attempt::shared::RunEvent;
use crate::verify::CheckPlace;
use crate::verify::project::{
    BaselineEnd, ProjectCheckHelp, ProjectCheckPlace, ProjectCheckResult, ProjectVerdict, run_checks,
};
use base::project::settings::{CheckMoment, VerifyCheck};
use base::project::task_extra::TaskExtra;
use engine::Actor;
use engine::task::{Task, TaskDetail};

/// The files on which the project's checks run, and the commit from which the task started. A check that already fails
/// on that commit cannot judge the files.
#[derive(Debug, Clone, Copy)]
pub(super) struct TreeTarget<'a> {
    pub(super) place: &'a WorkPlace,
    pub(super) commit: Option<&'a str>,
    pub(super) tree: Option<&'a str>,
    pub(super) baseline: Option<&'a str>,
}

impl FinishStage<'_> {
    /// Runs the project's checks on the work of the task. A task that changed no file is not checked.
    pub(super) async fn project_checks(&self, done: &FinishedOutput) -> Result<Vec<ProjectCheckResult>, AttemptError> {
        if done.work.as_ref().is_some_and(|work| work.changes.files == 0) {
            return Ok(Vec::new());
        }
        let baseline = match &done.place {
            WorkPlace::Worktree { base_commit, .. } => Some(base_commit.as_str()),
            WorkPlace::Folder(_) => None,
        };
        let (commit, tree) = match &done.work {
            Some(CommittedWork { commit, tree, .. }) => (Some(commit.as_str()), Some(tree.as_str())),
            None => (None, None),
        };
        self.check_tree(TreeTarget { place: &done.place, commit, tree, baseline }).await
    }

    /// Runs the checks that the settings name for each task, on the files that are in the worktree now.
    pub(super) async fn check_tree(&self, target: TreeTarget<'_>) -> Result<Vec<ProjectCheckResult>, AttemptError> {
        let (run, shared) = (self.run, &self.run.shared);
        let checks = self.checks();
        if checks.is_empty() {
            return Ok(Vec::new());
        }
        let checks: Vec<&VerifyCheck> = checks.iter().collect();
        let (binary, mark) = (agents::host::own_binary()?, self.turn.to_string());
        let folder = shared.attempt_folder(run.task, run.attempt).join("project");
        let site =
            CommandSite { worktree: target.place.path(), slot: target.place.slot(), folder: &folder, mark: &mark };
        let environment = shared.command_environment(site);
        let place = ProjectCheckPlace {
            place: CheckPlace {
                kept_in: Some(&shared.state),
                ..shared.check_place(site, (&binary, &environment), target.commit)
            },
            scripts: shared.settings.scripts.as_ref(),
            retries: shared.settings.verify.retries,
            permits: &shared.checks,
        };
        let mut help = StageHelp { stage: self, target };
        let results = run_checks(place, &checks, &mut help).await?;
        help.restore().await?;
        for (check, result) in checks.iter().zip(&results) {
            if let (Some(tree), ProjectVerdict::Checked | ProjectVerdict::CheckedFlaky { .. }) =
                (target.tree, &result.verdict)
            {
                shared.keep_passed(tree, check, result.ms());
            }
        }
        Ok(results)
    }

    /// Returns the checks that run after this task: the checks of the project, and the checks of the task itself.
    pub(super) fn checks(&self) -> Vec<VerifyCheck> {
        let of_project = self.run.shared.settings.verify.checks.iter().filter(|check| self.holds(check)).cloned();
        of_project.chain(own_checks(&self.facts.task, &self.facts.detail)).collect()
    }

    /// Returns true when a check runs after this task.
    fn holds(&self, check: &VerifyCheck) -> bool {
        // A task of the standing list (the workflow for single tasks) has no plan that ends later, so all checks run
        // now.
        check.when == CheckMoment::Task || self.facts.workflow.standing
    }
}

/// Returns the checks that a person gave a task in addition to the checks of the project. A task that an agent added has
/// none, because its commands would run without a person's consent.
pub(crate) fn own_checks(task: &Task, detail: &TaskDetail) -> Vec<VerifyCheck> {
    if let None | Some(Actor::Agent(_)) = task.author {
        return Vec::new();
    }
    TaskExtra::of(detail).own_checks.into_iter().map(VerifyCheck::of_command).collect()
}

/// The operations that a run of checks needs from the attempt, such as restoring the worktree after each run.
struct StageHelp<'a> {
    stage: &'a FinishStage<'a>,
    target: TreeTarget<'a>,
}

impl ProjectCheckHelp for StageHelp<'_> {
    type Fault = AttemptError;

    async fn baseline(&mut self, check: &VerifyCheck) -> Result<BaselineEnd, AttemptError> {
        // A check of the task itself usually fails on the commit from which the task starts, because the task is not
        // done there. So its result on that commit says nothing, and it does not run there.
        let is_own = own_checks(&self.stage.facts.task, &self.stage.facts.detail).contains(check);
        match self.target.baseline.filter(|_| !is_own) {
            Some(commit) => self.stage.run.shared.baseline(commit, check).await,
            None => Ok(BaselineEnd::Unknown),
        }
    }

    async fn restore(&mut self) -> Result<(), AttemptError> {
        match self.target.tree {
            Some(tree) => Ok(self.stage.run.shared.ground.restore(self.target.place, tree).await?),
            None => Ok(()),
        }
    }

    fn begins(&mut self, check: &VerifyCheck, _run: u32) {
        let folder = Path::new(&check.folder);
        let place = if folder.as_os_str().is_empty() { String::new() } else { format!(" in {}", folder.display()) };
        let command = format!("{}{place}", check.command.join(" "));
        self.stage.run.tell(self.stage.facts, RunEvent::Checking { command });
    }
}
