//! The reasons why a git operation failed, and what to do next. Their codes are stable: new codes may be added, and old
//! ones never change.

use std::fmt;
use std::path::PathBuf;

/// The maximum number of file names that an error message lists. Further names are left out.
pub(crate) const NAMES_SHOWN_MAX: usize = 20;

/// The maximum number of characters of git's error message that are kept, about as much as a person reads. The rest of
/// the message is cut.
const STDERR_CHARS_MAX: usize = 2_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GitProblem {
    /// The branch already exists, perhaps because another process has just created it.
    BranchExists {
        branch: String,
        checked_out: Option<PathBuf>,
    },
    InvalidInput {
        field: &'static str,
        problem: String,
    },
    NotARepository {
        path: PathBuf,
    },
    BaseNotFound(MissingBase),
    /// A file, folder or link already exists at the path of the new worktree.
    PathTaken {
        path: PathBuf,
        by: Occupant,
    },
    /// The root folder of the worktrees cannot be created or used.
    PathUnusable {
        path: PathBuf,
        problem: String,
    },
    WorkspaceDirty {
        path: PathBuf,
        dirt: Dirt,
    },
    /// The folder is not the recorded worktree: git does not list a worktree with this path and branch. So Handover
    /// must not change or remove it.
    WorkspaceNotOurs {
        path: PathBuf,
        problem: String,
    },
    /// The git configuration has no name and mail address of the person, so no commit can be made in the person's name.
    IdentityMissing,
    /// All allowed slots (worktrees outside of the repository) are used.
    SlotsUsed {
        limit: u32,
        used: usize,
        /// The reason why no waiting task could give up its slot (worktree). `None` when no task waits.
        reason: Option<String>,
    },
    /// The slot (a reusable worktree) is used by an attempt, so its files cannot be removed.
    SlotInUse {
        number: u32,
        owner: String,
        /// True when the slot (worktree) belongs to a task that waits for a person.
        kept: bool,
    },
    GitFailed {
        command: String,
        stderr: String,
    },
    GitMissing {
        program: PathBuf,
        problem: String,
    },
    GitTimeout {
        command: String,
        seconds: u64,
    },
}

/// The reason why there is no commit from which a branch can start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MissingBase {
    NoCommits,
    Unknown { base: String },
}

/// The kind of thing that exists at a path that should be free for a new worktree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Occupant {
    Folder,
    File,
    Link,
    /// Git has a worktree registered at this path, but its folder is missing.
    Registration,
}

/// Work that would be lost if a worktree were removed. Ignored files do not count; they are deleted with the worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Dirt {
    /// Uncommitted changes and untracked files. `more` is true when there are more files than `files` lists.
    Changes {
        files: Vec<String>,
        more: bool,
    },
    Locked {
        reason: String,
    },
    /// The worktree has checked-out submodules, which may hold work. Git removes such a worktree only with `--force`.
    Submodules,
}

/// The code of a problem, a flag that is true when the caller can correct its request and retry, and the advice for the
/// caller.
struct ProblemRow(&'static str, bool, &'static str);

impl GitProblem {
    pub fn code(&self) -> &'static str {
        self.row().0
    }

    pub fn is_recoverable(&self) -> bool {
        self.row().1
    }

    pub fn suggestion(&self) -> &'static str {
        self.row().2
    }

    fn row(&self) -> ProblemRow {
        match self {
            Self::BranchExists { .. } => ProblemRow("BRANCH_EXISTS", true, "choose a branch name that is not in use"),
            Self::InvalidInput { .. } => ProblemRow("INVALID_INPUT", true, "correct the named field and call again"),
            Self::NotARepository { .. } => ProblemRow(
                "NOT_A_REPOSITORY",
                true,
                "give a folder inside of a git repository, or run `git init` there",
            ),
            Self::BaseNotFound(MissingBase::NoCommits) => ProblemRow(
                "BASE_NOT_FOUND",
                false,
                "make the first commit, for example `git commit --allow-empty -m start`, and call again",
            ),
            Self::BaseNotFound(MissingBase::Unknown { .. }) => ProblemRow(
                "BASE_NOT_FOUND",
                true,
                "name a branch, tag or commit that this repository has, or fetch it first",
            ),
            Self::PathTaken { by, .. } => by.row(),
            Self::PathUnusable { .. } => {
                ProblemRow("PATH_UNUSABLE", false, "make the folder writable, or configure another worktree root")
            }
            Self::WorkspaceDirty { dirt, .. } => dirt.row(),
            Self::WorkspaceNotOurs { .. } => ProblemRow(
                "WORKSPACE_NOT_OURS",
                false,
                "compare it with `git worktree list`; restore the recorded path and branch, or remove the worktree \
                 by hand",
            ),
            Self::IdentityMissing => ProblemRow(
                "IDENTITY_MISSING",
                true,
                "run `git config --global user.name \"Your Name\"` and `git config --global user.email \
                 you@example.com`, then call again",
            ),
            Self::SlotsUsed { .. } => ProblemRow(
                "SLOTS_USED",
                true,
                "wait until a running task ends, or merge, send back or drop finished work, or allow more worktrees",
            ),
            Self::SlotInUse { kept: true, .. } => {
                ProblemRow("SLOT_IN_USE", true, "answer, merge, send back or drop the task that keeps it first")
            }
            Self::SlotInUse { kept: false, .. } => {
                ProblemRow("SLOT_IN_USE", true, "wait until the task that runs there ends")
            }
            Self::GitFailed { .. } => {
                ProblemRow("GIT_FAILED", false, "read git's message, fix the repository and call again")
            }
            Self::GitMissing { .. } => {
                ProblemRow("GIT_MISSING", false, "install git 2.31 or later and put it on the PATH")
            }
            Self::GitTimeout { .. } => ProblemRow(
                "GIT_TIMEOUT",
                true,
                "find the filter, network disk or missing object that makes git wait, then call again",
            ),
        }
    }

    pub(crate) fn input(field: &'static str, problem: impl Into<String>) -> Self {
        Self::InvalidInput { field, problem: problem.into() }
    }

    pub fn failed(command: &str, stderr: &str) -> Self {
        Self::GitFailed { command: command.to_owned(), stderr: readable(stderr) }
    }

    /// Adds to the problem the names of branches, folders and registrations that could not be cleaned up.
    pub(crate) fn with_remains(self, remains: &[String]) -> Self {
        if remains.is_empty() {
            return self;
        }
        let text = format!("{self}; left behind: {}", remains.join("; "));
        Self::GitFailed { command: "worktree add".to_owned(), stderr: readable(&text) }
    }
}

impl Occupant {
    fn row(self) -> ProblemRow {
        match self {
            Self::Folder | Self::File => ProblemRow(
                "PATH_TAKEN",
                true,
                "choose another branch name, or ask a person to move away the files that are there",
            ),
            Self::Link => {
                ProblemRow("PATH_TAKEN", false, "replace the link by a folder, or configure another worktree root")
            }
            Self::Registration => ProblemRow(
                "PATH_TAKEN",
                true,
                "run `git worktree prune` in the repository, or choose another branch name",
            ),
        }
    }
}

impl Dirt {
    fn row(&self) -> ProblemRow {
        match self {
            Self::Changes { .. } => ProblemRow(
                "WORKSPACE_DIRTY",
                true,
                "commit or move away the changes that you need; `force: true` deletes them, and ignored files \
                     are always deleted",
            ),
            Self::Locked { .. } => ProblemRow(
                "WORKSPACE_DIRTY",
                true,
                "ask the person who locked it; `git worktree unlock` or `force: true` allows the removal",
            ),
            Self::Submodules => {
                ProblemRow("WORKSPACE_DIRTY", true, "push the work in the submodules; `force: true` deletes them")
            }
        }
    }
}

impl std::error::Error for GitProblem {}

impl fmt::Display for GitProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BranchExists { branch, checked_out: None } => write!(f, "the branch {branch} already exists"),
            Self::BranchExists { branch, checked_out: Some(path) } => {
                write!(f, "the branch {branch} already exists and is checked out at {}", path.display())
            }
            Self::InvalidInput { field, problem } => write!(f, "`{field}` {problem}"),
            Self::NotARepository { path } => write!(f, "{} is not in a git repository", path.display()),
            Self::BaseNotFound(MissingBase::NoCommits) => f.write_str("the repository has no commits yet"),
            Self::BaseNotFound(MissingBase::Unknown { base }) => {
                write!(f, "the repository has no branch, tag or commit {base}")
            }
            Self::PathTaken { path, by } => write!(f, "{} is taken by {by}", path.display()),
            Self::PathUnusable { path, problem } => write!(f, "{} cannot be used: {problem}", path.display()),
            Self::WorkspaceDirty { path, dirt } => write!(f, "{} {dirt}", path.display()),
            Self::WorkspaceNotOurs { path, problem } => {
                write!(f, "{} is not removed: {problem}", path.display())
            }
            Self::IdentityMissing => f.write_str("git does not know your name and mail address for the commit"),
            Self::SlotsUsed { limit, used, reason } => {
                write!(f, "{used} of at most {limit} worktrees are used, and none can be given up")?;
                reason.as_ref().map_or(Ok(()), |reason| write!(f, ": {reason}"))
            }
            Self::SlotInUse { number, owner, kept } => {
                let how = if *kept { "is kept for" } else { "is used by" };
                write!(f, "worktree {number} {how} {owner}")
            }
            Self::GitFailed { command, stderr } => write!(f, "git {command} failed: {stderr}"),
            Self::GitMissing { program, problem } => write!(f, "{} cannot be run: {problem}", program.display()),
            Self::GitTimeout { command, seconds } => {
                write!(f, "git {command} was stopped because it ran longer than {seconds} seconds")
            }
        }
    }
}

impl fmt::Display for Occupant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Folder => "another folder",
            Self::File => "a file",
            Self::Link => "a symbolic link",
            Self::Registration => "a worktree that git has registered and whose folder is gone",
        })
    }
}

impl fmt::Display for Dirt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Changes { files, more } => {
                let shown = files.len().min(NAMES_SHOWN_MAX);
                write!(f, "has uncommitted changes: {}", files[..shown].join(", "))?;
                if *more { f.write_str(" and more") } else { Ok(()) }
            }
            Self::Locked { reason } if reason.is_empty() => f.write_str("is locked"),
            Self::Locked { reason } => write!(f, "is locked: {reason}"),
            Self::Submodules => f.write_str("has checked-out submodules"),
        }
    }
}

/// Returns a text of another program, such as git's error message, cut to a maximum length and with hidden characters
/// made visible.
pub(crate) fn readable(text: &str) -> String {
    let lines = text.trim().lines().map(str::trim_end).filter(|line| !line.is_empty());
    let text = lines.map(wire::visible::one_line).collect::<Vec<_>>().join("\n");
    if text.is_empty() {
        return "git gave no reason".to_owned();
    }
    match text.char_indices().nth(STDERR_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
