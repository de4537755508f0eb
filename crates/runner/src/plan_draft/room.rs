//! Prepares the folder in which an agent reads the repository while it drafts a plan. The folder is a separate worktree
//! at the checked-out commit, so the agent's program cannot change the person's files.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use base::ground::digest::sha256;
use git::program::GitCall;
use git::repository::GitRepository;
use git::slot::SlotPool;
use git::{Git, GitProblem};

/// The reason why the folder for an agent that drafts a plan cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum RoomError {
    #[error(transparent)]
    Git(#[from] GitProblem),
    #[error("make the worktree for the plan")]
    Io(#[from] std::io::Error),
    #[error("another `handover plan` is running in this repository; wait for it, or stop it")]
    Taken,
}

/// The folder in which an agent reads the repository. [`ReadingRoom::leave`] removes it when it is a worktree.
#[derive(Debug)]
pub enum ReadingRoom {
    /// A worktree outside of the repository. The lock keeps other processes from using it.
    Worktree { repository: PathBuf, path: PathBuf, lock: File },
    /// The project's own folder, when it has no git repository or no commit yet.
    Project(PathBuf),
}

impl ReadingRoom {
    /// Makes the worktree in which an agent drafts a plan. Replaces a worktree that a killed process left. `data` is
    /// the user's data folder.
    pub async fn enter(git: &Git, root: &Path, data: Option<&Path>) -> Result<Self, RoomError> {
        let project = || Ok(Self::Project(root.to_owned()));
        let repository = match GitRepository::find(git, root).await {
            Ok(repository) => repository,
            Err(GitProblem::NotARepository { .. }) => return project(),
            Err(problem) => return Err(problem.into()),
        };
        let Some(data) = data else { return project() };
        let Some(commit) = repository.commit(git, "HEAD").await? else { return project() };
        let pool = SlotPool::of_repository(&data.join("handover").join("worktrees"), &repository.home, sha256);
        std::fs::create_dir_all(pool.folder())?;
        let lock = File::create(pool.folder().join("plan.lock"))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(RoomError::Taken),
            Err(TryLockError::Error(error)) => return Err(error.into()),
        }
        let path = pool.folder().join("plan");
        remove(git, root, &path).await?;
        let add = GitCall::write(root, &["worktree", "add", "--quiet", "--detach"]).and(&path).and(&commit);
        let added = add.run(git).await?;
        if !added.is_success() {
            return Err(added.failure().into());
        }
        Ok(Self::Worktree { repository: root.to_owned(), path, lock })
    }

    pub fn path(&self) -> &Path {
        match self {
            Self::Worktree { path, .. } | Self::Project(path) => path,
        }
    }

    /// Removes the worktree, even when the agent's program changed files in it. Only the text of the drafted plan is
    /// kept.
    pub async fn leave(self, git: &Git) -> Result<(), RoomError> {
        match self {
            Self::Worktree { repository, path, lock } => {
                remove(git, &repository, &path).await?;
                drop(lock);
                Ok(())
            }
            Self::Project(_) => Ok(()),
        }
    }
}

/// Removes the worktree and git's record of it. A worktree that does not exist is no error.
async fn remove(git: &Git, repository: &Path, path: &Path) -> Result<(), RoomError> {
    match std::fs::remove_dir_all(path) {
        Ok(()) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => return Err(error.into()),
    }
    // `git worktree prune` makes git forget the worktrees whose folders are gone.
    GitCall::write(repository, &["worktree", "prune"]).run(git).await?;
    Ok(())
}
