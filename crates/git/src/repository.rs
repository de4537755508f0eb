//! Reads a repository through git: its main folder, its worktrees and its commits.

use std::path::{Path, PathBuf};

use super::name;
use super::problem::{GitProblem, MissingBase};
use super::program::{Git, GitCall, GitOutput};

/// A repository, found from any of its worktrees.
#[derive(Debug)]
pub struct GitRepository {
    /// The folder of the main worktree, or of the bare repository. The module `project::place` of the crate `base` must
    /// compute the same folder.
    pub home: PathBuf,
    /// The folder in which git keeps the data that all worktrees share (`.git` of the main worktree).
    pub common: PathBuf,
}

/// A worktree in the list of `git worktree list`.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct WorktreeEntry {
    pub path: PathBuf,
    /// The full name of the branch, `refs/heads/…`. `None` when a commit is checked out without a branch.
    pub branch: Option<String>,
    pub locked: Option<String>,
}

/// The branch, tag or commit from which a new branch starts, or into which work should be merged.
#[derive(Debug)]
pub struct Base {
    /// The name of the branch or tag. For a commit without a name, this is the hash of the commit.
    pub name: String,
    pub commit: String,
}

pub fn reference(branch: &str) -> String {
    format!("refs/heads/{branch}")
}

impl GitRepository {
    pub async fn find(git: &Git, folder: &Path) -> Result<Self, GitProblem> {
        let lost = || GitProblem::NotARepository { path: folder.to_owned() };
        let folder = std::path::absolute(folder).map_err(|_| lost())?;
        let arguments =
            ["rev-parse", "--path-format=absolute", "--git-common-dir", "--git-dir", "--is-bare-repository"];
        let output = GitCall::read(&folder, &arguments).run(git).await?;
        if output.stderr.contains("not a git repository") {
            return Err(lost());
        }
        let output = output.whole()?;
        let lines: Vec<&[u8]> = output.stdout.trim_ascii_end().split(|b| *b == b'\n').collect();
        let [common, own, bare] = lines[..] else {
            return Err(GitProblem::failed("rev-parse", "the path of the repository has a line break"));
        };
        let canonical = |bytes| path(bytes).canonicalize().map_err(|_| lost());
        let (common, own) = (canonical(common)?, canonical(own)?);
        let home = match (common.file_name(), common.parent()) {
            (Some(name), Some(parent)) if name == ".git" => parent.to_owned(),
            // In a submodule, or in a repository whose `.git` folder is elsewhere, ask git for the root folder of the
            // worktree.
            _ if own == common && bare == b"false" => Self::top(git, &folder).await?.unwrap_or_else(|| common.clone()),
            _ => common.clone(),
        };
        Ok(Self { home, common })
    }

    /// Returns the root folder of the worktree that contains `folder`. Returns `None` when `folder` is inside a `.git`
    /// folder.
    async fn top(git: &Git, folder: &Path) -> Result<Option<PathBuf>, GitProblem> {
        let arguments = ["rev-parse", "--path-format=absolute", "--show-toplevel"];
        let output = GitCall::read(folder, &arguments).run(git).await?;
        let found = path(output.stdout.strip_suffix(b"\n").unwrap_or(&output.stdout));
        Ok(if output.is_success() { found.canonicalize().ok() } else { None })
    }

    /// Checks that git allows this name for a branch. Returns an error when git does not allow it.
    pub async fn allows(&self, git: &Git, branch: &str) -> Result<(), GitProblem> {
        let output = GitCall::read(&self.home, &["check-ref-format", "--branch"]).and(branch).run(git).await?;
        if output.is_success() && output.text() == branch {
            return Ok(());
        }
        Err(GitProblem::input("branch", "is not a name that git allows for a branch"))
    }

    /// Returns all worktrees of the repository, the main one first.
    pub async fn worktrees(&self, git: &Git) -> Result<Vec<WorktreeEntry>, GitProblem> {
        let list = ["worktree", "list", "--porcelain"];
        let output = GitCall::read(&self.home, &list).and("-z").run(git).await?;
        // Exit code 129 means wrong usage: git before 2.36 does not know `-z`. Then use line breaks as separators. A
        // path with a line break could make a worktree appear that does not exist, but git would refuse to remove it.
        if output.code() == Some(129) {
            return Ok(entries(&GitCall::read(&self.home, &list).run(git).await?.whole()?, b'\n'));
        }
        Ok(entries(&output.whole()?, 0))
    }

    pub async fn commit(&self, git: &Git, name: &str) -> Result<Option<String>, GitProblem> {
        let arguments = ["rev-parse", "--verify", "--quiet", "--end-of-options"];
        let output = GitCall::read(&self.home, &arguments).and(format!("{name}^{{commit}}")).run(git).await?;
        Ok(if output.is_success() { Some(output.text()) } else { None })
    }

    /// Returns the named base, that is, the branch, tag or commit to start from. Without a name, returns the branch or
    /// commit that the main worktree has checked out.
    pub async fn base(&self, git: &Git, base: Option<&str>) -> Result<Base, GitProblem> {
        let Some(name) = base.filter(|base| *base != "HEAD") else { return self.head(git).await };
        name::check_base(name)?;
        // Look for a branch first: when a branch and a tag have the same name, the name means the branch.
        if let Some(commit) = self.commit(git, &reference(name)).await? {
            return Ok(Base { name: name.to_owned(), commit });
        }
        let Some(commit) = self.commit(git, name).await? else {
            return Err(match self.has_commits(git).await? {
                true => GitProblem::BaseNotFound(MissingBase::Unknown { base: name.to_owned() }),
                false => GitProblem::BaseNotFound(MissingBase::NoCommits),
            });
        };
        let arguments = ["rev-parse", "--symbolic-full-name", "--verify", "--quiet", "--end-of-options"];
        let symbol = GitCall::read(&self.home, &arguments).and(name).run(git).await?;
        let is_reference = symbol.is_success() && symbol.text().starts_with("refs/");
        Ok(Base { name: if is_reference { name.to_owned() } else { commit.clone() }, commit })
    }

    async fn head(&self, git: &Git) -> Result<Base, GitProblem> {
        let Some(commit) = self.commit(git, "HEAD").await? else {
            return Err(GitProblem::BaseNotFound(MissingBase::NoCommits));
        };
        let branch = GitCall::read(&self.home, &["symbolic-ref", "--quiet", "--short", "HEAD"]).run(git).await?;
        let name = if branch.is_success() { branch.text() } else { commit.clone() };
        Ok(Base { name, commit })
    }

    async fn has_commits(&self, git: &Git) -> Result<bool, GitProblem> {
        let some = GitCall::read(&self.home, &["rev-list", "--all", "--max-count=1"]).run(git).await?;
        Ok(!some.stdout.is_empty() || self.commit(git, "HEAD").await?.is_some())
    }

    pub async fn contains(&self, git: &Git, base: &str, commit: &str) -> Result<bool, GitProblem> {
        let arguments = ["merge-base", "--is-ancestor", "--end-of-options"];
        let output = GitCall::read(&self.home, &arguments).and(commit).and(base).run(git).await?;
        match output.code() {
            Some(0) => Ok(true),
            Some(1) => Ok(false),
            _ => Err(output.failure()),
        }
    }

    /// Returns the last common commit of two branches. Returns `None` when they have no common commit.
    pub async fn fork(&self, git: &Git, one: &str, other: &str) -> Result<Option<String>, GitProblem> {
        let output =
            GitCall::read(&self.home, &["merge-base", "--end-of-options"]).and(one).and(other).run(git).await?;
        match output.code() {
            Some(0) => Ok(Some(output.text())),
            Some(1) => Ok(None),
            _ => Err(output.failure()),
        }
    }

    /// Deletes the branch if it still points to the commit `tip`; fails otherwise.
    pub async fn delete_branch(&self, git: &Git, branch: &str, tip: &str) -> Result<(), GitProblem> {
        let call = GitCall::write(&self.home, &["update-ref", "-d", "--end-of-options"]);
        call.and(reference(branch)).and(tip).run(git).await?.whole().map(drop)
    }
}

/// Parses the output of `git worktree list --porcelain`: blocks of `key value` items, with an empty item after each
/// block.
fn entries(output: &GitOutput, separator: u8) -> Vec<WorktreeEntry> {
    let mut entries = Vec::new();
    for item in output.stdout.split(|b| *b == separator) {
        let text = || String::from_utf8_lossy(item).into_owned();
        if let Some(bytes) = item.strip_prefix(b"worktree ") {
            entries.push(WorktreeEntry { path: path(bytes), ..WorktreeEntry::default() });
        }
        let Some(entry) = entries.last_mut() else { continue };
        if item.starts_with(b"branch ") {
            entry.branch = text().strip_prefix("branch ").map(str::to_owned);
        } else if item == b"locked" || item.starts_with(b"locked ") {
            entry.locked = Some(text().strip_prefix("locked ").unwrap_or_default().to_owned());
        }
    }
    entries
}

pub fn path(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    PathBuf::from(std::ffi::OsStr::from_bytes(bytes))
}
