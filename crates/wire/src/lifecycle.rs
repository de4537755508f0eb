//! The tools that an agent can call during its work. Each tool has a type for its calls. Many calls become exactly one
//! command of the engine.
//!
//! ```
//! use wire::lifecycle::{Call, judge};
//!
//! let judged = judge("task_claim", br#"{"task_id": "tk_0123456789ab", "agent_id": "ag_0123456789ab"}"#).unwrap();
//! let call = judged.value.unwrap();
//! assert!(matches!(&call, Call::TaskClaim(claim) if matches!(claim.command(), engine::Command::Claim { .. })));
//! assert_eq!(call.common().agent.map(|who| who.to_string()).as_deref(), Some("ag_0123456789ab"));
//!
//! let judged = judge("task_claim", br#"{"task_id": 7, "agent": 1}"#).unwrap();
//! assert_eq!(judged.report.codes().0, ["TYPE:/task_id", "UNKNOWN_FIELD:/agent"]);
//! ```

mod agents;
mod answer;
mod delivered;
mod execution;
mod ids;
mod letters;
mod mail;
mod places;
mod plan;
mod plan_format;
mod refused;
mod reviews;
mod rows;
mod said;
mod size;
mod slim;
mod stalled;
mod tasks;
mod tool;
mod workflows;

use engine::Json;

pub use agents::*;
pub use answer::*;
pub use delivered::DeliveryRow;
pub use execution::*;
pub use ids::*;
pub use letters::*;
pub use mail::*;
pub use places::*;
pub use plan::{Complexity, Planned, TaskPlan, WorkflowAddTask};
pub use plan_format::{NewPlan, PlanDocument, PlanSettings, TaskList, TaskNames, TemplatePlan, WorkflowPlan};
pub use refused::{ArgumentProblem, ArgumentProblemKind, ToolError, argument_problems, fault, refusal, rejection};
pub use reviews::*;
pub use rows::*;
pub use said::answer;
pub use stalled::{StallRow, WaitRow};
pub use tasks::*;
pub use tool::{Effect, Set, Tool};
pub use workflows::*;

use crate::document::{self, BYTES_MAX, JudgedDocument};
use crate::json::Value;
use crate::report::{Report, Unknown};
use crate::shape::{CommonArguments, CommonFields as _, ListShape, NonBlank, Shape, Text};

/// The size limit in bytes of the JSON arguments of tools that take a whole plan of tasks. Larger arguments are
/// refused.
pub const PLAN_BYTES_MAX: usize = 32 << 20;

macro_rules! calls {
    ($($name:ident = $tool:literal $effect:ident $repeat:ident $set:ident $bytes:ident -> $reply:ty, $about:literal;)*) => {
        /// One call of a tool, with arguments that were checked and are legal.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Call { $($name(Box<$name>),)* }

        /// The tools as values. Code that must handle every tool matches on this type. When a tool is added, the
        /// compiler then reports the code that does not handle it.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum ToolId { $($name,)* }

        $(impl $name {
            /// The description of the tool whose arguments have this type, as clients get it.
            pub const TOOL: Tool = Tool {
                id: ToolId::$name,
                name: $tool,
                about: $about,
                effect: Effect::$effect,
                idempotent: calls!(@repeat $repeat),
                set: Set::$set,
                bytes_max: $bytes,
                judge: |arguments| arguments_of::<$name>(arguments, $bytes).map(|call| Call::$name(Box::new(call))),
                arguments: || $name::schema(Unknown::Strict),
                plain_arguments: || $name::schema(Unknown::Warned),
                reply: <$reply as ReplyPart>::schema,
            };
        })*

        /// The tools that agents can call, in the order in which an agent normally uses them.
        pub static TOOLS: &[Tool] = &[$($name::TOOL),*];

        impl ToolId {
            /// The number of tools that agents can call.
            pub const COUNT: usize = [$($tool),*].len();

            pub fn tool(self) -> Tool {
                match self { $(Self::$name => $name::TOOL,)* }
            }
        }

        impl Call {
            pub fn tool(&self) -> Tool {
                match self { $(Self::$name(_) => $name::TOOL,)* }
            }

            pub fn render(&self) -> Value {
                match self { $(Self::$name(arguments) => arguments.render(),)* }
            }

            /// Returns the arguments of this call that many tools have, such as the calling agent.
            pub fn common(&self) -> CommonArguments {
                match self { $(Self::$name(arguments) => arguments.common(),)* }
            }
        }
    };
    (@repeat again) => { true };
    (@repeat once) => { false };
}

use BYTES_MAX as SMALL;
use PLAN_BYTES_MAX as LARGE;

calls! {
    AgentRegister = "agent_register" Writes again Core SMALL -> Registered,
        "Register yourself before anything else; again with the same name resumes.";
    TaskNext = "task_next" Writes once Core SMALL -> NextTask,
        "Get work: picks, claims and returns a task with its context, or says when to ask again.";
    WorkflowList = "workflow_list" Reads again Default SMALL -> Workflows,
        "Find workflows, newest first. Use status in_progress to resume after losing your context.";
    WorkflowProgress = "workflow_progress" Reads again Default SMALL -> ProgressReply,
        "See how far a workflow is and what waits for what.";
    WorkflowNextTasks = "workflow_next_tasks" Reads again Default SMALL -> NextTasks,
        "List the tasks that can be claimed now, best first.";
    TaskClaim = "task_claim" Writes again Core SMALL -> ClaimReply,
        "Claim a task. success false names who has it: take another.";
    TaskLoadContext = "task_load_context" Reads again Core SMALL -> OpenObject,
        "Load what you need to work on a task, within max_tokens.";
    TaskSetPlan = "task_set_plan" Writes again Default SMALL -> Success,
        "Save your plan for a task that you hold.";
    TaskUpdateStatus = "task_update_status" Writes again Core SMALL -> Success,
        "Set in_progress, completed (needs outcome), failed (needs error), paused, blocked or skipped (need reason).";
    CheckpointAdd = "checkpoint_add" Writes once Core SMALL -> CheckpointReply,
        "Record progress after each significant step, so that any agent can continue from there.";
    AgentHeartbeat = "agent_heartbeat" Writes again Default SMALL -> Beat,
        "Show that you are alive during long work.";
    TaskRelease = "task_release" Writes again Default SMALL -> Success,
        "Give a task back unfinished.";
    TaskWait = "task_wait" Reads again Core SMALL -> Waited,
        "Wait until there is work, mail, or a change of a task; at most 50 s, then call again with after.";
    AgentUnregister = "agent_unregister" Writes again Core SMALL -> LeftAnswer,
        "Leave when you are done; what you hold is given back.";
    WorkflowCreate = "workflow_create" Writes once Default SMALL -> WorkflowCreated,
        "Begin a workflow; set its plan next.";
    WorkflowSetPlan = "workflow_set_plan" Writes once Default LARGE -> PlanReply,
        "Set the tasks of a new workflow; depends_on names other tasks of the plan.";
    InboxRead = "inbox_read" Reads again Core SMALL -> InboxAnswer,
        "Read your unread messages, most urgent first; then inbox_ack them.";
    InboxAck = "inbox_ack" Writes again Default SMALL -> Marked,
        "Acknowledge messages you have dealt with.";
    MessageSend = "message_send" Writes once Default SMALL -> SentReply,
        "Send a message to an agent (id or slug) or to human.";
    WorkspaceCreate = "workspace_create" Writes once Default SMALL -> WorkspaceReply,
        "Make a git worktree on a new branch, so that parallel work does not collide.";
    WorkspaceUpdate = "workspace_update" Destroys again Default SMALL -> WorkspaceUpdated,
        "Record a merge or pull request, or clean a worktree up.";
    WorkflowGet = "workflow_get" Reads again Default SMALL -> WorkflowReply,
        "Get one workflow, with a page of its tasks if asked.";
    TaskGet = "task_get" Reads again Default SMALL -> TaskReply,
        "Get one task in full, with checkpoints if asked.";
    WorkflowUpdateStatus = "workflow_update_status" Writes again Full SMALL -> Success,
        "Pause, resume, complete, fail or abandon a workflow.";
    WorkflowStart = "workflow_start" Writes again Full SMALL -> WorkflowStarted,
        "Let the runners that are alive work on a planned workflow; starts no program itself.";
    WorkflowSuspend = "workflow_suspend" Writes again Full SMALL -> WorkflowSuspended,
        "Stop claims of a workflow's tasks; tasks that are held now can finish.";
    WorkflowResume = "workflow_resume" Writes again Full SMALL -> WorkflowResumed,
        "Resume a suspended workflow.";
    WorkflowExecutionStatus = "workflow_execution_status" Reads again Full SMALL -> ExecutionReply,
        "See for each task who holds it, which turn runs, attempts and cost, and which runners are alive.";
    WorkflowCheckMerge = "workflow_check_merge" Reads again Full SMALL -> MergeReply,
        "See which completed tasks are merged into the workflow's branch; asks git here and no server.";
    WorkflowSetParallelism = "workflow_set_parallelism" Writes again Full SMALL -> Success,
        "Limit how many tasks run at once.";
    WorkflowGetSummary = "workflow_get_summary" Reads again Full SMALL -> Summarized,
        "Summarize a workflow as JSON or Markdown.";
    WorkflowLock = "workflow_lock" Writes again Full SMALL -> LockReply,
        "Keep others from changing a workflow for 15 minutes.";
    WorkflowUnlock = "workflow_unlock" Writes again Full SMALL -> Success,
        "Remove a lock that you hold.";
    WorkflowLockInfo = "workflow_lock_info" Reads again Full SMALL -> LockInfo,
        "See who has locked a workflow.";
    WorkflowSetConfig = "workflow_set_config" Writes again Full SMALL -> Configured,
        "Merge values into a workflow's configuration.";
    WorkflowAddRepository = "workflow_add_repository" Writes again Full SMALL -> Attached,
        "Attach a repository to a workflow.";
    WorkflowRemoveRepository = "workflow_remove_repository" Writes again Full SMALL -> Success,
        "Detach a repository that nothing uses.";
    WorkflowListRepositories = "workflow_list_repositories" Reads again Full SMALL -> Repositories,
        "List the repositories of a workflow.";
    WorkflowAddTask = "workflow_add_task" Writes once Default SMALL -> TaskAdded,
        "Add a task to a running workflow; depends_on and after_task take names or ids.";
    WorkflowRemoveTask = "workflow_remove_task" Destroys again Full SMALL -> TaskRemoved,
        "Remove a task that no agent has started; tasks that depended on it get its dependencies.";
    WorkflowReplan = "workflow_replan" Destroys once Full LARGE -> ReplanReply,
        "Replace the tasks that no agent has started with new ones.";
    TaskReplan = "task_replan" Writes once Full SMALL -> Replanned,
        "Give a failed or running task a new plan and put it back to pending.";
    TaskCheckDependencies = "task_check_dependencies" Reads again Full SMALL -> DependenciesReply,
        "See which dependencies of a task are met.";
    TaskAssignWorkspace = "task_assign_workspace" Writes again Full SMALL -> Success,
        "Assign a task to a workspace.";
    TaskGetAvailable = "task_get_available" Reads again Full SMALL -> TasksReply,
        "List claimable tasks of all workflows, or of one.";
    CheckpointList = "checkpoint_list" Reads again Full SMALL -> Checkpoints,
        "List the checkpoints of a task, oldest first.";
    WorkspaceList = "workspace_list" Reads again Full SMALL -> Workspaces,
        "List the workspaces of a workflow.";
    RepositoryRegister = "repository_register" Writes again Full SMALL -> Identified,
        "Register a repository.";
    RepositoryList = "repository_list" Reads again Full SMALL -> Repositories,
        "List known repositories.";
    RepositoryGet = "repository_get" Reads again Full SMALL -> RepositoryRow,
        "Get a repository by its path.";
    TemplateCreate = "template_create" Writes once Full SMALL -> Identified,
        "Save a plan with {{variables}} as a template, given here or taken from a workflow.";
    TemplateList = "template_list" Reads again Full SMALL -> Templates,
        "List templates.";
    TemplateApply = "template_apply" Writes once Full SMALL -> Applied,
        "Make a workflow from a template.";
    AgentUpdate = "agent_update" Writes again Full SMALL -> Success,
        "Change your workspace path or metadata.";
    AgentGet = "agent_get" Reads again Full SMALL -> AgentRow,
        "Get one agent.";
    AgentList = "agent_list" Reads again Default SMALL -> Agents,
        "List agents and what they work on.";
    MessageBroadcast = "message_broadcast" Writes once Full SMALL -> BroadcastReply,
        "Send a message to every agent that matches.";
    MessageList = "message_list" Reads again Full SMALL -> Messages,
        "List messages of a mailbox, newest first.";
    MessageGet = "message_get" Writes again Full SMALL -> MessageRow,
        "Get one message and mark it read, unless mark_read is false.";
    MessageMarkRead = "message_mark_read" Writes again Full SMALL -> Marked,
        "Mark messages read.";
    MessageArchive = "message_archive" Writes again Full SMALL -> Marked,
        "Archive messages.";
    MessageCountUnread = "message_count_unread" Reads again Full SMALL -> UnreadAnswer,
        "Count unread messages.";
    ReviewRequest = "review_request" Writes once Review SMALL -> ReviewReply,
        "Have a task's work (task_id) or a text (content) reviewed by another agent. Returns findings, or running.";
    ReviewAnswer = "review_answer" Writes again Review SMALL -> FindingReply,
        "Record your decision on a finding (ses_.../ID, or ID in the last session): accepted, partial or rejected.";
    ReviewStatusGet = "review_status" Reads again Review SMALL -> ReviewReply,
        "Get a review and its findings; wait_seconds waits while the reviewer works.";
    WirePost = "wire_post" Writes once Full SMALL -> Posted,
        "Post an Agent Wire document: a brief makes a task, inbox sends, claim claims, blocked blocks.";
}

/// Parses the JSON arguments of a call and checks them against the rules of the tool with this name. Returns `None`
/// when no tool has this name.
pub fn judge<'t>(tool: &str, arguments: &'t [u8]) -> Option<JudgedDocument<'t, Call>> {
    Tool::find(tool).map(|tool| tool.judge(arguments))
}

fn arguments_of<T: Shape>(bytes: &[u8], bytes_max: usize) -> JudgedDocument<'_, T> {
    if let Some(report) = size::too_many(bytes, bytes_max) {
        return JudgedDocument { value: None, report };
    }
    match document::open(bytes, bytes_max) {
        Ok((text, node)) => document::read(&node, Report::new(text, Unknown::Strict)),
        Err(report) => JudgedDocument { value: None, report: *report },
    }
}

impl Call {
    /// Returns a text that is the same for all calls with equal arguments. The idempotency key is left out of it. A
    /// caller may use an idempotency key again only for a call with the same fingerprint.
    pub fn fingerprint(&self) -> String {
        let Value::Object(mut members) = self.render() else { return String::new() };
        members.retain(|(name, _)| name != "idempotency_key");
        Value::Object(members).canonical()
    }
}

fn carried(detail: Option<&DetailObject>) -> Option<Json> {
    detail.map(|detail| Json::from_stored(detail.render().to_string()))
}

fn attempt(found: Option<AttemptNumber>) -> Option<u32> {
    found.map(|Within(number)| number)
}

fn text(found: Option<&Text>) -> Option<String> {
    found.map(ToString::to_string)
}

fn texts(list: Option<&ListShape<NonBlank>>) -> Vec<String> {
    list.into_iter().flat_map(|list| &list.0).map(ToString::to_string).collect()
}
