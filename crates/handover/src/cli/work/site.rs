//! Finds the repository that holds the work of the tasks, and decides who the caller of a command is.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use base::project::trust;
use engine::Caller;
use engine::id::TaskId;
use git::Git;
use handover::office::Office;
use handover::person;
use runner::attempt::slot_owner::RunnerSlots;
use runner::claim::open;

use super::super::init::NO_REPOSITORY;

/// The repository of the project, and its slots: the worktrees in which agents work.
#[derive(Debug)]
pub(super) struct WorkSite {
    pub(super) git: Git,
    pub(super) root: PathBuf,
    pub(super) slots: RunnerSlots,
}

impl WorkSite {
    /// Finds the repository of the project. If there is none, tells the person and returns the exit code.
    pub(super) async fn find(office: &Office) -> anyhow::Result<Result<Self, ExitCode>> {
        let Some(root) = office.place.root.clone() else {
            eprintln!("There is no project here. Run this command in the folder of your project.");
            return Ok(Err(ExitCode::from(2)));
        };
        let git = Git::default();
        let data = base::project::place::data_folder();
        let settings = trust::basics(&root, data.as_deref()).context("read the settings")?;
        let store = base::project::place::absolute(&office.place.store);
        let slots = open::slots(&git, &root, settings.worktrees.as_deref(), &store).await?;
        let Some(slots) = slots else {
            eprintln!("{NO_REPOSITORY}");
            return Ok(Err(ExitCode::from(2)));
        };
        Ok(Ok(Self { git, root, slots }))
    }

    /// Frees the slot (the worktree) in which an attempt (one claim of a task) was worked on, so that another task can
    /// use it. The work stays in git on its branch.
    pub(super) async fn free_slot(&self, task: TaskId, attempt: u32) -> anyhow::Result<()> {
        let _saved = self.slots.pool.free(&self.git, &self.root, &self.slots.owner(task, attempt)).await?;
        Ok(())
    }
}

/// Returns the caller of a command that a person or a person's script runs.
pub(super) async fn operator(office: &Office) -> anyhow::Result<Caller> {
    Ok(Caller::with_rights(person::rights(office.desk.service()).await?))
}

/// Returns the caller of a command that only a person may run. If the caller is no person, prints the reason and
/// returns the exit code.
pub(super) async fn decider(office: &Office) -> anyhow::Result<Result<Caller, ExitCode>> {
    Ok(person::decider(office.desk.service()).await?.map_err(|stranger| {
        eprintln!("{stranger}");
        ExitCode::from(1)
    }))
}
