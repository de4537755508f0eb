//! The SQL statements that list turns, verifications, runners, sections of the project context and approvals, with
//! their parameters.

use engine::approval::ApprovalStatus;
use engine::list::{List, Whose};

use super::{before, words};
use crate::sql::turn as sql;
use crate::value::{Statement, text};

#[expect(clippy::wildcard_enum_match_arm, reason = "`query` sends these lists here")]
pub(super) fn query(list: &List) -> Statement {
    match list {
        List::Turns { of, before: place, limit } => {
            let [time, id] = before(place.as_ref());
            let (sql, key) = match of {
                Whose::Task(task) => (sql::TURNS_OF_TASK, text(task)),
                Whose::Workflow(workflow) => (sql::TURNS_OF_WORKFLOW, text(workflow)),
            };
            Statement::new(sql, [key, time, id, (*limit).into()])
        }
        List::Running { runner, limit } => Statement::new(sql::TURNS_RUNNING, [runner.into(), (*limit).into()]),
        List::Spent(Whose::Task(task)) => Statement::new(sql::SPENT_ON_TASK, [text(task)]),
        List::Spent(Whose::Workflow(workflow)) => Statement::new(sql::SPENT_ON_WORKFLOW, [text(workflow)]),
        List::Verifications { task, after, limit } => {
            Statement::new(sql::VERIFICATIONS, [text(task), (*after).into(), (*limit).into()])
        }
        List::Sections { after, limit } => Statement::new(sql::SECTIONS, [after.into(), (*limit).into()]),
        List::SectionChanges { section, before, limit } => {
            Statement::new(sql::SECTION_CHANGES, [section.into(), (*before).into(), (*limit).into()])
        }
        List::Approvals { statuses, before: place, limit } => {
            let mut values = words(statuses, ApprovalStatus::ALL, ApprovalStatus::as_str);
            values.extend(before(place.as_ref()));
            values.push((*limit).into());
            Statement::new(sql::APPROVALS, values)
        }
        List::OpenApprovals { task, limit } => Statement::new(sql::OPEN_APPROVALS, [text(task), (*limit).into()]),
        List::OverdueApprovals { now, limit } => {
            Statement::new(sql::OVERDUE_APPROVALS, [(*now).into(), (*limit).into()])
        }
        List::ApprovalsOf { agent, limit } => Statement::new(sql::APPROVALS_OF, [text(agent), (*limit).into()]),
        List::Gates { workflow, limit } => Statement::new(sql::GATES, [text(workflow), (*limit).into()]),
        List::Gated { limit } => Statement::new(sql::GATED, [(*limit).into()]),
        List::DueNotices { channel, now, limit } => {
            Statement::new(sql::DUE_NOTICES, [(*now).into(), channel.as_str().into(), (*limit).into()])
        }
        List::Runners { limit } => Statement::new(sql::RUNNERS, [(*limit).into()]),
        _ => Statement::new(sql::RUNNERS, [0_u32.into()]),
    }
}
