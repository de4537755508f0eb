//! Records of places: repositories and worktrees. Git itself is run by the door.

use serde::{Deserialize, Serialize};

use crate::caller::Actor;
use crate::id::{RepositoryId, WorkflowId, WorkspaceId};
use crate::json::Json;
use crate::task::names;
use crate::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Workspace {
    pub id: WorkspaceId,
    pub workflow: WorkflowId,
    pub repository: Option<RepositoryId>,
    pub path: String,
    pub branch: String,
    pub base_branch: Option<String>,
    pub status: WorkspaceStatus,
    pub merge_commit: Option<String>,
    pub pr_url: Option<String>,
    pub config: Option<Json>,
    /// Cleaning up removes only what we made.
    pub created_by_us: bool,
    pub created: Timestamp,
    pub updated: Timestamp,
}

names! {
    /// A worktree in use, or what became of it.
    WorkspaceStatus { Active = "active", Merged = "merged", Abandoned = "abandoned" }
}

impl WorkspaceStatus {
    /// What was merged or given up does not come back.
    pub fn targets(self) -> &'static [Self] {
        match self {
            Self::Active => &[Self::Merged, Self::Abandoned],
            Self::Merged | Self::Abandoned => &[],
        }
    }
}

/// What cleaning a worktree up did. It is kept with the answer, so that whoever asks again is told the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cleaned {
    pub worktree_removed: bool,
    pub branch_deleted: bool,
    pub branch_kept_because: Option<String>,
    /// The command that brings a deleted branch back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restore: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repository {
    pub id: RepositoryId,
    pub path: String,
    pub name: Option<String>,
    pub created: Timestamp,
    /// Who made it known: a person's word lets agents work there. Unknown for repositories of version 0.1.0.
    #[serde(default)]
    pub by: Option<Actor>,
}

/// A repository that a workflow works on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    pub workflow: WorkflowId,
    pub repository: RepositoryId,
    pub added: Timestamp,
}
