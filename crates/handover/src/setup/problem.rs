//! The errors of `handover setup`. After each of them, no file is changed.

use std::path::PathBuf;

use super::want::FileError;

/// A reason why setup wrote nothing. The message names the file and the next step.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SetupProblem {
    #[error("{}:{line}: {problem}", path.display())]
    Content { path: PathBuf, line: usize, problem: String },
    #[error("{} is not UTF-8 text: convert it, then try again", path.display())]
    NotText { path: PathBuf },
    #[error("{} is longer than {} MiB, so it is hardly a configuration", path.display(), max >> 20)]
    TooLong { path: PathBuf, max: u64 },
    #[error("{} is no regular file: move it away, then try again", path.display())]
    NotFile { path: PathBuf },
    #[error(
        "{} leads out of the project, to {}: replace the link by a file, or use --user",
        path.display(), target.display()
    )]
    Outside { path: PathBuf, target: PathBuf },
    #[error(
        "{} and {} are the same file, and the client needs two: replace the link by a file",
        path.display(), other.display()
    )]
    Same { path: PathBuf, other: PathBuf },
    #[error(
        "{} is in a git repository that does not ignore it, and a token must not be committed: add it to .gitignore or \
         .git/info/exclude there, take it out of git if it is tracked (git rm --cached), then try again",
        path.display()
    )]
    Shared { path: PathBuf },
    #[error("{} is read-only: make it writable, then try again", path.display())]
    ReadOnly { path: PathBuf },
    #[error("{} was changed by someone else just now: try again", path.display())]
    Changed { path: PathBuf },
    #[error("there is no home folder: set HOME, then try again")]
    Homeless,
    #[error("read {}", path.display())]
    Unreadable {
        path: PathBuf,
        #[source]
        cause: std::io::Error,
    },
    #[error("write {}", path.display())]
    Unwritable {
        path: PathBuf,
        #[source]
        cause: std::io::Error,
    },
}

impl SetupProblem {
    pub(super) fn content(path: PathBuf, trouble: FileError) -> Self {
        Self::Content { path, line: trouble.line, problem: trouble.problem }
    }
}
