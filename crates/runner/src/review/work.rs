//! Computes the changes of a task for its reviewer: the difference between a base commit and a worktree or a branch.
//!
//! The work is the whole state of the worktree, committed or not. The id of its git tree names this state. So a later
//! step can compare the completed state with the reviewed state.

use std::path::{Path, PathBuf};

use git::GitProblem;
use git::branch::quiet::quiet;
use git::program::{Git, GitCall};
use git::repository::GitRepository;

/// The largest number of names in a list of changed files for the reviewer. Further names are only counted.
const NAMES_MAX: usize = 50;
/// Git settings that make git notice every changed file, even when the repository's configuration would make git skip
/// some of the changed files.
const SEEN: &[(&str, &str)] =
    &[("core.trustctime", "true"), ("core.checkStat", "default"), ("core.ignoreStat", "false")];

/// The work of a task in a form that git can compare with a base commit.
#[derive(Debug)]
pub(crate) struct GitWork {
    pub(crate) repository: GitRepository,
    pub(crate) source: WorkSource,
}

/// The place where git finds the files of a task's work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum WorkSource {
    Worktree(PathBuf),
    /// The commit at the tip of the branch, when the worktree no longer exists.
    Commit(String),
}

/// The changes of a task's work since its base commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WorkDiff {
    pub(crate) text: String,
    /// The name of the state of the work: `tree:` and the id of its git tree.
    pub(crate) state: String,
}

impl GitWork {
    /// Returns the changes since the base commit. Returns `None` when nothing changed.
    pub(crate) async fn diff(&self, git: &Git, base: Option<&str>) -> Result<Option<WorkDiff>, GitProblem> {
        let Some((fork, tree)) = self.ends(git, base).await? else { return Ok(None) };
        let arguments = ["diff", "--no-color", "--no-ext-diff", "--no-textconv", "--end-of-options"];
        let output = GitCall::read(self.folder(), &arguments).and(&fork).and(&tree).run(git).await?.whole()?;
        if output.stdout.is_empty() {
            return Ok(None);
        }
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        Ok(Some(WorkDiff { text, state: format!("tree:{tree}") }))
    }

    /// Returns the names of the files that changed since the base commit, and the number of further names that were
    /// left out.
    pub(crate) async fn names(&self, git: &Git, base: Option<&str>) -> Result<(Vec<String>, usize), GitProblem> {
        let Some((fork, tree)) = self.ends(git, base).await? else { return Ok((Vec::new(), 0)) };
        let arguments = ["diff", "--name-only", "-z", "--no-ext-diff", "--no-textconv", "--end-of-options"];
        let output = GitCall::read(self.folder(), &arguments).and(&fork).and(&tree).run(git).await?.whole()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let names: Vec<String> = text.split_terminator('\0').map(str::to_owned).collect();
        let more = names.len().saturating_sub(NAMES_MAX);
        Ok((names.into_iter().take(NAMES_MAX).collect(), more))
    }

    fn folder(&self) -> &Path {
        match &self.source {
            WorkSource::Worktree(path) => path,
            WorkSource::Commit(_) => &self.repository.home,
        }
    }

    /// Returns the two git trees to compare: the tree of the base commit, and the tree of the work. Returns `None` when
    /// the repository has no commit yet.
    async fn ends(&self, git: &Git, base: Option<&str>) -> Result<Option<(String, String)>, GitProblem> {
        let (head, tree) = match &self.source {
            WorkSource::Commit(commit) => {
                let tree = GitCall::read(&self.repository.home, &["rev-parse", "--verify", "--end-of-options"]);
                let tree = tree.and(format!("{commit}^{{tree}}")).run(git).await?.whole()?.text();
                (commit.clone(), tree)
            }
            WorkSource::Worktree(path) => {
                let head = GitCall::read(path, &["rev-parse", "--verify", "--quiet", "HEAD"]).run(git).await?;
                if !head.is_success() {
                    return Ok(None);
                }
                (head.text(), worktree_tree(git, path).await?)
            }
        };
        let fork = match base {
            Some(base) => match self.repository.fork(git, base, &head).await? {
                Some(fork) => fork,
                // If the branch and the base have no common history, everything on the branch is new. So compare with
                // the empty tree.
                None => empty_tree(git, self.folder()).await?,
            },
            None => head,
        };
        Ok(Some((fork, tree)))
    }
}

async fn empty_tree(git: &Git, folder: &Path) -> Result<String, GitProblem> {
    // Standard input is empty, so git writes the empty tree.
    let call = GitCall::write(folder, &["hash-object", "-t", "tree", "-w", "--stdin"]);
    Ok(call.run(git).await?.whole()?.text())
}

/// Returns the tree of all files in the worktree that git does not ignore. Uses a separate index file, because a flag
/// in the worktree's own index could hide a changed file.
pub(crate) async fn worktree_tree(git: &Git, folder: &Path) -> Result<String, GitProblem> {
    let failed = |error: std::io::Error| GitProblem::failed("add", &error.to_string());
    let scratch = tempfile::tempdir().map_err(failed)?;
    let index = scratch.path().join("index").display().to_string();
    let mut settings = quiet(git, folder).await?.settings;
    settings.extend(SEEN.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    let place = folder.display().to_string();
    let call = |arguments: &[&str]| {
        // Name the worktree explicitly in the git call, because git's configuration could name another folder.
        let call = GitCall::write(folder, arguments).env("GIT_INDEX_FILE", &index).env("GIT_WORK_TREE", &place);
        call.set(&settings)
    };
    call(&["read-tree", "HEAD"]).run(git).await?.whole()?;
    call(&["add", "--all", "--", ":/"]).run(git).await?.whole()?;
    // Removes Handover's state folder from the tree, because it changes all the time and is not part of the work.
    // Excluding it already in `git add` would fail where the folder is ignored.
    let forget = call(&["rm", "-r", "--cached", "--quiet", "--ignore-unmatch", "--", ":/.handover/state"]);
    forget.run(git).await?.whole()?;
    Ok(call(&["write-tree"]).run(git).await?.whole()?.text())
}
