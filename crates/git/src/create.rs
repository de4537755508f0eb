//! Creates a branch and its worktree, or neither.
//!
//! ```text
//! branch (fails if it exists)  ->  folder (fails if it exists)  ->  git worktree add
//!          \____________________________ \______________________ on failure, this call deletes what it created
//! ```
//! The branch is created before the folder. So when two callers use the same branch name, the second one gets the error
//! that the branch exists.

use std::path::{Path, PathBuf};

use super::folder;
use super::name;
use super::problem::{GitProblem, Occupant};
use super::program::{Git, GitCall};
use super::repository::{Base, GitRepository, reference};
use super::{MadeWorktree, WorktreeRequest};

pub(crate) async fn create(git: &Git, request: &WorktreeRequest) -> Result<MadeWorktree, GitProblem> {
    let branch = request.branch.as_str();
    name::check_branch(branch)?;
    let repository = GitRepository::find(git, &request.repository).await?;
    repository.allows(git, branch).await?;
    let base = repository.base(git, request.base.as_deref()).await?;
    make_branch(git, &repository, branch, &base).await?;
    let mut ours = None;
    match fill(git, &repository, request, &mut ours).await {
        Ok(path) => {
            let branch = branch.to_owned();
            Ok(MadeWorktree { path, branch, base_branch: base.name, base_commit: base.commit })
        }
        Err(problem) => {
            let mut remains = Vec::new();
            if let Some(path) = ours {
                remains.extend(undo_folder(git, &repository, path).await);
            }
            if let Err(problem) = repository.delete_branch(git, branch, &base.commit).await {
                remains.push(format!("the branch {branch} ({problem})"));
            }
            Err(problem.with_remains(&remains))
        }
    }
}

/// Creates the branch at the commit of its base. The last argument of `git update-ref` is the expected old value of the
/// branch; an empty value means that the branch must not exist. Git compares and writes under its own lock.
async fn make_branch(git: &Git, repository: &GitRepository, branch: &str, base: &Base) -> Result<(), GitProblem> {
    let arguments = ["update-ref", "-m", "handover: created", "--create-reflog", "--end-of-options"];
    let call = GitCall::write(&repository.home, &arguments).and(reference(branch)).and(&base.commit).and("");
    let output = call.run(git).await?;
    if output.is_success() {
        return Ok(());
    }
    if repository.commit(git, &reference(branch)).await?.is_some() {
        let name = Some(reference(branch));
        let entry = repository.worktrees(git).await?.into_iter().find(|entry| entry.branch == name);
        return Err(GitProblem::BranchExists { branch: branch.to_owned(), checked_out: entry.map(|entry| entry.path) });
    }
    match in_the_way(git, repository, branch).await? {
        Some(other) => Err(GitProblem::input(
            "branch",
            format!("cannot be {branch}, because the branch {other} exists and git cannot keep both names"),
        )),
        None => Err(output.failure()),
    }
}

/// Returns an existing branch whose name prevents the new branch. Git cannot have both a branch `a` and a branch `a/b`.
async fn in_the_way(git: &Git, repository: &GitRepository, branch: &str) -> Result<Option<String>, GitProblem> {
    for (end, _) in branch.match_indices('/') {
        if repository.commit(git, &reference(&branch[..end])).await?.is_some() {
            return Ok(Some(branch[..end].to_owned()));
        }
    }
    let arguments = ["for-each-ref", "--count=1", "--format=%(refname:lstrip=2)", "--"];
    let below = GitCall::read(&repository.home, &arguments).and(format!("{}/", reference(branch))).run(git).await?;
    Ok(Some(below.text()).filter(|name| !name.is_empty()))
}

/// Creates the folder of the worktree and checks the branch out there. Sets `ours` to the path of the folder that this
/// call created, even when `git worktree add` fails afterwards.
async fn fill(
    git: &Git,
    repository: &GitRepository,
    request: &WorktreeRequest,
    ours: &mut Option<PathBuf>,
) -> Result<PathBuf, GitProblem> {
    let root = folder::root(&repository.home, request.root.as_deref())?;
    let path = folder::reserve(&root, &name::folder(&request.branch))?;
    // Git may still have a registration of another worktree at this path, whose folder is missing. In this case, keep
    // that registration, and delete only the folder that this call created.
    if is_listed(git, repository, &path).await.inspect_err(|_| drop(std::fs::remove_dir(&path)))? {
        drop(std::fs::remove_dir(&path));
        return Err(GitProblem::PathTaken { path, by: Occupant::Registration });
    }
    *ours = Some(path.clone());
    let call = GitCall::write(&repository.home, &["worktree", "add", "--quiet", "--"]).and(&path).and(&request.branch);
    call.run(git).await?.whole()?;
    Ok(path)
}

async fn is_listed(git: &Git, repository: &GitRepository, path: &Path) -> Result<bool, GitProblem> {
    Ok(repository.worktrees(git).await?.iter().any(|entry| entry.path == path))
}

/// Removes a worktree that was only partly created.
pub async fn undo(git: &Git, repository: &GitRepository, path: PathBuf) -> Result<(), GitProblem> {
    match undo_folder(git, repository, path).await {
        None => Ok(()),
        Some(remains) => {
            Err(GitProblem::failed("worktree", &format!("the unfinished worktree cannot be removed: {remains}")))
        }
    }
}

/// Removes the folder of a worktree that Handover only partly created. Then lets git delete its registration of this
/// worktree. Returns a description of anything that could not be removed.
async fn undo_folder(git: &Git, repository: &GitRepository, path: PathBuf) -> Option<String> {
    let folder = path.clone();
    let gone = tokio::task::spawn_blocking(move || match std::fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Some(error.to_string()),
        Ok(()) | Err(_) => None,
    });
    if let Some(problem) = gone.await.unwrap_or_else(|error| Some(error.to_string())) {
        return Some(format!("the folder {} ({problem})", path.display()));
    }
    let forget = async {
        if is_listed(git, repository, &path).await? {
            let call = GitCall::write(&repository.home, &["worktree", "remove", "--force", "--force", "--"]).and(&path);
            call.run(git).await?.whole()?;
        }
        Ok::<(), GitProblem>(())
    };
    forget.await.err().map(|problem| format!("the registration of {} ({problem})", path.display()))
}
