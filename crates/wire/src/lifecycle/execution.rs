//! Tools for the execution of a workflow: start, suspend, resume and status. No tool starts a program. Runners start
//! programs, and people start the runners.

use engine::id::{AgentId, TaskId, TurnId, WorkflowId};
use engine::runner::Runner;
use engine::turn::{Spent, Turn};
use engine::view::{Execution, Worked};
use engine::workflow::WorkflowStatus;
use engine::{Timestamp, task};

use super::ids::{Limit, Within};
use crate::json::Value;
use crate::reply::{ReplyPart, reply};
use crate::shape::{Measure, NonBlank, message};

message! {
    pub struct WorkflowStart {
        workflow_id: required WorkflowId,
        max_agents: optional Within<1, 10>,
        model: optional NonBlank,
        permission_mode: optional NonBlank,
        max_turns: optional Within<1, 1_000_000>,
        max_budget_usd: optional Measure,
        cwd: optional NonBlank,
        agent_id: optional AgentId,
        session_id: optional NonBlank,
        idempotency_key: optional NonBlank,
    }
}

message! {
    pub struct WorkflowSuspend {
        workflow_id: required WorkflowId,
        agent_id: optional AgentId,
        session_id: optional NonBlank,
        idempotency_key: optional NonBlank,
    }
}

message! {
    pub struct WorkflowResume {
        workflow_id: required WorkflowId,
        agent_id: optional AgentId,
        session_id: optional NonBlank,
        idempotency_key: optional NonBlank,
    }
}

message! {
    pub struct WorkflowExecutionStatus {
        workflow_id: required WorkflowId,
        limit: optional Limit,
        cursor: optional NonBlank,
    }
}

message! {
    pub struct WorkflowCheckMerge {
        workflow_id: required WorkflowId,
        repo_path: optional NonBlank,
        limit: optional Limit,
        cursor: optional NonBlank,
    }
}

impl WorkflowStart {
    /// Returns the names of the arguments that the caller gave but that have no effect. Handover accepts them because
    /// it is compatible with the clients of the original server, but the runner's configuration decides these values.
    pub fn ignored(&self) -> Vec<String> {
        let configured = [
            ("max_agents", self.max_agents.is_some()),
            ("model", self.model.is_some()),
            ("permission_mode", self.permission_mode.is_some()),
            ("max_turns", self.max_turns.is_some()),
            ("max_budget_usd", self.max_budget_usd.is_some()),
            ("cwd", self.cwd.is_some()),
        ];
        configured.into_iter().filter(|(_, given)| *given).map(|(name, _)| name.to_owned()).collect()
    }
}

reply! {
    pub struct RunnerRow {
        name: String,
        host: String,
        agents: Vec<String>,
        since: Timestamp,
        seen_at: Timestamp,
    }
}

impl RunnerRow {
    pub fn of(runner: &Runner) -> Self {
        let Runner { name, host, agents, since, seen, .. } = runner.clone();
        Self { name, host, agents, since, seen_at: seen }
    }
}

reply! {
    /// A running program of an agent, as a tool's reply shows it. The field names are those of the original server,
    /// whose clients Handover supports.
    #[expect(non_snake_case, reason = "the original's names")]
    pub struct Handle {
        turnId: TurnId,
        agentId: AgentId,
        taskId: TaskId,
        status: &'static str,
        startedAt: Timestamp,
        retryCount: u32,
    }
}

impl Handle {
    pub fn of(turn: &Turn) -> Self {
        Self {
            turnId: turn.id,
            agentId: turn.agent,
            taskId: turn.task,
            status: "running",
            startedAt: turn.started,
            retryCount: turn.attempt.saturating_sub(1),
        }
    }
}

reply! {
    #[expect(non_snake_case, reason = "the original's names")]
    pub struct WorkflowStarted {
        success: bool,
        status: &'static str,
        agentHandles: Vec<Handle>,
        runners: Vec<RunnerRow>,
        message: String,
        ignored: some Vec<String>,
    }
}

reply! {
    #[expect(non_snake_case, reason = "the original's names")]
    pub struct WorkflowSuspended {
        success: bool,
        status: &'static str,
        agentsStopped: u32,
        tasksReleased: u32,
        running: Vec<Handle>,
    }
}

reply! {
    #[expect(non_snake_case, reason = "the original's names")]
    pub struct WorkflowResumed {
        success: bool,
        status: &'static str,
        agentsSpawned: u32,
        tasksAvailable: u32,
        runners: Vec<RunnerRow>,
        message: String,
    }
}

/// Returns a sentence that tells the caller which runners (programs that start agents) are alive.
pub fn who_works(runners: &[Runner]) -> String {
    match runners {
        [] => "no runner is alive; a person starts one with `handover run`, or agents claim the tasks themselves"
            .to_owned(),
        [one] => format!("the runner {} is alive", one.name),
        more => format!("{} runners are alive", more.len()),
    }
}

reply! {
    pub struct SpentRow {
        usd_micros: Option<u64>,
        tokens: Option<u64>,
        tokens_in: some u64,
        tokens_out: some u64,
        seconds: u64,
        turns: u32,
    }
}

impl SpentRow {
    pub fn of(spent: Spent) -> Self {
        Self {
            usd_micros: spent.usd_micros,
            tokens: spent.tokens,
            tokens_in: spent.tokens_in,
            tokens_out: spent.tokens_out,
            seconds: spent.ms / 1_000,
            turns: spent.turns,
        }
    }
}

reply! {
    pub struct WorkedRow {
        task_id: TaskId,
        number: u32,
        name: String,
        status: &'static str,
        holder: Option<AgentId>,
        holder_slug: Option<String>,
        attempt: u32,
        failed_attempts: u32,
        max_attempts: u32,
        turn_id: Option<TurnId>,
        turn_started_at: Option<Timestamp>,
        spent: SpentRow,
    }
}

impl WorkedRow {
    fn of(row: &Worked) -> Self {
        let turn = row.turn.as_ref();
        Self {
            task_id: row.task.id,
            number: row.task.number,
            name: row.task.name.clone(),
            status: row.task.status().as_str(),
            holder: row.holder.as_ref().map(|agent| agent.id),
            holder_slug: row.holder.as_ref().map(|agent| agent.slug.clone()),
            attempt: row.task.attempt,
            failed_attempts: row.task.crashes,
            max_attempts: row.task.attempts_max,
            turn_id: turn.map(|turn| turn.id),
            turn_started_at: turn.map(|turn| turn.started),
            spent: SpentRow::of(row.spent),
        }
    }
}

reply! {
    #[expect(non_snake_case, reason = "the original's names")]
    pub struct CountedTasks {
        totalTasks: u32,
        completed: u32,
        inProgress: u32,
        failed: u32,
        remaining: u32,
    }
}

reply! {
    #[expect(non_snake_case, reason = "the original's names")]
    pub struct ExecutionReply {
        workflowId: WorkflowId,
        status: &'static str,
        workflow_status: &'static str,
        agents: Vec<Handle>,
        progress: CountedTasks,
        spent: SpentRow,
        runners: Vec<RunnerRow>,
        tasks: Vec<WorkedRow>,
        next_cursor: some String,
    }
}

impl ExecutionReply {
    pub fn of(found: &Execution) -> Self {
        let count = |status: task::Status| {
            let counted = found.by_status.iter().find(|(word, _)| word == status.as_str());
            counted.map_or(0, |(_, count)| *count)
        };
        let planned = engine::view::is_planned(&found.workflow);
        Self {
            workflowId: found.workflow.id,
            status: word(found.workflow.status),
            workflow_status: found.workflow.status.as_str(),
            agents: found.running.iter().map(Handle::of).collect(),
            progress: CountedTasks {
                totalTasks: if planned { found.workflow.tasks } else { 0 },
                completed: count(task::Status::Completed) + count(task::Status::Skipped),
                inProgress: count(task::Status::Planning) + count(task::Status::InProgress),
                failed: count(task::Status::Failed),
                remaining: if planned { found.workflow.open } else { 0 },
            },
            spent: SpentRow::of(found.spent),
            runners: found.runners.iter().map(RunnerRow::of).collect(),
            tasks: found.tasks.rows.iter().map(WorkedRow::of).collect(),
            next_cursor: found.tasks.next.map(|(sequence, task)| format!("{sequence}.{task}")),
        }
    }
}

/// Returns the word that the original server (whose clients Handover supports) uses for the status of a workflow.
fn word(status: WorkflowStatus) -> &'static str {
    match status {
        WorkflowStatus::Planning | WorkflowStatus::Ready => "idle",
        WorkflowStatus::InProgress => "running",
        WorkflowStatus::Paused => "suspended",
        WorkflowStatus::AwaitingMerge | WorkflowStatus::Completed => "completed",
        WorkflowStatus::Failed | WorkflowStatus::Abandoned => "failed",
    }
}

reply! {
    /// A task, and whether its work is merged into a branch. `merged` is null when the repository on this machine lacks
    /// the branch or the task's commit.
    pub struct MergedRow {
        task_id: TaskId,
        number: u32,
        name: String,
        merged: Option<bool>,
        into: Option<String>,
        branch: Option<String>,
        commit: Option<String>,
    }
}

reply! {
    pub struct MergeReply {
        checked: u32,
        merged: u32,
        still_open: u32,
        unknown: u32,
        workflow_branch: Option<String>,
        tasks: Vec<MergedRow>,
        next_cursor: some String,
    }
}

impl MergeReply {
    pub fn of(tasks: Vec<MergedRow>, workflow_branch: Option<String>, next_cursor: Option<String>) -> Value {
        let count = |wanted: Option<bool>| {
            u32::try_from(tasks.iter().filter(|row| row.merged == wanted).count()).unwrap_or(u32::MAX)
        };
        let (merged, still_open, unknown) = (count(Some(true)), count(Some(false)), count(None));
        Self { checked: merged + still_open, merged, still_open, unknown, workflow_branch, tasks, next_cursor }.render()
    }
}
