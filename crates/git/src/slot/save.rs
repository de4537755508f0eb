//! Saves the work of an agent that left its slot (worktree) on another branch, or on a commit without a branch, for
//! example in the middle of a rebase. Afterwards the branch of the slot's owner is checked out again.

use std::path::{Path, PathBuf};

use super::prepare::{entry, is_checked_out};
use super::unusable;
use crate::branch::tree::{TreeSource, commit_of, snapshot, tree_id};
use crate::branch::{Author, TaskWorkspace, UncommittedReason, commit_tree};
use crate::program::{Git, GitCall};
use crate::remnant::clean_worktree;
use crate::repository::{GitRepository, WorktreeEntry, reference};
use crate::{Dirt, GitProblem};

const MESSAGE: &str = "work in progress, kept by the runner";
/// The maximum number of names that are tried for a second branch; after them saving fails. An agent needs one name
/// each time it leaves work outside of its branch, and a task ends long before it needs so many.
const SECOND_BRANCHES_MAX: u32 = 100;

/// The branch with the work that an agent left outside of its own branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedWork {
    /// The name of the branch. It is the branch of the slot's owner if the work continues that branch. Otherwise it is
    /// a second branch, which a person must look at.
    pub branch: String,
    pub commit: String,
}

/// The commit with the work of a slot (worktree), and the commit and tree from which it was made.
struct LeftWork {
    commit: String,
    head: Option<String>,
    tree: String,
}

/// Commits everything that an agent left in a slot (worktree) when the slot's branch is not checked out there. Then
/// checks out the branch. Returns `None` when every commit and file is already on a branch. Fails without changing the
/// slot when a file cannot be committed.
pub(super) async fn save(
    git: &Git,
    repository: &GitRepository,
    path: &Path,
    branch: &str,
) -> Result<Option<SavedWork>, GitProblem> {
    if !path.is_dir() {
        return Ok(None);
    }
    clean_worktree(&repository.common, path).map_err(|error| unusable(path, &error))?;
    if std::fs::read_dir(path).map_or(true, |mut entries| entries.next().is_none()) {
        return Ok(None);
    }
    let is_listed = entry(git, repository, path).await?.is_some();
    if is_listed && !has_link(repository, path) {
        // The `.git` file of the worktree is gone or leads to another repository. `git worktree repair` writes the file
        // again.
        GitCall::write(&repository.home, &["worktree", "repair"]).run(git).await?.whole()?;
    }
    let work = left_work(git, repository, (path, branch), is_listed).await?;
    let saved = put_on_branch(git, repository, (path, branch), &work).await?;
    if is_listed {
        check_out(git, repository, (path, branch), &work).await?;
    }
    Ok(saved)
}

/// Returns true when the `.git` file of a worktree leads to the repository. An agent may have deleted or changed the
/// file.
pub(super) fn has_link(repository: &GitRepository, path: &Path) -> bool {
    let text = std::fs::read_to_string(path.join(".git")).unwrap_or_default();
    let Some(link) = text.trim_end().strip_prefix("gitdir: ") else { return false };
    path.join(link).canonicalize().is_ok_and(|link| link.parent() == Some(&repository.common.join("worktrees")))
}

/// Makes a commit of the files in the slot (worktree), on top of the commit that is checked out there.
async fn left_work(
    git: &Git,
    repository: &GitRepository,
    (path, branch): (&Path, &str),
    is_listed: bool,
) -> Result<LeftWork, GitProblem> {
    let tip = repository.commit(git, &reference(branch)).await?;
    let (head, source) = if is_listed {
        let call = GitCall::read(path, &["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]).here_only();
        let head = call.run(git).await?;
        (head.is_success().then(|| head.text()), TreeSource::Worktree(path))
    } else {
        let Some(commit) = tip.as_deref() else { return Err(GitProblem::failed("status", "its branch is gone")) };
        (tip.clone(), TreeSource::Folder { folder: path, common: &repository.common, commit })
    };
    let tree = whole_tree(git, path, source).await?;
    if let Some(head) = &head
        && tree_id(git, repository, head).await? == tree
    {
        return Ok(LeftWork { commit: head.clone(), head: Some(head.clone()), tree });
    }
    let parents: Vec<&str> = head.as_deref().into_iter().collect();
    let commit = commit_of(git, repository, (&tree, &parents), (MESSAGE, &keeper())).await?;
    Ok(LeftWork { commit, head, tree })
}

/// Returns the tree of all files in the slot (worktree). Fails when the slot has a changed file that cannot be
/// committed.
async fn whole_tree(git: &Git, path: &Path, source: TreeSource<'_>) -> Result<String, GitProblem> {
    let found = snapshot(git, source).await?.found;
    // Ignore files that Handover copied from the person's checkout, because they are not the agent's work.
    let left = found.left.into_iter().filter(|left| left.why != UncommittedReason::Copied);
    let files: Vec<String> = left.map(|left| left.path).collect();
    if files.is_empty() {
        return Ok(found.tree);
    }
    Err(GitProblem::WorkspaceDirty { path: path.to_owned(), dirt: Dirt::Changes { files, more: false } })
}

/// Commits everything in a slot (worktree). If the owner's branch is not checked out there, the work may need a second
/// branch. Returns the branch with the work in this case, otherwise `None`.
pub(super) async fn commit_all(
    git: &Git,
    repository: &GitRepository,
    path: &Path,
    branch: &str,
) -> Result<Option<SavedWork>, GitProblem> {
    if !is_checked_out(git, repository, path, branch).await? {
        return save(git, repository, path, branch).await;
    }
    clean_worktree(&repository.common, path).map_err(|error| unusable(path, &error))?;
    let tree = whole_tree(git, path, TreeSource::Worktree(path)).await?;
    let (repository, branch) = (repository.home.clone(), branch.to_owned());
    let workspace = TaskWorkspace { repository, path: path.to_owned(), branch };
    commit_tree(git, &workspace, &tree, MESSAGE, &keeper()).await.map(|_| None)
}

/// Checks out a commit without a branch in a free slot (worktree), so that the branch that was checked out can be
/// deleted.
pub(super) async fn detach(git: &Git, repository: &GitRepository, path: &Path) -> Result<(), GitProblem> {
    if entry(git, repository, path).await?.is_some_and(|entry| entry.branch.is_some()) {
        let arguments = ["checkout", "--quiet", "--force", "--detach"];
        GitCall::write(path, &arguments).here_only().run(git).await?.whole()?;
    }
    Ok(())
}

/// Returns Handover as the author of a commit, for saved work whose agent is not known here.
fn keeper() -> Author {
    Author { name: "Handover".to_owned(), slug: "handover".to_owned() }
}

/// Puts the saved commit on a branch: on the owner's branch if the commit continues it, otherwise on a second branch.
async fn put_on_branch(
    git: &Git,
    repository: &GitRepository,
    (path, branch): (&Path, &str),
    work: &LeftWork,
) -> Result<Option<SavedWork>, GitProblem> {
    let saved = |branch: String, commit: String| Ok(Some(SavedWork { branch, commit }));
    let tip = repository.commit(git, &reference(branch)).await?;
    if let Some(tip) = &tip {
        if repository.contains(git, tip, &work.commit).await? {
            return Ok(None);
        }
        if is_same_work(git, repository, tip, work).await? {
            return saved(branch.to_owned(), tip.clone());
        }
    }
    let is_free = !is_checked_out_elsewhere(git, repository, (path, branch)).await?;
    if is_free && continues(git, repository, tip.as_deref(), work).await? {
        set_branch(git, repository, branch, (&work.commit, tip.as_deref().unwrap_or_default())).await?;
        return saved(branch.to_owned(), work.commit.clone());
    }
    if let Some(other) = branch_with(git, repository, &work.commit).await? {
        return saved(other, work.commit.clone());
    }
    for number in 1..=SECOND_BRANCHES_MAX {
        let second = if number == 1 { format!("{branch}-left") } else { format!("{branch}-left-{number}") };
        match repository.commit(git, &reference(&second)).await? {
            Some(tip) if is_same_work(git, repository, &tip, work).await? => return saved(second, tip),
            Some(_) => {}
            None => {
                set_branch(git, repository, &second, (&work.commit, "")).await?;
                return saved(second, work.commit.clone());
            }
        }
    }
    Err(GitProblem::BranchExists { branch: format!("{branch}-left-{SECOND_BRANCHES_MAX}"), checked_out: None })
}

/// Returns true when the commit `tip` already contains `work`, because an earlier call saved it and was then stopped.
async fn is_same_work(git: &Git, repository: &GitRepository, tip: &str, work: &LeftWork) -> Result<bool, GitProblem> {
    let parent = repository.commit(git, &format!("{tip}^1")).await?;
    let is_made = parent == work.head && tree_id(git, repository, tip).await? == work.tree;
    Ok(is_made || tip == work.commit)
}

/// Returns true when the owner's branch may move to the saved commit: the commit contains the branch, and every commit
/// between them is on no other branch. Otherwise the branch would get commits of another person or task.
async fn continues(
    git: &Git,
    repository: &GitRepository,
    tip: Option<&str>,
    work: &LeftWork,
) -> Result<bool, GitProblem> {
    let Some(tip) = tip else { return Ok(true) };
    if !repository.contains(git, &work.commit, tip).await? {
        return Ok(false);
    }
    let count = async |except: &[&str]| {
        let range = format!("{tip}..{}", work.commit);
        let arguments = [&["rev-list", "--count", range.as_str()], except].concat();
        Ok::<String, GitProblem>(GitCall::read(&repository.home, &arguments).run(git).await?.whole()?.text())
    };
    Ok(count(&[]).await? == count(&["--not", "--branches", "--remotes"]).await?)
}

/// Returns a branch that contains the commit, or `None` when no branch contains it.
async fn branch_with(git: &Git, repository: &GitRepository, commit: &str) -> Result<Option<String>, GitProblem> {
    let arguments = ["for-each-ref", "--count=1", "--format=%(refname:lstrip=2)", "--contains"];
    let output = GitCall::read(&repository.home, &arguments).and(commit).and("refs/heads/").run(git).await?.whole()?;
    Ok(Some(output.text()).filter(|name| !name.is_empty()))
}

/// Returns true when a worktree other than the slot at `path` has the branch checked out.
async fn is_checked_out_elsewhere(
    git: &Git,
    repository: &GitRepository,
    (path, branch): (&Path, &str),
) -> Result<bool, GitProblem> {
    let (name, own) = (reference(branch), path.canonicalize().ok());
    let is_other = |entry: &WorktreeEntry| entry.branch.as_ref() == Some(&name) && Some(&entry.path) != own.as_ref();
    Ok(repository.worktrees(git).await?.iter().any(is_other))
}

/// Sets a branch to a commit, if the branch still points to the commit `old`. An empty `old` means that the branch must
/// not exist.
async fn set_branch(
    git: &Git,
    repository: &GitRepository,
    branch: &str,
    (commit, old): (&str, &str),
) -> Result<(), GitProblem> {
    let arguments = ["update-ref", "-m", "handover: kept", "--create-reflog", "--end-of-options"];
    let call = GitCall::write(&repository.home, &arguments).and(reference(branch)).and(commit).and(old);
    call.run(git).await?.whole().map(drop)
}

/// Ends a rebase or another unfinished operation in the slot (worktree), and checks out the owner's branch. No file is
/// lost, because all files of the slot are in the saved commit.
async fn check_out(
    git: &Git,
    repository: &GitRepository,
    (path, branch): (&Path, &str),
    work: &LeftWork,
) -> Result<(), GitProblem> {
    if repository.commit(git, &reference(branch)).await?.is_none()
        || is_checked_out_elsewhere(git, repository, (path, branch)).await?
    {
        return Ok(());
    }
    quit_operations(git, path).await?;
    // Put the saved commit into the index. Then git knows every file of the slot (worktree), and the checkout removes
    // the files that the branch lacks.
    let index = GitCall::write(path, &["read-tree", "--reset", "--end-of-options"]).and(&work.commit);
    index.here_only().run(git).await?.whole()?;
    let call = GitCall::write(path, &["checkout", "--quiet", "--force"]).and(branch).and("--").here_only();
    call.run(git).await?.whole().map(drop)
}

/// Ends a rebase, a cherry-pick, a revert or a bisection that was in progress in a worktree, without changing its
/// files.
pub(super) async fn quit_operations(git: &Git, path: &Path) -> Result<(), GitProblem> {
    for (state, arguments) in OPERATIONS {
        let call = GitCall::read(path, &["rev-parse", "--path-format=absolute", "--git-path", state]).here_only();
        let output = call.run(git).await?.whole()?;
        let found: PathBuf = crate::repository::path(output.stdout.strip_suffix(b"\n").unwrap_or(&output.stdout));
        if found.exists() {
            // If git cannot end the operation, because its state is damaged, remove the files that describe the
            // operation.
            let ended = GitCall::write(path, arguments).here_only().run(git).await?;
            if !ended.is_success() || found.exists() {
                let removed =
                    if found.is_dir() { std::fs::remove_dir_all(&found) } else { std::fs::remove_file(&found) };
                removed.map_err(|error| unusable(&found, &error))?;
            }
        }
    }
    Ok(())
}

/// The unfinished operations that are recognised: the file or folder that shows the operation, and the git command that
/// ends it.
const OPERATIONS: &[(&str, &[&str])] = &[
    ("rebase-merge", &["rebase", "--quit"]),
    ("rebase-apply", &["rebase", "--quit"]),
    ("sequencer", &["cherry-pick", "--quit"]),
    ("CHERRY_PICK_HEAD", &["cherry-pick", "--quit"]),
    ("REVERT_HEAD", &["revert", "--quit"]),
    ("BISECT_START", &["bisect", "reset", "HEAD"]),
];
