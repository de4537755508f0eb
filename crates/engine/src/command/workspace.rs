//! The commands that record and change workspaces: the folders and branches in which tasks are worked on.

use serde::Serialize;

use crate::id::{TaskId, WorkflowId, WorkspaceId};
use crate::json::Json;
use crate::workspace::{Cleaned, WorkspaceStatus};

/// The command that records a new workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CreateWorkspace {
    pub workflow: WorkflowId,
    pub path: String,
    pub branch: String,
    pub base_branch: Option<String>,
    pub repository_path: Option<String>,
    pub tasks: Vec<TaskId>,
    /// True when Handover created the worktree. Handover removes only worktrees that it created.
    pub created_by_us: bool,
}

/// The command that changes a recorded workspace. A field that is `None` stays as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UpdateWorkspace {
    pub workspace: WorkspaceId,
    pub status: Option<WorkspaceStatus>,
    pub merge_commit: Option<String>,
    pub pr_url: Option<String>,
    pub config: Option<Json>,
    /// The result of cleaning up the worktree, which the caller did before it gave this command. `None` when the
    /// worktree was not cleaned up.
    pub cleaned: Option<Cleaned>,
}
