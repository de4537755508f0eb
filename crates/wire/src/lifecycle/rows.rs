//! The rows that show stored data in replies of tools. Their field names are those of the original server, whose
//! clients Handover supports.

use engine::Json;
use engine::Timestamp;
use engine::agent::AgentPresence;
use engine::checkpoint::Checkpoint;
use engine::id::{AgentId, CheckpointId, RepositoryId, TaskId, WorkflowId, WorkspaceId};
use engine::task::{Task, TaskState};
use engine::template::{Template, TemplateBody};
use engine::view::{AgentView, TaskView};
use engine::workflow::{Workflow, WorkflowDetail};
use engine::workspace::{Repository, Workspace};

use super::delivered::DeliveryRow;
use super::execution::SpentRow;
use super::stalled::StallRow;
use crate::json::{Value, object};
use crate::reply::{NamedParts, ReplyPart, reply};

/// The maximum number of characters of a task's description, outcome or error that a list of tasks shows. A longer text
/// is cut; `task_get` returns all of it.
const DESCRIPTION_CHARS_MAX: usize = 500;

reply! {
    pub struct WorkflowRow {
        id: WorkflowId,
        name: String,
        status: &'static str,
        standing: some bool,
        archived: some bool,
        stalled: some bool,
        stalled_by: some StallRow,
        source_type: String,
        source_ref: Option<String>,
        plan_summary: Option<String>,
        max_parallel_tasks: Option<u32>,
        total_tasks: u32,
        open_tasks: u32,
        created_at: Timestamp,
        updated_at: Timestamp,
    }
}

impl WorkflowRow {
    pub fn of(row: &Workflow, detail: &WorkflowDetail) -> Self {
        let planned = engine::view::is_planned(row);
        Self {
            id: row.id,
            name: row.name.clone(),
            status: row.status.as_str(),
            standing: row.standing.then_some(true),
            archived: row.archived.then_some(true),
            stalled: None,
            stalled_by: None,
            source_type: detail.source_type.clone(),
            source_ref: detail.source_ref.clone(),
            plan_summary: detail.plan_summary.clone(),
            max_parallel_tasks: row.parallel_max,
            total_tasks: if planned { row.tasks } else { 0 },
            open_tasks: if planned { row.open } else { 0 },
            created_at: row.created,
            updated_at: row.updated,
        }
    }
}

reply! {
    pub struct WorkflowReply {
        id: WorkflowId,
        name: String,
        status: &'static str,
        standing: some bool,
        archived: some bool,
        stalled: some bool,
        stalled_by: some StallRow,
        source_type: String,
        source_ref: Option<String>,
        source_content: String,
        plan_summary: Option<String>,
        max_parallel_tasks: Option<u32>,
        lease_seconds: u32,
        auto_create_workspaces: bool,
        config: Option<Json>,
        locked_by_session_id: Option<String>,
        locked_at: Option<Timestamp>,
        total_tasks: u32,
        open_tasks: u32,
        created_at: Timestamp,
        updated_at: Timestamp,
        tasks: Vec<TaskReply>,
        next_cursor: some String,
    }
}

impl WorkflowReply {
    pub fn of(row: &Workflow, detail: WorkflowDetail, now: Timestamp) -> Self {
        let light = WorkflowRow::of(row, &detail);
        let lock = row.lock.as_ref().filter(|lock| lock.until > now);
        Self {
            id: light.id,
            name: light.name,
            status: light.status,
            standing: light.standing,
            archived: light.archived,
            stalled: None,
            stalled_by: None,
            source_type: light.source_type,
            source_ref: light.source_ref,
            source_content: detail.source_content,
            plan_summary: light.plan_summary,
            max_parallel_tasks: light.max_parallel_tasks,
            lease_seconds: row.lease_ms.0 / 1_000,
            auto_create_workspaces: detail.auto_workspaces,
            config: detail.config,
            locked_by_session_id: lock.map(|lock| lock.owner.clone()),
            locked_at: lock.map(|lock| lock.since),
            total_tasks: light.total_tasks,
            open_tasks: light.open_tasks,
            created_at: light.created_at,
            updated_at: light.updated_at,
            tasks: Vec::new(),
            next_cursor: None,
        }
    }
}

reply! {
    pub struct TaskReply {
        id: TaskId,
        number: u32,
        workflow_id: WorkflowId,
        workflow_name: some String,
        name: String,
        description: Option<String>,
        status: &'static str,
        sequence: u32,
        priority: u32,
        ready: bool,
        blocked_by: some Vec<String>,
        parallel_group: Option<String>,
        role: some String,
        capabilities: some Vec<String>,
        touches: some Vec<String>,
        attempt: u32,
        max_attempts: u32,
        assigned_agent_id: Option<AgentId>,
        claimed_at: Option<Timestamp>,
        lease_expires_at: some Timestamp,
        plan: Option<Json>,
        context: Option<Json>,
        context_from: some Vec<TaskId>,
        brief: some Json,
        settings: some Json,
        outcome: Option<String>,
        outcome_detail: Option<Json>,
        error: some String,
        reason: some String,
        blocker_type: some &'static str,
        workspace_id: Option<WorkspaceId>,
        repository_id: Option<RepositoryId>,
        checkpoint_count: u32,
        created_at: Timestamp,
        updated_at: Timestamp,
        finished_by: some String,
        finished_at: some Timestamp,
        spent: some SpentRow,
        delivery: some DeliveryRow,
        checkpoints: some Vec<CheckpointRow>,
        next_cursor: some String,
    }
}

fn some_list<T: Clone>(list: &[T]) -> Option<Vec<T>> {
    (!list.is_empty()).then(|| list.to_vec())
}

/// Returns the outcome, the error and the reason of a task's state, in this order. Each is `None` when the state does
/// not have it.
fn said(state: &TaskState) -> [Option<String>; 3] {
    match state {
        TaskState::Completed { outcome, .. } => [Some(outcome.clone()), None, None],
        TaskState::Failed { error, .. } => [None, Some(error.clone()), None],
        TaskState::Skipped { reason, .. } => [None, None, Some(reason.clone())],
        TaskState::Blocked(block) => [None, None, Some(block.reason.clone())],
        TaskState::Paused { reason, .. } => [None, None, reason.clone()],
        TaskState::Pending { .. } | TaskState::Planning { .. } | TaskState::InProgress { .. } => [None, None, None],
    }
}

impl TaskReply {
    /// Returns the row of a task with all fields, as `task_get` shows it.
    pub fn of(view: &TaskView) -> Self {
        let TaskView { task, detail, blocked_by } = view;
        let lease = task.state.lease();
        let [outcome, error, reason] = said(&task.state);
        let kind = if let TaskState::Blocked(block) = &task.state { Some(block.kind.as_str()) } else { None };
        Self {
            id: task.id,
            number: task.number,
            workflow_id: task.workflow,
            workflow_name: None,
            name: task.name.clone(),
            description: detail.description.clone(),
            status: task.status().as_str(),
            sequence: task.sequence,
            priority: u32::from(task.priority.get()),
            ready: view.is_ready(),
            blocked_by: some_list(blocked_by).map(|list| list.into_iter().map(|(_, name)| name).collect()),
            parallel_group: task.group.clone(),
            role: task.role.clone(),
            capabilities: some_list(&task.capabilities),
            touches: some_list(&task.touches),
            attempt: task.attempt,
            max_attempts: task.attempts_max,
            assigned_agent_id: task.holder(),
            claimed_at: lease.map(|lease| lease.since),
            lease_expires_at: task.state.running_lease().map(|lease| lease.until),
            plan: detail.plan.clone(),
            context: detail.context.clone(),
            context_from: some_list(&detail.context_from),
            brief: detail.brief.clone(),
            settings: detail.extra.clone(),
            outcome,
            outcome_detail: detail.outcome_detail.clone(),
            error,
            reason,
            blocker_type: kind,
            workspace_id: task.workspace,
            repository_id: task.repository,
            checkpoint_count: task.checkpoints,
            created_at: task.created,
            updated_at: task.updated,
            finished_by: None,
            finished_at: None,
            spent: None,
            delivery: None,
            checkpoints: None,
            next_cursor: None,
        }
    }

    /// Returns the row of a task for a list. It leaves out or cuts long texts, so that a page of the list stays small.
    pub fn listed(view: &TaskView) -> Self {
        let shortened = |text: String| {
            if text.chars().nth(DESCRIPTION_CHARS_MAX).is_none() {
                return text;
            }
            let short: String = text.chars().take(DESCRIPTION_CHARS_MAX).collect();
            format!("{short} … [cut; task_get has all of it]")
        };
        let whole = Self::of(view);
        Self {
            description: whole.description.map(shortened),
            outcome: whole.outcome.map(shortened),
            error: whole.error.map(shortened),
            plan: None,
            context: None,
            brief: None,
            settings: None,
            outcome_detail: None,
            ..whole
        }
    }
}

reply! {
    pub struct CheckpointRow {
        id: CheckpointId,
        task_id: TaskId,
        sequence: u32,
        checkpoint_type: &'static str,
        attempt: u32,
        by: String,
        summary: String,
        detail: Option<Json>,
        files_changed: Vec<String>,
        created_at: Timestamp,
    }
}

impl CheckpointRow {
    pub fn of(row: &Checkpoint) -> Self {
        Self {
            id: row.id,
            task_id: row.task,
            sequence: row.sequence,
            checkpoint_type: row.note.kind.as_str(),
            attempt: row.attempt,
            by: row.by.to_string(),
            summary: row.note.summary.clone(),
            detail: row.note.detail.clone(),
            files_changed: row.note.files.clone(),
            created_at: row.at,
        }
    }
}

reply! {
    pub struct AgentRow {
        id: AgentId,
        slug: String,
        name: String,
        runtime: String,
        role: String,
        status: &'static str,
        unregistered: bool,
        capabilities: Vec<String>,
        current_task_id: Option<TaskId>,
        workflow_id: Option<WorkflowId>,
        workspace_path: Option<String>,
        metadata: Option<Json>,
        last_heartbeat: Timestamp,
        created_at: Timestamp,
        updated_at: Timestamp,
    }
}

pub fn presence(presence: AgentPresence) -> &'static str {
    match presence {
        AgentPresence::Online => "online",
        AgentPresence::Busy => "busy",
        AgentPresence::Offline => "offline",
    }
}

impl AgentRow {
    pub fn of(view: &AgentView) -> Self {
        let agent = &view.agent;
        Self {
            id: agent.id,
            slug: agent.slug.clone(),
            name: agent.name.clone(),
            runtime: agent.runtime.clone(),
            role: agent.role.clone(),
            status: presence(view.presence),
            unregistered: agent.left.is_some(),
            capabilities: agent.capabilities.clone(),
            current_task_id: view.task,
            workflow_id: agent.workflow,
            workspace_path: agent.workspace_path.clone(),
            metadata: agent.metadata.clone(),
            last_heartbeat: agent.seen,
            created_at: agent.created,
            updated_at: agent.updated,
        }
    }
}

reply! {
    pub struct WorkspaceRow {
        id: WorkspaceId,
        workflow_id: WorkflowId,
        repository_id: Option<RepositoryId>,
        path: String,
        branch: String,
        base_branch: Option<String>,
        status: &'static str,
        merge_commit: Option<String>,
        pr_url: Option<String>,
        config: Option<Json>,
        worktree_created: bool,
        created_at: Timestamp,
        updated_at: Timestamp,
    }
}

impl WorkspaceRow {
    pub fn of(row: &Workspace) -> Self {
        Self {
            id: row.id,
            workflow_id: row.workflow,
            repository_id: row.repository,
            path: row.path.clone(),
            branch: row.branch.clone(),
            base_branch: row.base_branch.clone(),
            status: row.status.as_str(),
            merge_commit: row.merge_commit.clone(),
            pr_url: row.pr_url.clone(),
            config: row.config.clone(),
            worktree_created: row.created_by_us,
            created_at: row.created,
            updated_at: row.updated,
        }
    }
}

reply! {
    pub struct RepositoryRow {
        id: RepositoryId,
        path: String,
        name: Option<String>,
        created_at: Timestamp,
        updated_at: Timestamp,
        added_at: some Timestamp,
    }
}

impl RepositoryRow {
    pub fn of(row: &Repository, added: Option<Timestamp>) -> Self {
        let (path, name) = (row.path.clone(), row.name.clone());
        Self { id: row.id, path, name, created_at: row.created, updated_at: row.created, added_at: added }
    }
}

reply! {
    pub struct TemplateRow {
        id: String,
        name: String,
        description: Option<String>,
        template: Value,
        source: String,
        created_at: Option<Timestamp>,
    }
}

impl TemplateRow {
    pub fn of(row: &Template) -> Self {
        let (id, source) = (row.id.to_string(), "store".to_owned());
        let (name, description) = (row.name.clone(), row.description.clone());
        Self { id, name, description, template: body(&row.body), source, created_at: Some(row.created) }
    }

    /// Returns the row of a workflow template that is a file of the project. Callers apply such a template by its name,
    /// so the name is also the row's id.
    pub fn of_file(path: String, name: String, description: Option<String>, plan: &TemplateBody) -> Self {
        Self { id: name.clone(), name, description, template: body(plan), source: path, created_at: None }
    }
}

fn body(plan: &TemplateBody) -> Value {
    let tasks = plan.tasks.iter().map(|task| {
        let names = |list: &[String]| Value::from(list.iter().map(String::as_str).collect::<Vec<_>>());
        object([
            ("name", task.name.as_str().into()),
            ("description", task.description.as_deref().into()),
            ("depends_on", names(&task.depends_on)),
            ("parallel_group", task.group.as_deref().into()),
        ])
    });
    let defaults = NamedParts(plan.defaults.iter().map(|(name, value)| (name.clone(), value.clone())).collect());
    object([
        ("tasks", Value::List(tasks.collect())),
        ("variables", plan.variables().into_iter().collect::<Vec<_>>().into()),
        ("defaults", defaults.render()),
    ])
}

reply! {
    /// A task in short form, for lists of tasks in the replies of tools.
    pub struct Mention {
        id: TaskId,
        number: u32,
        name: String,
        status: &'static str,
        outcome: some String,
    }
}

impl Mention {
    pub fn of(task: &Task) -> Self {
        let [outcome, ..] = said(&task.state);
        let (id, number, name) = (task.id, task.number, task.name.clone());
        Self { id, number, name, status: task.status().as_str(), outcome }
    }
}
