//! Finds the worktree that has a branch of the person checked out, and the reasons why its files must not change now.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::LandingRefusal;
use crate::GitProblem;
use crate::branch::look::{STATUS, WorktreeLook, filtered, lossy};
use crate::branch::quiet::{Quiet, quiet};
use crate::changes::changed_paths;
use crate::program::{Git, GitCall};
use crate::repository::{GitRepository, path, reference};

/// The unfinished git operations that are recognised: the file or folder that shows the operation, its name, and the
/// command that ends it.
const OPERATIONS: &[(&str, &str, &str)] = &[
    ("rebase-merge", "rebase", "git rebase --abort"),
    ("rebase-apply", "rebase", "git rebase --abort"),
    ("MERGE_HEAD", "merge", "git merge --abort"),
    ("CHERRY_PICK_HEAD", "cherry-pick", "git cherry-pick --abort"),
    ("REVERT_HEAD", "revert", "git revert --abort"),
    ("BISECT_START", "bisect", "git bisect reset"),
];
/// Files in which git stores the branch of a worktree during a rebase or a bisection. Until the operation ends, git
/// does not show this branch as checked out.
const TAKEN_BRANCH: &[&str] = &["rebase-merge/head-name", "rebase-apply/head-name", "BISECT_START"];

/// The person's uncommitted changes in the worktree whose files a landing (a merge of finished work) would change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LocalFiles {
    /// The reason why the files must not change now. `None` when the landing would overwrite nothing.
    pub refusal: Option<LandingRefusal>,
    /// The tracked files with uncommitted changes that the landing leaves as they are.
    pub stays: Vec<String>,
}

/// A worktree that has a branch of the person checked out.
#[derive(Debug)]
pub(super) struct Checkout {
    pub(super) path: PathBuf,
    pub(super) quiet: Quiet,
}

impl Checkout {
    /// Returns the worktree that has the branch checked out, or `None` when no worktree has it checked out.
    pub(super) async fn of_branch(
        git: &Git,
        repository: &GitRepository,
        branch: &str,
    ) -> Result<Option<Self>, GitProblem> {
        let name = Some(reference(branch));
        let found = repository.worktrees(git).await?.into_iter().find(|entry| entry.branch == name);
        let Some(entry) = found else { return Ok(None) };
        let mut quiet = quiet(git, &entry.path).await?;
        // Clear the merge options of the branch. They could name a merge strategy, which is a program.
        quiet.settings.push((format!("branch.{branch}.mergeOptions"), String::new()));
        Ok(Some(Self { path: entry.path, quiet }))
    }

    /// Returns a refusal when the worktree is in the middle of a merge, rebase, cherry-pick, revert or bisection.
    pub(super) async fn unfinished(&self, git: &Git) -> Result<Option<LandingRefusal>, GitProblem> {
        Ok(unfinished(&self.path, &git_folder(git, &self.path).await?))
    }

    /// Returns the person's uncommitted changes that matter when the files move from one commit to another: those that
    /// would be overwritten, as a refusal, and those that stay.
    pub(super) async fn local_files(&self, git: &Git, (from, to): (&str, &str)) -> Result<LocalFiles, GitProblem> {
        let touched = changed_paths(git, &self.path, from, to).await?;
        let call = GitCall::read(&self.path, STATUS).here_only().set(&self.quiet.settings);
        let (look, _) = WorktreeLook::parse(&call.run(git).await?.whole()?.stdout);
        let changed: BTreeSet<&PathBuf> = look.changed.iter().chain(&look.staged).chain(&look.nested).collect();
        let tracked = GitCall::read(&self.path, &["ls-files", "-z", "--full-name", ":/"]).here_only();
        let tracked = tracked.run(git).await?.whole()?.stdout;
        let tracked: BTreeSet<&[u8]> = tracked.split(|byte| *byte == 0).collect();
        let (mut local, mut untracked) = (Vec::new(), Vec::new());
        for (name, is_new) in &touched {
            let file = path(name);
            if !tracked.contains(name.as_slice()) {
                // Git does not track this file, so the new file would overwrite it. This also holds for a file that git
                // ignores.
                if *is_new && self.path.join(&file).symlink_metadata().is_ok() {
                    untracked.push(lossy(&file));
                }
            } else if changed.contains(&file) {
                local.push(lossy(&file));
            }
        }
        let is_touched: BTreeSet<PathBuf> = touched.iter().map(|(name, _)| path(name)).collect();
        let is_tracked = |file: &PathBuf| tracked.contains(file.as_os_str().as_bytes());
        let stays = changed.iter().filter(|file| is_tracked(file) && !is_touched.contains(**file));
        let stays = stays.map(|file| lossy(file)).collect();
        let path = self.path.clone();
        let refusal = if !local.is_empty() {
            Some(LandingRefusal::LocalChanges { path, files: local })
        } else if !untracked.is_empty() {
            Some(LandingRefusal::InTheWay { path, files: untracked })
        } else {
            self.filtered(git, &touched, to).await?
        };
        Ok(LocalFiles { refusal, stays })
    }

    /// Returns a refusal when some files that would change need a filter program.
    async fn filtered(
        &self,
        git: &Git,
        touched: &[(Vec<u8>, bool)],
        to: &str,
    ) -> Result<Option<LandingRefusal>, GitProblem> {
        let names: Vec<PathBuf> =
            touched.iter().filter(|(_, is_new)| *is_new).map(|(name, _)| self::path(name)).collect();
        let read = |arguments: &[&str]| GitCall::read(&self.path, arguments).here_only();
        let files: Vec<String> =
            filtered(git, read, &self.quiet, &names).await?.iter().map(|file| lossy(file)).collect();
        let (path, commit) = (self.path.clone(), to.to_owned());
        Ok(if files.is_empty() { None } else { Some(LandingRefusal::Filtered { path, files, commit }) })
    }
}

/// Returns the branch that the main worktree has checked out. Returns a refusal when no branch is checked out there.
pub(super) async fn current_branch(
    git: &Git,
    repository: &GitRepository,
) -> Result<Result<String, LandingRefusal>, GitProblem> {
    let head = GitCall::read(&repository.home, &["symbolic-ref", "--quiet", "--short", "HEAD"]).run(git).await?;
    if head.is_success() {
        return Ok(Ok(head.text()));
    }
    let path = repository.home.clone();
    Ok(Err(unfinished(&path, &repository.common).unwrap_or(LandingRefusal::Detached { path })))
}

/// Returns a refusal when any worktree is in the middle of a rebase or bisection of this branch. During such an
/// operation, git does not show the branch as checked out.
pub(super) async fn unfinished_anywhere(
    git: &Git,
    repository: &GitRepository,
    branch: &str,
) -> Result<Option<LandingRefusal>, GitProblem> {
    let full = reference(branch);
    for entry in repository.worktrees(git).await? {
        let is_main = entry.path == repository.home;
        let folder =
            if is_main { repository.common.clone() } else { git_folder(git, &entry.path).await.unwrap_or_default() };
        let takes = |file: &str| {
            fs::read_to_string(folder.join(file)).is_ok_and(|text| [full.as_str(), branch].contains(&text.trim()))
        };
        if TAKEN_BRANCH.iter().any(|file| takes(file)) {
            return Ok(unfinished(&entry.path, &folder));
        }
    }
    Ok(None)
}

fn unfinished(worktree: &Path, folder: &Path) -> Option<LandingRefusal> {
    let (_, operation, command) = OPERATIONS.iter().find(|(state, _, _)| folder.join(state).exists())?;
    Some(LandingRefusal::Unfinished { path: worktree.to_owned(), operation, command })
}

/// Returns the folder with git's own data of a worktree.
async fn git_folder(git: &Git, worktree: &Path) -> Result<PathBuf, GitProblem> {
    let call = GitCall::read(worktree, &["rev-parse", "--absolute-git-dir"]).here_only();
    let output = call.run(git).await?.whole()?;
    Ok(path(output.stdout.strip_suffix(b"\n").unwrap_or(&output.stdout)))
}
