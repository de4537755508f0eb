//! Maps commands to tools. Every argument of a tool becomes an option, except the arguments in a command's `places`:
//! these are given without a name, by their position.

use wire::lifecycle::ToolId;

/// A command `handover NOUN VERB` that calls a tool.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ToolVerb {
    pub(crate) noun: &'static str,
    pub(crate) verb: &'static str,
    pub(crate) tool: ToolId,
    /// The names of the arguments that are typed without an option name, in their order.
    pub(crate) places: &'static [&'static str],
    /// The description of the command in `--help`, written for people. The tool's own description is written for
    /// models.
    pub(crate) about: &'static str,
}

/// The first words of the commands, such as `task`, each with its description in `--help`.
pub(crate) const NOUNS: &[(&str, &str)] = &[
    ("workflow", "Create workflows, set their plans and follow their progress"),
    ("task", "List, claim, work on and finish tasks"),
    ("agent", "Register agents and see what they work on"),
    ("inbox", "Read, send and answer messages between agents and people"),
    ("workspace", "Create and remove git worktrees for parallel work"),
    ("repository", "Register the git repositories that workflows use"),
    ("template", "Save plans with variables, and create workflows from them"),
    ("review", "Ask another agent for a review, and decide on its findings"),
];

const fn verb(
    noun: &'static str,
    verb: &'static str,
    tool: ToolId,
    places: &'static [&'static str],
    about: &'static str,
) -> ToolVerb {
    ToolVerb { noun, verb, tool, places, about }
}

pub(crate) const VERBS: &[ToolVerb] = &[
    verb("workflow", "list", ToolId::WorkflowList, &[], "List workflows, newest first"),
    verb("workflow", "show", ToolId::WorkflowGet, &["id"], "Show one workflow and its tasks"),
    verb("workflow", "create", ToolId::WorkflowCreate, &["name"], "Create an empty workflow; set its plan next"),
    verb(
        "workflow",
        "plan",
        ToolId::WorkflowSetPlan,
        &["id", "plan"],
        "Set the plan of a workflow from a JSON or YAML file",
    ),
    verb(
        "workflow",
        "progress",
        ToolId::WorkflowProgress,
        &["workflow_id"],
        "Show how many tasks of a workflow are done, and which wait",
    ),
    verb(
        "workflow",
        "next",
        ToolId::WorkflowNextTasks,
        &["workflow_id"],
        "List the tasks of a workflow that can be claimed now",
    ),
    verb(
        "workflow",
        "status",
        ToolId::WorkflowUpdateStatus,
        &["id", "status"],
        "Pause, resume, complete, fail or abandon a workflow",
    ),
    verb(
        "workflow",
        "start",
        ToolId::WorkflowStart,
        &["workflow_id"],
        "Let the runners that are alive work on a workflow",
    ),
    verb(
        "workflow",
        "suspend",
        ToolId::WorkflowSuspend,
        &["workflow_id"],
        "Stop claims of a workflow's tasks; running tasks can finish",
    ),
    verb("workflow", "resume", ToolId::WorkflowResume, &["workflow_id"], "Resume a suspended workflow"),
    verb(
        "workflow",
        "execution",
        ToolId::WorkflowExecutionStatus,
        &["workflow_id"],
        "Show the agent, the turn, the attempts and the cost of each task",
    ),
    verb(
        "workflow",
        "check-merge",
        ToolId::WorkflowCheckMerge,
        &["workflow_id"],
        "Show which completed tasks are merged into the workflow's branch",
    ),
    verb("workflow", "summary", ToolId::WorkflowGetSummary, &["id"], "Summarize a workflow"),
    verb(
        "workflow",
        "limit",
        ToolId::WorkflowSetParallelism,
        &["id", "max_parallel_tasks"],
        "Limit how many tasks of a workflow run at once",
    ),
    verb(
        "workflow",
        "config",
        ToolId::WorkflowSetConfig,
        &["id", "config"],
        "Merge values into the configuration of a workflow",
    ),
    verb("workflow", "add-task", ToolId::WorkflowAddTask, &["workflow_id", "name"], "Add a task to a workflow"),
    verb(
        "workflow",
        "remove-task",
        ToolId::WorkflowRemoveTask,
        &["workflow_id", "task_id"],
        "Remove a task that no agent has started",
    ),
    verb(
        "workflow",
        "replan",
        ToolId::WorkflowReplan,
        &["workflow_id", "plan"],
        "Replace the tasks that no agent has started by a new plan",
    ),
    verb(
        "workflow",
        "lock",
        ToolId::WorkflowLock,
        &["id", "session_id"],
        "Lock a workflow for 15 minutes, so that others cannot change it",
    ),
    verb("workflow", "unlock", ToolId::WorkflowUnlock, &["id", "session_id"], "Remove your lock from a workflow"),
    verb("workflow", "lock-info", ToolId::WorkflowLockInfo, &["id"], "Show who has locked a workflow"),
    verb(
        "workflow",
        "repositories",
        ToolId::WorkflowListRepositories,
        &["workflow_id"],
        "List the repositories of a workflow",
    ),
    verb(
        "workflow",
        "attach",
        ToolId::WorkflowAddRepository,
        &["workflow_id", "repository_path"],
        "Attach a repository to a workflow",
    ),
    verb(
        "workflow",
        "detach",
        ToolId::WorkflowRemoveRepository,
        &["workflow_id", "repository_id"],
        "Detach a repository that the workflow does not use",
    ),
    verb(
        "task",
        "available",
        ToolId::TaskGetAvailable,
        &[],
        "List the tasks that an agent can claim now, with all their fields",
    ),
    verb("task", "show", ToolId::TaskGet, &["id"], "Show one task and its newest checkpoints"),
    verb("task", "next", ToolId::TaskNext, &["agent_id"], "Claim the next task for an agent, and show its context"),
    verb("task", "claim", ToolId::TaskClaim, &["task_id", "agent_id"], "Claim a task for an agent"),
    verb("task", "release", ToolId::TaskRelease, &["task_id"], "Give a task back, so that another agent can claim it"),
    verb("task", "context", ToolId::TaskLoadContext, &["task_id"], "Show the context that the worker of a task gets"),
    verb("task", "plan", ToolId::TaskSetPlan, &["id", "plan"], "Save the plan for a task"),
    verb("task", "status", ToolId::TaskUpdateStatus, &["id", "status"], "Set the status of a task"),
    verb(
        "task",
        "replan",
        ToolId::TaskReplan,
        &["id", "reason", "new_plan"],
        "Put a task back to pending with a new plan",
    ),
    verb(
        "task",
        "checkpoint",
        ToolId::CheckpointAdd,
        &["task_id", "type", "summary"],
        "Record a checkpoint: progress, a decision or a result",
    ),
    verb("task", "checkpoints", ToolId::CheckpointList, &["task_id"], "List the checkpoints of a task, oldest first"),
    verb(
        "task",
        "dependencies",
        ToolId::TaskCheckDependencies,
        &["task_id"],
        "Show which dependencies of a task are open",
    ),
    verb(
        "task",
        "workspace",
        ToolId::TaskAssignWorkspace,
        &["task_id", "workspace_id"],
        "Assign a task to a workspace",
    ),
    verb("task", "wait", ToolId::TaskWait, &[], "Wait until there is work, mail or a change of a task"),
    verb("agent", "list", ToolId::AgentList, &[], "List agents and what they work on"),
    verb("agent", "show", ToolId::AgentGet, &["id"], "Show one agent"),
    verb("agent", "register", ToolId::AgentRegister, &["name", "runtime"], "Register an agent"),
    verb("agent", "heartbeat", ToolId::AgentHeartbeat, &["agent_id"], "Renew the claims of an agent during long work"),
    verb("agent", "update", ToolId::AgentUpdate, &["id"], "Change the workspace path or the metadata of an agent"),
    verb("agent", "unregister", ToolId::AgentUnregister, &["id"], "Unregister an agent; its tasks are given back"),
    verb("inbox", "read", ToolId::InboxRead, &["agent_id"], "Show unread messages, yours or an agent's"),
    verb("inbox", "ack", ToolId::InboxAck, &["message_ids"], "Acknowledge messages that were dealt with"),
    verb(
        "inbox",
        "send",
        ToolId::MessageSend,
        &["recipient_id", "message_type", "body"],
        "Send a message to an agent or to people",
    ),
    verb(
        "inbox",
        "broadcast",
        ToolId::MessageBroadcast,
        &["message_type", "body"],
        "Send a message to all agents that match a filter",
    ),
    verb("inbox", "list", ToolId::MessageList, &["agent_id"], "List messages, newest first"),
    verb("inbox", "show", ToolId::MessageGet, &["id"], "Show one message and mark it as read"),
    verb("inbox", "mark-read", ToolId::MessageMarkRead, &["message_ids"], "Mark messages as read"),
    verb("inbox", "archive", ToolId::MessageArchive, &["message_ids"], "Archive messages"),
    verb("inbox", "count", ToolId::MessageCountUnread, &["agent_id"], "Count unread messages"),
    verb(
        "inbox",
        "post",
        ToolId::WirePost,
        &["wire"],
        "Post an Agent Wire document, which claims, blocks, sends or creates a task",
    ),
    verb("workspace", "list", ToolId::WorkspaceList, &["workflow_id"], "List the workspaces of a workflow"),
    verb(
        "workspace",
        "create",
        ToolId::WorkspaceCreate,
        &["workflow_id", "branch"],
        "Create a git worktree, or record an existing one",
    ),
    verb(
        "workspace",
        "update",
        ToolId::WorkspaceUpdate,
        &["id"],
        "Record the merge of a worktree, or remove the worktree",
    ),
    verb("repository", "list", ToolId::RepositoryList, &[], "List the registered repositories"),
    verb("repository", "register", ToolId::RepositoryRegister, &["path"], "Register a git repository"),
    verb("repository", "show", ToolId::RepositoryGet, &["path"], "Show a registered repository"),
    verb("template", "list", ToolId::TemplateList, &[], "List templates"),
    verb(
        "template",
        "create",
        ToolId::TemplateCreate,
        &["name"],
        "Save a plan as a template, from a file or from a workflow",
    ),
    verb("review", "request", ToolId::ReviewRequest, &["content"], "Ask for a review of a task's work, or of a text"),
    verb("review", "answer", ToolId::ReviewAnswer, &["finding", "status"], "Record your decision on a finding"),
    verb("review", "status", ToolId::ReviewStatusGet, &["session"], "Show a review, or wait for its result"),
    verb(
        "template",
        "apply",
        ToolId::TemplateApply,
        &["template_id", "workflow_name"],
        "Create a workflow from a template",
    ),
];

/// Stops the build when a tool has no command, or has two commands.
const _: () = {
    let (mut seen, mut row) = (0_u128, 0);
    while row < VERBS.len() {
        seen |= 1 << VERBS[row].tool as u32;
        row += 1;
    }
    assert!(VERBS.len() == ToolId::COUNT && seen.count_ones() as usize == ToolId::COUNT, "each tool has one command");
};

/// Returns the help text of an argument in one command. An argument name that means different things in different
/// commands has one text for each of these commands.
pub(crate) fn words_of(verb: &ToolVerb, argument: &str) -> &'static str {
    match (verb.noun, argument) {
        ("workflow", "id") => "The id of the workflow, such as wf_0123456789ab",
        ("task", "id") => "The id of the task, such as tk_0123456789ab",
        ("agent", "id") => "The agent: its name or id, such as ag_0123456789ab",
        ("inbox", "id") => "The id of the message, such as msg_0123456789ab",
        ("workspace", "id") => "The id of the workspace, such as ws_0123456789ab",
        ("workflow", "name") if verb.verb == "add-task" => "The name of the task",
        ("workflow", "after") => "The same as --depends-on",
        ("workflow", "name") => "The name of the workflow",
        ("agent", "name") => "The name of the agent",
        ("template", "name") => "The name of the template",
        (_, "status") if verb.verb == "list" => "Only rows with this status",
        (_, "status") => "The new status",
        _ => words(argument),
    }
}

/// Returns the help text of an argument, by its name. Arguments with the same name have the same text for every tool,
/// except the arguments that [`words_of`] lists.
#[expect(clippy::too_many_lines, reason = "one match that names every argument")]
pub(crate) fn words(argument: &str) -> &'static str {
    match argument {
        "action" => "The kind of work that the runner asks its agent to do",
        "action_required" => "Tell the recipient that it must act on the message",
        "after" => "Continue after an earlier call: the `cursor` of its reply",
        "after_task" => "Insert the new task after this task (name or id)",
        "agent_id" => "The agent: its name or id, such as ag_0123456789ab",
        "artifact_ref" => "A name for the reviewed version, such as a commit",
        "attempt" => "The number of your claim; the call is refused when the task was claimed again since",
        "auto_create_workspaces" => "Create a worktree for each task",
        "base_branch" => "The branch to start from; without it, the branch that is checked out",
        "blocker_type" => "The kind of obstacle; required for blocked",
        "body" => "The text of the message, or JSON that begins with {",
        "branch" => "The name of the branch",
        "brief" => "A brief of Agent Wire as JSON, or @FILE",
        "capabilities" => "A capability, such as rust; may be repeated",
        "checkpoint_limit" => "The number of newest checkpoints to show",
        "cleanup_worktree" => "Remove the worktree; refused when work would be lost",
        "code" => "A short code for the reason, such as out_of_scope",
        "content" => "The text to review, or JSON that begins with {",
        "config" => "The values to set as JSON, or @FILE",
        "consolidation_required" => "Require a consolidation report in the agent's handoff",
        "context" => "Data to save with the plan as JSON, or @FILE",
        "context_from" => "A task whose outcome the worker should see; may be repeated",
        "create_worktree" => "Create the worktree, on a new branch",
        "cross_check_required" => "Require a cross-check in the agent's handoff",
        "current_task_id" => "The task that the agent works on",
        "cwd" | "max_agents" | "max_budget_usd" | "max_turns" | "model" | "permission_mode" => {
            "Accepted for compatibility and ignored: .handover/config.toml has this setting"
        }
        "cursor" => "Continue after an earlier page: its `next_cursor`",
        "depends_on" => "A task that must be completed first (name or id); may be repeated",
        "description" => "A description in one or more sentences",
        "detail" => "More data as JSON, or @FILE",
        "error" => "The error that made the task fail; required for failed",
        "estimated_complexity" => "An estimate of the difficulty",
        "finding" => "The finding: ses_.../ID, or ID for one of the last review",
        "files_changed" => "A file that was changed; may be repeated",
        "files_likely_affected" | "touches" => "A glob of the files that the task changes; may be repeated",
        "force" => "Remove the worktree even when uncommitted changes are lost",
        "format" => "The format of the summary",
        "from_workflow_id" => "Take the plan of this workflow",
        "gate" => "Require a person's approval before the task can be claimed",
        "id" => "The id",
        "idempotency_key" => "A key of your choice: a repeated call with the same key and arguments takes effect once",
        "include" => "The parts of the context to load as JSON, or @FILE",
        "include_archived" => "Include workflows that are archived",
        "include_checkpoints" => "Include the newest checkpoints",
        "include_failed" => "Include failed tasks that have attempts left",
        "include_task_summaries" | "include_tasks" => "Include a page of the workflow's tasks",
        "lease_seconds" => "The time after which a claim expires without a heartbeat",
        "limit" => "The largest number of rows",
        "limits" => "Limits for the runner (dollars, tokens, turns, seconds) as JSON, or @FILE",
        "mark_read" => "Mark the message as read (the default)",
        "max_attempts" => "The number of attempts that may end without a result before the task fails",
        "max_parallel_tasks" => "The largest number of tasks that run at once",
        "max_tokens" => "The largest size of the context, in tokens",
        "media_type" => "The media type, such as text/markdown",
        "merge_commit" => "The commit that merged the work into the base branch",
        "message_ids" => "The ids of the messages, such as msg_0123456789ab",
        "message_type" => "The purpose of the message",
        "metadata" => "Data of your own as JSON, or @FILE",
        "name" => "The name",
        "new_plan" => "The new plan as JSON, or @FILE",
        "offset" => "The number of rows to skip",
        "outcome" => "The result as a statement that is true now; required for completed",
        "outcome_detail" => "More data about the outcome as JSON, or @FILE",
        "parallel_group" => "The name of a group; tasks of one group may run at once",
        "path" => "The path of the folder",
        "paths" => "Named paths for the runner as JSON, or @FILE",
        "plan" => "The plan as JSON, or @FILE (JSON or YAML)",
        "pr_url" => "The URL of the pull request",
        "priority" => "The priority: 1 is the most urgent, 3 the least",
        "provider" => "The reviewer: an agent or a role of .handover/config.toml",
        "reason" => "The reason, in a sentence",
        "recent_checkpoints" => "The number of newest checkpoints that are shown in full",
        "recipient_filter" => "The agents to send to, by role, status or runtime, as JSON",
        "recipient_id" => "The recipient: an agent's name or id, or human",
        "repo_path" => "A folder in the git repository",
        "reply_to_id" => "The id of the message that this one answers",
        "repository_id" => "The id of the repository, such as rp_0123456789ab",
        "repository_path" | "repository_paths" => "The path of a repository",
        "review" => "The role or agent that must review the work",
        "role" => "The role that may claim the task, or the role of the agent",
        "runtime" => "The agent's program, such as claude-code",
        "sender_id" => "The agent that sends the message, by name or id",
        "sequence" => "The position that the author gave the task; only stored",
        "session" => "The review, such as ses_0123456789ab; without it, the last one",
        "session_id" => "The owner of the lock: an agent's id, or a word of your own",
        "since" => "Only changes after this time, in milliseconds since 1970",
        "since_sequence" => "Only entries after this number",
        "source_content" => "The full text of the request",
        "source_ref" => "The source of the request, such as the URL of an issue",
        "source_type" => "The kind of the source: prompt, github_issue, …",
        "status" => "The status",
        "steps" => "A step of the plan; may be repeated",
        "subject" => "The subject of the message",
        "summary" => "A summary in one sentence",
        "surfaces" => "A surface (part of the system) that the runner checks; may be repeated",
        "task_id" => "The task: its id, such as tk_0123456789ab",
        "task_ids" => "The ids of the tasks",
        "template" => "The template as JSON, or @FILE",
        "template_id" => "The name or the id of the template",
        "thread_id" => "The conversation that the message belongs to",
        "type" => "The kind of the checkpoint",
        "variables" => "The values of the template's variables as JSON, or @FILE",
        "wait_seconds" => "The longest time to wait, in seconds, at most 50",
        "wire" => "The Agent Wire document as JSON, or @FILE",
        "workflow_id" => "The workflow: its id, such as wf_0123456789ab",
        "workflow_name" => "The name of the new workflow",
        "workspace_id" => "The id of the workspace, such as ws_0123456789ab",
        "workspace_path" => "The folder in which the agent works",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use wire::json::Value;

    use super::*;

    #[test]
    fn every_command_is_typed_otherwise_and_every_argument_has_words() {
        let commands: BTreeSet<_> = VERBS.iter().map(|verb| (verb.noun, verb.verb)).collect();
        assert_eq!(commands.len(), VERBS.len());
        for verb in VERBS {
            let tool = verb.tool.tool();
            let schema = tool.arguments();
            let Some(Value::Object(properties)) = schema.get("properties") else { continue };
            for (name, _) in properties {
                assert!(!words(name).is_empty(), "{} of {} has no words", name, tool.name);
            }
            for place in verb.places {
                assert!(properties.iter().any(|(name, _)| name == place), "{place} of {}", tool.name);
            }
        }
    }
}
