//! The reasons why a branch of the person is not moved. The message of each reason says what the person can do.

use std::fmt;
use std::path::PathBuf;

use crate::changes::short;
use crate::problem::{NAMES_SHOWN_MAX, readable};

/// A reason why a landing (a merge of finished work into a branch of the person), or its undo, changes nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LandingRefusal {
    /// The main worktree has a commit checked out without a branch, so there is no branch to merge into.
    Detached {
        path: PathBuf,
    },
    /// A worktree is in the middle of a git operation, such as a rebase.
    Unfinished {
        path: PathBuf,
        operation: &'static str,
        command: &'static str,
    },
    BranchMissing {
        branch: String,
    },
    /// The person's branch was moved after the landing was computed.
    TargetMoved {
        target: String,
        expected: String,
        found: String,
    },
    /// The person's branch has commits that were added after the landing, so the landing cannot be undone.
    CameAfter {
        target: String,
        landed: String,
        found: String,
    },
    /// Some files that the landing would change have uncommitted changes of the person.
    LocalChanges {
        path: PathBuf,
        files: Vec<String>,
    },
    /// Untracked files of the person are at paths at which the landing would create files.
    InTheWay {
        path: PathBuf,
        files: Vec<String>,
    },
    /// Some files that the merge would change need a filter program, which Handover does not run.
    Filtered {
        path: PathBuf,
        files: Vec<String>,
        commit: String,
    },
}

impl fmt::Display for LandingRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Detached { path } => write!(
                f,
                "{} has no branch checked out; check one out with git switch, or name the branch to merge into",
                path.display()
            ),
            Self::Unfinished { path, operation, command } => {
                write!(f, "{} is in the middle of a {operation}; finish it, or end it with {command}", path.display())
            }
            Self::BranchMissing { branch } => write!(f, "the branch {} does not exist", readable(branch)),
            Self::TargetMoved { target, expected, found } => write!(
                f,
                "{} moved from {} to {} in between; try again",
                readable(target),
                short(expected),
                short(found)
            ),
            Self::CameAfter { target, landed, found } => write!(
                f,
                "{} is at {} and no longer at {}; undo it with a new commit: git revert {}",
                readable(target),
                short(found),
                short(landed),
                short(landed)
            ),
            Self::LocalChanges { path, files } => write!(
                f,
                "uncommitted changes in {} are in files that would change: {}; commit or stash them first",
                path.display(),
                list(files)
            ),
            Self::InTheWay { path, files } => write!(
                f,
                "files in {} that are not in git are in the way: {}; move or commit them first",
                path.display(),
                list(files)
            ),
            Self::Filtered { path, files, commit } => write!(
                f,
                "files in {} need a filter program of your git configuration: {}; merge them yourself with git merge \
                 --ff-only {}",
                path.display(),
                list(files),
                short(commit)
            ),
        }
    }
}

fn list(files: &[String]) -> String {
    let shown: Vec<String> = files.iter().take(NAMES_SHOWN_MAX).map(|file| readable(file)).collect();
    let more = if files.len() > NAMES_SHOWN_MAX { " and more" } else { "" };
    format!("{}{more}", shown.join(", "))
}
