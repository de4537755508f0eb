//! Landing: merges finished work into a branch of the person, as one commit.
//!
//! ```text
//! plan_landing    computes the commit; changes no branch and no worktree
//!      │          the caller checks the result where the target moved, and asks the person
//! land            moves the target from exactly its tip to that commit, with the files of its worktree
//!      │          the caller stores the record
//! undo_landing    moves the target back, while nothing came after
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

pub use apply::land;
pub use plan::plan_landing;
pub use push::{PushedBranch, push_branch};
pub use refusal::LandingRefusal;
pub use remote::compare_url;
pub use undo::undo_landing;

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
    /// The message of the commit. The line that names the agent is added to it.
    pub message: String,
    /// The agent that did the work. The author of the commit is the person.
    pub agent: Author,
}

/// The result of computing a landing. Nothing has changed yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LandingPlan {
    Ready(Landing),
    /// The target already has everything that the work changed.
    Nothing {
        target: String,
        tip: String,
    },
    /// The work and the target changed the same places.
    Conflict {
        target: String,
        paths: Vec<String>,
        /// True when there are more paths than `paths` lists.
        more: bool,
    },
    /// The work has a file below `.handover/state`, where Handover keeps its database.
    HasState {
        path: String,
    },
    Refused(LandingRefusal),
}

/// A computed landing: one commit on top of the target's tip.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Landing {
    pub repository: PathBuf,
    pub work: String,
    pub work_tip: String,
    pub target: String,
    /// The commit of the target before the landing.
    pub tip: String,
    /// The commit that the target points to after the landing.
    pub commit: String,
    pub tree: String,
    /// True when the tree differs from the tree of the work. Then the caller checks the result in a worktree first.
    pub is_moved: bool,
    /// The number of commits that came to the target since the work began.
    pub moved_commits: u64,
    #[serde(skip)]
    pub changes: ChangeSummary,
}

/// The result of moving the target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LandingResult {
    /// The target has the landed commit, or the commit from before after an undo.
    Done(LandingRecord),
    /// Nothing changed.
    Refused(LandingRefusal),
}

/// A landing that was made. The caller stores it, so that the landing can be undone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LandingRecord {
    pub target: String,
    pub before: String,
    pub after: String,
    pub work: String,
}
