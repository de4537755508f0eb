//! Tools for workflows: create, plan, show and lock.

use engine::command::CreateWorkflow;
use engine::id::{AgentId, RepositoryId, TaskId, WorkflowId};
use engine::{Command, Json, Millis, limits};

use super::ids::{DetailObject, Limit, Offset, Within};
use super::plan_format::{NewPlan, WorkflowPlan};
use super::{carried, text, texts};
use crate::shape::{ListShape, NonBlank, Shape as _, Text, message, vocabulary};

message! {
    pub struct WorkflowCreate {
        name: required NonBlank,
        source_type: optional NonBlank,
        source_ref: optional NonBlank,
        source_content: optional Text,
        repository_paths: optional ListShape<NonBlank>,
        repository_path: optional NonBlank,
        max_parallel_tasks: optional Within<1, 10_000>,
        auto_create_workspaces: optional bool,
        lease_seconds: optional Within<1, 86_400>,
        config: optional DetailObject,
        idempotency_key: optional NonBlank,
    }
}

message! {
    pub struct WorkflowGet {
        id: required WorkflowId,
        include_tasks: optional bool,
        include_task_summaries: optional bool,
        limit: optional Limit,
        cursor: optional NonBlank,
    }
}

message! {
    pub struct WorkflowList {
        repository_path: optional NonBlank,
        status: optional ListShape<WorkflowStatus>,
        include_archived: optional bool,
        limit: optional Limit,
        offset: optional Offset,
        cursor: optional NonBlank,
    }
}

vocabulary! {
    pub enum WorkflowStatus {
        Planning = "planning",
        Ready = "ready",
        InProgress = "in_progress",
        Paused = "paused",
        AwaitingMerge = "awaiting_merge",
        Completed = "completed",
        Failed = "failed",
        Abandoned = "abandoned",
    }
}

message! {
    pub struct WorkflowSetPlan {
        id: required WorkflowId,
        plan: required WorkflowPlan,
        agent_id: optional AgentId,
        session_id: optional NonBlank,
        idempotency_key: optional NonBlank,
    }
}

message! {
    pub struct WorkflowUpdateStatus {
        id: required WorkflowId,
        status: required WorkflowStatus,
        reason: optional Text,
        agent_id: optional AgentId,
        session_id: optional NonBlank,
        idempotency_key: optional NonBlank,
    }
}

message! {
    pub struct WorkflowSetParallelism {
        id: required WorkflowId,
        max_parallel_tasks: required Within<1, 10_000>,
        auto_create_workspaces: optional bool,
        agent_id: optional AgentId,
        session_id: optional NonBlank,
        idempotency_key: optional NonBlank,
    }
}

message! {
    pub struct WorkflowGetSummary {
        id: required WorkflowId,
        format: optional Format,
    }
}

vocabulary! {
    pub enum Format {
        Json = "json",
        Markdown = "markdown",
    }
}

message! {
    pub struct WorkflowLock {
        id: required WorkflowId,
        session_id: required NonBlank,
        idempotency_key: optional NonBlank,
    }
}

message! {
    pub struct WorkflowUnlock {
        id: required WorkflowId,
        session_id: required NonBlank,
        idempotency_key: optional NonBlank,
    }
}

message! {
    pub struct WorkflowLockInfo {
        id: required WorkflowId,
    }
}

message! {
    pub struct WorkflowSetConfig {
        id: required WorkflowId,
        config: required DetailObject,
        agent_id: optional AgentId,
        session_id: optional NonBlank,
        idempotency_key: optional NonBlank,
    }
}

message! {
    pub struct WorkflowAddRepository {
        workflow_id: required WorkflowId,
        repository_path: required NonBlank,
        agent_id: optional AgentId,
        session_id: optional NonBlank,
        idempotency_key: optional NonBlank,
    }
}

message! {
    pub struct WorkflowRemoveRepository {
        workflow_id: required WorkflowId,
        repository_id: required RepositoryId,
        agent_id: optional AgentId,
        session_id: optional NonBlank,
        idempotency_key: optional NonBlank,
    }
}

message! {
    pub struct WorkflowListRepositories {
        workflow_id: required WorkflowId,
    }
}

message! {
    pub struct WorkflowNextTasks {
        workflow_id: required WorkflowId,
        agent_id: optional AgentId,
        include_failed: optional bool,
        limit: optional Limit,
        cursor: optional NonBlank,
    }
}

message! {
    pub struct WorkflowProgress {
        workflow_id: required WorkflowId,
    }
}

message! {
    pub struct WorkflowRemoveTask {
        workflow_id: required WorkflowId,
        task_id: required TaskId,
        agent_id: optional AgentId,
        session_id: optional NonBlank,
        idempotency_key: optional NonBlank,
    }
}

message! {
    pub struct WorkflowReplan {
        workflow_id: required WorkflowId,
        plan: required NewPlan,
        agent_id: optional AgentId,
        session_id: optional NonBlank,
        idempotency_key: optional NonBlank,
    }
}

impl WorkflowCreate {
    pub fn command(&self) -> Command {
        let mut repositories = texts(self.repository_paths.as_ref());
        repositories.extend(self.repository_path.as_ref().map(ToString::to_string));
        Command::CreateWorkflow(CreateWorkflow {
            name: self.name.to_string(),
            source_type: self.source_type.as_ref().map_or("prompt", NonBlank::as_str).to_owned(),
            source_ref: self.source_ref.as_ref().map(ToString::to_string),
            source_content: self.source_content.as_ref().map(ToString::to_string).unwrap_or_default(),
            parallel_max: self.max_parallel_tasks.map(|Within(number)| number),
            lease_ms: self.lease_seconds.map(|Within(seconds)| Millis(seconds.saturating_mul(1_000))),
            auto_workspaces: self.auto_create_workspaces.unwrap_or(false),
            config: carried(self.config.as_ref()),
            repositories,
        })
    }
}

impl WorkflowStatus {
    fn engine(self) -> engine::workflow::WorkflowStatus {
        use engine::workflow::WorkflowStatus as Stored;
        match self {
            Self::Planning => Stored::Planning,
            Self::Ready => Stored::Ready,
            Self::InProgress => Stored::InProgress,
            Self::Paused => Stored::Paused,
            Self::AwaitingMerge => Stored::AwaitingMerge,
            Self::Completed => Stored::Completed,
            Self::Failed => Stored::Failed,
            Self::Abandoned => Stored::Abandoned,
        }
    }
}

impl WorkflowUpdateStatus {
    pub fn command(&self) -> Command {
        let (status, reason) = (self.status.engine(), text(self.reason.as_ref()));
        Command::SetWorkflowStatus { workflow: self.id, status, reason }
    }
}

impl WorkflowSetParallelism {
    pub fn command(&self) -> Command {
        Command::SetParallelism {
            workflow: self.id,
            parallel_max: Some(self.max_parallel_tasks.0),
            auto_workspaces: self.auto_create_workspaces,
        }
    }
}

impl WorkflowSetConfig {
    pub fn command(&self) -> Command {
        Command::SetConfig { workflow: self.id, config: Json::from_stored(self.config.render().to_string()) }
    }
}

impl WorkflowLock {
    pub fn command(&self) -> Command {
        Command::LockWorkflow { workflow: self.id, owner: self.session_id.to_string() }
    }
}

impl WorkflowUnlock {
    pub fn command(&self) -> Command {
        Command::UnlockWorkflow { workflow: self.id, owner: self.session_id.to_string() }
    }
}

impl WorkflowAddRepository {
    pub fn command(&self) -> Command {
        Command::AttachRepository { workflow: self.workflow_id, path: self.repository_path.to_string() }
    }
}

impl WorkflowRemoveRepository {
    pub fn command(&self) -> Command {
        Command::DetachRepository { workflow: self.workflow_id, repository: self.repository_id }
    }
}

impl WorkflowRemoveTask {
    pub fn command(&self) -> Command {
        Command::RemoveTask { workflow: self.workflow_id, task: self.task_id }
    }
}

/// Fails to compile when the engine's limit of parallel tasks changes, because the schema of the argument
/// `max_parallel_tasks` has the same number.
const _: () = assert!(limits::PARALLEL_MAX == 10_000);
