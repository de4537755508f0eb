//! The SQL statements that list turns (runs of agents' programs), verifications, runners, sections of the project
//! context (the shared knowledge about the project) and approvals, with their parameters.

use engine::approval::ApprovalStatus;
use engine::id::TurnId;
use engine::list::{
    ApprovalQuery, RunnerQuery, SectionChangeQuery, SectionQuery, SpentQuery, TurnQuery, VerificationQuery, Whose,
};

use super::{before, words};
use crate::sql::turn as sql;
use crate::value::{Statement, text};

pub(super) fn turns(query: &TurnQuery) -> Statement {
    match query {
        TurnQuery::Of { of, before: place, limit } => {
            let [time, id] = before(place.as_ref());
            let (sql, key) = match of {
                Whose::Task(task) => (sql::TURNS_OF_TASK, text(task)),
                Whose::Workflow(workflow) => (sql::TURNS_OF_WORKFLOW, text(workflow)),
            };
            Statement::new(sql, [key, time, id, (*limit).into()])
        }
        TurnQuery::Started { from, until, before: place, limit } => {
            // The position before all turns of the time `until` leaves these turns out, because `until` is exclusive.
            let end = (*until, TurnId::FIRST);
            let [time, id] = before(Some(&place.map_or(end, |place| place.min(end))));
            Statement::new(sql::TURNS_STARTED, [(*from).into(), time, id, (*limit).into()])
        }
        TurnQuery::Running { runner, limit } => Statement::new(sql::TURNS_RUNNING, [runner.into(), (*limit).into()]),
    }
}

pub(super) fn spent(SpentQuery(of): &SpentQuery) -> Statement {
    match of {
        Whose::Task(task) => Statement::new(sql::SPENT_ON_TASK, [text(task)]),
        Whose::Workflow(workflow) => Statement::new(sql::SPENT_ON_WORKFLOW, [text(workflow)]),
    }
}

pub(super) fn verifications(VerificationQuery { task, after, limit }: &VerificationQuery) -> Statement {
    Statement::new(sql::VERIFICATIONS, [text(task), (*after).into(), (*limit).into()])
}

pub(super) fn runners(RunnerQuery { limit }: &RunnerQuery) -> Statement {
    Statement::new(sql::RUNNERS, [(*limit).into()])
}

pub(super) fn sections(SectionQuery { after, limit }: &SectionQuery) -> Statement {
    Statement::new(sql::SECTIONS, [after.into(), (*limit).into()])
}

pub(super) fn section_changes(SectionChangeQuery { section, before, limit }: &SectionChangeQuery) -> Statement {
    Statement::new(sql::SECTION_CHANGES, [section.into(), (*before).into(), (*limit).into()])
}

pub(super) fn approvals(query: &ApprovalQuery) -> Statement {
    match query {
        ApprovalQuery::WithStatus { statuses, before: place, limit } => {
            let mut values = words(statuses, ApprovalStatus::ALL, ApprovalStatus::as_str);
            values.extend(before(place.as_ref()));
            values.push((*limit).into());
            Statement::new(sql::APPROVALS, values)
        }
        ApprovalQuery::OfTask { task, limit } => Statement::new(sql::APPROVALS_OF_TASK, [text(task), (*limit).into()]),
        ApprovalQuery::OpenOfTask { task, limit } => Statement::new(sql::OPEN_APPROVALS, [text(task), (*limit).into()]),
        ApprovalQuery::OpenOfAgent { agent, limit } => {
            Statement::new(sql::APPROVALS_OF, [text(agent), (*limit).into()])
        }
        ApprovalQuery::Gates { workflow, limit } => Statement::new(sql::GATES, [text(workflow), (*limit).into()]),
        ApprovalQuery::Overdue { now, limit } => {
            Statement::new(sql::OVERDUE_APPROVALS, [(*now).into(), (*limit).into()])
        }
        ApprovalQuery::DueNotices { channel, now, limit } => {
            Statement::new(sql::DUE_NOTICES, [(*now).into(), channel.as_str().into(), (*limit).into()])
        }
    }
}
