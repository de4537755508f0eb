//! What was left out, and which call brings it.

use engine::id::{TaskId, WorkflowId};

use crate::json::{Value, object};
use crate::tokens::{UNIT, weight};

/// The call that brings what was cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fetch {
    Workflow,
    Task,
    Checkpoints,
    /// The tasks of the workflow, page by page.
    Tasks,
    /// One task of a list, by the id that stands there.
    Each,
}

#[derive(Debug, Clone)]
pub(super) struct Cut {
    pub(super) part: String,
    /// Characters of a text, else how many.
    pub(super) left_out: u64,
    pub(super) fetch: Fetch,
}

/// Everything that was cut, with the ids that fetching needs.
#[derive(Debug, Clone)]
pub(super) struct Cuts {
    pub(super) workflow: WorkflowId,
    pub(super) task: TaskId,
    pub(super) list: Vec<Cut>,
}

impl Cuts {
    pub(super) fn add(&mut self, part: impl Into<String>, left_out: u64, fetch: Fetch) {
        if left_out > 0 {
            self.list.push(Cut { part: part.into(), left_out, fetch });
        }
    }

    /// An entry for each part; where that takes too much room, one for each call, with the sum.
    pub(super) fn render(&self, budget: u64) -> Option<Value> {
        if self.list.is_empty() {
            return None;
        }
        let each = self.entries(&self.list);
        Some(if weight(&each.to_string()) <= budget { each } else { self.entries(&self.merged()) })
    }

    /// What the list costs as a member of the reply.
    pub(super) fn weight(&self, budget: u64) -> u64 {
        self.render(budget).map_or(0, |list| weight(&format!("\"cut\":{list},")))
    }

    fn merged(&self) -> Vec<Cut> {
        let mut merged: Vec<Cut> = Vec::new();
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

    fn entries(&self, list: &[Cut]) -> Value {
        let entry = |cut: &Cut| {
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

/// A list is at most this part of the reply before it is shortened.
pub(super) fn budget(total: u64) -> u64 {
    (total / 8).max(16 * UNIT)
}
