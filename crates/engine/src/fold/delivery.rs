//! Turns the events of deliveries (the work of tasks and workflows in git) into database rows to write.

use super::{Fold, Write};
use crate::delivery::{Delivery, DeliveryState, DeliverySubject, WorkflowDelivery};
use crate::id::TaskId;

impl Fold<'_> {
    pub(super) fn delivered(&mut self, row: &Delivery) {
        self.world.deliveries.insert(row.task, Some(row.clone()));
        self.writes.push(Write::Delivery(Box::new(row.clone())));
    }

    pub(super) fn workflow_delivered(&mut self, row: &WorkflowDelivery) {
        self.world.workflow_deliveries.insert(row.workflow, Some(row.clone()));
        self.writes.push(Write::WorkflowDelivery(Box::new(row.clone())));
    }

    pub(super) fn delivery_withdrawn(&mut self, task: TaskId) {
        self.world.deliveries.insert(task, None);
        self.writes.push(Write::DropDelivery(task));
    }

    pub(super) fn delivery_moved(&mut self, subject: DeliverySubject, state: &DeliveryState) {
        let now = self.now;
        match subject {
            DeliverySubject::Task(task) => {
                if let Some(Some(row)) = self.world.deliveries.get_mut(&task) {
                    (row.state, row.updated) = (state.clone(), row.updated.max(now));
                    self.writes.push(Write::Delivery(Box::new(row.clone())));
                }
            }
            DeliverySubject::Workflow(workflow) => {
                if let Some(Some(row)) = self.world.workflow_deliveries.get_mut(&workflow) {
                    (row.state, row.updated) = (state.clone(), row.updated.max(now));
                    self.writes.push(Write::WorkflowDelivery(Box::new(row.clone())));
                }
            }
        }
    }
}
