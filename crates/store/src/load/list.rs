//! Turns a list query (for a page of rows or a count) into an SQL statement, and adds its rows to the world (the loaded
//! state).

mod delivery;
mod review;
mod turn;

use engine::list::{
    AgentQuery, CountQuery, GroupQuery, ListQuery, MessageQuery, RepositoryQuery, TaskQuery, TemplateQuery, TokenQuery,
    TotalQuery, WorkflowFilter, WorkflowQuery, WorkspaceQuery,
};
use engine::task::Status;
use engine::workflow::WorkflowStatus;
use engine::workspace::WorkspaceStatus;
use engine::{Timestamp, World};

use super::{many, number, one};
use crate::fault::Fault;
use crate::row;
use crate::sql::list as sql;
use crate::value::{Columns, SqlValue, Statement, optional, text};

pub(super) fn query(query: &ListQuery) -> Statement {
    match query {
        ListQuery::Workflows(query) => workflows(query),
        ListQuery::Tasks(query) => tasks(query),
        ListQuery::Agents(query) => agents(query),
        ListQuery::Workspaces(query) => workspaces(query),
        ListQuery::Repositories(query) => repositories(query),
        ListQuery::Templates(TemplateQuery { after, limit }) => {
            Statement::new(sql::TEMPLATES, [after.into(), (*limit).into()])
        }
        ListQuery::Messages(query) => messages(query),
        ListQuery::Turns(query) => turn::turns(query),
        ListQuery::Verifications(query) => turn::verifications(query),
        ListQuery::Runners(query) => turn::runners(query),
        ListQuery::Sections(query) => turn::sections(query),
        ListQuery::SectionChanges(query) => turn::section_changes(query),
        ListQuery::Approvals(query) => turn::approvals(query),
        ListQuery::Reviews(query) => review::reviews(query),
        ListQuery::Rounds(query) => review::rounds(query),
        ListQuery::Findings(query) => review::findings(query),
        ListQuery::Conditions(query) => Statement::new(crate::sql::delivery::CONDITIONS, [query.limit.into()]),
        ListQuery::Deliveries(query) => delivery::deliveries(query),
        ListQuery::WorkflowDeliveries(query) => delivery::workflow_deliveries(query),
        ListQuery::Tokens(query) => tokens(query),
        ListQuery::Totals(query) => total(query),
        ListQuery::Counts(CountQuery::Statuses(workflow)) => Statement::new(sql::STATUSES, [text(workflow)]),
        ListQuery::Counts(CountQuery::Unread(owner)) => Statement::new(sql::UNREAD, [text(owner)]),
        ListQuery::Groups(GroupQuery { workflow, limit }) => {
            Statement::new(sql::GROUPS, [text(workflow), (*limit).into()])
        }
        ListQuery::Spent(query) => turn::spent(query),
    }
}

pub(super) fn absorb(query: &ListQuery, rows: Vec<Vec<SqlValue>>, world: &mut World) -> Result<(), Fault> {
    match query {
        ListQuery::Workflows(query) => world.learn(query, many(rows, row::read_workflow)?),
        ListQuery::Tasks(query) => world.learn(query, many(rows, row::read_task)?),
        ListQuery::Agents(query) => {
            let read = |mut row: Vec<SqlValue>| {
                let task = row.pop().into_iter().collect();
                Ok((row::read_agent(row)?, Columns::new("agent", task).maybe_parsed()?))
            };
            world.learn(query, many(rows, read)?);
        }
        ListQuery::Workspaces(query) => world.learn(query, many(rows, row::read_workspace)?),
        ListQuery::Repositories(query) => {
            let read = |mut row: Vec<SqlValue>| {
                let added = row.pop().into_iter().collect();
                Ok((row::read_repository(row)?, Columns::new("attachment", added).time()?))
            };
            world.learn(query, many(rows, read)?);
        }
        ListQuery::Templates(query) => world.learn(query, many(rows, row::read_template)?),
        ListQuery::Messages(query) => world.learn(query, many(rows, row::read_message)?),
        ListQuery::Turns(query) => world.learn(query, many(rows, row::turn::read_turn)?),
        ListQuery::Verifications(query) => world.learn(query, many(rows, row::turn::read_verification)?),
        ListQuery::Runners(query) => world.learn(query, many(rows, row::turn::read_runner)?),
        ListQuery::Sections(query) => world.learn(query, many(rows, row::turn::read_section)?),
        ListQuery::SectionChanges(query) => world.learn(query, many(rows, row::turn::read_section_change)?),
        ListQuery::Approvals(query) => world.learn(query, many(rows, row::turn::read_approval)?),
        ListQuery::Reviews(query) => world.learn(query, many(rows, row::review::read_review)?),
        ListQuery::Rounds(query) => world.learn(query, many(rows, row::review::read_round)?),
        ListQuery::Findings(query) => world.learn(query, many(rows, row::review::read_finding)?),
        ListQuery::Conditions(query) => world.learn(query, many(rows, row::delivery::read_condition)?),
        ListQuery::Deliveries(query) => world.learn(query, many(rows, row::delivery::read_delivery)?),
        ListQuery::WorkflowDeliveries(query) => {
            world.learn(query, many(rows, row::delivery::read_workflow_delivery)?);
        }
        ListQuery::Tokens(query) => world.learn(query, many(rows, row::token::read_token)?),
        ListQuery::Totals(query) => world.learn(query, number(rows)?),
        ListQuery::Counts(query) => {
            let read = |row: Vec<SqlValue>| {
                let mut columns = Columns::new("count", row);
                Ok((columns.text()?, columns.count()?))
            };
            world.learn(query, many(rows, read)?);
        }
        ListQuery::Groups(query) => {
            let read = |row: Vec<SqlValue>| {
                let mut columns = Columns::new("count", row);
                Ok((columns.text()?, columns.count()?, columns.count()?))
            };
            world.learn(query, many(rows, read)?);
        }
        ListQuery::Spent(query) => world.learn(query, one(rows, row::turn::read_spent)?.unwrap_or_default()),
    }
    Ok(())
}

/// Returns the words of a filter, such as statuses, as parameters of an SQL statement. The statement has a fixed number
/// of parameters, so the first word is repeated to fill the unused ones. An empty filter stands for all words.
fn words<T: Copy>(chosen: &[T], all: &[T], word: impl Fn(T) -> &'static str) -> Vec<SqlValue> {
    let chosen = if chosen.is_empty() { all } else { chosen };
    let Some(first) = chosen.first() else { return Vec::new() };
    let places = chosen.iter().chain(std::iter::repeat(first)).take(all.len());
    places.map(|found| word(*found).into()).collect()
}

/// A position (time and id) in a list that sorts after every row.
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

fn workflow_filter(filter: &WorkflowFilter) -> Vec<SqlValue> {
    let mut values = words(&filter.statuses, WorkflowStatus::ALL, WorkflowStatus::as_str);
    values.extend([optional(filter.repository), filter.archived.into()]);
    values
}

fn workflows(query: &WorkflowQuery) -> Statement {
    let mut values = workflow_filter(&query.filter);
    values.extend(before(query.after.as_ref()));
    values.extend([query.limit.into(), query.offset.into()]);
    Statement::new(sql::WORKFLOWS, values)
}

fn tasks(query: &TaskQuery) -> Statement {
    match query {
        TaskQuery::Planned { workflow, statuses, after, limit } => {
            let mut values = words(statuses, Status::ALL, Status::as_str);
            values.push(text(workflow));
            values.extend(position(after.as_ref()));
            values.push((*limit).into());
            Statement::new(sql::TASKS, values)
        }
        TaskQuery::Waiting { workflow, after, limit } => {
            let [sequence, id] = position(after.as_ref());
            Statement::new(sql::WAITING, [text(workflow), sequence, id, (*limit).into()])
        }
        TaskQuery::Finished { workflow, before, limit } => {
            Statement::new(sql::FINISHED, [text(workflow), (*before).into(), (*limit).into()])
        }
        TaskQuery::Group { workflow, group, limit } => {
            Statement::new(sql::GROUP, [text(workflow), group.into(), (*limit).into()])
        }
        TaskQuery::Numbered { number } => Statement::new(sql::NUMBERED, [(*number).into()]),
        // An id has only letters, digits and `_`, and in ASCII `~` follows them all. So the range from the text to the
        // text with `~` has exactly the ids that begin with the text.
        TaskQuery::IdBeginning { text, limit } => {
            Statement::new(sql::ID_BEGINNING, [text.into(), format!("{text}~").into(), (*limit).into()])
        }
        TaskQuery::Named { name, limit } => Statement::new(sql::NAMED, [name.into(), (*limit).into()]),
        TaskQuery::Recent { statuses, before, limit } => {
            let mut values = words(statuses, Status::ALL, Status::as_str);
            values.extend([(*before).into(), (*limit).into()]);
            Statement::new(sql::RECENT, values)
        }
        TaskQuery::Held { limit } => Statement::new(sql::HELD, [(*limit).into()]),
        TaskQuery::Stuck { limit } => Statement::new(sql::STUCK, [(*limit).into()]),
        TaskQuery::Gated { limit } => Statement::new(crate::sql::turn::GATED, [(*limit).into()]),
    }
}

fn agents(AgentQuery { filter, after, limit }: &AgentQuery) -> Statement {
    let [role, runtime] = [&filter.role, &filter.runtime].map(|word| SqlValue::from(word.as_ref()));
    let [time, id] = behind(after.as_ref());
    Statement::new(sql::AGENTS, [role, runtime, optional(filter.workflow), time, id, (*limit).into()])
}

fn workspaces(query: &WorkspaceQuery) -> Statement {
    let mut values = vec![text(query.workflow)];
    values.extend(words(&query.statuses, WorkspaceStatus::ALL, WorkspaceStatus::as_str));
    values.extend(behind(query.after.as_ref()));
    values.push(query.limit.into());
    Statement::new(sql::WORKSPACES, values)
}

fn repositories(query: &RepositoryQuery) -> Statement {
    match query {
        RepositoryQuery::Attached { workflow, limit } => {
            Statement::new(sql::ATTACHED, [text(workflow), (*limit).into()])
        }
        RepositoryQuery::All { after, offset, limit } => {
            let [time, id] = before(after.as_ref());
            Statement::new(sql::REPOSITORIES, [time, id, (*limit).into(), (*offset).into()])
        }
    }
}

fn messages(query: &MessageQuery) -> Statement {
    match query {
        MessageQuery::Mail { owner, before, limit } => {
            Statement::new(sql::MAIL, [text(owner), (*before).into(), (*limit).into()])
        }
        MessageQuery::QuestionsOfTask { task, limit } => {
            Statement::new(sql::QUESTIONS_OF_TASK, [text(task), (*limit).into()])
        }
        MessageQuery::Questions { after, limit } => Statement::new(sql::QUESTIONS, [(*after).into(), (*limit).into()]),
    }
}

fn tokens(query: &TokenQuery) -> Statement {
    let [time, id] = behind(query.after.as_ref());
    Statement::new(sql::TOKENS, [query.revoked.into(), time, id, query.limit.into()])
}

fn total(query: &TotalQuery) -> Statement {
    match query {
        TotalQuery::Workflows(filter) => Statement::new(sql::WORKFLOW_TOTAL, workflow_filter(filter)),
        TotalQuery::Repositories => Statement::new(sql::REPOSITORY_TOTAL, []),
        TotalQuery::FirstOpen(workflow) => Statement::new(sql::FIRST_OPEN, [text(workflow)]),
    }
}
