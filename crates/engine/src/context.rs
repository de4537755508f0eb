//! The facts that an agent needs for its work on a task, most important first. The crate `wire` selects as many facts
//! as fit into the text that the agent gets.

use crate::checkpoint::Checkpoint;
use crate::json::Json;
use crate::task::{Task, TaskDetail};
use crate::workflow::{Workflow, WorkflowDetail};

/// The facts that an agent may need for its task. The lists are bounded; each `_more` field counts the entries that
/// its list leaves out.
#[derive(Debug, Clone, PartialEq)]
pub struct ContextFacts {
    pub workflow: Workflow,
    pub workflow_detail: WorkflowDetail,
    pub task: Task,
    pub detail: TaskDetail,
    /// The newest checkpoints of the task, oldest first, without gaps. `task.checkpoints` is the total number of
    /// checkpoints.
    pub checkpoints: Vec<Checkpoint>,
    /// The names of the open tasks for which this task waits.
    pub blocked_by: Vec<String>,
    /// The tasks that the task's `context_from` field names, in the order of the field. When the field is empty, the
    /// list has the finished tasks before this task in the plan, the nearest task first.
    pub prior: Vec<Prior>,
    pub prior_more: u32,
    /// The other tasks of this task's parallel group (tasks that are planned to run at the same time), in the order of
    /// the plan.
    pub siblings: Vec<Task>,
    pub siblings_more: u32,
    /// The task's dependencies, in the order of the plan.
    pub dependencies: Vec<Task>,
    pub dependencies_more: u32,
}

/// An earlier task whose result the agent's task may build on.
#[derive(Debug, Clone, PartialEq)]
pub struct Prior {
    pub task: Task,
    pub outcome_detail: Option<Json>,
}
