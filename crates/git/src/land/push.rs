//! Pushes a branch to a remote, for a pull request.

use std::path::Path;
use std::time::Duration;

use super::remote::{compare_url, without_password};
use crate::GitProblem;
use crate::branch::quiet::quiet;
use crate::name::check_branch;
use crate::problem::readable;
use crate::program::{Git, GitCall};
use crate::repository::{GitRepository, reference};

/// The remote that is used when the current branch follows no remote.
const REMOTE_DEFAULT: &str = "origin";
/// The time limit of a push. The pushed work is small, but a server may run checks before it answers.
const PUSH_TIME: Duration = Duration::from_secs(180);

/// A branch on a remote, and the web page on which a person can open a pull request for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PushedBranch {
    pub remote: String,
    /// The address of the remote, without a password.
    pub url: String,
    /// The text that the remote sent during the push, such as the address for a new pull request.
    pub said: Option<String>,
    /// The web page for a new pull request. `None` when the server of the remote is of no known kind.
    pub compare_url: Option<String>,
}

/// Pushes a branch to a remote. Replaces the branch on the remote only if it still has the commit that the last push or
/// fetch saw. When `remote` is `None`, uses the remote that the current branch follows, or `origin`. `target` is the
/// branch into which the pull request should be merged.
pub async fn push_branch(
    git: &Git,
    repository: &Path,
    branch: &str,
    (remote, target): (Option<&str>, Option<&str>),
) -> Result<PushedBranch, GitProblem> {
    check_branch(branch)?;
    let repository = GitRepository::find(git, repository).await?;
    let remote = match remote {
        Some(remote) => remote.to_owned(),
        None => followed(git, &repository).await?.unwrap_or_else(|| REMOTE_DEFAULT.to_owned()),
    };
    if remote.starts_with('-') || remote.is_empty() {
        return Err(GitProblem::input("remote", "must be the name of a remote"));
    }
    let address = GitCall::read(&repository.home, &["remote", "get-url", "--"]).and(&remote).run(git).await?;
    if !address.is_success() {
        let problem = format!("{} does not exist; add it with git remote add {}", readable(&remote), readable(&remote));
        return Err(GitProblem::input("remote", problem));
    }
    let address = address.text();
    let name = reference(branch);
    let seen = repository.commit(git, &format!("refs/remotes/{remote}/{branch}")).await?.unwrap_or_default();
    let mut settings = quiet(git, &repository.home).await?.settings;
    let fixed = [("push.followTags", "false"), ("push.gpgSign", "false"), ("push.recurseSubmodules", "no")];
    settings.extend(fixed.map(|(key, value)| (key.to_owned(), value.to_owned())));
    let call = GitCall::write(&repository.home, &["push", "--porcelain", "--no-verify"]);
    let call =
        call.and(format!("--force-with-lease={name}:{seen}")).and("--").and(&remote).and(format!("{name}:{name}"));
    // `/bin/false` as the askpass program refuses every question of ssh, so that ssh does not ask at the terminal.
    let call = call.env("SSH_ASKPASS", "/bin/false").env("SSH_ASKPASS_REQUIRE", "force").set(&settings);
    let patient = Git { time_limit: git.time_limit.max(PUSH_TIME), ..git.clone() };
    let pushed = call.run(&patient).await?;
    if !pushed.is_success() {
        let reason = format!("{}\n{}", pushed.stderr, pushed.text());
        return Err(GitProblem::failed("push", &without_password(&reason)));
    }
    let lines: Vec<&str> =
        pushed.stderr.lines().filter_map(|line| line.strip_prefix("remote:")).map(str::trim).collect();
    let said = Some(lines.join("\n")).filter(|said| !said.trim().is_empty()).map(|said| readable(&said));
    let compare_url = compare_url(&address, branch, target);
    Ok(PushedBranch { remote, url: without_password(&address), said, compare_url })
}

/// Returns the remote that the current branch follows.
async fn followed(git: &Git, repository: &GitRepository) -> Result<Option<String>, GitProblem> {
    let head = GitCall::read(&repository.home, &["symbolic-ref", "--quiet", "--short", "HEAD"]).run(git).await?;
    if !head.is_success() {
        return Ok(None);
    }
    let call = GitCall::read(&repository.home, &["config", "--get"]).and(format!("branch.{}.remote", head.text()));
    let remote = call.run(git).await?;
    // A dot means that the branch follows another branch of this repository.
    Ok(Some(remote.text()).filter(|name| remote.is_success() && !name.is_empty() && name != "."))
}
