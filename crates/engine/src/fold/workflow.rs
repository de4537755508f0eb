//! Turns the events of workflows into rows: plan, status, lock.

use std::sync::Arc;

use super::{Fold, Write};
use crate::event::Event;
use crate::plan::PlanPiece;
use crate::workflow::WorkflowStatus;

impl Fold<'_> {
    #[expect(clippy::wildcard_enum_match_arm, reason = "`apply` names every event and sends those of workflows here")]
    #[expect(clippy::too_many_lines, reason = "one match that names every event")]
    pub(super) fn apply_to_workflow(&mut self, event: &Event) {
        match event {
            Event::WorkflowCreated { workflow, detail } => {
                self.world.workflows.insert(workflow.id, Some((**workflow).clone()));
                self.world.workflow_details.insert(workflow.id, (**detail).clone());
                self.workflows.insert(workflow.id);
                self.workflow_details.insert(workflow.id);
            }
            Event::Drafting { workflow, draft } => {
                self.workflow(*workflow, |workflow| workflow.draft.clone_from(draft))
            }
            Event::Staged { piece, author, .. } => self.writes.push(Write::Insert(Arc::clone(piece), *author)),
            Event::DraftCleared { tasks, .. } => self.writes.push(Write::Drop(tasks.clone())),
            Event::PlanSet { workflow, summary, tasks } => {
                self.workflow(*workflow, |workflow| {
                    workflow.status = WorkflowStatus::Ready;
                    workflow.draft = None;
                    (workflow.tasks, workflow.open, workflow.sequence) = (*tasks, *tasks, *tasks);
                });
                self.workflow_detail(*workflow, |detail| detail.plan_summary = Some(summary.clone()));
            }
            Event::TaskAdded { task, detail, depends_on, shift_from } => {
                if let Some(from) = shift_from {
                    self.writes.push(Write::Shift(task.workflow, *from));
                }
                let edges = depends_on.iter().map(|dependency| (task.id, *dependency)).collect();
                let piece = PlanPiece { tasks: vec![((**task).clone(), (**detail).clone())], edges };
                self.writes.push(Write::Insert(Arc::new(piece), task.author));
                self.workflow(task.workflow, |workflow| {
                    workflow.tasks += 1;
                    workflow.open += 1;
                    workflow.sequence += 1;
                });
            }
            Event::TaskRemoved { workflow, task, rewired, waits, .. } => {
                self.writes.push(Write::Drop(vec![*task]));
                self.writes.push(Write::Edges(rewired.clone()));
                self.writes.extend(waits.iter().map(|(task, unmet)| Write::Waits(*task, *unmet)));
                self.workflow(*workflow, |workflow| {
                    workflow.tasks = workflow.tasks.saturating_sub(1);
                    workflow.open = workflow.open.saturating_sub(1);
                });
            }
            Event::DependenciesKept { edges, waits, .. } => {
                self.writes.push(Write::Edges(edges.clone()));
                self.writes.extend(waits.iter().map(|(task, unmet)| Write::Waits(*task, *unmet)));
            }
            Event::Replanned { workflow, summary, added, removed, .. } => {
                let dropped = u32::try_from(removed.len()).unwrap_or(u32::MAX);
                self.writes.push(Write::Drop(removed.clone()));
                self.workflow(*workflow, |workflow| {
                    workflow.tasks = workflow.tasks.saturating_sub(dropped) + added;
                    workflow.open = workflow.open.saturating_sub(dropped) + added;
                    workflow.sequence += added;
                });
                self.workflow_detail(*workflow, |detail| detail.plan_summary = Some(summary.clone()));
            }
            Event::WorkflowMoved { workflow, to, .. } => self.workflow(*workflow, |workflow| workflow.status = *to),
            Event::WorkflowChanged { workflow, parallel_max, auto_workspaces, .. } => {
                self.workflow(*workflow, |workflow| workflow.parallel_max = *parallel_max);
                if let Some(auto) = auto_workspaces {
                    self.workflow_detail(*workflow, |detail| detail.auto_workspaces = *auto);
                }
            }
            Event::Configured { workflow, config, .. } => {
                self.workflow_detail(*workflow, |detail| detail.config = Some(config.clone()));
            }
            Event::Locked { workflow, lock } => self.workflow(*workflow, |workflow| workflow.lock = Some(lock.clone())),
            Event::LockRenewed { workflow, until } => self.workflow(*workflow, |workflow| {
                if let Some(lock) = &mut workflow.lock {
                    lock.until = lock.until.max(*until);
                }
            }),
            Event::Unlocked { workflow, .. } => self.workflow(*workflow, |workflow| workflow.lock = None),
            _ => {}
        }
    }
}
