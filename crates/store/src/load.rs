//! Turns a need (a request for rows) into an SQL statement, and adds the rows of the answer to the world (the loaded
//! state).
//!
//! This file has the needs for one row. The modules `need` and `list` have the needs that are grouped by the type of
//! their answer, so that all rows of a group are read by the same function.

mod list;
mod need;

use engine::inbox::Mailbox;
use engine::{Need, World};

use crate::fault::Fault;
use crate::row;
use crate::sql;
use crate::value::{Columns, SqlValue, Statement, text};

/// Returns the SQL query that answers a need (a request for rows). Each query returns a bounded number of rows.
pub(crate) fn query(need: &Need) -> Statement {
    let one = |sql, key: SqlValue| Statement::new(sql, [key]);
    match need {
        Need::Task(id) => one(sql::TASK, text(id)),
        Need::Detail(id) => one(sql::DETAIL, text(id)),
        Need::Workflow(id) => one(sql::WORKFLOW, text(id)),
        Need::WorkflowDetail(id) => one(sql::WORKFLOW_DETAIL, text(id)),
        Need::Agent(id) => one(sql::AGENT, text(id)),
        Need::Mailbox(owner) => one(sql::MAILBOX, text(owner)),
        Need::Message(id) => one(sql::MESSAGE, text(id)),
        Need::Workspace(id) => one(sql::WORKSPACE, text(id)),
        Need::Repository(id) => one(sql::REPOSITORY, text(id)),
        Need::RepositoryAt(path) => one(sql::REPOSITORY_AT, path.into()),
        Need::Attached(id, repository) => Statement::new(sql::ATTACHED, [text(id), text(repository)]),
        Need::Template(id) => one(sql::TEMPLATE, text(id)),
        Need::Key(id) => Statement::new(sql::KEPT_ANSWER, [(&id.owner).into(), (&id.act).into(), (&id.key).into()]),
        Need::Token(id) => one(sql::TOKEN, text(id)),
        Need::TokenHashed(hash) => one(sql::TOKEN_HASHED, hash.into()),
        Need::Turn(id) => one(sql::turn::TURN, text(id)),
        Need::TurnRunning(task) => one(sql::turn::TURN_RUNNING, text(task)),
        Need::Section(name) => one(sql::turn::SECTION, name.into()),
        Need::Approval(id) => one(sql::turn::APPROVAL, text(id)),
        Need::ToldItems(way) => {
            Statement::new(sql::turn::TOLD_ITEMS, [way.as_str().into(), engine::limits::TOLD_ITEMS_LOOKED_AT.into()])
        }
        Need::Notice(id, channel) => Statement::new(sql::turn::NOTICE, [text(id), channel.as_str().into()]),
        Need::Reminder(conversation, part) => Statement::new(sql::turn::REMINDER, [conversation.into(), part.into()]),
        Need::Runner(name) => one(sql::turn::RUNNER, name.into()),
        Need::Review(id) => one(sql::review::REVIEW, text(id)),
        Need::Round(id, number) => Statement::new(sql::review::ROUND, [text(id), (*number).into()]),
        Need::Finding(id, name) => Statement::new(sql::review::FINDING, [text(id), name.into()]),
        Need::Condition(kind, subject) => {
            Statement::new(sql::delivery::CONDITION, [kind.as_str().into(), subject.into()])
        }
        Need::Delivery(task) => one(sql::delivery::DELIVERY, text(task)),
        Need::WorkflowDelivery(id) => one(sql::delivery::WORKFLOW_DELIVERY, text(id)),
        Need::TaskIds(need) => need::task_ids(need),
        Need::TaskRows(need) => need::task_rows(need),
        Need::Unmet(need) => need::unmet(*need),
        Need::Freed(need) => need::freed(*need),
        Need::OpenEdges(need) => need::open_edges(*need),
        Need::AgentIds(need) => need::agent_ids(need),
        Need::WorkflowIds(need) => need::workflow_ids(need),
        Need::Checkpoints(need) => need::checkpoints(*need),
        Need::Inbox(need) => need::inbox(*need),
        Need::Approvals(need) => need::approvals(need),
        Need::PutOffs(need) => need::put_offs(*need),
        Need::Number(need) => need::number(need),
        Need::Bool(need) => need::is_so(need),
        Need::List(query) => list::query(query),
    }
}

/// Adds the rows that answer a need (a request for rows) to the world (the loaded state).
pub(crate) fn absorb(need: &Need, rows: Vec<Vec<SqlValue>>, world: &mut World) -> Result<(), Fault> {
    match need {
        Need::Task(id) => drop(world.tasks.insert(*id, one(rows, row::read_task)?)),
        Need::Detail(id) => {
            let found = one(rows, row::read_detail)?.map(|(_, detail)| detail);
            world.details.insert(*id, found.unwrap_or_default());
        }
        Need::Workflow(id) => drop(world.workflows.insert(*id, one(rows, row::read_workflow)?)),
        Need::WorkflowDetail(id) => {
            let found = one(rows, row::read_workflow_detail)?.map(|(_, detail)| detail);
            world.workflow_details.insert(*id, found.unwrap_or_default());
        }
        Need::Agent(id) => drop(world.agents.insert(*id, one(rows, row::read_agent)?)),
        Need::Mailbox(owner) => {
            let empty = Mailbox { owner: *owner, sequence: 0, unread: 0 };
            world.mailboxes.insert(*owner, one(rows, row::read_mailbox)?.unwrap_or(empty));
        }
        Need::Message(id) => drop(world.messages.insert(*id, one(rows, row::read_message)?)),
        Need::Workspace(id) => drop(world.workspaces.insert(*id, one(rows, row::read_workspace)?)),
        Need::Repository(id) => drop(world.repositories.insert(*id, one(rows, row::read_repository)?)),
        Need::RepositoryAt(path) => drop(world.paths.insert(path.clone(), one(rows, parsed)?)),
        Need::Attached(workflow, repository) => {
            let found = one(rows, |row| Columns::new("attachment", row).time())?;
            world.attachments.insert((*workflow, *repository), found);
        }
        Need::Template(id) => drop(world.templates.insert(*id, one(rows, row::read_template)?)),
        Need::Key(id) => drop(world.keys.insert(id.clone(), one(rows, row::read_key)?)),
        Need::Token(id) => drop(world.tokens.insert(*id, one(rows, row::token::read_token)?)),
        Need::TokenHashed(hash) => drop(world.hashed_tokens.insert(hash.clone(), one(rows, row::token::read_token)?)),
        Need::Turn(id) => drop(world.turns.insert(*id, one(rows, row::turn::read_turn)?)),
        Need::TurnRunning(task) => drop(world.running_turns.insert(*task, one(rows, row::turn::read_turn)?)),
        Need::Section(name) => drop(world.sections.insert(name.clone(), one(rows, row::turn::read_section)?)),
        Need::Approval(id) => drop(world.approvals.insert(*id, one(rows, row::turn::read_approval)?)),
        Need::ToldItems(way) => drop(world.told_items.insert(*way, many(rows, row::turn::read_told_item)?)),
        Need::Notice(id, channel) => {
            world.notices.insert((*id, *channel), one(rows, row::turn::read_notice)?);
        }
        Need::Reminder(conversation, part) => {
            world.reminders.insert((conversation.clone(), part.clone()), one(rows, row::turn::read_reminder)?);
        }
        Need::Runner(name) => drop(world.runners.insert(name.clone(), one(rows, row::turn::read_runner)?)),
        Need::Review(id) => drop(world.reviews.insert(*id, one(rows, row::review::read_review)?)),
        Need::Round(id, number) => drop(world.rounds.insert((*id, *number), one(rows, row::review::read_round)?)),
        Need::Finding(id, name) => {
            world.findings.insert((*id, name.clone()), one(rows, row::review::read_finding)?);
        }
        Need::Condition(kind, subject) => {
            world.conditions.insert((*kind, subject.clone()), one(rows, row::delivery::read_condition)?);
        }
        Need::Delivery(task) => drop(world.deliveries.insert(*task, one(rows, row::delivery::read_delivery)?)),
        Need::WorkflowDelivery(id) => {
            world.workflow_deliveries.insert(*id, one(rows, row::delivery::read_workflow_delivery)?);
        }
        Need::TaskIds(need) => world.learn(need, many(rows, parsed)?),
        Need::TaskRows(need) => world.learn(need, many(rows, row::read_task)?),
        Need::Unmet(need) => world.learn(need, many(rows, need::read_name)?),
        Need::Freed(need) => world.learn(need, many(rows, need::read_status)?),
        Need::OpenEdges(need) => world.learn(need, many(rows, need::read_edge)?),
        Need::AgentIds(need) => world.learn(need, many(rows, parsed)?),
        Need::WorkflowIds(need) => world.learn(need, many(rows, parsed)?),
        Need::Checkpoints(need) => world.learn(need, many(rows, row::read_checkpoint)?),
        Need::Inbox(need) => world.learn(need, many(rows, row::read_message)?),
        Need::Approvals(need) => world.learn(need, many(rows, row::turn::read_approval)?),
        Need::PutOffs(need) => world.learn(need, many(rows, row::turn::read_put_off)?),
        Need::Number(need) => world.learn(need, need::read_number(need, rows)?),
        Need::Bool(need) => world.learn(need, !rows.is_empty()),
        Need::List(query) => list::absorb(query, rows, world)?,
    }
    Ok(())
}

fn parsed<T: std::str::FromStr>(row: Vec<SqlValue>) -> Result<T, Fault> {
    Columns::new("id", row).parsed()
}

fn one<T>(rows: Vec<Vec<SqlValue>>, read: impl Fn(Vec<SqlValue>) -> Result<T, Fault>) -> Result<Option<T>, Fault> {
    rows.into_iter().next().map(read).transpose()
}

fn many<T>(rows: Vec<Vec<SqlValue>>, read: impl Fn(Vec<SqlValue>) -> Result<T, Fault>) -> Result<Vec<T>, Fault> {
    rows.into_iter().map(read).collect()
}

fn number(rows: Vec<Vec<SqlValue>>) -> Result<u32, Fault> {
    Ok(one(rows, |row| Columns::new("count", row).count())?.unwrap_or(0))
}
