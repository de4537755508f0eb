//! Maps commands to tools. Every argument of a tool becomes an option, except the arguments in a command's `places`:
//! these are given without a name, by their position.

use wire::lifecycle::ToolId;

/// A command `handover NOUN VERB` that calls a tool.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ToolVerb {
    pub(crate) noun: &'static str,
    pub(crate) verb: &'static str,
    pub(crate) tool: ToolId,
    /// The names of the arguments that are given by position, in their order.
    pub(crate) places: &'static [&'static str],
    /// The command's line in `--help`, written for people. The tool's own description is written for models.
    pub(crate) about: &'static str,
}

/// The first words of the commands, such as `task`, each with its line in `--help`.
pub(crate) const NOUNS: &[(&str, &str)] = &[
    ("workflow", "Plans and their progress"),
    ("task", "Pieces of work: look at them, take them, finish them"),
    ("agent", "Who works here"),
    ("inbox", "Messages between agents and people"),
    ("workspace", "Git worktrees for parallel work"),
    ("repository", "Repositories that workflows work on"),
    ("template", "Plans with variables, kept for later"),
    ("review", "Have something reviewed by another agent, in rounds"),
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
    verb("workflow", "show", ToolId::WorkflowGet, &["id"], "Show one workflow"),
    verb("workflow", "create", ToolId::WorkflowCreate, &["name"], "Begin a workflow"),
    verb(
        "workflow",
        "plan",
        ToolId::WorkflowSetPlan,
        &["id", "plan"],
        "Set the plan of a workflow from a JSON or YAML file",
    ),
    verb("workflow", "progress", ToolId::WorkflowProgress, &["workflow_id"], "Show how far a workflow is"),
    verb("workflow", "next", ToolId::WorkflowNextTasks, &["workflow_id"], "List what can be claimed now"),
    verb(
        "workflow",
        "status",
        ToolId::WorkflowUpdateStatus,
        &["id", "status"],
        "Pause, resume, complete, fail or abandon",
    ),
    verb("workflow", "start", ToolId::WorkflowStart, &["workflow_id"], "Have it worked by the runners that are alive"),
    verb(
        "workflow",
        "suspend",
        ToolId::WorkflowSuspend,
        &["workflow_id"],
        "Let nobody claim its tasks; what runs is finished",
    ),
    verb("workflow", "resume", ToolId::WorkflowResume, &["workflow_id"], "Go on after a suspension"),
    verb(
        "workflow",
        "execution",
        ToolId::WorkflowExecutionStatus,
        &["workflow_id"],
        "Show who works on what, and the cost",
    ),
    verb(
        "workflow",
        "check-merge",
        ToolId::WorkflowCheckMerge,
        &["workflow_id"],
        "Show which completed tasks are merged",
    ),
    verb("workflow", "summary", ToolId::WorkflowGetSummary, &["id"], "Summarize a workflow"),
    verb(
        "workflow",
        "limit",
        ToolId::WorkflowSetParallelism,
        &["id", "max_parallel_tasks"],
        "Limit tasks that run at once",
    ),
    verb("workflow", "config", ToolId::WorkflowSetConfig, &["id", "config"], "Merge values into the configuration"),
    verb("workflow", "add-task", ToolId::WorkflowAddTask, &["workflow_id", "name"], "Add a task"),
    verb(
        "workflow",
        "remove-task",
        ToolId::WorkflowRemoveTask,
        &["workflow_id", "task_id"],
        "Remove a task nobody has begun",
    ),
    verb("workflow", "replan", ToolId::WorkflowReplan, &["workflow_id", "plan"], "Replace the tasks nobody has begun"),
    verb("workflow", "lock", ToolId::WorkflowLock, &["id", "session_id"], "Keep others from changing a workflow"),
    verb("workflow", "unlock", ToolId::WorkflowUnlock, &["id", "session_id"], "Open a lock"),
    verb("workflow", "lock-info", ToolId::WorkflowLockInfo, &["id"], "Show who has locked a workflow"),
    verb("workflow", "repositories", ToolId::WorkflowListRepositories, &["workflow_id"], "List the repositories"),
    verb(
        "workflow",
        "attach",
        ToolId::WorkflowAddRepository,
        &["workflow_id", "repository_path"],
        "Attach a repository",
    ),
    verb(
        "workflow",
        "detach",
        ToolId::WorkflowRemoveRepository,
        &["workflow_id", "repository_id"],
        "Detach a repository",
    ),
    verb("task", "list", ToolId::TaskGetAvailable, &[], "List what can be claimed, in all workflows or in one"),
    verb("task", "show", ToolId::TaskGet, &["id"], "Show one task"),
    verb("task", "next", ToolId::TaskNext, &["agent_id"], "Take the next task for an agent, with its context"),
    verb("task", "claim", ToolId::TaskClaim, &["task_id", "agent_id"], "Claim a task for an agent"),
    verb("task", "release", ToolId::TaskRelease, &["task_id"], "Give a task back"),
    verb("task", "context", ToolId::TaskLoadContext, &["task_id"], "Show what its worker is told"),
    verb("task", "plan", ToolId::TaskSetPlan, &["id", "plan"], "Record how a task is gone about"),
    verb("task", "status", ToolId::TaskUpdateStatus, &["id", "status"], "Set the status of a task"),
    verb(
        "task",
        "replan",
        ToolId::TaskReplan,
        &["id", "reason", "new_plan"],
        "Put a task back to pending with a new plan",
    ),
    verb("task", "checkpoint", ToolId::CheckpointAdd, &["task_id", "type", "summary"], "Record progress"),
    verb("task", "checkpoints", ToolId::CheckpointList, &["task_id"], "List what was recorded"),
    verb("task", "dependencies", ToolId::TaskCheckDependencies, &["task_id"], "Show what a task waits for"),
    verb(
        "task",
        "workspace",
        ToolId::TaskAssignWorkspace,
        &["task_id", "workspace_id"],
        "Assign a task to a workspace",
    ),
    verb("task", "wait", ToolId::TaskWait, &[], "Wait for work, mail, or a change of a task"),
    verb("agent", "list", ToolId::AgentList, &[], "List agents and what they work on"),
    verb("agent", "show", ToolId::AgentGet, &["id"], "Show one agent"),
    verb("agent", "register", ToolId::AgentRegister, &["name", "runtime"], "Register an agent"),
    verb("agent", "heartbeat", ToolId::AgentHeartbeat, &["agent_id"], "Say that an agent is alive"),
    verb("agent", "update", ToolId::AgentUpdate, &["id"], "Change what is known of an agent"),
    verb("agent", "unregister", ToolId::AgentUnregister, &["id"], "Let an agent leave; what it holds is given back"),
    verb("inbox", "read", ToolId::InboxRead, &["agent_id"], "Read unread messages, yours or an agent's"),
    verb("inbox", "ack", ToolId::InboxAck, &["message_ids"], "Acknowledge messages"),
    verb("inbox", "send", ToolId::MessageSend, &["recipient_id", "message_type", "body"], "Send a message"),
    verb(
        "inbox",
        "broadcast",
        ToolId::MessageBroadcast,
        &["message_type", "body"],
        "Send a message to all agents that match",
    ),
    verb("inbox", "list", ToolId::MessageList, &["agent_id"], "List messages, newest first"),
    verb("inbox", "show", ToolId::MessageGet, &["id"], "Show one message and mark it read"),
    verb("inbox", "mark-read", ToolId::MessageMarkRead, &["message_ids"], "Mark messages read"),
    verb("inbox", "archive", ToolId::MessageArchive, &["message_ids"], "Archive messages"),
    verb("inbox", "count", ToolId::MessageCountUnread, &["agent_id"], "Count unread messages"),
    verb("inbox", "post", ToolId::WirePost, &["wire"], "Post an Agent Wire document: its act is done"),
    verb("workspace", "list", ToolId::WorkspaceList, &["workflow_id"], "List the workspaces of a workflow"),
    verb("workspace", "create", ToolId::WorkspaceCreate, &["workflow_id", "branch"], "Make a worktree, or record one"),
    verb("workspace", "update", ToolId::WorkspaceUpdate, &["id"], "Record a merge, or clean up"),
    verb("repository", "list", ToolId::RepositoryList, &[], "List known repositories"),
    verb("repository", "register", ToolId::RepositoryRegister, &["path"], "Make a repository known"),
    verb("repository", "show", ToolId::RepositoryGet, &["path"], "Show a repository"),
    verb("template", "list", ToolId::TemplateList, &[], "List templates"),
    verb("template", "create", ToolId::TemplateCreate, &["name"], "Keep a plan, given or taken from a workflow"),
    verb("review", "request", ToolId::ReviewRequest, &["content"], "Have a text reviewed, as the tool does it"),
    verb("review", "answer", ToolId::ReviewAnswer, &["finding", "status"], "Say what became of a finding"),
    verb("review", "status", ToolId::ReviewStatusGet, &["session"], "Look at a review, or wait for it"),
    verb(
        "template",
        "apply",
        ToolId::TemplateApply,
        &["template_id", "workflow_name"],
        "Make a workflow from a template",
    ),
];

/// Fails to compile when a tool has no command, or two commands.
const _: () = {
    let (mut seen, mut row) = (0_u128, 0);
    while row < VERBS.len() {
        seen |= 1 << VERBS[row].tool as u32;
        row += 1;
    }
    assert!(VERBS.len() == ToolId::COUNT && seen.count_ones() as usize == ToolId::COUNT, "each tool has one command");
};

/// Returns the line of an argument in `--help`. An argument with the same name has the same line for every tool.
#[expect(clippy::too_many_lines, reason = "one match that names every argument")]
pub(crate) fn words(argument: &str) -> &'static str {
    match argument {
        "action" => "What the runner has its agent do",
        "action_required" => "The recipient must do something",
        "after" => "Where an earlier call ended: its cursor",
        "after_task" => "Put it after this task (name or id)",
        "agent_id" => "The agent: its name or id, such as ag_0123456789ab",
        "artifact_ref" => "A name for this version of it, such as a commit",
        "attempt" => "Which claim; a later one makes this fail",
        "auto_create_workspaces" => "Make a worktree for each task",
        "base_branch" => "Where the branch begins; without it what is checked out",
        "blocker_type" => "What kind of obstacle",
        "body" => "The text, or JSON that begins with {",
        "branch" => "The branch",
        "brief" => "A brief of Agent Wire as JSON, or @FILE",
        "capabilities" => "An ability; may be repeated",
        "checkpoint_limit" => "How many of the newest checkpoints",
        "cleanup_worktree" => "Remove the worktree; refused when work would be lost",
        "code" => "A word for why, such as out_of_scope",
        "content" => "What is reviewed: a text, or JSON that begins with {",
        "config" => "Values as JSON, or @FILE",
        "consolidation_required" => "The runner asks for a consolidation report",
        "context" => "Anything worth keeping with it as JSON, or @FILE",
        "context_from" => "A task whose outcome matters; may be repeated",
        "create_worktree" => "Make the worktree, on a new branch",
        "cross_check_required" => "The runner asks for a cross-check",
        "current_task_id" => "The task it works on",
        "cwd" | "max_agents" | "max_budget_usd" | "max_turns" | "model" | "permission_mode" => {
            "Taken for compatibility; the runner's configuration says it"
        }
        "cursor" => "Where the last page ended: its next_cursor",
        "depends_on" => "A task that must be done first; may be repeated",
        "description" => "What it is",
        "detail" => "More as JSON, or @FILE",
        "error" => "What went wrong; needed for failed",
        "estimated_complexity" => "How hard it is",
        "finding" => "ses_.../ID, or an ID of the last session",
        "files_changed" => "A file that was changed; may be repeated",
        "files_likely_affected" | "touches" => "A glob of files it changes; may be repeated",
        "force" => "Also when uncommitted changes are lost",
        "format" => "How it is written",
        "from_workflow_id" => "Take the plan of this workflow",
        "gate" => "A person must approve before it is claimed",
        "id" => "Its id",
        "idempotency_key" => "The same key and arguments are done once",
        "include" => "Which parts as JSON, or @FILE",
        "include_checkpoints" => "With the newest checkpoints",
        "include_failed" => "Failed tasks with attempts left, too",
        "include_task_summaries" | "include_tasks" => "With a page of its tasks",
        "lease_seconds" => "How long a claim lasts without a sign of life",
        "limit" => "How many at most",
        "limits" => "Limits of the runner as JSON, or @FILE",
        "mark_read" => "Mark it read (the default)",
        "max_attempts" => "Attempts that may end by a crash",
        "max_parallel_tasks" => "Tasks that may run at once",
        "max_tokens" => "The budget of the context",
        "media_type" => "What it is, such as text/markdown",
        "merge_commit" => "The commit that brought the work into the base",
        "message_ids" => "Ids of messages",
        "message_type" => "What it is for",
        "metadata" => "Anything as JSON, or @FILE",
        "name" => "Its name",
        "new_plan" => "The new plan as JSON, or @FILE",
        "offset" => "How many to pass over",
        "outcome" => "What is true now; needed for completed",
        "outcome_detail" => "More of the outcome as JSON, or @FILE",
        "parallel_group" => "Tasks of one group may run at once",
        "path" => "A path",
        "paths" => "Named paths for the runner as JSON, or @FILE",
        "plan" => "The plan as JSON, or @FILE (JSON or YAML)",
        "pr_url" => "The pull request",
        "priority" => "How urgent it is",
        "provider" => "Who reviews: an agent or a role of the settings",
        "reason" => "Why",
        "recent_checkpoints" => "How many keep their detail",
        "recipient_filter" => "Whom to send it to as JSON: role, status, runtime",
        "recipient_id" => "An agent's id or slug, or human",
        "repo_path" => "A folder of the repository",
        "reply_to_id" => "The message it answers",
        "repository_id" => "Its id, such as rp_0123456789ab",
        "repository_path" | "repository_paths" => "The path of a repository",
        "review" => "Who reviews it: a role or an agent",
        "role" => "A role: who may claim it, or what the agent is",
        "runtime" => "The program, such as claude_code",
        "sender_id" => "The agent that sends",
        "sequence" => "The position its author gave it; kept with it",
        "session" => "The review, such as ses_0123456789ab; without it the last one",
        "session_id" => "Who holds the lock: an agent's id or a word of your own",
        "since" => "After this time, in milliseconds since 1970",
        "since_sequence" => "After this number",
        "source_content" => "What is asked for, in full",
        "source_ref" => "Where it comes from, such as an issue's address",
        "source_type" => "What kind of source: prompt, github_issue, …",
        "status" => "A status; a filter may be repeated",
        "steps" => "A step; may be repeated",
        "subject" => "What it is about",
        "summary" => "In a sentence",
        "surfaces" => "A surface the runner checks; may be repeated",
        "task_id" => "The task: its id, such as tk_0123456789ab",
        "task_ids" => "Ids of tasks",
        "template" => "The template as JSON, or @FILE",
        "template_id" => "Its name, or its id",
        "thread_id" => "The conversation",
        "type" => "What kind of checkpoint",
        "variables" => "Values as JSON, or @FILE",
        "wait_seconds" => "How long to wait, at most 50",
        "wire" => "The document as JSON, or @FILE",
        "workflow_id" => "The workflow: its id, such as wf_0123456789ab",
        "workflow_name" => "The name of the new workflow",
        "workspace_id" => "Its id, such as ws_0123456789ab",
        "workspace_path" => "Where the agent works",
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
