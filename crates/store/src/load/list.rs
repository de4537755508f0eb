//! Turns a list query into a statement, and its rows into a fact of the world (the loaded state).

mod review;
mod turn;

use engine::inbox::MailboxOwner;
use engine::list::List;
use engine::task::Status;
use engine::workflow::WorkflowStatus;
use engine::workspace::WorkspaceStatus;
use engine::{Fact, Timestamp};

use super::{many, one};
use crate::fault::Fault;
use crate::row;
use crate::sql::list as sql;
use crate::value::{Columns, SqlValue, Statement, optional, text};

/// Returns the words of a filter as parameters. The statement has a fixed number of parameters, so the first word fills
/// those that are left. An empty filter stands for all words.
fn words<T: Copy>(chosen: &[T], all: &[T], word: impl Fn(T) -> &'static str) -> Vec<SqlValue> {
    let chosen = if chosen.is_empty() { all } else { chosen };
    let Some(first) = chosen.first() else { return Vec::new() };
    let places = chosen.iter().chain(std::iter::repeat(first)).take(all.len());
    places.map(|found| word(*found).into()).collect()
}

/// A position (time and id) that sorts after every row.
const LAST: (i64, &str) = (i64::MAX, "~");

fn before<I: ToString>(after: Option<&(Timestamp, I)>) -> [SqlValue; 2] {
    after.map_or([LAST.0.into(), LAST.1.into()], |(time, id)| [(*time).into(), SqlValue::from(id.to_string())])
}

fn behind<I: ToString>(after: Option<&(Timestamp, I)>) -> [SqlValue; 2] {
    after.map_or([SqlValue::Int(-1), "".into()], |(time, id)| [(*time).into(), SqlValue::from(id.to_string())])
}

fn position(after: Option<&(u32, engine::id::TaskId)>) -> [SqlValue; 2] {
    after.map_or([SqlValue::Int(-1), "".into()], |(sequence, id)| [(*sequence).into(), text(id)])
}

fn owner(owner: &MailboxOwner) -> SqlValue {
    text(owner)
}

pub(super) fn query(list: &List) -> Statement {
    match list {
        List::Workflows { filter, after, offset, limit } => {
            let mut values = words(&filter.statuses, WorkflowStatus::ALL, WorkflowStatus::as_str);
            values.push(optional(filter.repository));
            values.extend(before(after.as_ref()));
            values.extend([(*limit).into(), (*offset).into()]);
            Statement::new(sql::WORKFLOWS, values)
        }
        List::WorkflowTotal(filter) => {
            let mut values = words(&filter.statuses, WorkflowStatus::ALL, WorkflowStatus::as_str);
            values.push(optional(filter.repository));
            Statement::new(sql::WORKFLOW_TOTAL, values)
        }
        List::Tasks { workflow, statuses, after, limit } => {
            let mut values = words(statuses, Status::ALL, Status::as_str);
            values.push(text(workflow));
            values.extend(position(after.as_ref()));
            values.push((*limit).into());
            Statement::new(sql::TASKS, values)
        }
        List::Waiting { workflow, after, limit } => {
            let [sequence, id] = position(after.as_ref());
            Statement::new(sql::WAITING, [text(workflow), sequence, id, (*limit).into()])
        }
        List::Finished { workflow, before, limit } => {
            Statement::new(sql::FINISHED, [text(workflow), (*before).into(), (*limit).into()])
        }
        List::Group { workflow, group, limit } => {
            Statement::new(sql::GROUP, [text(workflow), group.into(), (*limit).into()])
        }
        List::Statuses(workflow) => Statement::new(sql::STATUSES, [text(workflow)]),
        List::Groups { workflow, limit } => Statement::new(sql::GROUPS, [text(workflow), (*limit).into()]),
        List::FirstOpen(workflow) => Statement::new(sql::FIRST_OPEN, [text(workflow)]),
        List::Held { limit } => Statement::new(sql::HELD, [(*limit).into()]),
        List::Stuck { limit } => Statement::new(sql::STUCK, [(*limit).into()]),
        List::Agents { .. }
        | List::Workspaces { .. }
        | List::Attached { .. }
        | List::Repositories { .. }
        | List::RepositoryTotal
        | List::Templates { .. }
        | List::Mail { .. }
        | List::Questions { .. }
        | List::Unread(_)
        | List::Tokens { .. } => other_query(list),
        List::Turns { .. }
        | List::Running { .. }
        | List::Spent(_)
        | List::Verifications { .. }
        | List::Runners { .. }
        | List::Sections { .. }
        | List::SectionChanges { .. }
        | List::Approvals { .. }
        | List::OpenApprovals { .. }
        | List::OverdueApprovals { .. }
        | List::ApprovalsOf { .. }
        | List::Gates { .. }
        | List::Gated { .. }
        | List::DueNotices { .. } => turn::query(list),
        List::Reviews { .. } | List::TaskReviews { .. } | List::Rounds { .. } | List::Findings { .. } => {
            review::query(list)
        }
    }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "`query` names every list and sends the rest here")]
fn other_query(list: &List) -> Statement {
    match list {
        List::Agents { filter, after, limit } => {
            let [role, runtime] = [&filter.role, &filter.runtime].map(|word| SqlValue::from(word.as_ref()));
            let [time, id] = behind(after.as_ref());
            Statement::new(sql::AGENTS, [role, runtime, optional(filter.workflow), time, id, (*limit).into()])
        }
        List::Workspaces { workflow, statuses, after, limit } => {
            let mut values = vec![text(workflow)];
            values.extend(words(statuses, WorkspaceStatus::ALL, WorkspaceStatus::as_str));
            values.extend(behind(after.as_ref()));
            values.push((*limit).into());
            Statement::new(sql::WORKSPACES, values)
        }
        List::Attached { workflow, limit } => Statement::new(sql::ATTACHED, [text(workflow), (*limit).into()]),
        List::Repositories { after, offset, limit } => {
            let [time, id] = before(after.as_ref());
            Statement::new(sql::REPOSITORIES, [time, id, (*limit).into(), (*offset).into()])
        }
        List::Templates { after, limit } => Statement::new(sql::TEMPLATES, [after.into(), (*limit).into()]),
        List::Mail { owner: whose, before, limit } => {
            Statement::new(sql::MAIL, [owner(whose), (*before).into(), (*limit).into()])
        }
        List::Questions { after, limit } => Statement::new(sql::QUESTIONS, [(*after).into(), (*limit).into()]),
        List::Unread(whose) => Statement::new(sql::UNREAD, [owner(whose)]),
        List::Tokens { revoked, after, limit } => {
            let [time, id] = behind(after.as_ref());
            Statement::new(sql::TOKENS, [(*revoked).into(), time, id, (*limit).into()])
        }
        _ => Statement::new(sql::REPOSITORY_TOTAL, []),
    }
}

pub(super) fn fact(list: &List, rows: Vec<Vec<SqlValue>>) -> Result<Fact, Fault> {
    Ok(match list {
        List::Workflows { .. } => Fact::WorkflowRows(many(rows, row::read_workflow)?),
        List::WorkflowTotal(_) | List::RepositoryTotal | List::FirstOpen(_) => {
            Fact::Number(one(rows, |row| Columns::new("count", row).count())?.unwrap_or(0))
        }
        List::Tasks { .. }
        | List::Waiting { .. }
        | List::Finished { .. }
        | List::Group { .. }
        | List::Held { .. }
        | List::Stuck { .. }
        | List::Gated { .. } => Fact::Full(many(rows, row::read_task)?),
        List::Statuses(_) | List::Groups { .. } | List::Unread(_) => Fact::Counts(many(rows, |row| {
            let mut columns = Columns::new("count", row);
            Ok((columns.text()?, columns.count()?, columns.count()?))
        })?),
        List::Agents { .. } => Fact::AgentRows(many(rows, |mut row| {
            let task = row.pop().into_iter().collect();
            Ok((row::read_agent(row)?, Columns::new("agent", task).maybe_parsed()?))
        })?),
        List::Workspaces { .. } => Fact::WorkspaceRows(many(rows, row::read_workspace)?),
        List::Attached { .. } | List::Repositories { .. } => Fact::RepositoryRows(many(rows, |mut row| {
            let added = row.pop().into_iter().collect();
            Ok((row::read_repository(row)?, Columns::new("attachment", added).time()?))
        })?),
        List::Templates { .. } => Fact::TemplateRows(many(rows, row::read_template)?),
        List::Mail { .. } | List::Questions { .. } => Fact::Messages(many(rows, row::read_message)?),
        List::Tokens { .. } => Fact::TokenRows(many(rows, row::read_token)?),
        List::Turns { .. } | List::Running { .. } => Fact::TurnRows(many(rows, row::turn::read_turn)?),
        List::Spent(_) => Fact::Spent(one(rows, row::turn::read_spent)?.unwrap_or_default()),
        List::Verifications { .. } => Fact::VerificationRows(many(rows, row::turn::read_verification)?),
        List::Runners { .. } => Fact::RunnerRows(many(rows, row::turn::read_runner)?),
        List::Sections { .. } => Fact::SectionRows(many(rows, row::turn::read_section)?),
        List::SectionChanges { .. } => Fact::SectionChanges(many(rows, row::turn::read_section_change)?),
        List::Approvals { .. }
        | List::OpenApprovals { .. }
        | List::OverdueApprovals { .. }
        | List::ApprovalsOf { .. }
        | List::Gates { .. }
        | List::DueNotices { .. } => Fact::ApprovalRows(many(rows, row::turn::read_approval)?),
        List::Reviews { .. } | List::TaskReviews { .. } => Fact::ReviewRows(many(rows, row::review::read_review)?),
        List::Rounds { .. } => Fact::RoundRows(many(rows, row::review::read_round)?),
        List::Findings { .. } => Fact::FindingRows(many(rows, row::review::read_finding)?),
    })
}
