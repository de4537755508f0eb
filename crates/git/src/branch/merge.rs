//! Merges a commit into a branch without using a worktree.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::quiet::{Quiet, quiet};
use super::{Merge, MergeResult, PATHS_MAX, check_words, state};
use crate::GitProblem;
use crate::program::{Git, GitCall};
use crate::repository::{GitRepository, reference};

/// The maximum number of tries of one merge; after them the merge fails. A try is repeated only when another merge
/// moved the branch in the meantime, and a workflow never has so many merges at the same time.
const TRIES_MAX: u32 = 50;

/// A merge that is prepared but not made: the branch has not moved yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadyMerge {
    /// The commit to which the branch points now.
    pub tip: String,
    /// The commit to which the merge moves the branch.
    pub new: String,
    /// True when the branch needs no merge commit. Then its new tree is the tree of the commit to merge.
    pub is_fast_forward: bool,
}

/// The result of preparing a merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MergePlan {
    Ready(ReadyMerge),
    /// The branch contains the commit already, or the commit cannot be merged.
    Settled(MergeResult),
}

/// Merges a commit into a branch. The branch moves only if its tip is still the commit that this function read before,
/// so the caller needs no lock.
pub async fn merge(git: &Git, request: &Merge) -> Result<MergeResult, GitProblem> {
    for _ in 0..TRIES_MAX {
        let ready = match plan_merge(git, request).await? {
            MergePlan::Ready(ready) => ready,
            MergePlan::Settled(result) => return Ok(result),
        };
        if let Some(merged) = make_merge(git, request, &ready).await? {
            return Ok(merged);
        }
    }
    Err(GitProblem::failed(
        "update-ref",
        "new commits arrive on the branch faster than it can be merged into; try \
        again",
    ))
}

/// Prepares a merge without moving the branch. The caller can check the new commit before [`make_merge`] moves the
/// branch to it.
pub async fn plan_merge(git: &Git, request: &Merge) -> Result<MergePlan, GitProblem> {
    let Merge { message, author, .. } = request;
    check_words(message, author)?;
    let repository = GitRepository::find(git, &request.repository).await?;
    let head = commit(git, &repository, &request.head).await?;
    if let Some(path) = state::in_tree(git, &repository, &head).await? {
        return Ok(MergePlan::Settled(MergeResult::HasState { path }));
    }
    let quiet = quiet(git, &repository.home).await?;
    let name = reference(&request.branch);
    let tip = commit(git, &repository, &name).await?;
    if repository.contains(git, &tip, &head).await? {
        return Ok(MergePlan::Settled(MergeResult::Already { tip }));
    }
    if let Some(path) = checked_out(git, &repository, &name).await? {
        return Ok(MergePlan::Settled(MergeResult::CheckedOut { path }));
    }
    if repository.contains(git, &head, &tip).await? {
        return Ok(MergePlan::Ready(ReadyMerge { tip, new: head, is_fast_forward: true }));
    }
    let tree = match merged_tree(git, &repository, &quiet, (None, &tip, &head)).await? {
        Ok(tree) => tree,
        Err(MergeConflict { paths, more }) => {
            return Ok(MergePlan::Settled(MergeResult::Conflict { paths, more }));
        }
    };
    let call = GitCall::write(&repository.home, &["commit-tree", "--no-gpg-sign", "-p"]).and(&tip).and("-p").and(&head);
    let call = call.and("-m").and(message).and(&tree).set(&quiet.settings);
    let new = author.environment(call).run(git).await?.whole()?.text();
    Ok(MergePlan::Ready(ReadyMerge { tip, new, is_fast_forward: false }))
}

/// Moves the branch to the commit that [`plan_merge`] prepared. Returns `None` when another merge moved the branch in
/// the meantime. Then the merge must be prepared again.
pub async fn make_merge(git: &Git, request: &Merge, ready: &ReadyMerge) -> Result<Option<MergeResult>, GitProblem> {
    let repository = GitRepository::find(git, &request.repository).await?;
    let name = reference(&request.branch);
    let arguments = ["update-ref", "-m", "handover: merged", "--create-reflog", "--end-of-options"];
    let ReadyMerge { tip, new, is_fast_forward } = ready;
    let moved = GitCall::write(&repository.home, &arguments).and(&name).and(new).and(tip).run(git).await?;
    if moved.is_success() {
        let tip = new.clone();
        return Ok(Some(if *is_fast_forward { MergeResult::FastForward { tip } } else { MergeResult::Merge { tip } }));
    }
    // The update of the branch failed. If the tip of the branch is unchanged, git failed for another reason. Otherwise
    // another merge moved the branch.
    if commit(git, &repository, &name).await? == *tip { Err(moved.failure()) } else { Ok(None) }
}

/// Returns true when the branch in the request already contains the commit to merge.
pub async fn is_merged(git: &Git, request: &Merge) -> Result<bool, GitProblem> {
    let repository = GitRepository::find(git, &request.repository).await?;
    let tip = commit(git, &repository, &reference(&request.branch)).await?;
    let head = commit(git, &repository, &request.head).await?;
    repository.contains(git, &tip, &head).await
}

pub(super) async fn commit(git: &Git, repository: &GitRepository, name: &str) -> Result<String, GitProblem> {
    let is_hex = name.len() >= 40 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_hex && !name.starts_with("refs/heads/") {
        return Err(GitProblem::input("head", "must be a whole commit"));
    }
    match repository.commit(git, name).await? {
        Some(commit) => Ok(commit),
        None => Err(GitProblem::input("head", format!("is not in the repository: {name}"))),
    }
}

async fn checked_out(git: &Git, repository: &GitRepository, name: &str) -> Result<Option<PathBuf>, GitProblem> {
    let entries = repository.worktrees(git).await?;
    Ok(entries.into_iter().find(|entry| entry.branch.as_deref() == Some(name)).map(|entry| entry.path))
}

/// The paths that have conflicts in a merge.
#[derive(Debug)]
pub(crate) struct MergeConflict {
    pub(crate) paths: Vec<String>,
    /// True when more paths have conflicts than `paths` lists.
    pub(crate) more: bool,
}

/// Merges two commits without using a worktree. Returns the id of the merged tree, or the paths with conflicts. When
/// `base` is `None`, git uses the last common commit.
pub(crate) async fn merged_tree(
    git: &Git,
    repository: &GitRepository,
    quiet: &Quiet,
    (base, ours, theirs): (Option<&str>, &str, &str),
) -> Result<Result<String, MergeConflict>, GitProblem> {
    let arguments = ["merge-tree", "--write-tree", "-z", "--name-only", "--no-messages"];
    let mut call = GitCall::write(&repository.home, &arguments);
    if let Some(base) = base {
        call = call.and(format!("--merge-base={base}"));
    }
    let call = call.and("--end-of-options").and(ours).and(theirs).set(&quiet.settings);
    let output = call.run(git).await?;
    let text = String::from_utf8_lossy(&output.stdout);
    let mut items = text.split('\0').filter(|item| !item.is_empty());
    match (output.code(), items.next()) {
        (Some(0), Some(tree)) => Ok(Ok(tree.trim().to_owned())),
        (Some(1), Some(_)) => Ok(Err(conflicts(items.map(str::to_owned)))),
        (Some(_) | None, _) => Err(output.failure()),
    }
}

pub(super) fn conflict(paths: impl Iterator<Item = String>) -> MergeResult {
    let MergeConflict { paths, more } = conflicts(paths);
    MergeResult::Conflict { paths, more }
}

fn conflicts(paths: impl Iterator<Item = String>) -> MergeConflict {
    let mut paths: Vec<String> = paths.collect::<BTreeSet<_>>().into_iter().collect();
    let more = paths.len() > PATHS_MAX;
    paths.truncate(PATHS_MAX);
    MergeConflict { paths, more }
}
