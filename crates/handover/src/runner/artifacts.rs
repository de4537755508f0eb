//! The artifacts of an output come into the workspace all or none, also when the machine stops in between.
//!
//! ```text
//! check ──> staging.json ──> parts beside their places ──> committed.json ──> parts into their places ──> done.json
//!                  └── fails, or a stop: parts go, nothing was there ──┘   └── a stop: goes on from here ──┘
//!                                                                          └── fails: back, then as above
//! ```
//!
//! The journal is one file whose name is its state, so that a step of it needs no room on a full disk. Until
//! `committed.json` nothing of the output is at its place; from there on everything that is needed is on the disk, and
//! an output that was stopped is finished, even if another follows: its author was told nothing, and going back would
//! be as much work. What is replaced changes places with its part, so it can be put back until all are through.
//!
//! Every path is walked from the root, one folder after the other, and no link is followed, wherever it leads.

mod check;
mod disk;
mod journal;
mod perform;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

use check::Plan;
use disk::Root;
use journal::{Journal, Standing};
use perform::Known;

/// What the rules of an output allow.
pub const ARTIFACTS_MAX: usize = 1_000;
/// Of all contents together: it is held in memory and read again after a stop.
pub const BYTES_MAX: usize = 16 << 20;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    /// Relative to the root; `.` and `..` within it are resolved.
    pub path: String,
    pub operation: Operation,
    pub content: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// The path must be free.
    Create,
    /// There must be a regular file; its permissions stay.
    Update,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    /// Resolved, in the order of the output.
    pub paths: Vec<String>,
    /// Of another output that was stopped and is finished now; this task made them.
    pub finished: Vec<String>,
}

/// What became of an output that was stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recovered {
    /// There was none.
    Nothing,
    Undone,
    Finished {
        paths: Vec<String>,
    },
}

/// Why nothing was written; with `Unfinished`, why it could neither be finished nor undone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    TooMany {
        count: usize,
    },
    TooLarge {
        bytes: usize,
    },
    /// Each path that does not fit, with its reason.
    Unfit(Vec<Unfit>),
    Failed {
        problem: String,
    },
    Unfinished {
        problem: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unfit {
    pub path: String,
    pub why: Why,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// Something is at the path, or a link or file is where a folder should be.
    Exists,
    /// There is no regular file at the path that could be reached without a link.
    Missing,
    /// Leaves the root, is the root, has a part `.git`, or lies below `.handover/state`.
    Outside,
    /// The same path twice, or a file as the folder of another.
    Duplicate,
}

/// Puts an output at its place. The journal is a folder for one output after the other, outside of the root; the
/// output that was applied last is not applied again. What this task made earlier is free for `create` and present
/// for `update`. Blocks, and syncs every file.
pub fn apply(
    root: &Path,
    journal: &Path,
    artifacts: &[Artifact],
    made_before: &BTreeSet<String>,
) -> Result<Applied, Problem> {
    let plan = Plan::of(artifacts)?;
    let mut journal = Journal::open(journal)?;
    let root = Root::open(root)?;
    let mut applied = Applied { paths: plan.paths(), finished: Vec::new() };
    let known = Known { digest: &plan.output, artifacts };
    if let Recovered::Finished { paths } = perform::recover(&root, &mut journal, known)? {
        applied.finished = paths;
    }
    let mut made = made_before.clone();
    if let Some(record) = journal.read(Standing::Done)? {
        if record.output == plan.output {
            applied.finished.clear();
            return Ok(applied);
        }
        made.extend(record.entries.into_iter().map(|entry| entry.path));
    }
    let record = plan.fit(&root, &made)?;
    perform::perform(&root, &mut journal, &record, artifacts)?;
    Ok(applied)
}

/// Finishes or undoes what was stopped, without the output at hand.
pub fn recover(root: &Path, journal: &Path) -> Result<Recovered, Problem> {
    let mut journal = Journal::open(journal)?;
    let root = Root::open(root)?;
    perform::recover(&root, &mut journal, Known::default())
}

impl Problem {
    /// As the rules write them, for the agent to mend; none when it cannot.
    pub fn codes(&self) -> Vec<String> {
        match self {
            Self::Unfit(unfit) => unfit.iter().map(ToString::to_string).collect(),
            Self::TooMany { .. } | Self::TooLarge { .. } => vec!["TOO_LONG:/artifacts".to_owned()],
            Self::Failed { .. } | Self::Unfinished { .. } => Vec::new(),
        }
    }
}

impl From<std::io::Error> for Problem {
    fn from(error: std::io::Error) -> Self {
        Self::Failed { problem: error.to_string() }
    }
}

impl std::error::Error for Problem {}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooMany { count } => write!(f, "{count} artifacts are more than {ARTIFACTS_MAX}"),
            Self::TooLarge { bytes } => write!(f, "the artifacts have {bytes} bytes, more than {BYTES_MAX}"),
            Self::Unfit(_) => f.write_str(&self.codes().join(", ")),
            Self::Failed { problem } => write!(f, "the artifacts were not applied: {problem}"),
            Self::Unfinished { problem } => write!(f, "the artifacts are applied in part: {problem}"),
        }
    }
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let code = match self.why {
            Why::Exists => "ARTIFACT_EXISTS",
            Why::Missing => "ARTIFACT_MISSING",
            Why::Outside => "PATH_OUTSIDE_ROOT",
            Why::Duplicate => "DUPLICATE_PATH",
        };
        write!(f, "{code}:{}", self.path)
    }
}
