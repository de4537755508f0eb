//! Turns the events of workflows into rows: plan, status, lock.

use std::sync::Arc;

use super::{Fold, Write};
use crate::id::{TaskId, WorkflowId};
use crate::plan::PlanPiece;
use crate::task::{Task, TaskDetail};
use crate::workflow::{Workflow, WorkflowDetail, WorkflowStatus};

impl Fold<'_> {
    pub(super) fn workflow_created(&mut self, workflow: &Workflow, detail: &WorkflowDetail) {
        self.world.workflows.insert(workflow.id, Some(workflow.clone()));
        self.world.workflow_details.insert(workflow.id, detail.clone());
        self.workflows.insert(workflow.id);
        self.workflow_details.insert(workflow.id);
    }

    pub(super) fn plan_set(&mut self, id: WorkflowId, summary: &str, tasks: u32) {
        self.workflow(id, |workflow| {
            workflow.status = WorkflowStatus::Ready;
            workflow.draft = None;
            (workflow.tasks, workflow.open, workflow.sequence) = (tasks, tasks, tasks);
        });
        self.workflow_detail(id, |detail| detail.plan_summary = Some(summary.to_owned()));
    }

    pub(super) fn task_added(
        &mut self,
        task: &Task,
        detail: &TaskDetail,
        depends_on: &[TaskId],
        shift_from: Option<u32>,
    ) {
        if let Some(from) = shift_from {
            self.writes.push(Write::Shift(task.workflow, from));
        }
        let edges = depends_on.iter().map(|dependency| (task.id, *dependency)).collect();
        let piece = PlanPiece { tasks: vec![(task.clone(), detail.clone())], edges };
        self.writes.push(Write::Insert(Arc::new(piece), task.author));
        self.workflow(task.workflow, |workflow| {
            workflow.tasks += 1;
            workflow.open += 1;
            workflow.sequence += 1;
        });
    }

    pub(super) fn task_removed(
        &mut self,
        id: WorkflowId,
        task: TaskId,
        rewired: &[(TaskId, TaskId)],
        waits: &[(TaskId, u32)],
    ) {
        self.writes.push(Write::Drop(vec![task]));
        self.rewired(rewired, waits);
        self.workflow(id, |workflow| {
            workflow.tasks = workflow.tasks.saturating_sub(1);
            workflow.open = workflow.open.saturating_sub(1);
        });
    }

    /// Adds dependencies, and writes for each waiting task the number of tasks that it waits for now.
    pub(super) fn rewired(&mut self, edges: &[(TaskId, TaskId)], waits: &[(TaskId, u32)]) {
        self.writes.push(Write::Edges(edges.to_vec()));
        self.writes.extend(waits.iter().map(|(task, unmet)| Write::Waits(*task, *unmet)));
    }

    pub(super) fn replanned(&mut self, id: WorkflowId, summary: &str, added: u32, removed: &[TaskId]) {
        let dropped = u32::try_from(removed.len()).unwrap_or(u32::MAX);
        self.writes.push(Write::Drop(removed.to_vec()));
        self.workflow(id, |workflow| {
            workflow.tasks = workflow.tasks.saturating_sub(dropped) + added;
            workflow.open = workflow.open.saturating_sub(dropped) + added;
            workflow.sequence += added;
        });
        self.workflow_detail(id, |detail| detail.plan_summary = Some(summary.to_owned()));
    }

    pub(super) fn workflow_changed(
        &mut self,
        id: WorkflowId,
        parallel_max: Option<u32>,
        auto_workspaces: Option<bool>,
    ) {
        self.workflow(id, |workflow| workflow.parallel_max = parallel_max);
        if let Some(auto) = auto_workspaces {
            self.workflow_detail(id, |detail| detail.auto_workspaces = auto);
        }
    }
}
