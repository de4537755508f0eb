//! Tools for tasks: claim a task, load its context, record progress, finish it.

use engine::Command;
use engine::command::{Note, Target};
use engine::id::{AgentId, TaskId, WorkflowId, WorkspaceId};
use engine::task::BlockKind;

use super::ids::{AttemptNumber, DetailObject, Limit, Within};
use super::plan::TaskPlan;
use super::{attempt, carried, text, texts};
use crate::message::BlockerType;
use crate::shape::{ListShape, NonBlank, Text, message, vocabulary};

message! {
    pub struct TaskGet {
        id: required TaskId,
        include_checkpoints: optional bool,
        checkpoint_limit: optional Limit,
    }
}

message! {
    pub struct TaskClaim {
        task_id: required TaskId,
        agent_id: optional AgentId,
        session_id: optional NonBlank,
        idempotency_key: optional NonBlank,
    }
}

message! {
    pub struct TaskRelease {
        task_id: required TaskId,
        agent_id: optional AgentId,
        attempt: optional AttemptNumber,
        reason: optional Text,
        session_id: optional NonBlank,
        idempotency_key: optional NonBlank,
    }
}

message! {
    pub struct TaskNext {
        workflow_id: optional WorkflowId,
        agent_id: optional AgentId,
        include_failed: optional bool,
        wait_seconds: optional Within<0, 50>,
        max_tokens: optional Within<500, 1_000_000>,
        session_id: optional NonBlank,
        idempotency_key: optional NonBlank,
    }
}

message! {
    pub struct TaskWait {
        task_id: optional TaskId,
        workflow_id: optional WorkflowId,
        agent_id: optional AgentId,
        after: optional NonBlank,
        wait_seconds: optional Within<0, 50>,
    }
}

message! {
    pub struct TaskGetAvailable {
        workflow_id: optional WorkflowId,
        agent_id: optional AgentId,
        limit: optional Limit,
        cursor: optional NonBlank,
    }
}

message! {
    pub struct TaskLoadContext {
        task_id: required TaskId,
        include: optional Include,
        max_tokens: optional Within<500, 1_000_000>,
        agent_id: optional AgentId,
    }
}

message! {
    /// The parts of a task's context that the caller of `task_load_context` wants.
    pub struct Include {
        workflow_plan: optional bool,
        workflow_summary: optional bool,
        prior_task_outcomes: optional bool,
        prior_task_full: optional bool,
        sibling_status: optional bool,
        dependency_outcomes: optional bool,
        all_checkpoints: optional bool,
        recent_checkpoints: optional Within<0, 1000>,
    }
}

message! {
    pub struct TaskSetPlan {
        id: required TaskId,
        plan: required TaskPlan,
        context: optional DetailObject,
        agent_id: optional AgentId,
        attempt: optional AttemptNumber,
        session_id: optional NonBlank,
        idempotency_key: optional NonBlank,
    }
}

message! {
    pub struct TaskUpdateStatus {
        id: required TaskId,
        status: required TaskStatus,
        outcome: optional Text,
        outcome_detail: optional DetailObject,
        error: optional Text,
        reason: optional Text,
        blocker_type: optional BlockerType,
        agent_id: optional AgentId,
        attempt: optional AttemptNumber,
        session_id: optional NonBlank,
        idempotency_key: optional NonBlank,
    }
}

vocabulary! {
    pub enum TaskStatus {
        Pending = "pending",
        Planning = "planning",
        InProgress = "in_progress",
        Paused = "paused",
        Blocked = "blocked",
        Failed = "failed",
        Completed = "completed",
        Skipped = "skipped",
    }
}

message! {
    pub struct TaskReplan {
        id: required TaskId,
        reason: required NonBlank,
        new_plan: required TaskPlan,
        agent_id: optional AgentId,
        attempt: optional AttemptNumber,
        session_id: optional NonBlank,
        idempotency_key: optional NonBlank,
    }
}

message! {
    pub struct TaskCheckDependencies {
        task_id: required TaskId,
    }
}

message! {
    pub struct TaskAssignWorkspace {
        task_id: required TaskId,
        workspace_id: required WorkspaceId,
        agent_id: optional AgentId,
        session_id: optional NonBlank,
        idempotency_key: optional NonBlank,
    }
}

message! {
    pub struct CheckpointAdd {
        task_id: required TaskId,
        kind = "type": required CheckpointType,
        summary: required NonBlank,
        detail: optional DetailObject,
        files_changed: optional ListShape<NonBlank>,
        agent_id: optional AgentId,
        attempt: optional AttemptNumber,
        session_id: optional NonBlank,
        idempotency_key: optional NonBlank,
    }
}

vocabulary! {
    pub enum CheckpointType {
        Plan = "plan",
        Progress = "progress",
        Decision = "decision",
        Error = "error",
        Recovery = "recovery",
        Complete = "complete",
        Replan = "replan",
    }
}

message! {
    pub struct CheckpointList {
        task_id: required TaskId,
        kind = "type": optional ListShape<CheckpointType>,
        since_sequence: optional Within<0, 4_294_967_295>,
        limit: optional Limit,
        cursor: optional NonBlank,
    }
}

impl CheckpointType {
    fn kind(self) -> engine::checkpoint::Kind {
        use engine::checkpoint::Kind;
        match self {
            Self::Plan => Kind::Plan,
            Self::Progress => Kind::Progress,
            Self::Decision => Kind::Decision,
            Self::Error => Kind::Error,
            Self::Recovery => Kind::Recovery,
            Self::Complete => Kind::Complete,
            Self::Replan => Kind::Replan,
        }
    }
}

impl CheckpointAdd {
    pub fn command(&self) -> Command {
        let note = Note {
            kind: self.kind.kind(),
            summary: self.summary.to_string(),
            detail: carried(self.detail.as_ref()),
            files: texts(self.files_changed.as_ref()),
        };
        Command::AddCheckpoint { task: self.task_id, attempt: attempt(self.attempt), note }
    }
}

impl TaskClaim {
    pub fn command(&self) -> Command {
        Command::Claim { task: self.task_id }
    }
}

impl TaskRelease {
    pub fn command(&self) -> Command {
        let reason = text(self.reason.as_ref());
        Command::Release { task: self.task_id, attempt: attempt(self.attempt), reason }
    }
}

impl TaskSetPlan {
    pub fn command(&self) -> Command {
        Command::SetTaskPlan {
            task: self.id,
            attempt: attempt(self.attempt),
            plan: self.plan.json(),
            context: carried(self.context.as_ref()),
        }
    }
}

impl TaskReplan {
    pub fn command(&self) -> Command {
        Command::ReplanTask {
            task: self.id,
            attempt: attempt(self.attempt),
            reason: self.reason.to_string(),
            plan: self.new_plan.json(),
        }
    }
}

impl TaskAssignWorkspace {
    pub fn command(&self) -> Command {
        Command::AssignWorkspace { task: self.task_id, workspace: self.workspace_id }
    }
}

impl TaskUpdateStatus {
    pub fn command(&self) -> Command {
        Command::Move { task: self.id, attempt: attempt(self.attempt), to: self.target() }
    }

    /// Returns the status to which the caller wants to move the task, with the texts that belong to this status, such
    /// as the outcome.
    pub fn target(&self) -> Target {
        let (detail, reason) = (carried(self.outcome_detail.as_ref()), text(self.reason.as_ref()));
        match self.status {
            TaskStatus::Pending => Target::Pending { reason },
            TaskStatus::Planning => Target::Planning,
            TaskStatus::InProgress => Target::InProgress { answer: reason },
            TaskStatus::Paused => Target::Paused { reason },
            TaskStatus::Blocked => {
                let kind = self.blocker_type.map_or(BlockKind::Ambiguity, BlockerType::kind);
                Target::Blocked { kind, reason: reason.unwrap_or_default(), role: None }
            }
            TaskStatus::Failed => Target::Failed { error: text(self.error.as_ref()), detail },
            TaskStatus::Completed => Target::Completed { outcome: text(self.outcome.as_ref()), detail, delivery: None },
            TaskStatus::Skipped => Target::Skipped { reason },
        }
    }
}
