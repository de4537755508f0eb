//! Merges a head into a branch without a worktree.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::quiet::quiet;
use super::{Merge, Merged, PATHS_MAX, check_words, state};
use crate::Problem;
use crate::program::{Call, Git, Output};
use crate::repository::{Repository, reference};

/// The maximum number of tries. Each lost race means that another merge succeeded, and no workflow has so many merges
/// at once.
const TRIES_MAX: u32 = 50;

/// Merges a commit into a branch. The branch moves only from the tip that was read, so the caller need not hold a lock.
pub async fn merge(git: &Git, request: &Merge) -> Result<Merged, Problem> {
    let Merge { message, author, .. } = request;
    check_words(message, author)?;
    let repository = Repository::find(git, &request.repository).await?;
    let head = commit(git, &repository, &request.head).await?;
    if let Some(path) = state::in_tree(git, &repository, &head).await? {
        return Ok(Merged::HasState { path });
    }
    let quiet = quiet(git, &repository.home).await?;
    let name = reference(&request.branch);
    for _ in 0..TRIES_MAX {
        let tip = commit(git, &repository, &name).await?;
        if repository.contains(git, &tip, &head).await? {
            return Ok(Merged::Already { tip });
        }
        if let Some(path) = checked_out(git, &repository, &name).await? {
            return Ok(Merged::CheckedOut { path });
        }
        let (new, merged) = if repository.contains(git, &head, &tip).await? {
            (head.clone(), Merged::FastForward { tip: head.clone() })
        } else {
            let arguments = ["merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", "--end-of-options"];
            let call = Call::write(&repository.home, &arguments).and(&tip).and(&head);
            let tree = match tree(&call.set(&quiet.settings).run(git).await?)? {
                Ok(tree) => tree,
                Err(conflict) => return Ok(conflict),
            };
            let call =
                Call::write(&repository.home, &["commit-tree", "--no-gpg-sign", "-p"]).and(&tip).and("-p").and(&head);
            let call = call.and("-m").and(message).and(&tree).set(&quiet.settings);
            let new = author.environment(call).run(git).await?.whole()?.text();
            (new.clone(), Merged::Merge { tip: new })
        };
        let arguments = ["update-ref", "-m", "handover: merged", "--create-reflog", "--end-of-options"];
        let moved = Call::write(&repository.home, &arguments).and(&name).and(&new).and(&tip).run(git).await?;
        if moved.is_success() {
            return Ok(merged);
        }
        // Another merge moved the branch; the next try starts from its tip.
        if commit(git, &repository, &name).await? == tip {
            return Err(moved.failure());
        }
    }
    Err(Problem::failed("update-ref", "the branch moves faster than it can be merged into"))
}

/// Tells whether a branch already contains a commit.
pub async fn is_merged(git: &Git, request: &Merge) -> Result<bool, Problem> {
    let repository = Repository::find(git, &request.repository).await?;
    let tip = commit(git, &repository, &reference(&request.branch)).await?;
    let head = commit(git, &repository, &request.head).await?;
    repository.contains(git, &tip, &head).await
}

/// Returns the last common commit of two branches.
pub(super) async fn fork(git: &Git, repository: &Repository, one: &str, other: &str) -> Result<String, Problem> {
    let call = Call::read(&repository.home, &["merge-base", "--end-of-options"]).and(one).and(other);
    Ok(call.run(git).await?.whole()?.text())
}

pub(super) async fn commit(git: &Git, repository: &Repository, name: &str) -> Result<String, Problem> {
    let is_hex = name.len() >= 40 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_hex && !name.starts_with("refs/heads/") {
        return Err(Problem::input("head", "must be a whole commit"));
    }
    match repository.commit(git, name).await? {
        Some(commit) => Ok(commit),
        None => Err(Problem::input("head", format!("is not in the repository: {name}"))),
    }
}

async fn checked_out(git: &Git, repository: &Repository, name: &str) -> Result<Option<PathBuf>, Problem> {
    let entries = repository.worktrees(git).await?;
    Ok(entries.into_iter().find(|entry| entry.branch.as_deref() == Some(name)).map(|entry| entry.path))
}

/// Returns the merged tree, or the conflict that prevents it.
fn tree(output: &Output) -> Result<Result<String, Merged>, Problem> {
    let text = String::from_utf8_lossy(&output.stdout);
    let mut items = text.split('\0').filter(|item| !item.is_empty());
    match (output.code(), items.next()) {
        (Some(0), Some(tree)) => Ok(Ok(tree.trim().to_owned())),
        (Some(1), Some(_)) => Ok(Err(conflict(items.map(str::to_owned)))),
        (Some(_) | None, _) => Err(output.failure()),
    }
}

pub(super) fn conflict(paths: impl Iterator<Item = String>) -> Merged {
    let mut paths: Vec<String> = paths.collect::<BTreeSet<_>>().into_iter().collect();
    let more = paths.len() > PATHS_MAX;
    paths.truncate(PATHS_MAX);
    Merged::Conflict { paths, more }
}
