//! Reads facts about a person's repository that messages show: the branch, the commit and the uncommitted files.

use std::path::Path;

use crate::problem::{GitProblem, readable};
use crate::program::{Git, GitCall};
use crate::repository::GitRepository;

/// The maximum number of uncommitted files that a message names. Further files are only counted.
const NAMED_FILES_MAX: usize = 5;
/// The git option for the number of digits of a commit id in messages. Git uses more digits when two commits begin
/// alike.
const SHORT: &str = "--short=7";

/// The state of the folder in which a person calls Handover.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RepositoryFacts {
    NotARepository,
    /// The repository has no commit yet, so no work can start from it.
    NoCommit,
    Ready(CheckoutFacts),
}

/// The main worktree of a repository with at least one commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckoutFacts {
    /// The branch that is checked out. `None` when a commit is checked out without a branch.
    pub branch: Option<String>,
    /// The id of the commit that is checked out.
    pub commit: String,
    /// The first digits of the commit id.
    pub short_commit: String,
    /// The number of files that are changed, staged or untracked. An untracked folder counts as one. Files in
    /// Handover's own folder do not count.
    pub uncommitted: usize,
    /// The names of the first few uncommitted files.
    pub uncommitted_names: Vec<String>,
}

/// Reads the facts about the repository that a folder belongs to.
pub async fn facts(git: &Git, folder: &Path) -> Result<RepositoryFacts, GitProblem> {
    let repository = match GitRepository::find(git, folder).await {
        Ok(repository) => repository,
        Err(GitProblem::NotARepository { .. }) => return Ok(RepositoryFacts::NotARepository),
        Err(problem) => return Err(problem),
    };
    let Some(commit) = repository.commit(git, "HEAD").await? else { return Ok(RepositoryFacts::NoCommit) };
    let home = &repository.home;
    let branch = GitCall::read(home, &["symbolic-ref", "--quiet", "--short", "HEAD"]).run(git).await?;
    let branch = branch.is_success().then(|| branch.text());
    let short = GitCall::read(home, &["rev-parse", SHORT, "HEAD"]).run(git).await?.whole()?;
    let (uncommitted, uncommitted_names) = uncommitted(git, &repository).await?;
    let short_commit = short.text();
    Ok(RepositoryFacts::Ready(CheckoutFacts { branch, commit, short_commit, uncommitted, uncommitted_names }))
}

/// Returns the number of commits that are in `base` but not in `work`. Zero means that `work` contains all of `base`.
pub async fn commits_behind(git: &Git, repository: &Path, work: &str, base: &str) -> Result<u64, GitProblem> {
    let repository = GitRepository::find(git, repository).await?;
    let whole = async |name: &str| match repository.commit(git, name).await? {
        Some(commit) => Ok(commit),
        None => Err(GitProblem::input("commit", format!("is not in the repository: {}", readable(name)))),
    };
    let range = format!("{}..{}", whole(work).await?, whole(base).await?);
    let output = GitCall::read(&repository.home, &["rev-list", "--count"]).and(range).run(git).await?.whole()?;
    output.text().parse().map_err(|_| GitProblem::failed("rev-list", "the output of git cannot be read"))
}

async fn uncommitted(git: &Git, repository: &GitRepository) -> Result<(usize, Vec<String>), GitProblem> {
    let arguments = ["status", "--porcelain=v1", "-z", "--untracked-files=normal", "--no-renames", "--"];
    let own = format!(":(exclude){}", crate::FOLDER);
    let output = GitCall::read(&repository.home, &arguments).and(own).run(git).await?;
    // A bare repository has no worktree and so no uncommitted files. There `git status` fails with this message.
    if output.stderr.contains("must be run in a work tree") {
        return Ok((0, Vec::new()));
    }
    if !output.is_success() {
        return Err(output.failure());
    }
    // Each item in the output of `git status` has two letters, a space and the path of a file.
    let items = output.stdout.split(|byte| *byte == 0).filter_map(|item| item.get(3..)).collect::<Vec<_>>();
    let name = |bytes: &&[u8]| readable(&String::from_utf8_lossy(bytes));
    Ok((items.len(), items.iter().take(NAMED_FILES_MAX).map(name).collect()))
}
