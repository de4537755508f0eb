//! The facts that matter to an agent that works on a task, in the order of their importance. `wire` fits them into a
//! budget.

use crate::checkpoint::Checkpoint;
use crate::json::Json;
use crate::task::{Task, TaskDetail};
use crate::workflow::{Workflow, WorkflowDetail};

/// The facts that an agent may need to know, in bounded lists. The `_more` fields count the rest.
#[derive(Debug, Clone, PartialEq)]
pub struct ContextFacts {
    pub workflow: Workflow,
    pub workflow_detail: WorkflowDetail,
    pub task: Task,
    pub detail: TaskDetail,
    /// The newest checkpoints, oldest first, without gaps up to the last. `task.checkpoints` is their total number.
    pub checkpoints: Vec<Checkpoint>,
    /// The names of the tasks that the task waits for.
    pub blocked_by: Vec<String>,
    /// The tasks that `context_from` names, in its order. Without it, the finished tasks, nearest before this task
    /// first.
    pub prior: Vec<Prior>,
    pub prior_more: u32,
    /// The other tasks of its parallel group, in the order of the plan.
    pub siblings: Vec<Task>,
    pub siblings_more: u32,
    /// The task's dependencies, in the order of the plan.
    pub dependencies: Vec<Task>,
    pub dependencies_more: u32,
}

/// A task that was worked on earlier.
#[derive(Debug, Clone, PartialEq)]
pub struct Prior {
    pub task: Task,
    pub outcome_detail: Option<Json>,
}
