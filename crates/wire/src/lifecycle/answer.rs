//! The replies of the tools that agents call, as types.

use engine::id::{
    AgentId, ApprovalId, CheckpointId, MessageId, RepositoryId, TaskId, ThreadId, WorkflowId, WorkspaceId,
};
use engine::{Json, Timestamp};

use super::letters::{InboxRow, MessageRow};
use super::rows::{AgentRow, CheckpointRow, Mention, RepositoryRow, TaskReply, TemplateRow, WorkflowRow, WorkspaceRow};
use super::stalled::{StallRow, WaitRow};
use crate::json::Value;
use crate::reply::reply;
pub use crate::reply::{NamedParts, ReplyPart};

reply! {
    pub struct Success {
        success: bool,
    }
}

reply! {
    pub struct Registered {
        id: AgentId,
        name: String,
        status: &'static str,
        slug: String,
        resumed: bool,
        holds: Vec<TaskId>,
        handoff_id: String,
        note: some String,
    }
}

reply! {
    pub struct Beat {
        success: bool,
        next_heartbeat_ms: u32,
    }
}

reply! {
    pub struct LeftAnswer {
        success: bool,
        tasks_released: u32,
    }
}

reply! {
    pub struct ClaimReply {
        success: bool,
        attempt: some u32,
        lease_expires_at: some Timestamp,
        already_claimed_by: some AgentId,
    }
}

reply! {
    pub struct CheckpointReply {
        id: CheckpointId,
        sequence: u32,
    }
}

reply! {
    pub struct WorkflowCreated {
        id: WorkflowId,
        name: String,
        status: &'static str,
        max_parallel_tasks: Option<u32>,
    }
}

reply! {
    pub struct PlanReply {
        workflow_id: WorkflowId,
        tasks_created: u32,
        parallelizable_groups: Vec<String>,
        status: &'static str,
        task_ids: some NamedParts<TaskId>,
    }
}

reply! {
    pub struct TaskAdded {
        task_id: TaskId,
        number: u32,
        sequence: u32,
        workflow_id: WorkflowId,
    }
}

reply! {
    pub struct TaskRemoved {
        removed_task_id: TaskId,
        dependencies_rewired: u32,
        tasks_renumbered: u32,
    }
}

reply! {
    pub struct ReplanReply {
        workflow_id: WorkflowId,
        tasks_added: u32,
        tasks_removed: u32,
        tasks_preserved: u32,
        new_status: &'static str,
    }
}

reply! {
    pub struct LockReply {
        success: bool,
        locked_by: String,
        locked_at: Timestamp,
        expires_at: Timestamp,
    }
}

reply! {
    pub struct LockInfo {
        locked: bool,
        session_id: Option<String>,
        locked_at: Option<Timestamp>,
        expires_at: Option<Timestamp>,
    }
}

reply! {
    pub struct Configured {
        id: WorkflowId,
        config: Json,
    }
}

reply! {
    pub struct Attached {
        workflow_id: WorkflowId,
        repository_id: RepositoryId,
        added_at: Timestamp,
    }
}

reply! {
    pub struct Identified {
        id: String,
    }
}

reply! {
    pub struct Replanned {
        success: bool,
        checkpoint_id: CheckpointId,
    }
}

reply! {
    pub struct WorkspaceReply {
        id: WorkspaceId,
        path: some String,
        branch: some String,
    }
}

reply! {
    pub struct WorkspaceUpdated {
        success: bool,
        worktree_removed: some bool,
        branch_deleted: some bool,
        branch_kept_because: some String,
        branch_restore: some String,
    }
}

reply! {
    pub struct SentReply {
        id: MessageId,
        thread_id: ThreadId,
        sequence: u32,
        unread_ahead: u32,
        approval_id: some ApprovalId,
    }
}

reply! {
    pub struct BroadcastReply {
        sent_count: u32,
        message_ids: Vec<MessageId>,
        thread_id: ThreadId,
        full: some Vec<AgentId>,
    }
}

reply! {
    pub struct Marked {
        success: bool,
        changed: u32,
    }
}

reply! {
    pub struct Workflows {
        workflows: Vec<WorkflowRow>,
        total: u32,
        next_cursor: some String,
    }
}

reply! {
    pub struct TasksReply {
        tasks: Vec<TaskReply>,
        next_cursor: some String,
    }
}

reply! {
    pub struct NextRow {
        id: TaskId,
        number: u32,
        workflow_id: WorkflowId,
        name: String,
        description: Option<String>,
        status: &'static str,
        sequence: u32,
        priority: u32,
        parallel_group: Option<String>,
        role: some String,
        capabilities: some Vec<String>,
        touches: some Vec<String>,
        attempt: u32,
        error: some String,
        created_at: Timestamp,
        updated_at: Timestamp,
        can_parallelize: bool,
        parallel_with: Vec<TaskId>,
        dependencies_completed: Vec<String>,
    }
}

reply! {
    pub struct NextTasks {
        tasks: Vec<NextRow>,
        max_parallel: Option<u32>,
        recommended_count: u32,
        workflow_status: &'static str,
        all_complete: bool,
        limit_reached: bool,
        next_cursor: some String,
    }
}

reply! {
    pub struct BlockedRow {
        id: TaskId,
        name: String,
        blocked_by: Vec<String>,
    }
}

reply! {
    pub struct GroupRow {
        task_count: u32,
        completed: u32,
    }
}

reply! {
    pub struct ProgressReply {
        workflow_id: WorkflowId,
        status: &'static str,
        stalled: some bool,
        stalled_by: some StallRow,
        total_tasks: u32,
        by_status: NamedParts<u32>,
        completed_sequence: u32,
        current_sequence: u32,
        blocked_tasks: Vec<BlockedRow>,
        more_blocked_tasks: some bool,
        parallel_groups: NamedParts<GroupRow>,
        estimated_remaining: u32,
        all_complete: bool,
    }
}

reply! {
    pub struct NextTask {
        success: bool,
        task: some TaskReply,
        attempt: some u32,
        lease_expires_at: some Timestamp,
        context: some Value,
        reason: some String,
        waiting: some Vec<WaitRow>,
        retry_after_ms: some u32,
        cursor: some String,
    }
}

reply! {
    pub struct ChangeAnswer {
        topic: String,
        what: String,
        task_id: some TaskId,
        by: String,
        at: Timestamp,
    }
}

reply! {
    pub struct Waited {
        happened: bool,
        claimable: some u32,
        unread: some u32,
        reason: some String,
        waiting: some Vec<WaitRow>,
        changes: Vec<ChangeAnswer>,
        cursor: String,
    }
}

reply! {
    pub struct Summarized {
        summary: String,
        token_estimate: u32,
    }
}

reply! {
    pub struct DependenciesReply {
        satisfied: bool,
        pending: Vec<Mention>,
        completed: Vec<Mention>,
    }
}

reply! {
    pub struct Checkpoints {
        checkpoints: Vec<CheckpointRow>,
        next_cursor: some String,
    }
}

reply! {
    pub struct Workspaces {
        workspaces: Vec<WorkspaceRow>,
        next_cursor: some String,
    }
}

reply! {
    pub struct Repositories {
        repositories: Vec<RepositoryRow>,
        total: some u32,
        next_cursor: some String,
    }
}

reply! {
    pub struct Templates {
        templates: Vec<TemplateRow>,
        next_cursor: some String,
    }
}

reply! {
    pub struct Applied {
        workflow_id: WorkflowId,
        tasks_created: u32,
    }
}

reply! {
    pub struct Agents {
        agents: Vec<AgentRow>,
        next_cursor: some String,
    }
}

reply! {
    pub struct Messages {
        messages: Vec<MessageRow>,
        unread_count: u32,
        next_cursor: some String,
    }
}

reply! {
    pub struct UnreadAnswer {
        count: u32,
        by_priority: NamedParts<u32>,
    }
}

reply! {
    pub struct InboxAnswer {
        messages: Vec<InboxRow>,
        unread: u32,
    }
}

reply! {
    /// The reply to an agent that posted an Agent Wire document. The document caused one act, such as a claim, and the
    /// reply has only the fields that belong to this act.
    pub struct Posted {
        done: &'static str,
        task_id: some TaskId,
        message_id: some MessageId,
        approval_id: some ApprovalId,
        success: some bool,
        attempt: some u32,
        already_claimed_by: some AgentId,
        warnings: some Vec<String>,
    }
}

/// Any JSON object, as a part of a tool's reply.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenObject(pub Value);

impl ReplyPart for OpenObject {
    fn render(&self) -> Value {
        self.0.clone()
    }

    fn schema() -> Value {
        crate::json::object([("type", "object".into())])
    }
}
