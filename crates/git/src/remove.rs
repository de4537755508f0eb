//! Removes a worktree that git lists with the recorded path and branch. Also deletes the branch when no work is lost.

use std::path::Path;

use super::folder;
use super::name;
use super::problem::{Dirt, GitProblem, Occupant};
use super::program::{Git, GitCall};
use super::removed::{self, KEPT_DAYS, KeptTime};
use super::repository::{GitRepository, WorktreeEntry, reference};
use super::squash::{self, SquashContent};
use super::status;
use super::{Branch, KeptBranch, Removal, Removed, TreeState, WorktreeState};

/// The decision about the branch of a worktree: keep it or delete it. It is made before the worktree is removed.
enum RemovalPlan {
    Keep(KeptBranch),
    Delete { tip: String },
}

/// The result of looking for the recorded worktree on disk and in git's list of worktrees.
enum FoundWorktree {
    Listed {
        entry: WorktreeEntry,
        folder: WorktreePresence,
    },
    /// Neither git's list nor the disk has the worktree any more, for example because a person removed it.
    Gone,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum WorktreePresence {
    Here,
    Missing,
}

pub(super) async fn remove(git: &Git, removal: &Removal) -> Result<Removed, GitProblem> {
    name::check_branch(&removal.branch)?;
    if let Some(commit) = &removal.merge_commit {
        name::check_commit(commit)?;
    }
    let repository = GitRepository::find(git, &removal.repository).await?;
    let entries = repository.worktrees(git).await?;
    let found = find(&repository, &entries, removal)?;
    if let FoundWorktree::Listed { entry, folder } = &found
        && !removal.force
    {
        refuse_dirt(git, entry, *folder).await?;
    }
    let plan = plan(git, &repository, &entries, removal).await?;
    if let FoundWorktree::Listed { .. } = found {
        remove_folder(git, &repository, removal).await?;
    }
    let branch = settle(git, &repository, removal, plan).await;
    // Delete the old references that keep deleted branches for 30 days. Ignore a failure: the references cost little,
    // and the next removal tries again.
    let _left = removed::prune(git, &repository, removal.now_ms).await;
    Ok(Removed { worktree_removed: true, branch })
}

/// Finds the linked worktree with exactly the recorded path and branch. Returns an error when another file or worktree
/// is at the recorded path, because Handover did not create it.
fn find(repository: &GitRepository, entries: &[WorktreeEntry], removal: &Removal) -> Result<FoundWorktree, GitProblem> {
    let path = &removal.path;
    let not_ours = |problem: String| Err(GitProblem::WorkspaceNotOurs { path: path.clone(), problem });
    if !path.is_absolute() || path.components().any(|part| part == std::path::Component::ParentDir) {
        return not_ours("the recorded path is not absolute".to_owned());
    }
    let presence = match folder::occupant(path) {
        Ok(Occupant::Folder) => WorktreePresence::Here,
        Ok(Occupant::File | Occupant::Link | Occupant::Registration) => {
            return not_ours("it is not a folder".to_owned());
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => WorktreePresence::Missing,
        Err(error) => return not_ours(format!("it cannot be read: {error}")),
    };
    if presence == WorktreePresence::Here && path.canonicalize().ok().as_ref() != Some(path) {
        return not_ours("it goes through a symbolic link".to_owned());
    }
    let Some((main, linked)) = entries.split_first() else { return not_ours("git lists no worktrees".to_owned()) };
    if same(&main.path, path) || same(&repository.home, path) {
        return not_ours("it is the main worktree".to_owned());
    }
    match (linked.iter().find(|entry| entry.path == *path), presence) {
        (None, WorktreePresence::Missing) => Ok(FoundWorktree::Gone),
        (None, WorktreePresence::Here) => not_ours("git does not list it as a worktree of this repository".to_owned()),
        (Some(entry), folder) if entry.branch == Some(reference(&removal.branch)) => {
            Ok(FoundWorktree::Listed { entry: entry.clone(), folder })
        }
        (Some(entry), _) => {
            let has = entry
                .branch
                .as_deref()
                .map_or("a commit without a branch", |name| name.strip_prefix("refs/heads/").unwrap_or(name));
            not_ours(format!("it has {has} checked out instead of {}", removal.branch))
        }
    }
}

fn same(one: &Path, other: &Path) -> bool {
    one == other || one.canonicalize().is_ok_and(|one| one == other)
}

async fn refuse_dirt(git: &Git, entry: &WorktreeEntry, folder: WorktreePresence) -> Result<(), GitProblem> {
    let dirty = |dirt| Err(GitProblem::WorkspaceDirty { path: entry.path.clone(), dirt });
    if let Some(reason) = &entry.locked {
        return dirty(Dirt::Locked { reason: reason.clone() });
    }
    match folder {
        WorktreePresence::Missing => Ok(()),
        WorktreePresence::Here => match status::state(git, &entry.path).await {
            Ok(WorktreeState { tree: TreeState::Clean, .. }) => Ok(()),
            Ok(WorktreeState { tree: TreeState::Dirty { files, more }, .. }) => dirty(Dirt::Changes { files, more }),
            Err(GitProblem::NotARepository { path }) => {
                Err(GitProblem::WorkspaceNotOurs { path, problem: "its link to the repository is gone".to_owned() })
            }
            Err(problem) => Err(problem),
        },
    }
}

/// Decides if the worktree's branch is deleted. Its commits must be in the base branch, or a squash commit in the base
/// branch must contain its changes.
async fn plan(
    git: &Git,
    repository: &GitRepository,
    entries: &[WorktreeEntry],
    removal: &Removal,
) -> Result<RemovalPlan, GitProblem> {
    let name = reference(&removal.branch);
    let Some(tip) = repository.commit(git, &name).await? else { return Ok(RemovalPlan::Keep(KeptBranch::Gone)) };
    let elsewhere = entries.iter().find(|entry| entry.branch.as_ref() == Some(&name) && entry.path != removal.path);
    if let Some(entry) = elsewhere {
        return Ok(RemovalPlan::Keep(KeptBranch::CheckedOut { path: entry.path.clone() }));
    }
    let base = match repository.base(git, removal.base.as_deref()).await {
        Ok(base) => base,
        Err(GitProblem::BaseNotFound(_)) => return Ok(RemovalPlan::Keep(KeptBranch::BaseNotFound)),
        Err(problem) => return Err(problem),
    };
    // If the base is the branch itself, the comparison does not show that the work was merged, so keep the branch. Also
    // keep it when no base is given and the main worktree has a commit checked out without a branch.
    if base.name == removal.branch || (removal.base.is_none() && base.name == base.commit) {
        return Ok(RemovalPlan::Keep(KeptBranch::BaseNotFound));
    }
    if repository.contains(git, &base.commit, &tip).await? {
        return Ok(RemovalPlan::Delete { tip });
    }
    let Some(merge) = &removal.merge_commit else {
        return Ok(RemovalPlan::Keep(KeptBranch::NotMerged { base: base.name }));
    };
    let Some(merge) = repository.commit(git, merge).await? else {
        return Ok(RemovalPlan::Keep(KeptBranch::MergeNotFound { base: base.name }));
    };
    if !repository.contains(git, &base.commit, &merge).await? {
        return Ok(RemovalPlan::Keep(KeptBranch::MergeNotFound { base: base.name }));
    }
    judge_squash(git, repository, (&base.commit, &tip), merge).await
}

/// Decides if a branch that was squashed into one commit is deleted. Compares the content of the files, because a
/// squash commit contains the changes of the branch but not its commits.
async fn judge_squash(
    git: &Git,
    repository: &GitRepository,
    (base, tip): (&str, &str),
    merge: String,
) -> Result<RemovalPlan, GitProblem> {
    if repository.contains(git, tip, &merge).await? {
        return Ok(RemovalPlan::Keep(KeptBranch::MergeBeforeBranch { merge }));
    }
    let Some(fork) = repository.fork(git, base, tip).await? else {
        return Ok(RemovalPlan::Keep(KeptBranch::MergeLacks { merge, file: None }));
    };
    Ok(match squash::content(git, repository, &fork, (tip, &merge)).await {
        Ok(SquashContent::Whole) => RemovalPlan::Delete { tip: tip.to_owned() },
        Ok(SquashContent::NothingToHold) => RemovalPlan::Keep(KeptBranch::MergeLacks { merge, file: None }),
        Ok(SquashContent::Lacks { file }) => RemovalPlan::Keep(KeptBranch::MergeLacks { merge, file: Some(file) }),
        // The comparison of the branch with the squash commit failed, so keep the branch. The worktree can still be
        // removed.
        Err(problem) => RemovalPlan::Keep(KeptBranch::Failed { problem: problem.to_string() }),
    })
}

/// Removes the folder of the worktree with `git worktree remove`. Git checks once more for changes, so a file that was
/// written after our own check is not lost.
async fn remove_folder(git: &Git, repository: &GitRepository, removal: &Removal) -> Result<(), GitProblem> {
    let path = &removal.path;
    // Git removes a locked worktree only when `--force` is given twice.
    let force: &[&str] = if removal.force { &["--force", "--force"] } else { &[] };
    let arguments = [&["worktree", "remove"], force, &["--"]].concat();
    let output = GitCall::write(&repository.home, &arguments).and(path).run(git).await?;
    if output.is_success() {
        return Ok(());
    }
    let dirty = |dirt| Err(GitProblem::WorkspaceDirty { path: path.clone(), dirt });
    if output.stderr.contains("containing submodules") {
        return dirty(Dirt::Submodules);
    }
    if output.stderr.contains("contains modified or untracked files")
        && let TreeState::Dirty { files, more } = status::state(git, path).await?.tree
    {
        return dirty(Dirt::Changes { files, more });
    }
    Err(output.failure())
}

/// Deletes or keeps the worktree's branch as planned. The worktree is already removed, so a branch that cannot be
/// deleted is reported as kept and not as an error.
async fn settle(git: &Git, repository: &GitRepository, removal: &Removal, plan: RemovalPlan) -> Branch {
    match plan {
        RemovalPlan::Keep(why) => Branch::Kept(why),
        RemovalPlan::Delete { tip } => {
            let named = (removal.branch.as_str(), tip.as_str());
            let time = KeptTime { now_ms: removal.now_ms, days: KEPT_DAYS };
            match removed::retire_branch(git, repository, named, time).await {
                Ok(kept_as) => Branch::Deleted { tip, kept_as },
                Err(problem) => Branch::Kept(KeptBranch::Failed { problem: problem.to_string() }),
            }
        }
    }
}
