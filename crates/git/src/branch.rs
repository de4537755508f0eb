//! The branches of a workflow. Each task of the workflow has a branch, and the last commit of that branch (its head) is
//! merged into the branch of the workflow.
//!
//! ```text
//! base ── handover/<plan> ─────────────────●───────────────●──>      moved only by compare-and-swap
//!               └── handover/<task>-<attempt> ──●── head ──┘         a worktree each
//! ```
//!
//! The branch of a workflow is named after the plan. A task's branch cannot have the name `handover/<plan>/<task>`. Git
//! stores the workflow's branch as a file, and that name would need a folder of the same name.
//!
//! A merge changes no worktree. Git computes the merged tree from commits. The branch moves only if its tip is still
//! the commit that was merged. When two callers merge at the same time, one of them retries, and no commit is lost.
//! Every function here may be called again after the process was stopped: it finds the work that is already committed
//! or merged.
//!
//! This module needs git 2.38 or later (`merge-tree --write-tree`). Git runs no program that a configuration names: no
//! hook, no file system monitor, no signing program. A file that needs a filter program stays uncommitted. A changed
//! file that needs a merge driver counts as a conflict.

mod bring;
mod commit;
mod copied_history;
mod copies;
pub(crate) mod look;
pub(crate) mod merge;
mod naming;
pub mod quiet;
pub(crate) mod state;
pub(crate) mod tree;

use std::path::{Path, PathBuf};

use crate::GitProblem;
use crate::name::check_branch;
use crate::program::{Git, GitCall};
use crate::removed::{KEPT_DAYS, KeptTime, retire_branch};
use crate::repository::{GitRepository, reference};

pub use bring::bring;
pub use commit::commit;
pub use copies::{COPIED_BYTES_MAX, COPIED_FILES_MAX, CopyMode, CopyReport, CopySkip, copied_paths, copy_into};
pub use merge::{MergePlan, ReadyMerge, is_merged, make_merge, merge, plan_merge};
pub use naming::{BranchStart, BranchSubject, start_branch, subject_branch};
pub use tree::{WorktreeTree, commit_tree, restore_tree, tree_of};

pub const PREFIX: &str = "handover";
/// The maximum length of a commit message in bytes; a longer message is refused. Git gets the message in one argument,
/// and operating systems limit the length of an argument.
const MESSAGE_BYTES_MAX: usize = 64 << 10;
/// The maximum number of paths in the list of a merge's conflicts. Further paths are left out, and the field `more` is
/// true.
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

/// A request to merge a commit into the branch of a workflow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merge {
    pub repository: PathBuf,
    /// The branch of the workflow, into which the commit is merged.
    pub branch: String,
    /// The full hash of the commit to merge.
    pub head: String,
    pub message: String,
    pub author: Author,
}

/// The result of committing the work that an agent left in its worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommitResult {
    /// The worktree had nothing to commit, except perhaps the paths in `left`, which Handover does not commit.
    Clean {
        head: String,
        left: Vec<UncommittedPath>,
    },
    Commit {
        head: String,
        left: Vec<UncommittedPath>,
    },
    /// Files still have conflicts of an unfinished merge, so no commit was made. A conflict in a text file counts as
    /// fixed when its markers are gone. For a conflict without markers, such as in a binary file, the agent must run
    /// `git add`.
    Unmended {
        paths: Vec<String>,
    },
}

/// A changed path that Handover did not commit. The agent may commit it with git.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UncommittedPath {
    pub path: String,
    pub why: UncommittedReason,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UncommittedReason {
    /// A git repository inside the worktree. It is not committed, because its own commits may exist only in this
    /// worktree.
    Submodule,
    /// A file whose content git would pass through a filter program that the git configuration names.
    Filter,
    /// A file that Handover copied into the worktree, such as `.env`. It may have secrets, so it is never committed,
    /// even if the agent staged it.
    Copied,
}

/// The result of merging a commit into a branch.
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
    /// The merge has conflicts, and the branch did not change. When the merge ran in a worktree, the files there have
    /// the conflict markers.
    Conflict {
        paths: Vec<String>,
        /// True when there are more paths with conflicts than `paths` lists.
        more: bool,
    },
    /// The commit to merge has a file below `.handover/state`, where Handover keeps its database. The branch did not
    /// change.
    HasState {
        path: String,
    },
    /// A worktree has the branch checked out. A merge would move the branch without changing the files of that
    /// worktree, so the merge was not made.
    CheckedOut {
        path: PathBuf,
    },
}

/// The branch of a workflow, and the commit that it points to now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BranchTip {
    pub branch: String,
    pub tip: String,
}

/// Returns the name of the branch that version 0.1.0 of Handover gave to a workflow. A workflow that version 0.1.0
/// started keeps this branch.
pub fn workflow_branch(workflow: &str) -> String {
    format!("{PREFIX}/{workflow}")
}

pub fn task_branch(task: &str, attempt: u32) -> String {
    format!("{PREFIX}/{task}-{attempt}")
}

/// Returns the branch of a workflow, and creates it when it does not exist. A new branch starts from `base` (a branch,
/// tag or commit). When `base` is `None`, the new branch starts from the commit that the main worktree has checked out.
pub async fn line(git: &Git, repository: &Path, branch: &str, base: Option<&str>) -> Result<BranchTip, GitProblem> {
    check_branch(branch)?;
    let repository = GitRepository::find(git, repository).await?;
    let branch = branch.to_owned();
    let name = reference(&branch);
    if let Some(tip) = repository.commit(git, &name).await? {
        return Ok(BranchTip { branch, tip });
    }
    let base = repository.base(git, base).await?;
    let arguments = ["update-ref", "-m", "handover: workflow", "--create-reflog", "--end-of-options"];
    // The last argument of `git update-ref` is the expected old value of the branch. An empty value means that the
    // branch must not exist.
    let made = GitCall::write(&repository.home, &arguments).and(&name).and(&base.commit).and("").run(git).await?;
    match repository.commit(git, &name).await? {
        // The branch exists now. This call created it, or another process created it first.
        Some(tip) => Ok(BranchTip { branch, tip }),
        None if repository.commit(git, &reference(PREFIX)).await?.is_some() => Err(GitProblem::input(
            "branch",
            format!("cannot be {branch}, because the branch {PREFIX} exists and git cannot keep both names"),
        )),
        None => Err(made.failure()),
    }
}

/// Returns the commit of a branch, or `None` when the branch does not exist.
pub async fn tip(git: &Git, repository: &Path, branch: &str) -> Result<Option<String>, GitProblem> {
    GitRepository::find(git, repository).await?.commit(git, &reference(branch)).await
}

/// Deletes a branch that has no commit of its own, if it still points to `tip`.
pub async fn discard(git: &Git, repository: &Path, branch: &BranchTip) -> Result<(), GitProblem> {
    GitRepository::find(git, repository).await?.delete_branch(git, &branch.branch, &branch.tip).await
}

/// Returns the worktree that has the given branch checked out, or `None` when no worktree has it checked out.
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

/// Deletes a task's branch if the workflow's branch contains the work of the task; otherwise the branch stays. Returns
/// true when the branch stays. The caller must make sure that no worktree has the branch checked out.
pub async fn forget(
    git: &Git,
    repository: &Path,
    (line, branch): (&BranchTip, &str),
    now_ms: i64,
) -> Result<bool, GitProblem> {
    let repository = GitRepository::find(git, repository).await?;
    match repository.commit(git, &reference(branch)).await? {
        Some(tip) if repository.contains(git, &line.tip, &tip).await? => {
            retire_branch(git, &repository, (branch, &tip), KeptTime { now_ms, days: KEPT_DAYS }).await.map(|_| false)
        }
        Some(_) => Ok(true),
        None => Ok(false),
    }
}

impl Author {
    /// Sets the author and committer of a git call. In the name, blanks replace control characters and the characters
    /// that git would remove.
    pub(crate) fn environment(&self, call: GitCall) -> GitCall {
        let (name, mail) = self.name_and_mail();
        let call = call.env("GIT_AUTHOR_NAME", &name).env("GIT_AUTHOR_EMAIL", &mail);
        call.env("GIT_COMMITTER_NAME", &name).env("GIT_COMMITTER_EMAIL", &mail)
    }

    /// Returns the name and the mail address of the author, as commits have them.
    pub(crate) fn name_and_mail(&self) -> (String, String) {
        let name: String =
            self.name.chars().map(|c| if c.is_control() || "<>".contains(c) { ' ' } else { c }).collect();
        let name = name.trim();
        // Git refuses a name that consists of punctuation only. For such a name, the slug is used.
        let has_letter = name.chars().any(char::is_alphanumeric);
        (if has_letter { name } else { &self.slug }.to_owned(), format!("{}@{PREFIX}", self.slug))
    }
}

fn check_id(field: &'static str, id: &str) -> Result<(), GitProblem> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !id.is_empty() && id.len() <= 100 && id.chars().all(is_plain) && !id.starts_with('-') {
        return Ok(());
    }
    Err(GitProblem::input(field, "must be up to 100 of the characters A-Z, a-z, 0-9, _ and -"))
}

/// Checks the message and the author of a commit. Handover writes the message itself, but the message may quote text of
/// an agent, so it is checked too.
pub(crate) fn check_words(message: &str, author: &Author) -> Result<(), GitProblem> {
    check_id("author", &author.slug)?;
    if message.trim().is_empty() || message.contains('\0') || message.len() > MESSAGE_BYTES_MAX {
        return Err(GitProblem::input("message", format!("must be text of at most {MESSAGE_BYTES_MAX} bytes")));
    }
    Ok(())
}
