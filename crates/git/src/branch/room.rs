//! The worktree of a task: made, or found as a runner that was stopped left it.

use std::path::Path;
use std::time::Duration;

use super::{Line, merge};
use crate::program::Git;
use crate::remnant::is_unfinished;
use crate::repository::{Repository, reference};
use crate::{self as worktree, Made, Occupant, Problem, Request};

/// How often we look whether a git has finished, and how often in all: a checkout of many files takes its time.
const LOOK: Duration = Duration::from_millis(100);
const LOOKS_MAX: u32 = 200;
/// A git that fails clears what it made, which may take a moment as well.
const TRIES_MAX: u32 = 5;

/// At the tip of its workflow's branch. One that a stopped runner made is found again, with what is in it. A git which that
/// runner started may still be making it: it is waited for. What a git that died left half-made is undone; nobody has worked
/// there yet.
pub async fn workspace(git: &Git, line: &Line, request: &Request) -> Result<Made, Problem> {
    let mut is_begun = false;
    for _ in 0..TRIES_MAX {
        let found = made_or_found(git, line, request).await;
        let path = match &found {
            Ok(made) if is_unfinished(&made.path) => &made.path,
            // One in which git has only begun, or which it clears after a failure; any other is somebody's.
            Err(Problem::PathTaken { path, by: Occupant::Folder }) if is_begun || path.join(".git").is_file() => path,
            Ok(_) | Err(_) => return found,
        };
        is_begun = true;
        if !is_finished_in_time(path).await {
            let repository = Repository::find(git, &request.repository).await?;
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

async fn made_or_found(git: &Git, line: &Line, request: &Request) -> Result<Made, Problem> {
    let request = Request { base: Some(line.branch.clone()), ..request.clone() };
    let branch = request.branch.clone();
    match worktree::create(git, &request).await {
        Err(Problem::BranchExists { checked_out: Some(path), .. }) => {
            let repository = Repository::find(git, &request.repository).await?;
            let base_commit = merge::fork(git, &repository, &reference(&branch), &line.tip).await?;
            Ok(Made { path, branch, base_branch: line.branch.clone(), base_commit })
        }
        Err(Problem::BranchExists { checked_out: None, .. }) => {
            let repository = Repository::find(git, &request.repository).await?;
            let Some(tip) = repository.commit(git, &reference(&branch)).await? else {
                return worktree::create(git, &request).await;
            };
            // A branch without work is one whose worktree was not made any more.
            if !repository.contains(git, &line.tip, &tip).await? {
                return Err(Problem::BranchExists { branch, checked_out: None });
            }
            repository.delete_branch(git, &branch, &tip).await?;
            match worktree::create(git, &request).await {
                // So is an empty folder; one with anything in it stays.
                Err(Problem::PathTaken { path, by: Occupant::Folder }) if std::fs::remove_dir(&path).is_ok() => {
                    worktree::create(git, &request).await
                }
                other => other,
            }
        }
        other => other,
    }
}
