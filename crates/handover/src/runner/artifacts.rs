//! Writes the artifacts of an output into the workspace, all or none, also when the machine stops in between.
//!
//! ```text
//! check ──> staging.json ──> parts next to their paths ──> committed.json ──> parts moved to their paths ──> done.json
//!                  └── failure or stop: parts are deleted ──┘           └── stop: continues from here ──┘
//!                                                                       └── failure: moved back, then parts are deleted
//! ```
//!
//! The journal is one file whose name is its state, so that a change of state needs no space on a full disk. Before
//! `committed.json`, no part of the output is at its path. After it, everything that is needed is on the disk, and a
//! stopped output is finished even if another output follows: its author got no error, and undoing it would be as much
//! work. A replaced file is swapped with its part, so it can be put back until all parts are moved.
//!
//! Every path is walked from the root, one folder after the other, and no symbolic link is followed.

mod check;
mod disk;
mod journal;
mod perform;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

use check::ArtifactPlan;
use disk::ArtifactRoot;
use journal::{Journal, JournalStanding};
use perform::KnownOutput;

/// The number of artifacts that the rules of an output allow.
pub const ARTIFACTS_MAX: usize = 1_000;
/// The size of all contents together, in bytes: they are held in memory and read again after a stop.
pub const BYTES_MAX: usize = 16 << 20;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedArtifact {
    /// The path relative to the root. `.` and `..` within the path are resolved.
    pub path: String,
    pub operation: ArtifactOperation,
    pub content: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArtifactOperation {
    /// Creates a file. The path must be free.
    Create,
    /// Replaces a regular file that must exist. Its permissions stay.
    Update,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppliedArtifacts {
    /// The resolved paths, in the order of the output.
    pub paths: Vec<String>,
    /// The paths of another output that was stopped and is now finished. The same task made them.
    pub finished: Vec<String>,
}

/// The result of recovering a stopped output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recovered {
    /// No output was stopped.
    Nothing,
    Undone,
    Finished {
        paths: Vec<String>,
    },
}

/// The reasons why no artifact was written. With `Unfinished`, the reason why the output could be neither finished nor
/// undone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ArtifactProblem {
    TooMany {
        count: usize,
    },
    TooLarge {
        bytes: usize,
    },
    /// Each path that cannot be used, with its reason.
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
    pub why: ArtifactReason,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArtifactReason {
    /// The path is taken, or there is a link or file where a folder should be.
    Exists,
    /// There is no regular file at the path that can be reached without a link.
    Missing,
    /// The path leaves the root, is the root, contains a part `.git`, or is below `.handover/state`.
    Outside,
    /// The path occurs twice, or one artifact is a file where another needs a folder.
    Duplicate,
}

/// Writes the artifacts of an output. The journal is a folder outside of the root that serves one output after the
/// other. The output that was applied last is not applied again. A path that this task made earlier counts as free for
/// `create` and as present for `update`. Blocks the thread, and syncs every file.
pub fn apply(
    root: &Path,
    journal: &Path,
    artifacts: &[CheckedArtifact],
    made_before: &BTreeSet<String>,
) -> Result<AppliedArtifacts, ArtifactProblem> {
    let plan = ArtifactPlan::of(artifacts)?;
    let mut journal = Journal::open(journal)?;
    let root = ArtifactRoot::open(root)?;
    let mut applied = AppliedArtifacts { paths: plan.paths(), finished: Vec::new() };
    let known = KnownOutput { digest: &plan.output, artifacts };
    if let Recovered::Finished { paths } = perform::recover(&root, &mut journal, known)? {
        applied.finished = paths;
    }
    let mut made = made_before.clone();
    if let Some(record) = journal.read(JournalStanding::Done)? {
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

/// Finishes or undoes a stopped output, without the output itself.
pub fn recover(root: &Path, journal: &Path) -> Result<Recovered, ArtifactProblem> {
    let mut journal = Journal::open(journal)?;
    let root = ArtifactRoot::open(root)?;
    perform::recover(&root, &mut journal, KnownOutput::default())
}

impl ArtifactProblem {
    /// Returns the codes of the rules for problems that the agent can fix, and an empty list when it cannot.
    pub fn codes(&self) -> Vec<String> {
        match self {
            Self::Unfit(unfit) => unfit.iter().map(ToString::to_string).collect(),
            Self::TooMany { .. } | Self::TooLarge { .. } => vec!["TOO_LONG:/artifacts".to_owned()],
            Self::Failed { .. } | Self::Unfinished { .. } => Vec::new(),
        }
    }
}

impl From<std::io::Error> for ArtifactProblem {
    fn from(error: std::io::Error) -> Self {
        Self::Failed { problem: error.to_string() }
    }
}

impl std::error::Error for ArtifactProblem {}

impl fmt::Display for ArtifactProblem {
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
            ArtifactReason::Exists => "ARTIFACT_EXISTS",
            ArtifactReason::Missing => "ARTIFACT_MISSING",
            ArtifactReason::Outside => "PATH_OUTSIDE_ROOT",
            ArtifactReason::Duplicate => "DUPLICATE_PATH",
        };
        write!(f, "{code}:{}", self.path)
    }
}
