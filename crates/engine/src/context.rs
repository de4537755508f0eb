//! Which facts matter to whoever works on a task, in which order. `wire` fits them into a budget.

use crate::checkpoint::Checkpoint;
use crate::json::Json;
use crate::task::{Detail, Task};
use crate::workflow::{Workflow, WorkflowDetail};

/// What a worker may need to know, bounded. What there is more of is counted.
#[derive(Debug, Clone, PartialEq)]
pub struct Facts {
    pub workflow: Workflow,
    pub workflow_detail: WorkflowDetail,
    pub task: Task,
    pub detail: Detail,
    /// The newest ones, oldest first, without gaps up to the last; `task.checkpoints` says how many there are.
    pub checkpoints: Vec<Checkpoint>,
    /// Names of tasks it waits for.
    pub blocked_by: Vec<String>,
    /// Tasks named by `context_from`, in its order; without it the finished ones, nearest before this task first.
    pub prior: Vec<Prior>,
    pub prior_more: u32,
    /// The other tasks of its parallel group, in the order of the plan.
    pub siblings: Vec<Task>,
    pub siblings_more: u32,
    /// What it depends on, in the order of the plan.
    pub dependencies: Vec<Task>,
    pub dependencies_more: u32,
}

/// A task that was worked on before.
#[derive(Debug, Clone, PartialEq)]
pub struct Prior {
    pub task: Task,
    pub outcome_detail: Option<Json>,
}
