//! The branches of a workflow: the workflow's branch, into which the heads of its tasks' branches are merged.
//!
//! ```text
//! base ── handover/<workflow> ─────────────●───────────────●──>      moved only by compare-and-swap
//!               └── handover/<task>-<attempt> ──●── head ──┘         a worktree each
//! ```
//!
//! A task's branch cannot be `handover/<workflow>/<task>`, because git stores the workflow's branch as a file where
//! that name needs a folder. Ids of workflows and tasks have different prefixes, so the two kinds of branches never
//! collide.
//!
//! A merge changes no worktree: git computes the merged tree from commits, and the branch moves only from the tip that
//! was merged. Of two mergers at once, one has to retry; no commit is lost. Every function here may be repeated after a
//! stop: committed work is found clean, and merged work is found merged.
//!
//! This module needs git 2.38 or later (`merge-tree --write-tree`). No program that a configuration names is run: no
//! hook, no monitor, no signing. A file behind a filter stays uncommitted, and a file with a merge driver conflicts.

mod bring;
mod commit;
mod look;
mod merge;
pub mod quiet;
mod room;
mod state;

use std::path::{Path, PathBuf};

use crate::GitProblem;
use crate::program::{Git, GitCall};
use crate::removed::retire_branch;
use crate::repository::{GitRepository, reference};

pub use bring::bring;
pub use commit::commit;
pub use merge::{is_merged, merge};
pub use room::workspace;

pub const PREFIX: &str = "handover";
/// The maximum length of a commit message, which git gets in one argument.
const MESSAGE_BYTES_MAX: usize = 64 << 10;
/// The maximum number of paths that an answer lists.
const PATHS_MAX: usize = 200;

/// The worktree of a task, and the branch that must be checked out in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskWorkspace {
    /// Any folder of the repository that the worktree must belong to.
    pub repository: PathBuf,
    pub path: PathBuf,
    pub branch: String,
}

/// The author of a commit: `name <slug@handover>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Author {
    pub name: String,
    pub slug: String,
}

/// A head to merge into a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merge {
    pub repository: PathBuf,
    /// The branch of the workflow.
    pub branch: String,
    /// The full hash of a commit.
    pub head: String,
    pub message: String,
    pub author: Author,
}

/// The result of a commit of the work that an agent left in its worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommitResult {
    /// There was no work to commit, except possibly the files in `left`.
    Clean {
        head: String,
        left: Vec<UncommittedPath>,
    },
    Commit {
        head: String,
        left: Vec<UncommittedPath>,
    },
    /// Files of a merge still have a conflict, so no commit was made. For a conflict without markers, `git add` says
    /// that it is fixed.
    Unmended {
        paths: Vec<String>,
    },
}

/// A path that we did not commit. The agent may commit it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UncommittedPath {
    pub path: String,
    pub why: UncommittedReason,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UncommittedReason {
    /// A repository inside the worktree. Its commit may exist only there.
    Submodule,
    /// The content of the file passes through a program that a configuration names.
    Filter,
}

/// The result of a merge of a head into a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MergeResult {
    Already {
        tip: String,
    },
    FastForward {
        tip: String,
    },
    Merge {
        tip: String,
    },
    /// The branch did not change. After a merge in a worktree, that worktree has the conflict markers.
    Conflict {
        paths: Vec<String>,
        /// True when there are more paths than these.
        more: bool,
    },
    /// The head has a file below `.handover/state`, where agents may never write. The branch did not change.
    HasState {
        path: String,
    },
    /// A worktree has the branch checked out. A merge would move the branch under that worktree, so the branch did not
    /// change.
    CheckedOut {
        path: PathBuf,
    },
}

/// The branch of a workflow and its tip.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BranchTip {
    pub branch: String,
    pub tip: String,
}

pub fn workflow_branch(workflow: &str) -> String {
    format!("{PREFIX}/{workflow}")
}

pub fn task_branch(task: &str, attempt: u32) -> String {
    format!("{PREFIX}/{task}-{attempt}")
}

/// Returns the branch of a workflow, and creates it when it does not exist. It starts from the base (a branch, tag or
/// commit), else from the commit that the main worktree has checked out.
pub async fn line(git: &Git, repository: &Path, workflow: &str, base: Option<&str>) -> Result<BranchTip, GitProblem> {
    check_id("workflow", workflow)?;
    let repository = GitRepository::find(git, repository).await?;
    let branch = workflow_branch(workflow);
    let name = reference(&branch);
    if let Some(tip) = repository.commit(git, &name).await? {
        return Ok(BranchTip { branch, tip });
    }
    let base = repository.base(git, base).await?;
    let arguments = ["update-ref", "-m", "handover: workflow", "--create-reflog", "--end-of-options"];
    // The empty old value means that the branch must not exist.
    let made = GitCall::write(&repository.home, &arguments).and(&name).and(&base.commit).and("").run(git).await?;
    match repository.commit(git, &name).await? {
        // This is also the result when another process created the branch first.
        Some(tip) => Ok(BranchTip { branch, tip }),
        None if repository.commit(git, &reference(PREFIX)).await?.is_some() => Err(GitProblem::input(
            "branch",
            format!("cannot be {branch} beside the branch {PREFIX}: git keeps one as a folder of the other"),
        )),
        None => Err(made.failure()),
    }
}

/// Returns the worktree that has a branch checked out.
pub async fn standing(git: &Git, repository: &Path, branch: &str) -> Result<Option<TaskWorkspace>, GitProblem> {
    let found = GitRepository::find(git, repository).await?;
    let name = reference(branch);
    let entry = found.worktrees(git).await?.into_iter().find(|entry| entry.branch.as_deref() == Some(&name));
    Ok(entry.map(|entry| TaskWorkspace {
        repository: repository.to_owned(),
        path: entry.path,
        branch: branch.to_owned(),
    }))
}

/// Deletes a branch when its work is in the workflow's branch. No worktree may have it checked out.
pub async fn forget(
    git: &Git,
    repository: &Path,
    (line, branch): (&BranchTip, &str),
    now_ms: i64,
) -> Result<(), GitProblem> {
    let repository = GitRepository::find(git, repository).await?;
    match repository.commit(git, &reference(branch)).await? {
        Some(tip) if repository.contains(git, &line.tip, &tip).await? => {
            retire_branch(git, &repository, (branch, &tip), now_ms).await.map(drop)
        }
        Some(_) | None => Ok(()),
    }
}

impl Author {
    /// Sets author and committer for a call. Removes the characters that git would cut from a name, and those that
    /// would end the variable.
    fn environment(&self, call: GitCall) -> GitCall {
        let name: String =
            self.name.chars().map(|c| if c.is_control() || "<>".contains(c) { ' ' } else { c }).collect();
        let name = name.trim();
        // Git does not accept a name that has only punctuation.
        let has_letter = name.chars().any(char::is_alphanumeric);
        let (name, mail) = (if has_letter { name } else { &self.slug }, format!("{}@{PREFIX}", self.slug));
        let call = call.env("GIT_AUTHOR_NAME", name).env("GIT_AUTHOR_EMAIL", &mail);
        call.env("GIT_COMMITTER_NAME", name).env("GIT_COMMITTER_EMAIL", &mail)
    }
}

fn check_id(field: &'static str, id: &str) -> Result<(), GitProblem> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !id.is_empty() && id.len() <= 100 && id.chars().all(is_plain) && !id.starts_with('-') {
        return Ok(());
    }
    Err(GitProblem::input(field, "must be up to 100 of the characters A-Z, a-z, 0-9, _ and -"))
}

/// Checks the message and the author. We write the message, but it may quote an agent.
fn check_words(message: &str, author: &Author) -> Result<(), GitProblem> {
    check_id("author", &author.slug)?;
    if message.trim().is_empty() || message.contains('\0') || message.len() > MESSAGE_BYTES_MAX {
        return Err(GitProblem::input("message", format!("must be text of at most {MESSAGE_BYTES_MAX} bytes")));
    }
    Ok(())
}
