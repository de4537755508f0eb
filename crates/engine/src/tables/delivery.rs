//! Answers list queries for deliveries (the work of tasks and workflows in git) and for conditions (facts about the
//! project that need a person) from the maps in memory, with the same results as a database.

use super::Tables;
use super::list::page;
use crate::condition::Condition;
use crate::delivery::{Delivery, DeliveryState, WorkflowDelivery};
use crate::list::{ConditionQuery, DeliveryQuery, WorkflowDeliveryQuery};

impl Tables {
    pub(super) fn list_conditions(&self, query: &ConditionQuery) -> Vec<Condition> {
        // Sort the kinds of conditions as texts, because a database sorts them as texts, too.
        let place = |row: &&Condition| (row.since, row.kind.as_str(), row.subject.clone());
        page(self.conditions.values(), place, |_| true, query.limit).into_iter().cloned().collect()
    }

    pub(super) fn list_deliveries(&self, query: &DeliveryQuery) -> Vec<Delivery> {
        let place = |row: &&Delivery| (row.updated, row.task);
        let rows = self.deliveries.values();
        let found = match query {
            DeliveryQuery::Waiting { after, limit } => {
                let rows = rows.filter(|row| row.state == DeliveryState::Waiting);
                page(rows, place, |key| after.is_none_or(|after| *key > after), *limit)
            }
            DeliveryQuery::ChangedSince { since, after, limit } => {
                let rows = rows.filter(|row| row.updated >= *since);
                page(rows, place, |key| after.is_none_or(|after| *key > after), *limit)
            }
        };
        found.into_iter().cloned().collect()
    }

    pub(super) fn list_workflow_deliveries(&self, query: &WorkflowDeliveryQuery) -> Vec<WorkflowDelivery> {
        let place = |row: &&WorkflowDelivery| (row.updated, row.workflow);
        let rows = self.workflow_deliveries.values();
        let found = match query {
            WorkflowDeliveryQuery::Waiting { after, limit } => {
                let rows = rows.filter(|row| row.state == DeliveryState::Waiting);
                page(rows, place, |key| after.is_none_or(|after| *key > after), *limit)
            }
            WorkflowDeliveryQuery::ChangedSince { since, after, limit } => {
                let rows = rows.filter(|row| row.updated >= *since);
                page(rows, place, |key| after.is_none_or(|after| *key > after), *limit)
            }
        };
        found.into_iter().cloned().collect()
    }
}
