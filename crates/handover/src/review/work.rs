//! The work of a task, as its reviewer sees it: the difference between the task's worktree and its base.
//!
//! The whole state of the worktree counts, committed or not, and has a name of its own (git's tree). A completion can
//! therefore be compared with what was reviewed.

use std::path::{Path, PathBuf};

use crate::runner::branch::quiet::quiet;
use crate::worktree::git::{Call, Git};
use crate::worktree::repository::{Repository, reference};
use crate::worktree::{MissingBase, Problem};

/// Where the work of a task is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkPlace {
    pub path: PathBuf,
    pub branch: String,
    pub base: Option<String>,
    /// The repository of the branch, for a worktree that is gone.
    pub repository: Option<PathBuf>,
}

/// What a task changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskDiff {
    pub text: String,
    /// The name of the state that was looked at: `tree:` and git's id of the tree.
    pub state: String,
}

/// Returns what the task changed; None where there is no repository, or no change.
pub async fn task_diff(git: &Git, place: &WorkPlace) -> Result<Option<TaskDiff>, Problem> {
    let found = match Repository::find(git, &place.path).await {
        Ok(repository) => Some((repository, None)),
        Err(Problem::NotARepository { .. }) => match &place.repository {
            Some(home) => by_branch(git, home, &place.branch).await?,
            None => None,
        },
        Err(problem) => return Err(problem),
    };
    let Some((repository, committed)) = found else { return Ok(None) };
    let (folder, head, tree) = match committed {
        Some(commit) => {
            let tree = Call::read(&repository.home, &["rev-parse", "--verify", "--end-of-options"]);
            let tree = tree.and(format!("{commit}^{{tree}}")).run(git).await?.whole()?.text();
            (repository.home.clone(), Some(commit), tree)
        }
        None => {
            let head = Call::read(&place.path, &["rev-parse", "--verify", "--quiet", "HEAD"]).run(git).await?;
            let head = head.is_success().then(|| head.text());
            (place.path.clone(), head, worktree_tree(git, &place.path).await?)
        }
    };
    // Before the first commit there is nothing to compare with.
    let Some(head) = head else { return Ok(None) };
    let fork = match repository.base(git, place.base.as_deref()).await {
        Ok(base) => repository.fork(git, &base.commit, &head).await?.unwrap_or(head),
        Err(Problem::BaseNotFound(MissingBase::Unknown { .. } | MissingBase::NoCommits)) => head,
        Err(problem) => return Err(problem),
    };
    let arguments = ["diff", "--no-color", "--no-ext-diff", "--no-textconv", "--end-of-options"];
    let output = Call::read(&folder, &arguments).and(&fork).and(&tree).run(git).await?.whole()?;
    if output.stdout.is_empty() {
        return Ok(None);
    }
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(Some(TaskDiff { text, state: format!("tree:{tree}") }))
}

async fn by_branch(git: &Git, home: &Path, branch: &str) -> Result<Option<(Repository, Option<String>)>, Problem> {
    let repository = match Repository::find(git, home).await {
        Ok(repository) => repository,
        Err(Problem::NotARepository { .. }) => return Ok(None),
        Err(problem) => return Err(problem),
    };
    let tip = repository.commit(git, &reference(branch)).await?;
    Ok(tip.map(|tip| (repository, Some(tip))))
}

/// Returns the tree of everything in the worktree that git does not ignore. The worktree's own index stays as it is.
async fn worktree_tree(git: &Git, folder: &Path) -> Result<String, Problem> {
    let failed = |error: std::io::Error| Problem::failed("add", &error.to_string());
    let index = Call::read(folder, &["rev-parse", "--path-format=absolute", "--git-path", "index"]);
    let index = index.run(git).await?.whole()?.text();
    let scratch = tempfile::tempdir().map_err(failed)?;
    let copy = scratch.path().join("index");
    // A copy knows which files are unchanged, so only changed ones are read.
    match std::fs::copy(&index, &copy) {
        Ok(_) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => return Err(failed(error)),
    }
    let copy = copy.display().to_string();
    let quiet = quiet(git, folder).await?;
    let add = Call::write(folder, &["add", "--all", "--"]).and(":/").env("GIT_INDEX_FILE", &copy);
    add.set(&quiet.settings).run(git).await?.whole()?;
    let tree = Call::write(folder, &["write-tree"]).env("GIT_INDEX_FILE", &copy).set(&quiet.settings);
    Ok(tree.run(git).await?.whole()?.text())
}
