//! Git worktrees that we own: created on a new branch, inspected, and removed without losing work.
//!
//! This crate needs git 2.31 or later. It keeps no record: the caller records the result of [`create`] and passes it to
//! [`remove`]. A call that has started is finished even when its caller is dropped, so a caller that goes away leaves
//! no unfinished worktree. A killed process can leave a worktree without a record. A later call then gets
//! `BRANCH_EXISTS`, with the place where the branch is checked out.

pub mod branch;
mod child;
mod create;
mod folder;
pub mod name;
mod problem;
pub mod program;
pub mod remnant;
mod remove;
pub mod removed;
pub mod repository;
mod squash;
mod status;

use std::path::{Path, PathBuf};

pub use create::undo;
pub use problem::{Dirt, GitProblem, MissingBase, Occupant};
pub use program::{Git, TIME_LIMIT_DEFAULT};

/// The folder of a project's settings and state, in its root.
pub const FOLDER: &str = ".handover";
/// The folder of the state of this machine. No commit and no merge contains a file of it.
pub const STATE: &str = ".handover/state";

/// A branch and worktree to create.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorktreeRequest {
    /// Any folder of the repository; a linked worktree stands for its repository.
    pub repository: PathBuf,
    /// The root of the worktrees, relative to the main worktree; the default is `.handover/state/worktrees`.
    pub root: Option<PathBuf>,
    pub branch: String,
    /// The branch, tag or commit to start from; the default is the commit that the main worktree has checked out.
    pub base: Option<String>,
}

/// A created worktree, with the values that the caller records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MadeWorktree {
    /// The path without links, directly below the root.
    pub path: PathBuf,
    pub branch: String,
    /// The name of the base if it has one, else its commit.
    pub base_branch: String,
    pub base_commit: String,
}

/// A worktree to remove, with the recorded values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removal {
    pub repository: PathBuf,
    pub path: PathBuf,
    pub branch: String,
    /// The branch that should contain the work; the default is the branch of the main worktree.
    pub base: Option<String>,
    /// The commit that brought the work into the base, when the work was squashed.
    pub merge_commit: Option<String>,
    /// Deletes uncommitted changes and ignores a lock. The decision about the branch does not depend on it.
    pub force: bool,
    /// The present time in Unix milliseconds. A deleted branch can be restored for 30 days from this time.
    pub now_ms: i64,
}

/// The result of a removal, for the worktree and its branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removed {
    /// True also when a person had already removed the worktree.
    pub worktree_removed: bool,
    pub branch: Branch,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Branch {
    Deleted {
        tip: String,
        /// The reference that keeps the commits for 30 days.
        kept_as: String,
    },
    Kept(KeptBranch),
}

/// The reasons why a branch is not deleted, or does not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeptBranch {
    Gone,
    NotMerged {
        base: String,
    },
    /// The merge commit does not exist or is not in the base.
    MergeNotFound {
        base: String,
    },
    /// The merge commit is older than the branch's own commits, so it cannot hold them.
    MergeBeforeBranch {
        merge: String,
    },
    /// The merge commit is not a merge of the branch, and its files lack changes of the branch.
    MergeLacks {
        merge: String,
        file: Option<String>,
    },
    /// There is no base to compare with.
    BaseNotFound,
    CheckedOut {
        path: PathBuf,
    },
    Failed {
        problem: String,
    },
}

/// The branch, commit and changes of a worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorktreeState {
    /// The branch; `None` when a commit is checked out without a branch.
    pub branch: Option<String>,
    /// The commit; `None` before the first commit.
    pub head: Option<String>,
    pub tree: TreeState,
}

/// Tells whether a worktree has uncommitted changes. Ignored files do not count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TreeState {
    Clean,
    /// Uncommitted changes: up to twenty file names, and `more` when there are others.
    Dirty {
        files: Vec<String>,
        more: bool,
    },
}

/// Creates a branch and a worktree for it, or neither.
pub async fn create(git: &Git, request: &WorktreeRequest) -> Result<MadeWorktree, GitProblem> {
    let (git, request) = (git.clone(), request.clone());
    finish(async move { create::create(&git, &request).await }).await
}

/// Removes the recorded worktree, if git lists exactly that one. A repeated call gives the same answer.
///
/// Ignored files do not count as work: they do not make a worktree dirty, and they are deleted with it.
pub async fn remove(git: &Git, removal: &Removal) -> Result<Removed, GitProblem> {
    let (git, removal) = (git.clone(), removal.clone());
    finish(async move { remove::remove(&git, &removal).await }).await
}

/// Returns the state of a worktree, the main one or a linked one, from its root.
pub async fn state(git: &Git, path: &Path) -> Result<WorktreeState, GitProblem> {
    status::state(git, path).await
}

/// Runs the work to its end, also when the caller is dropped.
async fn finish<T: Send + 'static>(
    work: impl Future<Output = Result<T, GitProblem>> + Send + 'static,
) -> Result<T, GitProblem> {
    match tokio::spawn(work).await {
        Ok(result) => result,
        Err(error) => Err(GitProblem::failed("worktree", &format!("the work was interrupted: {error}"))),
    }
}
