//! The ends of a merge: the merged commit that can be used, and the reasons why nothing was merged.

use git::land::{Landing, LandingRecord, LandingRefusal, LocalFiles};
use runner::verify::project::CheckedWork;

/// The reason why work is not waiting to be merged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotMergeable {
    /// The task changed no file, so there is nothing to merge.
    NoChanges,
    /// The work is part of a plan, which is merged as a whole.
    InPlan,
    Merged {
        into: String,
        commit: String,
    },
    Dropped,
}

/// The reason why a merge stopped. Nothing was merged, and no branch moved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LandingStop {
    /// The work and the person's branch changed the same places in these files.
    Conflict {
        target: String,
        paths: Vec<String>,
        /// True when more files have conflicts than `paths` lists.
        more: bool,
    },
    /// The work has a file in the folder in which Handover keeps its own state.
    HasState { path: String },
    /// Git cannot move the branch now, for example because of uncommitted changes.
    Refused(LandingRefusal),
    /// The branch of the work has other commits than the ones that the agent delivered. They were not checked.
    OtherTip { branch: String, tip: String, delivered: String },
    /// The merged result did not pass, or could not be prepared or judged.
    Unchecked(MergedFailure),
    /// New commits arrived on the person's branch faster than the merge could be computed.
    TooManyCommits,
}

/// The reason why the merged result must not be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MergedFailure {
    /// A setup command failed on the merged result. `how` says in which way, such as `exited with code 1`.
    Setup { command: String, how: String, last_lines: String },
    /// A check failed on the merged result.
    Check { command: String, last_line: String },
    /// The checks failed, and none of their results says which.
    Unnamed,
    /// The settings ask for commands that no person accepted on this machine.
    NotTrusted { problem: String },
}

/// The result of the checks of a merged commit that may be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MergedJudgement {
    /// The merged commit has exactly the files of the work, so the checks of the work count.
    SameTree,
    /// The merged commit is not checked yet, because the caller asked for [`MergedChecks::Later`].
    Later,
    /// Both sides of the merge changed other files. With `recheck = "files"`, such a merge is not checked again.
    NotNeeded,
    /// No person accepted a check on this machine, so no check may run.
    NotAccepted,
    /// The checks ran. The value is never [`CheckedWork::Failed`].
    Judged(CheckedWork),
}

/// The choice whether the merged commit is checked now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MergedChecks {
    Now,
    Later,
}

/// A merged commit to which the person's branch can move, with the result of its checks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadyLanding {
    pub landing: Landing,
    pub judgement: MergedJudgement,
}

/// A merge as it would be made now, for a person who decides about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LandingPreview {
    pub landing: Landing,
    /// The person's uncommitted changes that the merge would meet.
    pub local: LocalFiles,
}

/// The end of merging the work of one task or plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LandingEnd {
    Done(LandingRecord),
    /// Nothing was merged, because the person's branch already has the changes.
    Nothing(LandingRecord),
    Stopped(LandingStop),
}
