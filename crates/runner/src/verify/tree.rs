//! Reads the state of a worktree from git, for the verification of its output. Compares only commits, so that no filter
//! program of the git configuration runs.

use std::path::Path;

use git::GitProblem;
use git::program::{Git, GitCall};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CheckedTree {
    /// The head commit of the worktree. `None` when there is no commit or no repository.
    pub head: Option<String>,
    pub has_remote: bool,
    /// The files that differ between the base commit and the head commit, and exist in the head commit.
    pub changed: Vec<String>,
}

/// Reads the state of a worktree. Without a base commit, the list of changed files is empty.
pub async fn tree(git: &Git, worktree: &Path, base: Option<&str>) -> Result<CheckedTree, GitProblem> {
    let head = GitCall::read(worktree, &["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]).run(git).await?;
    if !head.is_success() {
        return Ok(CheckedTree::default());
    }
    let head = head.text();
    let remotes = GitCall::read(worktree, &["remote"]).run(git).await?.whole()?;
    let mut tree =
        CheckedTree { has_remote: !remotes.text().is_empty(), changed: Vec::new(), head: Some(head.clone()) };
    if let Some(base) = base {
        let arguments = ["diff-tree", "-r", "--name-only", "--no-renames", "--diff-filter=d", "-z", "--end-of-options"];
        let output = GitCall::read(worktree, &arguments).and(base).and(&head).run(git).await?.whole()?;
        let names = output.stdout.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        tree.changed = names.map(|name| String::from_utf8_lossy(name).into_owned()).collect();
    }
    Ok(tree)
}
