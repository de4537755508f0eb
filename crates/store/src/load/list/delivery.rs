//! The SQL statements that list deliveries (the work of tasks and workflows in git), with their parameters.

use engine::list::{DeliveryQuery, WorkflowDeliveryQuery};

use super::behind;
use crate::sql::delivery as sql;
use crate::value::Statement;

pub(super) fn deliveries(query: &DeliveryQuery) -> Statement {
    match query {
        DeliveryQuery::Waiting { after, limit } => {
            let [time, id] = behind(after.as_ref());
            Statement::new(sql::WAITING, [time, id, (*limit).into()])
        }
        DeliveryQuery::ChangedSince { since, after, limit } => {
            let [time, id] = behind(after.as_ref());
            Statement::new(sql::CHANGED, [(*since).into(), time, id, (*limit).into()])
        }
    }
}

pub(super) fn workflow_deliveries(query: &WorkflowDeliveryQuery) -> Statement {
    match query {
        WorkflowDeliveryQuery::Waiting { after, limit } => {
            let [time, id] = behind(after.as_ref());
            Statement::new(sql::WORKFLOWS_WAITING, [time, id, (*limit).into()])
        }
        WorkflowDeliveryQuery::ChangedSince { since, after, limit } => {
            let [time, id] = behind(after.as_ref());
            Statement::new(sql::WORKFLOWS_CHANGED, [(*since).into(), time, id, (*limit).into()])
        }
    }
}
