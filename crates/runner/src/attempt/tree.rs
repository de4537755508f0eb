//! Restores an attempt's worktree after checks ran in it. Checks leave files behind, such as caches and reports. Before
//! anything else happens in the worktree, its files are put back to the tree that was checked, even if the runner was
//! killed in between.

use std::io;
use std::path::{Path, PathBuf};

use base::project::settings::RecheckRule;
use engine::id::TaskId;
use git::GitProblem;
use git::branch;
use git::program::GitCall;
use serde::{Deserialize, Serialize};

use super::place::{WorkPlace, WorktreeGround};
use super::shared::RunnerShared;

/// The file in an attempt's folder that exists while checks run in the attempt's worktree.
const CHECKING: &str = "checking.json";

/// The content of the file `checking.json`: the tree (git's id of the files) to which the worktree must be put back.
#[derive(Debug, Serialize, Deserialize)]
struct CheckingRecord {
    tree: String,
}

/// The number of files and lines that differ between two commits, and the paths of the files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangeCount {
    pub files: u32,
    pub added: u32,
    pub removed: u32,
    pub paths: Vec<String>,
    /// True when `paths` lacks some of the changed files, because there are too many.
    pub is_cut: bool,
}

impl RunnerShared {
    fn checking_file(&self, task: TaskId, attempt: u32) -> PathBuf {
        self.attempt_folder(task, attempt).join(CHECKING)
    }

    /// Records the files of a worktree (as the id of a git tree) before checks run there.
    pub(crate) fn begin_checks(&self, task: TaskId, attempt: u32, tree: &str) -> io::Result<()> {
        let path = self.checking_file(task, attempt);
        let new = path.with_extension("new");
        std::fs::write(&new, serde_json::to_vec(&CheckingRecord { tree: tree.to_owned() })?)?;
        std::fs::rename(&new, &path)
    }

    /// Puts a worktree back to the tree that was recorded before checks ran there. Does nothing when no checks ran.
    pub(crate) async fn end_checks(&self, place: &WorkPlace, task: TaskId, attempt: u32) -> Result<(), GitProblem> {
        let path = self.checking_file(task, attempt);
        let text = match std::fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(unusable(&path, &error)),
        };
        let record: CheckingRecord = serde_json::from_slice(&text).map_err(|error| unusable(&path, &error.into()))?;
        self.ground.restore(place, &record.tree).await?;
        std::fs::remove_file(&path).map_err(|error| unusable(&path, &error))
    }
}

impl RunnerShared {
    /// Tells whether the merged tree of two commits must be checked. With `recheck = "files"` it is not checked when
    /// neither side changed a file that the other side changed.
    pub(crate) async fn needs_recheck(&self, ours: &str, theirs: &str) -> Result<bool, GitProblem> {
        if self.settings.verify.recheck == RecheckRule::Always {
            return Ok(true);
        }
        let (mine, other) = (self.ground.changes(&[theirs], ours).await?, self.ground.changes(&[ours], theirs).await?);
        Ok(mine.is_cut || other.is_cut || mine.paths.iter().any(|path| other.paths.contains(path)))
    }
}

impl WorktreeGround {
    /// Puts the files of a worktree back to a tree (git's id of a set of files). Files that git ignores stay.
    pub async fn restore(&self, place: &WorkPlace, tree: &str) -> Result<(), GitProblem> {
        let WorkPlace::Worktree { workspace, .. } = place else { return Ok(()) };
        let _turn = self.turn.acquire().await;
        branch::restore_tree(&self.git, &workspace.path, tree).await.map(drop)
    }

    /// Returns the path of a file of Handover's own state in a commit, or `None` when the commit contains none.
    pub async fn state_in(&self, commit: &str) -> Result<Option<String>, GitProblem> {
        let call =
            GitCall::read(&self.root, &["ls-tree", "-r", "-z", "--name-only", "--full-tree", "--end-of-options"]);
        let listed = call.and(commit).and(git::STATE).run(&self.git).await?.whole()?;
        let first = listed.stdout.split(|byte| *byte == 0).find(|path| !path.is_empty());
        Ok(first.map(|path| String::from_utf8_lossy(path).into_owned()))
    }

    /// Returns the id of the tree of a commit.
    pub async fn tree_of_commit(&self, commit: &str) -> Result<String, GitProblem> {
        let call = GitCall::read(&self.root, &["rev-parse", "--verify", "--end-of-options"]);
        Ok(call.and(format!("{commit}^{{tree}}")).run(&self.git).await?.whole()?.text())
    }

    /// Counts the files and lines in which `head` differs from its newest common ancestor with one of `bases`. Work of
    /// other tasks that was merged into `head` therefore does not count.
    pub async fn changes(&self, bases: &[&str], head: &str) -> Result<ChangeCount, GitProblem> {
        let mut from = bases.first().copied().unwrap_or(head).to_owned();
        for base in bases {
            let call = GitCall::read(&self.root, &["merge-base", "--end-of-options"]).and(base).and(head);
            let fork = call.run(&self.git).await?;
            let later = GitCall::read(&self.root, &["merge-base", "--is-ancestor", "--end-of-options"]);
            if fork.is_success() && later.and(&from).and(fork.text()).run(&self.git).await?.is_success() {
                from = fork.text();
            }
        }
        let found = git::changes::changes(&self.git, &self.root, &from, head).await?;
        let number = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        let is_cut = found.list.len() < found.files;
        let files = u32::try_from(found.files).unwrap_or(u32::MAX);
        let paths = found.list.into_iter().flat_map(|file| [file.old_path, Some(file.path)]).flatten().collect();
        Ok(ChangeCount { files, added: number(found.added), removed: number(found.removed), paths, is_cut })
    }
}

fn unusable(path: &Path, error: &io::Error) -> GitProblem {
    GitProblem::PathUnusable { path: path.to_owned(), problem: error.to_string() }
}
