//! The errors of `handover setup`. When one of them is returned, no file was changed.

use std::path::PathBuf;

use super::want::FileError;

/// A reason why setup wrote nothing. The message names the file and the next step.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SetupProblem {
    #[error("{}:{line}: {problem}", path.display())]
    Content { path: PathBuf, line: usize, problem: String },
    #[error("{} is not UTF-8 text; convert it, then try again", path.display())]
    NotText { path: PathBuf },
    #[error("{} is longer than {} MiB, which is too long for a configuration file; check the path", path.display(), max >> 20)]
    TooLong { path: PathBuf, max: u64 },
    #[error("{} is not a regular file; move it away, then try again", path.display())]
    NotFile { path: PathBuf },
    #[error(
        "{} is a link to {}, outside of the project; replace the link by a file, or use --user",
        path.display(), target.display()
    )]
    Outside { path: PathBuf, target: PathBuf },
    #[error(
        "{} and {} are the same file, but the client needs two; replace the link by a file",
        path.display(), other.display()
    )]
    Same { path: PathBuf, other: PathBuf },
    #[error(
        "{} would hold a token, but git does not ignore it and a token must not be committed; add it to .gitignore \
         or .git/info/exclude, remove it from git if it is tracked (git rm --cached), then try again",
        path.display()
    )]
    Shared { path: PathBuf },
    #[error("{} is read-only; make it writable, then try again", path.display())]
    ReadOnly { path: PathBuf },
    #[error("another program changed {} at the same time; try again", path.display())]
    Changed { path: PathBuf },
    #[error("there is no home folder; set HOME, then try again")]
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
