//! Merges the workflow's branch into a task's worktree, so that the agent can fix the conflicts.

use super::look::{WorktreeLook, look, names};
use super::merge::{commit, conflict};
use super::quiet::quiet;
use super::{Author, BranchTip, MergeResult, TaskWorkspace, check_words};
use crate::problem::NAMES_SHOWN_MAX;
use crate::program::{Git, GitCall};
use crate::repository::GitRepository;
use crate::{Dirt, GitProblem};

/// Merges the workflow's branch into the task's worktree, which must have no uncommitted changes. After a conflict, the
/// files in the worktree have conflict markers; the agent fixes them, and then the function `commit` completes the
/// merge. When a merge is already in progress, no new merge starts, and the result has the paths with unfixed
/// conflicts.
pub async fn bring(
    git: &Git,
    line: &BranchTip,
    workspace: &TaskWorkspace,
    message: &str,
    author: &Author,
) -> Result<MergeResult, GitProblem> {
    check_words(message, author)?;
    let mut quiet = quiet(git, &workspace.path).await?;
    // Clear the merge options in the configuration of the task's branch. They could name a merge strategy, which is a
    // program.
    quiet.settings.push((format!("branch.{}.mergeOptions", workspace.branch), String::new()));
    let before = look(git, workspace, &quiet).await?;
    if before.merging.is_some() {
        return Ok(unmerged(&before));
    }
    let repository = GitRepository::find(git, &workspace.repository).await?;
    let tip = commit(git, &repository, &line.tip).await?;
    if repository.contains(git, &before.head, &tip).await? {
        return Ok(MergeResult::Already { tip: before.head });
    }
    let files = names(before.changed.iter().chain(&before.staged));
    if !files.is_empty() {
        let more = files.len() > NAMES_SHOWN_MAX;
        let dirt = Dirt::Changes { files: files.into_iter().take(NAMES_SHOWN_MAX).collect(), more };
        return Err(GitProblem::WorkspaceDirty { path: workspace.path.clone(), dirt });
    }
    let arguments = [
        "merge",
        "--quiet",
        "--ff",
        "--no-edit",
        "--no-verify",
        "--no-gpg-sign",
        "--no-verify-signatures",
        "--no-autostash",
        "--no-stat",
        "--strategy=ort",
        "-m",
        message,
        "--",
    ];
    let call = GitCall::write(&workspace.path, &arguments).and(&tip).here_only().set(&quiet.settings);
    let merged = author.environment(call).run(git).await?;
    let after = look(git, workspace, &quiet).await?;
    if merged.is_success() {
        let is_fast = after.head == tip;
        let tip = after.head;
        return Ok(if is_fast { MergeResult::FastForward { tip } } else { MergeResult::Merge { tip } });
    }
    if after.merging.is_some() { Ok(unmerged(&after)) } else { Err(merged.failure()) }
}

fn unmerged(look: &WorktreeLook) -> MergeResult {
    conflict(names(look.unmerged.iter().map(|file| &file.path)).into_iter())
}
