//! The lifecycle of an agent (protocol 5): the calls of the specification, as types and as the engine's commands.
//!
//! ```
//! use wire::lifecycle::{Call, judge};
//!
//! let judged = judge("task_claim", br#"{"task_id": "tk_0123456789ab", "agent_id": "ag_0123456789ab"}"#).unwrap();
//! let (who, command) = judged.value.unwrap().command().unwrap();
//! assert_eq!(who.map(|who| who.to_string()).as_deref(), Some("ag_0123456789ab"));
//! assert!(matches!(command, engine::Command::Claim { .. }));
//!
//! let judged = judge("task_claim", br#"{"task_id": "ag_0123456789ab", "agent": 1}"#).unwrap();
//! assert_eq!(judged.report.codes().0, ["PATTERN:/task_id", "MISSING:/agent_id", "UNKNOWN_FIELD:/agent"]);
//! ```

use engine::command::{CreateWorkspace, Note, Register, Target, UpdateWorkspace};
use engine::id::{AgentId, TaskId, WorkflowId, WorkspaceId};
use engine::task::BlockKind;
use engine::workspace::WorkspaceStatus;
use engine::{Command, Json, Reply};

use crate::document::{self, BYTES_MAX, Judged};
use crate::envelope::AnyOrNull;
use crate::json::{Node, Number, Value, object};
use crate::report::{At, Report, Unknown};
use crate::schema;
use crate::shape::{Integer, List, Map, NonBlank, Shape, Text, message, vocabulary};

/// Declares the ids of the engine as shapes.
macro_rules! known {
    ($($name:ty = $prefix:literal;)*) => {$(
        impl Shape for $name {
            const LEGAL: &'static str = concat!("an id such as ", $prefix, "_0123456789ab");

            fn read(node: &Node<'_>, at: &At<'_>, report: &mut Report<'_>) -> Option<Self> {
                const LEGAL: &str = concat!("must be ", $prefix, "_ and 12 characters of 0-9a-z");
                let text = crate::shape::string(node, at, report, LEGAL)?;
                let found = text.parse().ok();
                if found.is_none() {
                    report.error("PATTERN", at, node.span, LEGAL);
                }
                found
            }

            fn render(&self) -> Value {
                self.to_string().into()
            }

            fn schema(_: Unknown) -> Value {
                schema::pattern(concat!("^", $prefix, "_[0-9a-z]{12}$"))
            }
        }
    )*};
}

known! {
    TaskId = "tk";
    AgentId = "ag";
    WorkflowId = "wf";
    WorkspaceId = "ws";
}

type Detail = Map<AnyOrNull>;

message! {
    pub struct AgentRegister {
        name: required NonBlank,
        runtime: required NonBlank,
        role: optional NonBlank,
        workflow_id: optional WorkflowId,
        capabilities: optional List<NonBlank>,
        workspace_path: optional NonBlank,
        metadata: optional Detail,
    }
}

message! {
    pub struct WorkflowNextTasks {
        workflow_id: required WorkflowId,
        include_failed: optional bool,
    }
}

message! {
    pub struct TaskClaim {
        task_id: required TaskId,
        agent_id: required AgentId,
    }
}

message! {
    pub struct TaskLoadContext {
        task_id: required TaskId,
        include: optional Include,
        max_tokens: optional Integer<1>,
    }
}

message! {
    /// Which parts of the context are wanted.
    pub struct Include {
        workflow_plan: optional bool,
        workflow_summary: optional bool,
        prior_task_outcomes: optional bool,
        prior_task_full: optional bool,
        sibling_status: optional bool,
        dependency_outcomes: optional bool,
        all_checkpoints: optional bool,
        recent_checkpoints: optional Integer<0>,
    }
}

message! {
    pub struct CheckpointAdd {
        task_id: required TaskId,
        kind = "type": required CheckpointType,
        summary: required NonBlank,
        detail: optional Detail,
        files_changed: optional List<NonBlank>,
        attempt: optional Integer<1>,
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
    pub struct AgentHeartbeat {
        agent_id: required AgentId,
        current_task_id: optional TaskId,
        status: optional AgentStatus,
    }
}

vocabulary! {
    pub enum AgentStatus {
        Online = "online",
        Busy = "busy",
    }
}

message! {
    pub struct TaskUpdateStatus {
        id: required TaskId,
        status: required TaskStatus,
        outcome: optional Text,
        outcome_detail: optional Detail,
        error: optional Text,
        reason: optional Text,
        blocker_type: optional crate::message::BlockerType,
        attempt: optional Integer<1>,
    }
    judge(fields) {
        let unsaid = |found: &Option<Option<Text>>| matches!(found, Some(None));
        if status == Some(TaskStatus::Completed) && unsaid(&outcome) {
            fields.error("MISSING_OUTCOME", "`/outcome` says what was achieved; a completed task needs it");
        }
        if status == Some(TaskStatus::Failed) && unsaid(&error) {
            fields.error("MISSING_ERROR", "`/error` says what went wrong; a failed task needs it");
        }
        if status == Some(TaskStatus::Blocked) && unsaid(&reason) {
            fields.error("MISSING_REASON", "`/reason` says what is in the way; a blocked task needs it");
        }
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
    pub struct AgentUnregister {
        id: required AgentId,
    }
}

message! {
    pub struct WorkflowList {
        repository_path: optional NonBlank,
        status: optional List<NonBlank>,
        limit: optional Integer<1>,
        offset: optional Integer<0>,
    }
}

message! {
    pub struct WorkflowProgress {
        workflow_id: required WorkflowId,
    }
}

message! {
    pub struct WorkspaceCreate {
        workflow_id: required WorkflowId,
        path: optional NonBlank,
        branch: required NonBlank,
        base_branch: optional NonBlank,
        task_ids: optional List<TaskId>,
        create_worktree: optional bool,
        repo_path: optional NonBlank,
    }
}

message! {
    pub struct WorkspaceUpdate {
        id: required WorkspaceId,
        status: optional PlaceStatus,
        merge_commit: optional NonBlank,
        pr_url: optional NonBlank,
        config: optional Detail,
        cleanup_worktree: optional bool,
    }
}

vocabulary! {
    pub enum PlaceStatus {
        Active = "active",
        Merged = "merged",
        Abandoned = "abandoned",
    }
}

macro_rules! calls {
    ($($name:ident = $tool:literal,)*) => {
        /// One call of the specification.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Call { $($name($name),)* }

        /// The tools, in the order of an agent's life.
        pub const TOOLS: &[&str] = &[$($tool),*];

        /// Judges the arguments of a tool; `None` when the specification has no such tool.
        pub fn judge<'t>(tool: &str, arguments: &'t [u8]) -> Option<Judged<'t, Call>> {
            Some(match tool {
                $($tool => arguments_of::<$name>(arguments).map(Call::$name),)*
                _ => return None,
            })
        }

        pub(crate) fn schemas() -> Vec<(&'static str, Value)> {
            vec![$(($tool, $name::schema(Unknown::Strict)),)*]
        }

        impl Call {
            pub fn tool(&self) -> &'static str {
                match self { $(Self::$name(_) => $tool,)* }
            }

            pub fn render(&self) -> Value {
                match self { $(Self::$name(arguments) => arguments.render(),)* }
            }
        }
    };
}

calls! {
    AgentRegister = "agent_register",
    WorkflowNextTasks = "workflow_next_tasks",
    TaskClaim = "task_claim",
    TaskLoadContext = "task_load_context",
    CheckpointAdd = "checkpoint_add",
    AgentHeartbeat = "agent_heartbeat",
    TaskUpdateStatus = "task_update_status",
    AgentUnregister = "agent_unregister",
    WorkflowList = "workflow_list",
    WorkflowProgress = "workflow_progress",
    WorkspaceCreate = "workspace_create",
    WorkspaceUpdate = "workspace_update",
}

fn arguments_of<T: Shape>(bytes: &[u8]) -> Judged<'_, T> {
    match document::open(bytes, BYTES_MAX) {
        Ok((text, node)) => document::read(&node, Report::new(text, Unknown::Strict)),
        Err(report) => Judged { value: None, report: *report },
    }
}

fn carried(detail: Option<&Detail>) -> Option<Json> {
    detail.map(|detail| Json::from_stored(detail.render().to_string()))
}

fn attempt(found: Option<&Integer<1>>) -> Option<u32> {
    found.and_then(|attempt| u32::try_from(attempt.number().as_u64()?).ok())
}

fn texts(list: Option<&List<NonBlank>>) -> Vec<String> {
    list.into_iter().flat_map(|list| &list.0).map(ToString::to_string).collect()
}

impl Call {
    /// The command, and who gives it when the call says so. `None` for calls that only read.
    pub fn command(&self) -> Option<(Option<AgentId>, Command)> {
        Some(match self {
            Self::AgentRegister(call) => (None, Command::Register(call.register())),
            Self::TaskClaim(call) => (Some(call.agent_id), Command::Claim { task: call.task_id }),
            Self::CheckpointAdd(call) => (None, call.add()?),
            Self::AgentHeartbeat(call) => {
                (Some(call.agent_id), Command::Heartbeat { current_task: call.current_task_id })
            }
            Self::TaskUpdateStatus(call) => {
                let attempt = attempt(call.attempt.as_ref());
                (None, Command::Move { task: call.id, attempt, to: call.target() })
            }
            Self::AgentUnregister(call) => (Some(call.id), Command::Unregister),
            Self::WorkspaceCreate(call) => (None, Command::CreateWorkspace(call.create()?)),
            Self::WorkspaceUpdate(call) => (None, Command::UpdateWorkspace(call.update())),
            Self::WorkflowNextTasks(_)
            | Self::TaskLoadContext(_)
            | Self::WorkflowList(_)
            | Self::WorkflowProgress(_) => {
                return None;
            }
        })
    }
}

impl AgentRegister {
    fn register(&self) -> Register {
        Register {
            name: self.name.to_string(),
            runtime: self.runtime.to_string(),
            role: self.role.as_ref().map(ToString::to_string),
            slug: None,
            capabilities: texts(self.capabilities.as_ref()),
            workflow: self.workflow_id,
            workspace_path: self.workspace_path.as_ref().map(ToString::to_string),
            metadata: carried(self.metadata.as_ref()),
        }
    }
}

impl CheckpointAdd {
    fn add(&self) -> Option<Command> {
        let note = Note {
            kind: engine::checkpoint::Kind::parse(self.kind.as_str())?,
            summary: self.summary.to_string(),
            detail: carried(self.detail.as_ref()),
            files: texts(self.files_changed.as_ref()),
        };
        Some(Command::AddCheckpoint { task: self.task_id, attempt: attempt(self.attempt.as_ref()), note })
    }
}

impl TaskUpdateStatus {
    fn target(&self) -> Target {
        let text = |found: &Option<Text>| found.as_ref().map(ToString::to_string);
        let (detail, reason) = (carried(self.outcome_detail.as_ref()), text(&self.reason));
        match self.status {
            TaskStatus::Pending => Target::Pending { reason },
            TaskStatus::Planning => Target::Planning,
            TaskStatus::InProgress => Target::InProgress { answer: None },
            TaskStatus::Paused => Target::Paused { reason },
            TaskStatus::Blocked => {
                let kind = self.blocker_type.and_then(|kind| BlockKind::parse(kind.as_str()));
                let (kind, reason) = (kind.unwrap_or(BlockKind::Ambiguity), reason.unwrap_or_default());
                Target::Blocked { kind, reason, role: None }
            }
            TaskStatus::Failed => Target::Failed { error: text(&self.error), detail },
            TaskStatus::Completed => Target::Completed { outcome: text(&self.outcome), detail },
            TaskStatus::Skipped => Target::Skipped { reason },
        }
    }
}

impl WorkspaceCreate {
    /// `None` without a path: then whoever asks for a worktree must first make it.
    fn create(&self) -> Option<CreateWorkspace> {
        Some(CreateWorkspace {
            workflow: self.workflow_id,
            path: self.path.as_ref()?.to_string(),
            branch: self.branch.to_string(),
            base_branch: self.base_branch.as_ref().map(ToString::to_string),
            repository_path: self.repo_path.as_ref().map(ToString::to_string),
            tasks: self.task_ids.iter().flat_map(|tasks| tasks.0.iter().copied()).collect(),
            created_by_us: self.create_worktree == Some(true),
        })
    }
}

impl WorkspaceUpdate {
    fn update(&self) -> UpdateWorkspace {
        UpdateWorkspace {
            workspace: self.id,
            status: self.status.and_then(|status| WorkspaceStatus::parse(status.as_str())),
            merge_commit: self.merge_commit.as_ref().map(ToString::to_string),
            pr_url: self.pr_url.as_ref().map(ToString::to_string),
            config: carried(self.config.as_ref()),
        }
    }
}

/// The answer in the shape of the specification; `None` for answers to commands it does not have.
#[expect(clippy::wildcard_enum_match_arm, reason = "the other replies answer commands of other calls")]
pub fn answer(reply: &Reply) -> Option<Value> {
    let success = || ("success", Value::Bool(true));
    Some(match reply {
        Reply::Registered { agent, name, .. } => {
            object([("id", agent.render()), ("name", name.as_str().into()), ("status", "online".into())])
        }
        Reply::Claimed { attempt, until, .. } => {
            let at = crate::time::DateTime::from_timestamp(*until).map(|at| at.to_string());
            object([success(), ("attempt", u64::from(*attempt).into()), ("lease_expires_at", at.into())])
        }
        Reply::AlreadyClaimedBy { agent } => {
            object([("success", false.into()), ("already_claimed_by", agent.render())])
        }
        Reply::CheckpointAdded { checkpoint, sequence } => {
            object([("id", checkpoint.to_string().into()), ("sequence", u64::from(*sequence).into())])
        }
        Reply::Alive { next_heartbeat_ms } => {
            let next = Number::from(u64::from(next_heartbeat_ms.0));
            object([success(), ("next_heartbeat_ms", next.into())])
        }
        Reply::Unregistered { released } => object([success(), ("tasks_released", u64::from(*released).into())]),
        Reply::Moved { .. } | Reply::WorkspaceUpdated => object([success()]),
        _ => return None,
    })
}
