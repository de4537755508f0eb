//! Git worktrees of our own: made on a new branch, looked at, and removed without losing work.
//!
//! Needs git 2.31 or later. The caller records what [`create`] returns and gives it back to [`remove`]; nothing is
//! kept here. A call that was begun is finished even if nobody waits for its answer any longer, so a caller that goes
//! away leaves no half-made worktree. A process that is killed can leave one that nobody recorded: its branch is then
//! `BRANCH_EXISTS`, with the place where it is checked out.

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
pub use problem::{Dirt, MissingBase, Occupant, Problem};
pub use program::{Git, TIME_LIMIT_DEFAULT};

/// The folder of a project's settings and state, in its root.
pub const FOLDER: &str = ".handover";
/// The folder of what this machine keeps. No commit and no merge has a file of it.
pub const STATE: &str = ".handover/state";

/// What to make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Any folder of the repository; a linked worktree stands for the repository it belongs to.
    pub repository: PathBuf,
    /// Where worktrees are, relative to the main worktree; else its `.handover/state/worktrees`.
    pub root: Option<PathBuf>,
    pub branch: String,
    /// A branch, tag or commit; else what the main worktree has checked out.
    pub base: Option<String>,
}

/// What was made, to be recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Made {
    /// Without links, directly beneath the root.
    pub path: PathBuf,
    pub branch: String,
    /// The name of the base if it has one, else its commit.
    pub base_branch: String,
    pub base_commit: String,
}

/// What to remove: the words of the record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removal {
    pub repository: PathBuf,
    pub path: PathBuf,
    pub branch: String,
    /// Where the work should have come to; else the branch of the main worktree.
    pub base: Option<String>,
    /// The commit that brought the work into the base, for a squash.
    pub merge_commit: Option<String>,
    /// Deletes uncommitted changes and ignores a lock. The branch is judged as without it.
    pub force: bool,
    /// The present time in Unix milliseconds: a deleted branch can be restored for 30 days from then.
    pub now_ms: i64,
}

/// What became of a worktree and its branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removed {
    /// Also true when somebody had removed it by hand.
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
    Kept(Kept),
}

/// Why there was no branch to delete, or it stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kept {
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
    /// The merge commit is no merge of the branch, and its files lack changes of the branch.
    MergeLacks {
        merge: String,
        file: Option<String>,
    },
    /// There is nothing to compare with.
    BaseNotFound,
    CheckedOut {
        path: PathBuf,
    },
    Failed {
        problem: String,
    },
}

/// What a worktree has checked out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State {
    /// None when a commit is checked out without a branch.
    pub branch: Option<String>,
    /// None before the first commit.
    pub head: Option<String>,
    pub tree: Tree,
}

/// Ignored files do not count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tree {
    Clean,
    /// Up to twenty names; `more` when there are others.
    Dirty {
        files: Vec<String>,
        more: bool,
    },
}

/// Makes a branch and a worktree for it, or nothing.
pub async fn create(git: &Git, request: &Request) -> Result<Made, Problem> {
    let (git, request) = (git.clone(), request.clone());
    finish(async move { create::create(&git, &request).await }).await
}

/// Removes what was recorded, if git lists exactly that. Asked again, it answers the same.
///
/// Ignored files are not work: they do not make a worktree dirty and are deleted with it.
pub async fn remove(git: &Git, removal: &Removal) -> Result<Removed, Problem> {
    let (git, removal) = (git.clone(), removal.clone());
    finish(async move { remove::remove(&git, &removal).await }).await
}

/// Of the root of a worktree, the main one or a linked one.
pub async fn state(git: &Git, path: &Path) -> Result<State, Problem> {
    status::state(git, path).await
}

/// Runs to the end also when the caller is dropped.
async fn finish<T: Send + 'static>(
    work: impl Future<Output = Result<T, Problem>> + Send + 'static,
) -> Result<T, Problem> {
    match tokio::spawn(work).await {
        Ok(result) => result,
        Err(error) => Err(Problem::failed("worktree", &format!("the work was interrupted: {error}"))),
    }
}
