//! Creates the worktree of a task, or finds the one that a runner (the process that works on tasks) created before it
//! was stopped.

use std::path::Path;
use std::time::Duration;

use super::{BranchTip, merge};
use crate::program::Git;
use crate::remnant::is_unfinished;
use crate::repository::{GitRepository, reference};
use crate::{self as worktree, GitProblem, MadeWorktree, Occupant, WorktreeRequest};

/// The time between two checks whether another git process has finished creating a worktree. After `LOOKS_MAX` checks
/// (20 seconds in all) the worktree counts as unfinished. The limit is high, because a checkout of many files takes
/// long.
const LOOK: Duration = Duration::from_millis(100);
const LOOKS_MAX: u32 = 200;
/// The maximum number of tries to get a finished worktree. One try may not be enough: a git process that fails needs
/// time to delete its files, and until then a folder is in the way.
const TRIES_MAX: u32 = 5;

/// Returns the worktree of a task. A new worktree starts at the tip of the workflow's branch. If a runner created the
/// worktree before it was stopped, that worktree is returned with its files. If a git process is still creating it,
/// this function waits. If that process died, the unfinished worktree is removed; no agent has worked there yet.
pub async fn workspace(git: &Git, line: &BranchTip, request: &WorktreeRequest) -> Result<MadeWorktree, GitProblem> {
    let mut is_begun = false;
    for _ in 0..TRIES_MAX {
        let found = made_or_found(git, line, request).await;
        let path = match &found {
            Ok(made) if is_unfinished(&made.path) => &made.path,
            // A git process is still creating this folder, or is deleting it after a failure, so wait. Any other folder
            // at the path was not made by Handover and stays.
            Err(GitProblem::PathTaken { path, by: Occupant::Folder }) if is_begun || path.join(".git").is_file() => {
                path
            }
            Ok(_) | Err(_) => return found,
        };
        is_begun = true;
        if !is_finished_in_time(path).await {
            let repository = GitRepository::find(git, &request.repository).await?;
            worktree::undo(git, &repository, path.clone()).await?;
        }
    }
    made_or_found(git, line, request).await
}

async fn is_finished_in_time(path: &Path) -> bool {
    for _ in 0..LOOKS_MAX {
        tokio::time::sleep(LOOK).await;
        if !is_unfinished(path) {
            return true;
        }
    }
    false
}

async fn made_or_found(git: &Git, line: &BranchTip, request: &WorktreeRequest) -> Result<MadeWorktree, GitProblem> {
    let request = WorktreeRequest { base: Some(line.branch.clone()), ..request.clone() };
    let branch = request.branch.clone();
    match worktree::create(git, &request).await {
        Err(GitProblem::BranchExists { checked_out: Some(path), .. }) => {
            let repository = GitRepository::find(git, &request.repository).await?;
            let base_commit = merge::fork(git, &repository, &reference(&branch), &line.tip).await?;
            Ok(MadeWorktree { path, branch, base_branch: line.branch.clone(), base_commit })
        }
        Err(GitProblem::BranchExists { checked_out: None, .. }) => {
            let repository = GitRepository::find(git, &request.repository).await?;
            let Some(tip) = repository.commit(git, &reference(&branch)).await? else {
                return worktree::create(git, &request).await;
            };
            // If the task's branch has commits that the workflow's branch lacks, it has work and stays. Otherwise the
            // branch is left over from a worktree that was never created.
            if !repository.contains(git, &line.tip, &tip).await? {
                return Err(GitProblem::BranchExists { branch, checked_out: None });
            }
            repository.delete_branch(git, &branch, &tip).await?;
            match worktree::create(git, &request).await {
                // An empty folder at the worktree's path is left over too, so delete it. A folder with content stays.
                Err(GitProblem::PathTaken { path, by: Occupant::Folder }) if std::fs::remove_dir(&path).is_ok() => {
                    worktree::create(git, &request).await
                }
                other => other,
            }
        }
        other => other,
    }
}
