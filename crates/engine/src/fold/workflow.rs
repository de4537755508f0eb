//! Turns the events of workflows into database rows to write: plan, status, lock.

use std::sync::Arc;

use super::{Fold, TaskInsert, Write};
use crate::command::Actor;
use crate::id::{TaskId, WorkflowId};
use crate::plan::PlanPiece;
use crate::task::{Task, TaskDetail};
use crate::workflow::{Workflow, WorkflowDetail, WorkflowStatus};
use crate::world::{NumberNeed, WorkflowIdNeed};

impl Fold<'_> {
    pub(super) fn workflow_created(&mut self, workflow: &Workflow, detail: &WorkflowDetail) {
        self.world.workflows.insert(workflow.id, Some(workflow.clone()));
        self.world.workflow_details.insert(workflow.id, detail.clone());
        self.workflows.insert(workflow.id);
        self.workflow_details.insert(workflow.id);
        if workflow.standing {
            // Put the new standing list (the one workflow for single tasks) into the loaded state. So a later command
            // of the same transaction finds it and does not create another one.
            self.world.learn(&WorkflowIdNeed::Standing, vec![workflow.id]);
        }
    }

    pub(super) fn branch_taken(&mut self, id: WorkflowId, branch: &str) {
        self.workflow(id, |workflow| workflow.branch = Some(branch.to_owned()));
        // Put the branch into the loaded state. So a later command of the same transaction finds that this workflow has
        // the branch.
        self.world.learn(&WorkflowIdNeed::WithBranch(branch.to_owned()), vec![id]);
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
        self.insert(Arc::new(piece), task.author, task.number);
        self.workflow(task.workflow, |workflow| {
            workflow.tasks += 1;
            workflow.open += 1;
            workflow.sequence += 1;
        });
    }

    /// Inserts the tasks of a piece (a part of a plan). Records the number of the last of these tasks as the last task
    /// number that was given.
    pub(super) fn insert(&mut self, piece: Arc<PlanPiece>, author: Option<Actor>, first: u32) {
        let tasks = u32::try_from(piece.tasks.len()).unwrap_or(u32::MAX);
        if tasks > 0 {
            let last = first.saturating_add(tasks - 1);
            // Put the last number into the loaded state. So a later command of the same transaction gives the next
            // numbers.
            self.world.learn(&NumberNeed::LastTaskNumber, last);
            self.last_number = Some(last);
        }
        self.writes.push(Write::Insert(TaskInsert { piece, author, first }));
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
