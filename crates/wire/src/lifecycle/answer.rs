//! Replies of the tools.

use engine::id::{AgentId, CheckpointId, MessageId, RepositoryId, TaskId, ThreadId, WorkflowId, WorkspaceId};
use engine::{Json, Reply, Timestamp};

use super::rows::{
    AgentRow, CheckpointRow, InboxRow, Mention, MessageRow, RepositoryRow, TaskReply, TemplateRow, WorkflowRow,
    WorkspaceRow,
};
use crate::json::Value;
use crate::reply::reply;
pub use crate::reply::{Named, Part};

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
    }
}

reply! {
    pub struct Beat {
        success: bool,
        next_heartbeat_ms: u32,
    }
}

reply! {
    pub struct Left {
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
        task_ids: some Named<TaskId>,
    }
}

reply! {
    pub struct TaskAdded {
        task_id: TaskId,
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
    }
}

reply! {
    pub struct SentReply {
        id: MessageId,
        thread_id: ThreadId,
        sequence: u32,
        unread_ahead: u32,
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
        total_tasks: u32,
        by_status: Named<u32>,
        completed_sequence: u32,
        current_sequence: u32,
        blocked_tasks: Vec<BlockedRow>,
        more_blocked_tasks: some bool,
        parallel_groups: Named<GroupRow>,
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
        retry_after_ms: some u32,
        cursor: some String,
    }
}

reply! {
    pub struct Change {
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
        changes: Vec<Change>,
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
    pub struct Unread {
        count: u32,
        by_priority: Named<u32>,
    }
}

reply! {
    pub struct Inbox {
        messages: Vec<InboxRow>,
        unread: u32,
    }
}

reply! {
    /// What posting a wire did: the reply of its act.
    pub struct Posted {
        done: &'static str,
        task_id: some TaskId,
        message_id: some MessageId,
        success: some bool,
        attempt: some u32,
        already_claimed_by: some AgentId,
        warnings: some Vec<String>,
    }
}

/// Any object.
#[derive(Debug, Clone, PartialEq)]
pub struct Open(pub Value);

impl Part for Open {
    fn render(&self) -> Value {
        self.0.clone()
    }

    fn schema() -> Value {
        crate::json::object([("type", "object".into())])
    }
}

fn done() -> Value {
    Success { success: true }.render()
}

/// The answer to a call that was one command. `None` for replies that need more than themselves.
#[expect(clippy::wildcard_enum_match_arm, reason = "the other replies answer calls that do more than one command")]
#[expect(clippy::too_many_lines, reason = "one match that names every reply")]
pub fn answer(call: &super::Call, reply: &Reply) -> Option<Value> {
    use super::Call;
    Some(match reply {
        Reply::Registered { agent, slug, name, resumed, holds } => Registered {
            id: *agent,
            name: name.clone(),
            status: if holds.is_empty() { "online" } else { "busy" },
            slug: slug.clone(),
            resumed: *resumed,
            holds: holds.clone(),
            handoff_id: crate::handoff::alias(*agent),
        }
        .render(),
        Reply::Alive { next_heartbeat_ms } => Beat { success: true, next_heartbeat_ms: next_heartbeat_ms.0 }.render(),
        Reply::Unregistered { released } => Left { success: true, tasks_released: *released }.render(),
        Reply::Claimed { attempt, until, .. } => ClaimReply {
            success: true,
            attempt: Some(*attempt),
            lease_expires_at: Some(*until),
            already_claimed_by: None,
        }
        .render(),
        Reply::AlreadyClaimedBy { agent } => {
            ClaimReply { success: false, attempt: None, lease_expires_at: None, already_claimed_by: Some(*agent) }
                .render()
        }
        Reply::CheckpointAdded { checkpoint, sequence } => {
            CheckpointReply { id: *checkpoint, sequence: *sequence }.render()
        }
        Reply::WorkflowCreated { workflow, status, parallel_max } => {
            let Call::WorkflowCreate(made) = call else { return None };
            let (id, name, status) = (*workflow, made.name.to_string(), status.as_str());
            WorkflowCreated { id, name, status, max_parallel_tasks: *parallel_max }.render()
        }
        Reply::PlanSet { workflow, tasks, groups, task_ids } => PlanReply {
            workflow_id: *workflow,
            tasks_created: *tasks,
            parallelizable_groups: groups.clone(),
            status: "ready",
            task_ids: (usize::try_from(*tasks) == Ok(task_ids.len())).then(|| Named(task_ids.clone())),
        }
        .render(),
        Reply::TaskAdded { task, sequence } => {
            let Call::WorkflowAddTask(made) = call else { return None };
            TaskAdded { task_id: *task, sequence: *sequence, workflow_id: made.workflow_id }.render()
        }
        Reply::TaskRemoved { task, rewired } => {
            TaskRemoved { removed_task_id: *task, dependencies_rewired: *rewired, tasks_renumbered: 0 }.render()
        }
        Reply::Replanned { added, removed, preserved, status } => {
            let Call::WorkflowReplan(made) = call else { return None };
            ReplanReply {
                workflow_id: made.workflow_id,
                tasks_added: *added,
                tasks_removed: *removed,
                tasks_preserved: *preserved,
                new_status: status.as_str(),
            }
            .render()
        }
        Reply::Locked { owner, since, until } | Reply::LockHeldBy { owner, since, until } => LockReply {
            success: matches!(reply, Reply::Locked { .. }),
            locked_by: owner.clone(),
            locked_at: *since,
            expires_at: *until,
        }
        .render(),
        Reply::RepositoryAttached { repository, added } => {
            let Call::WorkflowAddRepository(made) = call else { return None };
            Attached { workflow_id: made.workflow_id, repository_id: *repository, added_at: *added }.render()
        }
        Reply::TaskReplanned { checkpoint } => Replanned { success: true, checkpoint_id: *checkpoint }.render(),
        Reply::RepositoryRegistered { repository } => Identified { id: repository.to_string() }.render(),
        Reply::TemplateCreated { template } => Identified { id: template.to_string() }.render(),
        Reply::Sent { message, thread, sequence, ahead } => {
            SentReply { id: *message, thread_id: *thread, sequence: *sequence, unread_ahead: *ahead }.render()
        }
        Reply::Broadcast { messages, thread, full } => BroadcastReply {
            sent_count: u32::try_from(messages.len()).unwrap_or(u32::MAX),
            message_ids: messages.clone(),
            thread_id: *thread,
            full: (!full.is_empty()).then(|| full.clone()),
        }
        .render(),
        Reply::Marked { changed } => Marked { success: true, changed: *changed }.render(),
        Reply::AgentUpdated
        | Reply::WorkflowMoved { .. }
        | Reply::WorkflowChanged
        | Reply::Unlocked
        | Reply::RepositoryDetached
        | Reply::Released
        | Reply::Moved { .. }
        | Reply::TaskPlanned
        | Reply::WorkspaceAssigned => done(),
        _ => return None,
    })
}
