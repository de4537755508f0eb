//! Finds the repository that holds the work of the tasks, and the worktrees in which agents work.

use std::path::PathBuf;

use base::Service;
use base::project::{place, trust};
use engine::id::TaskId;
use git::Git;
use runner::attempt::slot_owner::RunnerSlots;
use runner::claim::open::{self, RunSite};

use crate::error::WorkError;

/// The store of a project, its repository, and its slots: the worktrees in which agents work.
#[derive(Debug)]
pub struct WorkSite<'a> {
    pub run: RunSite<'a>,
    pub git: Git,
    pub root: PathBuf,
    pub slots: RunnerSlots,
}

/// The reason why there is no repository with the work of tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoWorkSite {
    /// The store belongs to no project folder.
    NoProject,
    /// The project's folder is in no git repository.
    NoRepository,
}

impl<'a> WorkSite<'a> {
    /// Finds the repository of the project to which the store belongs.
    pub async fn find(run: RunSite<'a>) -> Result<Result<Self, NoWorkSite>, WorkError> {
        let Some(root) = run.place.root.clone() else { return Ok(Err(NoWorkSite::NoProject)) };
        let git = Git::default();
        let settings = trust::basics(&root, place::data_folder().as_deref()).map_err(WorkError::Settings)?;
        let store = place::absolute(&run.place.store);
        let slots = open::slots(&git, &root, settings.worktrees.as_deref(), &store).await?;
        Ok(slots.map(|slots| Self { run, git, root, slots }).ok_or(NoWorkSite::NoRepository))
    }

    pub fn service(&self) -> &'a Service {
        self.run.service
    }

    /// Frees the slot (the worktree) in which an attempt (one claim of a task) was worked on, so that another task can
    /// use it. The work stays in git on its branch.
    pub async fn free_slot(&self, task: TaskId, attempt: u32) -> Result<(), WorkError> {
        let _saved = self.slots.pool.free(&self.git, &self.root, &self.slots.owner(task, attempt)).await?;
        Ok(())
    }
}
