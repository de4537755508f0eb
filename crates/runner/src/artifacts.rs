//! Writes the artifacts of an agent's output (the files that the output contains) into the workspace. Either all of
//! them are written or none, even when the machine stops in between.
//!
//! ```text
//! check ──> staging.json ──> parts next to their paths ──> committed.json ──> parts moved to their paths ──> done.json
//!                  └── failure or stop: parts are deleted ──┘           └── stop: continues from here ──┘
//!                                                                       └── failure: moved back, and parts deleted
//! ```
//!
//! A part is a temporary file with the new content, next to its final path. The journal is one file whose name is the
//! state of the writing, so that a change of this state needs no space on a full disk. Before `committed.json` exists,
//! no final path has changed. Once `committed.json` exists, all parts are on the disk. If the process stops after that,
//! the next call finishes the stopped output, even when the next call is for another output. The agent of the stopped
//! output got no error, and undoing that output would be as much work as finishing it. An existing file is swapped with
//! its part, so the file can be put back until all parts are moved.
//!
//! This module opens each path folder by folder from the root, which is the folder of the workspace. It follows no
//! symbolic link below the root.

mod check;
mod disk;
mod journal;
mod output;
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

pub use output::write_output;

/// The largest number of artifacts (files) in one output. An output with more artifacts is refused, and the agent gets
/// the problem to fix.
pub const ARTIFACTS_MAX: usize = 1_000;
/// The largest size of all artifacts (files) of one output together, in bytes. A larger output is refused, and the
/// agent gets the problem to fix. The size is limited because all contents are in memory at the same time.
pub const BYTES_MAX: usize = 16 << 20;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedArtifact {
    /// The path of the file, relative to the root folder. It may contain `.` and `..`, which are resolved.
    pub path: String,
    pub operation: ArtifactOperation,
    pub content: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArtifactOperation {
    /// The output creates a file. No file may exist at the path.
    Create,
    /// The output replaces a regular file, which must exist. The file keeps its permissions.
    Update,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppliedArtifacts {
    /// The resolved paths of the written artifacts (files), in the order in which the output lists them.
    pub paths: Vec<String>,
    /// The paths of the files of an earlier output of the same task. The writing of that output was stopped halfway,
    /// and this call finished it.
    pub finished: Vec<String>,
}

/// The result of recovering an output whose writing was stopped halfway.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recovered {
    /// There was nothing to recover: no output was stopped halfway.
    Nothing,
    Undone,
    Finished {
        paths: Vec<String>,
    },
}

/// The reason why the artifacts of an output were not written. With `Unfinished` some of them were written, and the
/// text says why the output could be neither finished nor undone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ArtifactProblem {
    TooMany {
        count: usize,
    },
    TooLarge {
        bytes: usize,
    },
    /// The paths of artifacts that cannot be used, each with its reason.
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
    /// The artifact is a `create`, but its path is taken: a file exists there, or a link or a file is where the path
    /// needs a folder.
    Exists,
    /// The artifact is an `update`, but no regular file exists at its path, or the path leads through a link.
    Missing,
    /// The path leads outside of the root folder, is the root folder itself, contains a folder or file named `.git`, or
    /// is below `.handover/state`.
    Outside,
    /// The path occurs twice, or one artifact is a file where another needs a folder.
    Duplicate,
}

/// Writes the artifacts of an output below `root`. `journal` is a folder outside of `root`, in which the progress of
/// the writing is recorded. All outputs of an attempt use the same journal folder, one after the other. If this output
/// was the last output that was written, nothing is written again. `made_before` lists the files that the task made
/// before: the path of such a file counts as free for `create` and as present for `update`. Blocks the thread, and
/// syncs every file.
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

/// Finishes or undoes an agent's output whose writing to the disk was stopped. Uses only the journal, not the output
/// itself.
pub fn recover(root: &Path, journal: &Path) -> Result<Recovered, ArtifactProblem> {
    let mut journal = Journal::open(journal)?;
    let root = ArtifactRoot::open(root)?;
    perform::recover(&root, &mut journal, KnownOutput::default())
}

impl ArtifactProblem {
    /// Returns the error codes for a problem that the agent can fix. Returns an empty list for any other problem.
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
            Self::TooMany { count } => write!(f, "there are {count} artifacts; at most {ARTIFACTS_MAX} are allowed"),
            Self::TooLarge { bytes } => write!(f, "the artifacts have {bytes} bytes; at most {BYTES_MAX} are allowed"),
            Self::Unfit(_) => f.write_str(&self.codes().join(", ")),
            Self::Failed { problem } => write!(f, "the artifacts were not applied: {problem}"),
            Self::Unfinished { problem } => write!(f, "only some of the artifacts were applied: {problem}"),
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
