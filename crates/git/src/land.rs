//! Landing: merges finished work into a branch of the person (the target), as one commit.
//!
//! ```text
//! plan_landing    computes the commit; changes no branch and no worktree
//!      │          the caller checks the merged files if the target moved since the work began, and asks the person
//! land            moves the target to that commit if its tip did not change, and changes the files of its worktree
//!      │          the caller stores the record
//! undo_landing    moves the target back, if no commit was added after the landing
//! ```
//!
//! Git runs no program that a configuration names: no hook, no filter, no editor, no signing program.

mod apply;
mod plan;
mod push;
mod refusal;
mod remote;
mod undo;
mod worktree;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::branch::Author;
use crate::changes::ChangeSummary;

pub use apply::{land, local_files};
pub use plan::plan_landing;
pub use push::{PushedBranch, push_branch};
pub use refusal::LandingRefusal;
pub use remote::compare_url;
pub use undo::undo_landing;
pub use worktree::LocalFiles;

/// A request to merge the work of a branch into a branch of the person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LandingRequest {
    pub repository: PathBuf,
    /// The branch with the finished work.
    pub work: String,
    /// The full hash of the commit at which the work began.
    pub base: String,
    /// The branch to merge into. `None` means the branch that the main worktree has checked out.
    pub target: Option<String>,
    /// The message of the commit. Handover adds a line that names the agent.
    pub message: String,
    /// The agent that did the work. The author of the commit is the person.
    pub agent: Author,
}

/// The result of computing a landing (a merge of finished work into a branch of the person). Nothing has changed yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LandingPlan {
    Ready(Landing),
    /// The person's branch already has everything that the work changed.
    Nothing {
        target: String,
        tip: String,
    },
    /// The work and the person's branch changed the same parts of files, so git cannot merge them.
    Conflict {
        target: String,
        paths: Vec<String>,
        /// True when more paths have conflicts than `paths` lists.
        more: bool,
    },
    /// The work has a file below `.handover/state`, where Handover keeps its database.
    HasState {
        path: String,
    },
    Refused(LandingRefusal),
}

/// A computed landing (a merge of finished work): one commit on top of the last commit of the person's branch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Landing {
    pub repository: PathBuf,
    pub work: String,
    pub work_tip: String,
    pub target: String,
    /// The last commit of the person's branch before the landing.
    pub tip: String,
    /// The commit to which the landing moves the person's branch.
    pub commit: String,
    pub tree: String,
    /// True when the merged files differ from the files of the work. Then the caller checks the merged files in a
    /// worktree before the landing.
    pub is_moved: bool,
    /// The number of commits that were added to the person's branch since the work began.
    pub moved_commits: u64,
    #[serde(skip)]
    pub changes: ChangeSummary,
}

/// The result of moving the person's branch, by a landing or by its undo.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LandingResult {
    /// The person's branch was moved: to the merged commit, or back to the commit from before the merge.
    Done(LandingRecord),
    /// Nothing was changed.
    Refused(LandingRefusal),
}

/// A landing (a merge of finished work into a branch of the person) that was made. The caller stores it for a later
/// undo.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LandingRecord {
    pub target: String,
    pub before: String,
    pub after: String,
    pub work: String,
}
