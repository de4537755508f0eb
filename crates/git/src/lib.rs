//! Git worktrees that Handover owns. This crate creates each of them on a new branch, inspects it, and removes it
//! without losing work.
//!
//! This crate needs git 2.31 or later. It keeps no record of the worktrees: the caller records the result of [`create`]
//! and passes it to [`remove`]. A call that has started is finished even when the caller drops its future, so such a
//! caller leaves no unfinished worktree. A process that is killed can leave a worktree that no caller has recorded. A
//! later call for the same branch then gets `BRANCH_EXISTS`, with the path where the branch is checked out.

pub mod branch;
pub mod changes;
mod child;
mod create;
pub mod facts;
mod folder;
pub mod land;
pub mod name;
mod problem;
pub mod program;
pub mod remnant;
mod remove;
pub mod removed;
pub mod repository;
pub mod slot;
mod squash;
mod status;

use std::path::{Path, PathBuf};

pub use create::undo;
pub use problem::{Dirt, GitProblem, MissingBase, Occupant};
pub use program::{Git, TIME_LIMIT_DEFAULT};

/// The folder at the top of a project that has Handover's settings and state.
pub const FOLDER: &str = ".handover";
/// The folder of the state that belongs to this machine, such as the database. No commit and no merge of Handover
/// contains a file below it.
pub const STATE: &str = ".handover/state";

/// A request to create a branch and a worktree for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorktreeRequest {
    /// Any folder of the repository. A folder in a linked worktree means the repository of that worktree.
    pub repository: PathBuf,
    /// The folder that contains the worktrees, relative to the main worktree. The default is
    /// `.handover/state/worktrees`.
    pub root: Option<PathBuf>,
    pub branch: String,
    /// The branch, tag or commit from which the new branch starts. The default is the commit that the main worktree has
    /// checked out.
    pub base: Option<String>,
}

/// A created worktree, with the values that the caller records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MadeWorktree {
    /// The path of the worktree, with links resolved. It is directly below the root folder of the worktrees.
    pub path: PathBuf,
    pub branch: String,
    /// The name of the branch or tag that the worktree starts from. For a commit without a name, this is the hash of
    /// the commit.
    pub base_branch: String,
    pub base_commit: String,
}

/// A worktree to remove, with the values that the caller recorded when it was created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removal {
    pub repository: PathBuf,
    pub path: PathBuf,
    pub branch: String,
    /// The branch that should contain the work of the removed worktree. `None` means the branch of the main worktree.
    pub base: Option<String>,
    /// The squash commit, that is, the single commit with which the work came into the base branch. `None` when the
    /// work was not squashed.
    pub merge_commit: Option<String>,
    /// When true, the removal deletes uncommitted changes, and removes the worktree even if it is locked. This flag has
    /// no influence on the branch.
    pub force: bool,
    /// The present time in Unix milliseconds. A deleted branch can be restored for 30 days from this time.
    pub now_ms: i64,
}

/// The result of removing a worktree, and the decision about its branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removed {
    /// True when the worktree is gone, even if a person removed it earlier.
    pub worktree_removed: bool,
    pub branch: Branch,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Branch {
    Deleted {
        tip: String,
        /// The git reference that keeps the commits of the deleted branch for 30 days.
        kept_as: String,
    },
    Kept(KeptBranch),
}

/// The reason why a removal did not delete the branch of the worktree. `Gone` means that the branch did not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeptBranch {
    Gone,
    NotMerged {
        base: String,
    },
    /// The given merge commit does not exist, or the base branch does not contain it.
    MergeNotFound {
        base: String,
    },
    /// The given merge commit is an ancestor of the branch's last commit, so it cannot contain the work of the branch.
    MergeBeforeBranch {
        merge: String,
    },
    /// The given merge commit does not contain the commits of the branch, and its files lack changes of the branch.
    MergeLacks {
        merge: String,
        file: Option<String>,
    },
    /// There is no base branch to compare with, so Handover does not know if the work is merged.
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
    /// The branch that is checked out in the worktree. `None` when a commit is checked out without a branch.
    pub branch: Option<String>,
    /// The commit that is checked out in the worktree. `None` before the first commit.
    pub head: Option<String>,
    pub tree: TreeState,
}

/// The uncommitted changes of a worktree. Ignored files do not count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TreeState {
    Clean,
    /// The worktree has uncommitted changes. `files` has up to twenty file names; `more` is true when further files
    /// changed.
    Dirty {
        files: Vec<String>,
        more: bool,
    },
}

/// Creates a branch and a worktree for it. After a failure neither the branch nor the worktree exists.
pub async fn create(git: &Git, request: &WorktreeRequest) -> Result<MadeWorktree, GitProblem> {
    let (git, request) = (git.clone(), request.clone());
    finish(async move { create::create(&git, &request).await }).await
}

/// Removes the recorded worktree, if git lists a worktree with exactly that path and branch. A repeated call succeeds
/// too.
///
/// Ignored files do not count as work. They do not prevent the removal, and they are deleted with the worktree.
pub async fn remove(git: &Git, removal: &Removal) -> Result<Removed, GitProblem> {
    let (git, removal) = (git.clone(), removal.clone());
    finish(async move { remove::remove(&git, &removal).await }).await
}

/// Returns the state of a worktree. `path` is the root folder of the main worktree or of a linked worktree.
pub async fn state(git: &Git, path: &Path) -> Result<WorktreeState, GitProblem> {
    status::state(git, path).await
}

/// Runs the work to its end, even when the caller drops the returned future.
async fn finish<T: Send + 'static>(
    work: impl Future<Output = Result<T, GitProblem>> + Send + 'static,
) -> Result<T, GitProblem> {
    match tokio::spawn(work).await {
        Ok(result) => result,
        Err(error) => Err(GitProblem::failed("worktree", &format!("the git operation was interrupted: {error}"))),
    }
}
