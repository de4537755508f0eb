//! The list of the pieces that the reply of `task_load_context` shortens or leaves out, each with the tool call that
//! fetches it.

use engine::id::{TaskId, WorkflowId};

use crate::json::{Value, object};
use crate::tokens::{UNIT, weight};

/// The tool call with which the caller can fetch a piece that was cut from the reply of `task_load_context`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fetch {
    Workflow,
    Task,
    Checkpoints,
    /// The call that lists the tasks of a workflow, page by page.
    Tasks,
    /// The call that fetches one task. The caller fills in the id of the task, which the reply of `task_load_context`
    /// shows.
    Each,
}

#[derive(Debug, Clone)]
pub(super) struct ContextCut {
    pub(super) part: String,
    /// The amount that was cut from this piece of the reply of `task_load_context`: a number of characters for a text,
    /// or a number of items for a list.
    pub(super) left_out: u64,
    pub(super) fetch: Fetch,
}

/// All pieces that were cut from a reply of `task_load_context`. The ids of the workflow and of the task are arguments
/// of the tool calls that fetch these pieces.
#[derive(Debug, Clone)]
pub(super) struct Cuts {
    pub(super) workflow: WorkflowId,
    pub(super) task: TaskId,
    pub(super) list: Vec<ContextCut>,
}

impl Cuts {
    pub(super) fn add(&mut self, part: impl Into<String>, left_out: u64, fetch: Fetch) {
        if left_out > 0 {
            self.list.push(ContextCut { part: part.into(), left_out, fetch });
        }
    }

    /// Renders the list of the pieces that were cut from the reply of `task_load_context`, one entry per piece. If this
    /// list costs more weight (parts of a token) than `budget`, renders one entry per tool call instead: the names of
    /// all pieces that the call fetches, and the total amount that was cut from them.
    pub(super) fn render(&self, budget: u64) -> Option<Value> {
        if self.list.is_empty() {
            return None;
        }
        let each = self.entries(&self.list);
        Some(if weight(&each.to_string()) <= budget { each } else { self.entries(&self.merged()) })
    }

    /// Returns the weight (token cost) of the member `cut` in the reply of `task_load_context`. This member lists the
    /// pieces that were cut from the reply. The weight is 0 when nothing was cut.
    pub(super) fn weight(&self, budget: u64) -> u64 {
        self.render(budget).map_or(0, |list| weight(&format!("\"cut\":{list},")))
    }

    fn merged(&self) -> Vec<ContextCut> {
        let mut merged: Vec<ContextCut> = Vec::new();
        for cut in &self.list {
            match merged.iter_mut().find(|known| known.fetch == cut.fetch) {
                Some(known) => {
                    known.part.push_str(", ");
                    known.part.push_str(&cut.part);
                    known.left_out = known.left_out.saturating_add(cut.left_out);
                }
                None => merged.push(cut.clone()),
            }
        }
        merged
    }

    fn entries(&self, list: &[ContextCut]) -> Value {
        let entry = |cut: &ContextCut| {
            let fetch = match cut.fetch {
                Fetch::Workflow => format!("workflow_get id={}", self.workflow),
                Fetch::Task => format!("task_get id={}", self.task),
                Fetch::Checkpoints => format!("checkpoint_list task_id={} since_sequence=0", self.task),
                Fetch::Tasks => format!("workflow_get id={} include_tasks=true", self.workflow),
                Fetch::Each => "task_get id=<its id>".to_owned(),
            };
            let part = cut.part.as_str().into();
            object([("part", part), ("left_out", cut.left_out.into()), ("fetch", fetch.into())])
        };
        Value::List(list.iter().map(entry).collect())
    }
}

/// Returns the maximum weight (token cost) that the list of cut pieces may have in a reply of `task_load_context` of
/// weight `total`. A heavier list is shortened.
pub(super) fn budget(total: u64) -> u64 {
    (total / 8).max(16 * UNIT)
}
