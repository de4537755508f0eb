//! The commits of the repositories when a task was claimed first. A reviewer sees the changes since then. We keep these
//! commits ourselves, because a base that the worker names could hide some of its work.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use engine::id::TaskId;

use git::program::{Git, GitCall};
use git::repository::GitRepository;

const FOLDER: &str = "review-bases";
/// The number of repositories that are looked at. Each takes three calls of git when a task with a review is claimed.
const REPOSITORIES_MAX: usize = 20;
/// The number of branches whose tips are kept in each repository, the latest changed first.
const BRANCHES_MAX: &str = "--count=1000";
const HEAD: &str = "HEAD";

/// The commit of each reference by repository and name: `HEAD` for the checkout of the main worktree, and the branches.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClaimBase(BTreeMap<(PathBuf, String), String>);

impl ClaimBase {
    /// Reads the commits of the repositories. A folder without a repository or without a commit has no base.
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

    /// Returns the commit that the main worktree of a repository had checked out.
    pub fn head(&self, home: &Path) -> Option<&str> {
        self.tip(home, HEAD)
    }

    /// Returns the tip of a branch, by its whole name.
    pub fn tip(&self, home: &Path, reference: &str) -> Option<&str> {
        self.0.get(&(home.to_owned(), reference.to_owned())).map(String::as_str)
    }

    /// Tells whether a task already has a base. A later claim continues the work of the first one and keeps its base.
    pub fn is_kept(state: &Path, task: TaskId) -> bool {
        place(state, task).exists()
    }

    /// Saves the base of a task, unless the task has one.
    pub fn keep(&self, state: &Path, task: TaskId) -> io::Result<()> {
        let folder = state.join(FOLDER);
        std::fs::create_dir_all(&folder)?;
        let mut file = tempfile::NamedTempFile::new_in(&folder)?;
        for ((home, name), commit) in &self.0 {
            // A line break in the path would make two lines of one entry. Such a repository is compared with the
            // workspace's own base.
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

    /// Reads the base of a task. It is empty when another machine or an older version kept none.
    pub fn read(state: &Path, task: TaskId) -> Self {
        let text = std::fs::read_to_string(place(state, task)).unwrap_or_default();
        let line = |line: &str| {
            let (commit, rest) = line.split_once(' ')?;
            // A reference contains no spaces, but a folder may.
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
