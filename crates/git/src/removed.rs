//! References that keep a deleted branch reachable for 30 days: `refs/handover/removed/<time>-<commit>/<branch>`.

use super::problem::GitProblem;
use super::program::{Git, GitCall};
use super::repository::GitRepository;

const PREFIX: &str = "refs/handover/removed/";
/// The number of days for which a deleted branch can be restored.
pub const KEPT_DAYS: i64 = 30;
const DAY_MS: i64 = 24 * 60 * 60 * 1_000;
/// The maximum number of expired references that one removal of a worktree deletes, so that one call stays short. Later
/// removals delete the rest.
const PRUNED_MAX: usize = 200;
const TIP_CHARS: usize = 12;

/// Deletes a branch if it still points to the commit `tip`. Returns the name of a new reference that keeps the commits
/// of the branch.
pub async fn retire_branch(
    git: &Git,
    repository: &GitRepository,
    (branch, tip): (&str, &str),
    now_ms: i64,
) -> Result<String, GitProblem> {
    let short = tip.get(..TIP_CHARS).unwrap_or(tip);
    let kept = format!("{PREFIX}{now_ms}-{short}/{branch}");
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

/// Deletes the references that keep branches which were deleted more than 30 days ago. After a failure, the references
/// stay until the next call.
pub async fn prune(git: &Git, repository: &GitRepository, now_ms: i64) -> Result<(), GitProblem> {
    let arguments = ["for-each-ref", "--format=%(refname) %(objectname)", "--"];
    let output = GitCall::read(&repository.home, &arguments).and(PREFIX).run(git).await?.whole()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let oldest = now_ms.saturating_sub(KEPT_DAYS * DAY_MS);
    let old = text.lines().filter_map(|line| line.split_once(' ')).filter(|(name, _)| is_before(name, oldest));
    for (name, tip) in old.take(PRUNED_MAX) {
        delete(git, repository, name, tip).await?;
    }
    Ok(())
}

/// Tells whether the time in the name of a reference is before `time_ms`. Returns false for a name that Handover did
/// not make.
fn is_before(name: &str, time_ms: i64) -> bool {
    let rest = name.strip_prefix(PREFIX).and_then(|rest| rest.split_once('-'));
    rest.and_then(|(removed, _)| removed.parse::<i64>().ok()).is_some_and(|removed| removed < time_ms)
}

async fn delete(git: &Git, repository: &GitRepository, name: &str, tip: &str) -> Result<(), GitProblem> {
    let call = GitCall::write(&repository.home, &["update-ref", "-d", "--end-of-options"]);
    call.and(name).and(tip).run(git).await?.whole().map(drop)
}
