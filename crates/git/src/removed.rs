//! Keeps deleted branches reachable for some days, by git references. The reference
//! `refs/handover/removed/<time>-<commit>/<branch>` keeps a branch for 30 days. `<time>-<commit>-<days>d/<branch>`
//! keeps it for another number of days.

use std::path::Path;

use super::name::check_branch;
use super::problem::GitProblem;
use super::program::{Git, GitCall};
use super::repository::{GitRepository, reference};

const PREFIX: &str = "refs/handover/removed/";
/// The number of days for which a branch that Handover deleted by itself can be restored.
pub const KEPT_DAYS: i64 = 30;
/// The number of days for which a branch that a person dropped can be restored.
pub const DROPPED_DAYS: i64 = 14;
const DAY_MS: i64 = 24 * 60 * 60 * 1_000;
/// The maximum number of expired references that one removal of a worktree deletes, so that one call stays short. Later
/// removals delete the rest.
const PRUNED_MAX: usize = 200;
const TIP_CHARS: usize = 12;

/// The time of a deletion in Unix milliseconds, and the number of days for which the branch can be restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeptTime {
    pub now_ms: i64,
    pub days: i64,
}

/// A dropped branch, and the git command that restores it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DroppedBranch {
    pub tip: String,
    /// The git reference that keeps the commits of the branch.
    pub kept_as: String,
    /// The git command that restores the branch.
    pub restore: String,
}

/// Deletes a branch and keeps its commits for some days. Returns `None` when the branch does not exist. Fails when a
/// worktree has the branch checked out.
pub async fn drop_branch(
    git: &Git,
    repository: &Path,
    branch: &str,
    time: KeptTime,
) -> Result<Option<DroppedBranch>, GitProblem> {
    check_branch(branch)?;
    let repository = GitRepository::find(git, repository).await?;
    let Some(tip) = repository.commit(git, &reference(branch)).await? else { return Ok(None) };
    let name = Some(reference(branch));
    if let Some(entry) = repository.worktrees(git).await?.into_iter().find(|entry| entry.branch == name) {
        return Err(GitProblem::BranchExists { branch: branch.to_owned(), checked_out: Some(entry.path) });
    }
    let kept_as = retire_branch(git, &repository, (branch, &tip), time).await?;
    // Delete expired references, so that they do not pile up. Ignore a failure, because the next call tries again.
    let _left = prune(git, &repository, time.now_ms).await;
    let restore = restore_command(branch, &kept_as);
    Ok(Some(DroppedBranch { tip, kept_as, restore }))
}

/// Restores a dropped branch at its last commit. Does nothing when the branch points to that commit already. Fails when
/// the branch points to another commit, or when git has deleted the last commit.
pub async fn restore_branch(git: &Git, repository: &Path, branch: &str, commit: &str) -> Result<(), GitProblem> {
    check_branch(branch)?;
    let repository = GitRepository::find(git, repository).await?;
    match repository.commit(git, &reference(branch)).await? {
        Some(tip) if tip == commit => return Ok(()),
        Some(_) => return Err(GitProblem::BranchExists { branch: branch.to_owned(), checked_out: None }),
        None => {}
    }
    if repository.commit(git, commit).await?.is_none() {
        let problem = format!("cannot be restored: git has deleted its commit {commit}");
        return Err(GitProblem::input("branch", problem));
    }
    let arguments = ["update-ref", "-m", "handover: branch restored", "--create-reflog", "--end-of-options"];
    // The last argument of `git update-ref` is the expected old value of the branch. Zeros mean that the branch must
    // not exist yet.
    let absent = "0".repeat(commit.len());
    let call = GitCall::write(&repository.home, &arguments).and(reference(branch)).and(commit).and(absent);
    call.run(git).await?.whole().map(drop)
}

/// Deletes a branch if it still points to the commit `tip`. Returns the name of a new reference that keeps the commits
/// of the branch.
pub async fn retire_branch(
    git: &Git,
    repository: &GitRepository,
    (branch, tip): (&str, &str),
    KeptTime { now_ms, days }: KeptTime,
) -> Result<String, GitProblem> {
    let short = tip.get(..TIP_CHARS).unwrap_or(tip);
    let days = if days == KEPT_DAYS { String::new() } else { format!("-{days}d") };
    let kept = format!("{PREFIX}{now_ms}-{short}{days}/{branch}");
    // Create the reference before deleting the branch. If the process is killed in between, a reference is left over,
    // but no commit is lost.
    let arguments = ["update-ref", "-m", "handover: branch removed", "--end-of-options"];
    GitCall::write(&repository.home, &arguments).and(&kept).and(tip).run(git).await?.whole()?;
    if let Err(problem) = repository.delete_branch(git, branch, tip).await {
        let _left = delete(git, repository, &kept, tip).await;
        return Err(problem);
    }
    Ok(kept)
}

/// Returns the git command with which a person can restore a deleted branch.
pub fn restore_command(branch: &str, kept: &str) -> String {
    format!("git branch {branch} {kept}")
}

/// Deletes the references that keep deleted branches, when their days are over. After a failure, the references
/// stay until the next call.
pub async fn prune(git: &Git, repository: &GitRepository, now_ms: i64) -> Result<(), GitProblem> {
    let arguments = ["for-each-ref", "--format=%(refname) %(objectname)", "--"];
    let output = GitCall::read(&repository.home, &arguments).and(PREFIX).run(git).await?.whole()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let old = text.lines().filter_map(|line| line.split_once(' ')).filter(|(name, _)| is_over(name, now_ms));
    for (name, tip) in old.take(PRUNED_MAX) {
        delete(git, repository, name, tip).await?;
    }
    Ok(())
}

/// Returns true when the number of days in the name of a reference has passed. Returns false for a name that Handover
/// did not make.
fn is_over(name: &str, now_ms: i64) -> bool {
    let parse = || {
        let (first, _) = name.strip_prefix(PREFIX)?.split_once('/')?;
        let mut parts = first.splitn(3, '-');
        let (removed, _commit) = (parts.next()?.parse::<i64>().ok()?, parts.next()?);
        let days = match parts.next() {
            Some(days) => days.strip_suffix('d')?.parse::<i64>().ok()?,
            None => KEPT_DAYS,
        };
        Some(removed < now_ms.saturating_sub(days.saturating_mul(DAY_MS)))
    };
    parse().unwrap_or(false)
}

async fn delete(git: &Git, repository: &GitRepository, name: &str, tip: &str) -> Result<(), GitProblem> {
    let call = GitCall::write(&repository.home, &["update-ref", "-d", "--end-of-options"]);
    call.and(name).and(tip).run(git).await?.whole().map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_is_over_after_the_days_in_its_name() {
        let day = |days: i64| days * DAY_MS + 1;
        for (name, days, expected) in [
            ("0-0123456789ab/handover/x", 30, true),
            ("0-0123456789ab/handover/x", 29, false),
            ("0-0123456789ab-14d/handover/x", 14, true),
            ("0-0123456789ab-14d/handover/x", 13, false),
            ("0-0123456789ab-x/handover/x", 99, false),
            ("mine/handover/x", 99, false),
            ("7", 99, false),
        ] {
            assert_eq!(is_over(&format!("{PREFIX}{name}"), day(days)), expected, "{name} after {days} days");
        }
    }
}
