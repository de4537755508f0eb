//! Prepares the worktree of a slot for its owner: checks out the owner's branch and removes files of earlier work.

use std::fs;
use std::path::Path;

use super::save::{has_link, quit_operations};
use super::{ExistingBranch, SlotOrder, gone, unusable};
use crate::program::{Git, GitCall};
use crate::remnant::clean_worktree;
use crate::repository::{GitRepository, WorktreeEntry, reference};
use crate::{GitProblem, TreeState};

/// Checks out the branch of the request, in a worktree without leftover changes. Returns the commit at which the branch
/// began.
pub(super) async fn prepare(
    git: &Git,
    repository: &GitRepository,
    path: &Path,
    order: SlotOrder<'_>,
) -> Result<String, GitProblem> {
    repository.allows(git, order.branch).await?;
    clean_worktree(&repository.common, path).map_err(|error| unusable(path, &error))?;
    let base = &order.base.tip;
    let (mut start, mut began) = (base.clone(), base.clone());
    if let Some(tip) = repository.commit(git, &reference(order.branch)).await?
        && !repository.contains(git, base, &tip).await?
    {
        match order.existing {
            // The branch has commits that are not in the base. The caller must decide first what happens to these
            // commits.
            ExistingBranch::Refuse => {
                return Err(GitProblem::BranchExists { branch: order.branch.to_owned(), checked_out: None });
            }
            ExistingBranch::Continue => {
                began = repository.fork(git, &tip, base).await?.unwrap_or(began);
                start = tip;
            }
        }
    }
    if entry(git, repository, path).await?.is_none() || !has_link(repository, path) {
        gone(fs::remove_dir_all(path)).map_err(|error| unusable(path, &error))?;
        // `--force` replaces the registration of a worktree whose folder a person deleted.
        let arguments = ["worktree", "add", "--quiet", "--force", "--detach", "--"];
        GitCall::write(&repository.home, &arguments).and(path).and(&start).run(git).await?.whole()?;
    } else {
        quit_operations(git, path).await?;
        // `--hard` also ends a merge that was in progress. The doubled option `-ff` also removes git repositories that
        // an agent created inside of the worktree.
        GitCall::write(path, &["reset", "--quiet", "--hard"]).here_only().run(git).await?.whole()?;
        GitCall::write(path, &["clean", "--quiet", "-ffd"]).here_only().run(git).await?.whole()?;
    }
    let arguments = ["checkout", "--quiet", "--force", "--no-track", "-B"];
    let call = GitCall::write(path, &arguments).and(order.branch).and(&start);
    call.here_only().run(git).await?.whole()?;
    match crate::state(git, path).await?.tree {
        TreeState::Clean => Ok(began),
        TreeState::Dirty { files, .. } => {
            let files = files.join(", ");
            Err(GitProblem::failed("checkout", &format!("the worktree still has changes after it: {files}")))
        }
    }
}

pub(super) async fn is_checked_out(
    git: &Git,
    repository: &GitRepository,
    path: &Path,
    branch: &str,
) -> Result<bool, GitProblem> {
    let found = entry(git, repository, path).await?;
    let is_branch = |entry: WorktreeEntry| entry.branch.as_deref() == Some(&reference(branch));
    Ok(has_link(repository, path) && found.is_some_and(is_branch))
}

/// Returns the entry of a worktree in git's list, or `None` when git does not know the worktree or its folder is gone.
pub(super) async fn entry(
    git: &Git,
    repository: &GitRepository,
    path: &Path,
) -> Result<Option<WorktreeEntry>, GitProblem> {
    let Ok(real) = path.canonicalize() else { return Ok(None) };
    Ok(repository.worktrees(git).await?.into_iter().find(|entry| entry.path == real))
}
