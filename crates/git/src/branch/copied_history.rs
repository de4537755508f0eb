//! Removes the files that Handover copied into a worktree, such as `.env`, from the commits of the task's branch. An
//! agent can commit such a file itself with `git add --force`. A later commit without the file would still leave the
//! file in the history, and pushing the branch would publish it.

use super::copies::{CHUNK, copied_paths};
use super::tree::{commit_of, tree_id};
use super::{Author, TaskWorkspace, reference};
use crate::GitProblem;
use crate::program::{Git, GitCall};
use crate::repository::GitRepository;

/// The maximum number of commits of other branches that are parents of the commits of one task. With more of these
/// commits the call fails, because git gets all of them in one call.
const BOUNDARY_MAX: usize = 500;

/// Replaces the commits of the task's branch by one commit if one of them has a copied file. The new commit has the
/// tree of `head`, which must have no copied file. Commits that other branches have, too, stay as they are. Returns
/// the commit at the tip of the branch.
pub(super) async fn replace_commits_with_copies(
    git: &Git,
    workspace: &TaskWorkspace,
    head: String,
    (message, author): (&str, &Author),
) -> Result<String, GitProblem> {
    let copied = copied_paths(git, &workspace.path).await?;
    if !has_copied_file(git, workspace, &head, &copied).await? {
        return Ok(head);
    }
    let repository = GitRepository::find(git, &workspace.repository).await?;
    let tree = tree_id(git, &repository, &head).await?;
    let parents = parents(git, workspace, &head).await?;
    let parents: Vec<&str> = parents.iter().map(String::as_str).collect();
    let new = commit_of(git, &repository, (&tree, &parents), (message, author)).await?;
    let arguments = ["update-ref", "-m", "handover: removed copied files from the commits", "--end-of-options"];
    let call = GitCall::write(&repository.home, &arguments).and(reference(&workspace.branch));
    call.and(&new).and(&head).run(git).await?.whole()?;
    Ok(new)
}

/// Returns a call of `git rev-list` for the commits of the task's branch that no other branch and no tag has.
fn own_commits(workspace: &TaskWorkspace, options: &[&str], head: &str) -> GitCall {
    let call = GitCall::read(&workspace.path, &["rev-list"]).here_only();
    let call = options.iter().fold(call, |call, option| call.and(option)).and(head).and("--not");
    call.and(format!("--exclude={}", workspace.branch)).and("--branches").and("--remotes").and("--tags").and("--")
}

async fn has_copied_file(
    git: &Git,
    workspace: &TaskWorkspace,
    head: &str,
    copied: &[String],
) -> Result<bool, GitProblem> {
    for chunk in copied.chunks(CHUNK) {
        let call = own_commits(workspace, &["--full-history", "--max-count=1"], head);
        let call = chunk.iter().fold(call, |call, path| call.and(format!(":(top,literal){path}")));
        if !call.run(git).await?.whole()?.text().is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the commits of other branches that are parents of the task's commits. Leaves out a commit that is an
/// ancestor of another one. If the agent merged other branches, the commit on which the task began is the first.
async fn parents(git: &Git, workspace: &TaskWorkspace, head: &str) -> Result<Vec<String>, GitProblem> {
    let first = boundary(git, own_commits(workspace, &["--boundary", "--first-parent"], head)).await?;
    let all = boundary(git, own_commits(workspace, &["--boundary"], head)).await?;
    if all.len() > BOUNDARY_MAX {
        return Err(GitProblem::failed("rev-list", "the task's branch merged too many commits of other branches"));
    }
    if all.len() < 2 {
        return Ok(all);
    }
    let call = GitCall::read(&workspace.path, &["merge-base", "--independent"]).here_only();
    let call = all.iter().fold(call, |call, commit| call.and(commit));
    let mut parents: Vec<String> = call.run(git).await?.whole()?.text().lines().map(str::to_owned).collect();
    parents.sort_by_key(|parent| !first.contains(parent));
    Ok(parents)
}

/// Returns the commits that `git rev-list --boundary` marks with `-`. They are parents of the listed commits and not
/// listed themselves.
async fn boundary(git: &Git, call: GitCall) -> Result<Vec<String>, GitProblem> {
    let listed = call.run(git).await?.whole()?.text();
    Ok(listed.lines().filter_map(|line| line.strip_prefix('-')).map(str::to_owned).collect())
}
