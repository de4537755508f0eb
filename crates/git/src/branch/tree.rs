//! Stores the state of a worktree as a git tree. A later call commits this tree or puts the files back to it.
//!
//! ```text
//! agent ends ── tree_of ── checks run and leave files ── commit_tree ── restore_tree
//!                  └───────── exactly this state ────────────┘
//! ```
//!
//! All git calls use a temporary index (git's list of the files of a worktree), so the index of the worktree does not
//! change while an agent or a check uses it.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::commit::is_mended;
use super::copied_history::replace_commits_with_copies;
use super::copies::{copied_paths, leave_out};
use super::look::{STATUS, WorktreeLook, filtered, look, lossy, names};
use super::quiet::{Quiet, quiet};
use super::{Author, CommitResult, TaskWorkspace, UncommittedPath, UncommittedReason, check_words};
use crate::program::{Git, GitCall};
use crate::repository::{GitRepository, path, reference};
use crate::{GitProblem, STATE};

/// Git settings that make git notice every changed file, even when the configuration would make git skip some of them.
/// They also keep extensions of the worktree's own index out of the temporary index.
const SEEN: &[(&str, &str)] = &[
    ("core.trustctime", "true"),
    ("core.checkStat", "default"),
    ("core.ignoreStat", "false"),
    ("core.splitIndex", "false"),
    ("core.untrackedCache", "false"),
];
/// The maximum number of paths in one git call. Further paths go into further calls.
const CHUNK: usize = 500;

/// The state of a worktree as a git tree (git's id of a set of files).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorktreeTree {
    /// The id of the tree. It has every file of the worktree that git does not ignore, except the paths in `left`.
    pub tree: String,
    /// The changed paths that are not in the tree, each with the reason.
    pub left: Vec<UncommittedPath>,
    /// The files with conflicts of an unfinished merge that the agent has not fixed. The tree has them with their
    /// conflict markers.
    pub unmended: Vec<String>,
}

/// The folder whose files are stored as a git tree.
#[derive(Debug, Clone, Copy)]
pub(crate) enum TreeSource<'a> {
    Worktree(&'a Path),
    /// A folder that git no longer lists as a worktree. Its files are compared with the files of a commit.
    Folder {
        folder: &'a Path,
        common: &'a Path,
        commit: &'a str,
    },
}

/// A git tree of a worktree, and the temporary index from which git made the tree.
#[derive(Debug)]
pub(crate) struct TreeSnapshot {
    pub(crate) found: WorktreeTree,
    scratch: ScratchIndex,
}

/// A temporary git index, and the settings for git calls that use it.
#[derive(Debug)]
struct ScratchIndex {
    place: TempDir,
    folder: PathBuf,
    common: Option<PathBuf>,
    quiet: Quiet,
}

/// Returns the tree of everything in a worktree that git does not ignore. Files that Handover copied into the worktree
/// are never part of the tree. Changes neither the files nor the index of the worktree.
pub async fn tree_of(git: &Git, worktree: &Path) -> Result<WorktreeTree, GitProblem> {
    Ok(snapshot(git, TreeSource::Worktree(worktree)).await?.found)
}

/// Commits exactly the given tree on the task's branch, even when the files of the worktree changed since. The files
/// stay as they are. A repeated call finds that the tree is already committed.
pub async fn commit_tree(
    git: &Git,
    workspace: &TaskWorkspace,
    tree: &str,
    message: &str,
    author: &Author,
) -> Result<CommitResult, GitProblem> {
    check_words(message, author)?;
    let quiet = quiet(git, &workspace.path).await?;
    let look = look(git, workspace, &quiet).await?;
    let repository = GitRepository::find(git, &workspace.repository).await?;
    let is_merged = match &look.merging {
        Some(merging) => repository.contains(git, &look.head, merging).await?,
        None => true,
    };
    let is_done = is_merged && tree_id(git, &repository, &look.head).await? == tree;
    let head = if is_done {
        look.head
    } else {
        let mut parents = vec![look.head.as_str()];
        parents.extend(look.merging.as_deref());
        let new = commit_of(git, &repository, (tree, &parents), (message, author)).await?;
        let arguments = ["update-ref", "-m", "handover: committed", "--end-of-options"];
        let call = GitCall::write(&repository.home, &arguments).and(reference(&workspace.branch));
        call.and(&new).and(&look.head).run(git).await?.whole()?;
        new
    };
    // The index of the worktree still describes the previous commit. `git reset --mixed` updates the index, changes no
    // file, and ends a merge in progress.
    let reset = GitCall::write(&workspace.path, &["reset", "--quiet", "--mixed"]).here_only().set(&quiet.settings);
    reset.run(git).await?.whole()?;
    let head = replace_commits_with_copies(git, workspace, head, (message, author)).await?;
    let left = Vec::new();
    Ok(if is_done { CommitResult::Clean { head, left } } else { CommitResult::Commit { head, left } })
}

/// Puts the files of a worktree back to a tree that [`tree_of`] returned. Removes new files and restores changed files.
/// Does not change ignored files, files that Handover copied, submodules and files that need a filter program. Returns
/// the changed paths that could not be put back.
pub async fn restore_tree(git: &Git, worktree: &Path, tree: &str) -> Result<Vec<UncommittedPath>, GitProblem> {
    let now = snapshot(git, TreeSource::Worktree(worktree)).await?;
    if now.found.tree != tree {
        // The temporary index describes exactly the present files, so git changes only the paths that differ.
        let call = now.scratch.call(&["read-tree", "-m", "-u", "--end-of-options"]);
        call.and(&now.found.tree).and(tree).run(git).await?.whole()?;
    }
    Ok(now.found.left)
}

/// Stores the files of a folder as a git tree. Also returns the temporary index that was used.
pub(crate) async fn snapshot(git: &Git, source: TreeSource<'_>) -> Result<TreeSnapshot, GitProblem> {
    let scratch = ScratchIndex::new(git, source).await?;
    scratch.show_hidden(git).await?;
    let status = scratch.call(STATUS).run(git).await?.whole()?;
    let (look, _) = WorktreeLook::parse(&status.stdout);
    let mut unmended = Vec::new();
    for file in &look.unmerged {
        if !is_mended(git, &scratch.folder, file).await? {
            unmended.push(&file.path);
        }
    }
    let filtered = filtered(git, |arguments| scratch.call(arguments), &scratch.quiet, &look.changed).await?;
    let because = |why| move |path: &PathBuf| UncommittedPath { path: lossy(path), why };
    let mut left: Vec<UncommittedPath> = look.nested.iter().map(because(UncommittedReason::Submodule)).collect();
    left.extend(filtered.iter().map(because(UncommittedReason::Filter)));
    let mut add = scratch.call(&["add", "--all", "--", ":/"]);
    for path in look.nested.iter().chain(&filtered) {
        let mut except = OsString::from(":(top,exclude,literal)");
        except.push(path);
        add = add.and(except);
    }
    add.run(git).await?.whole()?;
    // Remove Handover's state from the tree, because it changes all the time and is not part of the work. Excluding it
    // in `git add` would fail where git ignores it.
    let forget = scratch.call(&["rm", "-r", "-f", "--cached", "--quiet", "--ignore-unmatch", "--"]);
    forget.and(format!(":(top,icase){STATE}")).run(git).await?.whole()?;
    if let TreeSource::Worktree(folder) = source {
        let copied = copied_paths(git, folder).await?;
        left.extend(leave_out(git, |arguments| scratch.call(arguments), &copied).await?);
    }
    let tree = scratch.call(&["write-tree"]).run(git).await?.whole()?.text();
    Ok(TreeSnapshot { found: WorktreeTree { tree, left, unmended: names(unmended) }, scratch })
}

/// Makes a commit with the given tree and parents, without moving any branch.
pub(crate) async fn commit_of(
    git: &Git,
    repository: &GitRepository,
    (tree, parents): (&str, &[&str]),
    (message, author): (&str, &Author),
) -> Result<String, GitProblem> {
    let quiet = quiet(git, &repository.home).await?;
    let mut call = GitCall::write(&repository.home, &["commit-tree", "--no-gpg-sign"]).set(&quiet.settings);
    for parent in parents {
        call = call.and("-p").and(parent);
    }
    let call = call.and("-m").and(message).and(tree);
    Ok(author.environment(call).run(git).await?.whole()?.text())
}

/// Returns the id of a commit's tree.
pub(crate) async fn tree_id(git: &Git, repository: &GitRepository, commit: &str) -> Result<String, GitProblem> {
    let call = GitCall::read(&repository.home, &["rev-parse", "--verify", "--end-of-options"]);
    Ok(call.and(format!("{commit}^{{tree}}")).run(git).await?.whole()?.text())
}

impl ScratchIndex {
    async fn new(git: &Git, source: TreeSource<'_>) -> Result<Self, GitProblem> {
        let failed = |error: std::io::Error| GitProblem::failed("add", &error.to_string());
        let place = tempfile::tempdir().map_err(failed)?;
        let (folder, common) = match source {
            TreeSource::Worktree(folder) => (folder, None),
            TreeSource::Folder { folder, common, .. } => (folder, Some(common)),
        };
        let mut quiet = quiet(git, common.unwrap_or(folder)).await?;
        quiet.settings.extend(SEEN.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        let scratch = Self { place, folder: folder.to_owned(), common: common.map(Path::to_owned), quiet };
        let start = match source {
            TreeSource::Folder { commit, .. } => Some(commit),
            TreeSource::Worktree(_) => {
                let arguments = ["rev-parse", "--path-format=absolute", "--git-path", "index"];
                let own = GitCall::read(folder, &arguments).here_only().run(git).await?.whole()?;
                let own = path(own.stdout.strip_suffix(b"\n").unwrap_or(&own.stdout));
                if own.exists() {
                    copy_index(&own, &scratch.index()).map_err(failed)?
                }
                let head = GitCall::read(folder, &["rev-parse", "--verify", "--quiet", "HEAD"]).here_only();
                (!own.exists() && head.run(git).await?.is_success()).then_some("HEAD")
            }
        };
        if let Some(start) = start {
            scratch.call(&["read-tree", "--end-of-options"]).and(start).run(git).await?.whole()?;
        }
        Ok(scratch)
    }

    fn index(&self) -> PathBuf {
        self.place.path().join("index")
    }

    /// Makes a git call in the folder with the temporary index. It names the worktree explicitly, because the git
    /// configuration could name another folder.
    fn call(&self, arguments: &[&str]) -> GitCall {
        let call = GitCall::write(&self.folder, arguments).here_only().set(&self.quiet.settings);
        let call = call.env("GIT_INDEX_FILE", &lossy(&self.index())).env("GIT_WORK_TREE", &lossy(&self.folder));
        match &self.common {
            Some(common) => call.env("GIT_DIR", &lossy(common)),
            None => call,
        }
    }

    /// Clears the flags in the temporary index that hide a changed file. A file that a sparse checkout left out keeps
    /// its flag, because it does not exist in the folder.
    async fn show_hidden(&self, git: &Git) -> Result<(), GitProblem> {
        // Ignore the exit code. It is not zero when a file differs from the index, which is no error here.
        self.call(&["update-index", "-q", "--really-refresh"]).run(git).await?;
        let listed = self.call(&["ls-files", "-t", "-z", "--full-name", ":/"]).run(git).await?.whole()?;
        let items = listed.stdout.split(|byte| *byte == 0);
        let skipped = items.filter_map(|item| item.strip_prefix(b"S ").or(item.strip_prefix(b"s ")).map(path));
        let hidden: Vec<PathBuf> = skipped.filter(|path| self.folder.join(path).symlink_metadata().is_ok()).collect();
        for chunk in hidden.chunks(CHUNK) {
            let mut call = self.call(&["update-index", "--no-skip-worktree", "--"]);
            for path in chunk {
                call = call.and(path);
            }
            call.run(git).await?.whole()?;
        }
        Ok(())
    }
}

/// Copies an index together with its time. Git compares that time with the times of the files, to find a file that
/// changed in the same second in which the index was written.
fn copy_index(from: &Path, to: &Path) -> std::io::Result<()> {
    let modified = fs::metadata(from)?.modified()?;
    fs::copy(from, to)?;
    File::options().write(true).open(to)?.set_modified(modified)
}
