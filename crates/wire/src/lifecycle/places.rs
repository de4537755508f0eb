//! Tools for workspaces, repositories and templates.

use engine::Command;
use engine::command::{CreateWorkspace, UpdateWorkspace};
use engine::id::{AgentId, TaskId, WorkflowId, WorkspaceId};
use engine::workspace::WorkspaceStatus;

use super::carried;
use super::ids::{DetailObject, Limit, Offset, Within};
use super::plan_format::TemplatePlan;
use crate::shape::{ListShape, Map, NonBlank, Text, message, vocabulary};

message! {
    pub struct WorkspaceCreate {
        workflow_id: required WorkflowId,
        path: optional NonBlank,
        branch: required NonBlank,
        base_branch: optional NonBlank,
        task_ids: optional ListShape<TaskId>,
        create_worktree: optional bool,
        repo_path: optional NonBlank,
        agent_id: optional AgentId,
        session_id: optional NonBlank,
        idempotency_key: optional NonBlank,
    }
}

message! {
    pub struct WorkspaceUpdate {
        id: required WorkspaceId,
        status: optional PlaceStatus,
        merge_commit: optional NonBlank,
        pr_url: optional NonBlank,
        config: optional DetailObject,
        cleanup_worktree: optional bool,
        force: optional bool,
        agent_id: optional AgentId,
        session_id: optional NonBlank,
        idempotency_key: optional NonBlank,
    }
}

vocabulary! {
    pub enum PlaceStatus {
        Active = "active",
        Merged = "merged",
        Abandoned = "abandoned",
    }
}

message! {
    pub struct WorkspaceList {
        workflow_id: required WorkflowId,
        status: optional ListShape<PlaceStatus>,
        limit: optional Limit,
        cursor: optional NonBlank,
    }
}

message! {
    pub struct RepositoryRegister {
        path: required NonBlank,
        name: optional NonBlank,
        idempotency_key: optional NonBlank,
    }
}

message! {
    pub struct RepositoryList {
        limit: optional Limit,
        offset: optional Offset,
        cursor: optional NonBlank,
    }
}

message! {
    pub struct RepositoryGet {
        path: required NonBlank,
    }
}

message! {
    pub struct TemplateCreate {
        name: required NonBlank,
        description: optional Text,
        from_workflow_id: optional WorkflowId,
        template: optional TemplatePlan,
        idempotency_key: optional NonBlank,
    }
}

message! {
    pub struct TemplateList {
        limit: optional Limit,
        cursor: optional NonBlank,
    }
}

message! {
    pub struct TemplateApply {
        template_id: required NonBlank,
        workflow_name: required NonBlank,
        variables: optional Map<Text>,
        repository_paths: optional ListShape<NonBlank>,
        max_parallel_tasks: optional Within<1, 10_000>,
        idempotency_key: optional NonBlank,
    }
}

impl PlaceStatus {
    fn engine(self) -> WorkspaceStatus {
        match self {
            Self::Active => WorkspaceStatus::Active,
            Self::Merged => WorkspaceStatus::Merged,
            Self::Abandoned => WorkspaceStatus::Abandoned,
        }
    }
}

impl RepositoryRegister {
    pub fn command(&self) -> Command {
        let name = self.name.as_ref().map(ToString::to_string);
        Command::RegisterRepository { path: self.path.to_string(), name }
    }
}

impl WorkspaceCreate {
    /// Returns the command that records a workspace for the git worktree at this path.
    pub fn create(&self, path: &str, created_by_us: bool) -> CreateWorkspace {
        CreateWorkspace {
            workflow: self.workflow_id,
            path: path.to_owned(),
            branch: self.branch.to_string(),
            base_branch: self.base_branch.as_ref().map(ToString::to_string),
            repository_path: self.repo_path.as_ref().map(ToString::to_string),
            tasks: self.task_ids.iter().flat_map(|tasks| tasks.0.iter().copied()).collect(),
            created_by_us,
        }
    }
}

impl WorkspaceUpdate {
    pub fn update(&self) -> UpdateWorkspace {
        UpdateWorkspace {
            workspace: self.id,
            status: self.status.map(PlaceStatus::engine),
            merge_commit: self.merge_commit.as_ref().map(ToString::to_string),
            pr_url: self.pr_url.as_ref().map(ToString::to_string),
            config: carried(self.config.as_ref()),
            cleaned: None,
        }
    }
}
