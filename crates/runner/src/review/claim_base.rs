//! The base of a task: the commits that its repositories had when the task was claimed for the first time. A reviewer
//! sees the changes since this base. Handover records the base itself, because a worker that names the base could hide
//! some of its work.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use engine::id::TaskId;

use git::program::{Git, GitCall};
use git::repository::GitRepository;

const FOLDER: &str = "review-bases";
/// The largest number of repositories whose commits are recorded for a task. For further repositories no commits are
/// recorded. The number is small because each repository takes three calls of git when a task with a review is claimed.
const REPOSITORIES_MAX: usize = 20;
/// The largest number of branches whose tips are recorded in each repository, as an option of git. The branches with
/// the latest commits are recorded.
const BRANCHES_MAX: &str = "--count=1000";
const HEAD: &str = "HEAD";

/// The base of a task: the commits that its repositories had at the first claim, by repository and reference name. The
/// names are `HEAD`, for the checkout of the main worktree, and the full names of branches.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClaimBase(BTreeMap<(PathBuf, String), String>);

impl ClaimBase {
    /// Reads the current commits of the repositories in these folders. Skips a folder that has no repository, or whose
    /// repository has no commit.
    pub async fn look(git: &Git, folders: impl IntoIterator<Item = PathBuf>) -> Self {
        let mut found = BTreeMap::new();
        for folder in folders.into_iter().take(REPOSITORIES_MAX) {
            let Ok(repository) = GitRepository::find(git, &folder).await else { continue };
            let Ok(Some(commit)) = repository.commit(git, HEAD).await else { continue };
            found.insert((repository.home.clone(), HEAD.to_owned()), commit);
            let list = ["for-each-ref", BRANCHES_MAX, "--sort=-committerdate", "--format=%(objectname) %(refname)"];
            let Ok(tips) = GitCall::read(&repository.home, &list).and("refs/heads/").run(git).await else { continue };
            for (commit, name) in tips.text().lines().filter_map(|line| line.split_once(' ')) {
                found.insert((repository.home.clone(), name.to_owned()), commit.to_owned());
            }
        }
        Self(found)
    }

    /// Returns the commit that the main worktree of a repository had checked out when the task was claimed for the
    /// first time, or `None` when no such commit was recorded.
    pub fn head(&self, home: &Path) -> Option<&str> {
        self.tip(home, HEAD)
    }

    /// Returns the tip that a branch had when the task was claimed for the first time, or `None` when it was not
    /// recorded. `reference` is the full name of the branch, for example `refs/heads/main`.
    pub fn tip(&self, home: &Path, reference: &str) -> Option<&str> {
        self.0.get(&(home.to_owned(), reference.to_owned())).map(String::as_str)
    }

    /// Returns true when a base (the commits at the first claim) is already saved for a task. A later claim of the task
    /// continues the earlier work, so it keeps the base of the first claim.
    pub fn is_kept(state: &Path, task: TaskId) -> bool {
        place(state, task).exists()
    }

    /// Saves these commits as the base of a task (the commits at its first claim), unless the task already has a base.
    pub fn keep(&self, state: &Path, task: TaskId) -> io::Result<()> {
        let folder = state.join(FOLDER);
        std::fs::create_dir_all(&folder)?;
        let mut file = tempfile::NamedTempFile::new_in(&folder)?;
        for ((home, name), commit) in &self.0 {
            // The file has one entry on each line, so a repository whose path has a line break is skipped. The work in
            // such a repository is compared with the base branch of the task's workspace instead.
            if let Some(home) = home.to_str().filter(|home| !home.contains('\n')) {
                writeln!(file, "{commit} {name} {home}")?;
            }
        }
        match file.persist_noclobber(place(state, task)) {
            Ok(_) => Ok(()),
            Err(kept) if kept.error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            Err(failed) => Err(failed.error),
        }
    }

    /// Reads the base of a task (the commits at its first claim). The result is empty when this machine has no base of
    /// the task: the task was claimed on another machine or with an older version.
    pub fn read(state: &Path, task: TaskId) -> Self {
        let text = std::fs::read_to_string(place(state, task)).unwrap_or_default();
        let line = |line: &str| {
            let (commit, rest) = line.split_once(' ')?;
            // A line is `COMMIT REFERENCE FOLDER`. Only the folder may contain spaces, because it is last.
            let (name, home) = rest.split_once(' ')?;
            Some(((PathBuf::from(home), name.to_owned()), commit.to_owned()))
        };
        Self(text.lines().filter_map(line).collect())
    }
}

fn place(state: &Path, task: TaskId) -> PathBuf {
    state.join(FOLDER).join(task.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_base_of_a_task_stays() {
        let state = tempfile::tempdir().unwrap();
        let task = TaskId::LAST;
        let base =
            |commit: &str| ClaimBase(BTreeMap::from([((PathBuf::from("/a b"), "HEAD".to_owned()), commit.to_owned())]));
        assert!(!ClaimBase::is_kept(state.path(), task));
        assert_eq!(ClaimBase::read(state.path(), task), ClaimBase::default());
        base("1").keep(state.path(), task).unwrap();
        base("2").keep(state.path(), task).unwrap();
        assert_eq!(ClaimBase::read(state.path(), task).head(Path::new("/a b")), Some("1"));
    }
}
