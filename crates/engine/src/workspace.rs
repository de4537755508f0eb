//! Records of repositories and worktrees. The engine itself never runs git. The crate `git` runs it.

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
    /// True when Handover created the worktree. Handover removes only worktrees that it created.
    pub created_by_us: bool,
    pub created: Timestamp,
    pub updated: Timestamp,
}

names! {
    /// The status of a worktree: in use, merged or abandoned.
    WorkspaceStatus { Active = "active", Merged = "merged", Abandoned = "abandoned" }
}

impl WorkspaceStatus {
    /// Returns the statuses to which a worktree in this status may change. A merged or abandoned worktree never
    /// becomes active again.
    pub fn targets(self) -> &'static [Self] {
        match self {
            Self::Active => &[Self::Merged, Self::Abandoned],
            Self::Merged | Self::Abandoned => &[],
        }
    }
}

/// The result of cleaning up a worktree. It is stored with the reply, so that a repeated call gets the same reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cleaned {
    pub worktree_removed: bool,
    pub branch_deleted: bool,
    pub branch_kept_because: Option<String>,
    /// The git command that restores the deleted branch. `None` when no branch was deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restore: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repository {
    pub id: RepositoryId,
    pub path: String,
    pub name: Option<String>,
    pub created: Timestamp,
    /// The actor that registered the repository. Agents may work in the repository only if this is a person. `None` for
    /// repositories that Handover 0.1.0 stored.
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
