//! What a task changed, as its reviewer sees it: the difference between a worktree, or a branch, and a base.
//!
//! The whole state of the worktree counts, committed or not, and has a name of its own (git's tree). A completion can
//! therefore be compared with what was reviewed.

use std::path::{Path, PathBuf};

use git::Problem;
use git::branch::quiet::quiet;
use git::program::{Call, Git};
use git::repository::Repository;

/// Names of other changed files that a reviewer is told.
const NAMES_MAX: usize = 50;
/// Whatever the configuration says: a file that was changed is read.
const SEEN: &[(&str, &str)] =
    &[("core.trustctime", "true"), ("core.checkStat", "default"), ("core.ignoreStat", "false")];

/// Work that git can show.
#[derive(Debug)]
pub(crate) struct GitWork {
    pub(crate) repository: Repository,
    pub(crate) source: WorkSource,
}

/// Where the files of some work are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum WorkSource {
    Worktree(PathBuf),
    /// The worktree is gone, and the commits of its branch are there.
    Commit(String),
}

/// What was changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WorkDiff {
    pub(crate) text: String,
    /// The name of the state that was looked at: `tree:` and git's id of the tree.
    pub(crate) state: String,
}

impl GitWork {
    /// Returns what was changed since the base; None when nothing was.
    pub(crate) async fn diff(&self, git: &Git, base: Option<&str>) -> Result<Option<WorkDiff>, Problem> {
        let Some((fork, tree)) = self.ends(git, base).await? else { return Ok(None) };
        let arguments = ["diff", "--no-color", "--no-ext-diff", "--no-textconv", "--end-of-options"];
        let output = Call::read(self.folder(), &arguments).and(&fork).and(&tree).run(git).await?.whole()?;
        if output.stdout.is_empty() {
            return Ok(None);
        }
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        Ok(Some(WorkDiff { text, state: format!("tree:{tree}") }))
    }

    /// Returns the names of files that were changed since the base, and how many more there are.
    pub(crate) async fn names(&self, git: &Git, base: Option<&str>) -> Result<(Vec<String>, usize), Problem> {
        let Some((fork, tree)) = self.ends(git, base).await? else { return Ok((Vec::new(), 0)) };
        let arguments = ["diff", "--name-only", "-z", "--no-ext-diff", "--no-textconv", "--end-of-options"];
        let output = Call::read(self.folder(), &arguments).and(&fork).and(&tree).run(git).await?.whole()?;
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

    /// The two trees to compare; None before the first commit.
    async fn ends(&self, git: &Git, base: Option<&str>) -> Result<Option<(String, String)>, Problem> {
        let (head, tree) = match &self.source {
            WorkSource::Commit(commit) => {
                let tree = Call::read(&self.repository.home, &["rev-parse", "--verify", "--end-of-options"]);
                let tree = tree.and(format!("{commit}^{{tree}}")).run(git).await?.whole()?.text();
                (commit.clone(), tree)
            }
            WorkSource::Worktree(path) => {
                let head = Call::read(path, &["rev-parse", "--verify", "--quiet", "HEAD"]).run(git).await?;
                if !head.is_success() {
                    return Ok(None);
                }
                (head.text(), worktree_tree(git, path).await?)
            }
        };
        let fork = match base {
            Some(base) => match self.repository.fork(git, base, &head).await? {
                Some(fork) => fork,
                // A history of its own is new from its first commit on.
                None => empty_tree(git, self.folder()).await?,
            },
            None => head,
        };
        Ok(Some((fork, tree)))
    }
}

async fn empty_tree(git: &Git, folder: &Path) -> Result<String, Problem> {
    // Standard input is empty.
    let call = Call::write(folder, &["hash-object", "-t", "tree", "-w", "--stdin"]);
    Ok(call.run(git).await?.whole()?.text())
}

/// Returns the tree of everything in the worktree that git does not ignore. The worktree's own index is neither used nor
/// changed: a flag in it could hide a changed file.
pub(crate) async fn worktree_tree(git: &Git, folder: &Path) -> Result<String, Problem> {
    let failed = |error: std::io::Error| Problem::failed("add", &error.to_string());
    let scratch = tempfile::tempdir().map_err(failed)?;
    let index = scratch.path().join("index").display().to_string();
    let mut settings = quiet(git, folder).await?.settings;
    settings.extend(SEEN.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    let place = folder.display().to_string();
    let call = |arguments: &[&str]| {
        // Named here, because a configuration can name another folder.
        let call = Call::write(folder, arguments).env("GIT_INDEX_FILE", &index).env("GIT_WORK_TREE", &place);
        call.set(&settings)
    };
    call(&["read-tree", "HEAD"]).run(git).await?.whole()?;
    call(&["add", "--all", "--", ":/"]).run(git).await?.whole()?;
    // Our own state changes all the time, and is nobody's work. Excluding it from `add` fails where it is ignored.
    let forget = call(&["rm", "-r", "--cached", "--quiet", "--ignore-unmatch", "--", ":/.handover/state"]);
    forget.run(git).await?.whole()?;
    Ok(call(&["write-tree"]).run(git).await?.whole()?.text())
}
