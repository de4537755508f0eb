//! Converts the contents of the memory store to the same rows that the databases have, and back.

use super::Contents;
use crate::fault::Fault;
use crate::log::{Entry, Head};
use crate::row;
use crate::stored_row::{PAGE, Row, not_empty};
use crate::table::TABLES;
use crate::value::{Columns, SqlValue, text};
use crate::{RowSource, Sink, record};

/// Passes the rows of the memory store to an export, in the same order in which the databases pass their rows.
pub(crate) fn dump(contents: &Contents, sink: &mut Sink) -> Result<(), Fault> {
    for (place, table) in TABLES.iter().enumerate() {
        let rows = memory_rows(contents, table.name)?;
        for page in rows.chunks(PAGE) {
            sink(place, page.iter().cloned().map(Row).collect())?;
        }
    }
    Ok(())
}

fn memory_rows(contents: &Contents, table: &str) -> Result<Vec<Vec<SqlValue>>, Fault> {
    let tables = &contents.tables;
    Ok(match table {
        "workflow" => tables.workflows.values().map(row::workflow).collect(),
        "workflow_detail" => {
            tables.workflow_details.iter().map(|(id, detail)| row::workflow_detail(*id, detail)).collect()
        }
        "task" => tables.tasks.values().map(|task| row::task(task, task.author, task.number)).collect(),
        "task_detail" => tables.details.iter().map(|(id, detail)| row::detail(*id, detail)).collect(),
        "counter" => {
            let given = (tables.last_task_number > 0).then_some(tables.last_task_number);
            given.map(|number| vec!["task_number".into(), number.into()]).into_iter().collect()
        }
        "dependency" => tables.dependencies.iter().map(|(task, on)| vec![text(task), text(on)]).collect(),
        "checkpoint" => tables.checkpoints.values().map(row::checkpoint).collect(),
        "agent" => tables.agents.values().map(row::agent).collect(),
        "mailbox" => tables.mailboxes.values().map(row::mailbox).collect(),
        "message" => tables.messages.values().map(row::message).collect(),
        "workspace" => tables.workspaces.values().map(row::workspace).collect(),
        "repository" => tables.repositories.values().map(row::repository).collect(),
        "attachment" => {
            let made = tables.attachments.iter();
            made.map(|((workflow, repository), added)| vec![text(workflow), text(repository), (*added).into()])
                .collect()
        }
        "template" => tables.templates.values().map(row::template).collect::<Result<_, _>>()?,
        "token" => tables.tokens.values().map(row::token::token).collect(),
        "turn" => tables.turns.values().map(row::turn::turn).collect(),
        "verification" => tables.verifications.values().map(row::turn::verification).collect(),
        "reminder" => tables.reminders.values().map(row::turn::reminder).collect(),
        "runner" => tables.runners.values().map(row::turn::runner).collect(),
        "section" => tables.sections.values().map(row::turn::section).collect(),
        "section_change" => tables.section_changes.values().map(row::turn::section_change).collect(),
        "approval" => tables.approvals.values().map(row::turn::approval).collect(),
        "review" => tables.reviews.values().map(row::review::review).collect(),
        "review_round" => tables.rounds.values().map(row::review::round).collect(),
        "finding" => tables.findings.values().map(row::review::finding).collect(),
        "notice" => tables.notices.values().map(row::turn::notice).collect(),
        "told_item" => tables.told_items.values().map(row::turn::told_item).collect(),
        "put_off" => tables.put_off.values().map(row::turn::put_off).collect(),
        "condition" => {
            // Sort the rows by the text of the condition's kind, because the databases also sort by this text.
            let mut rows: Vec<_> = tables.conditions.values().collect();
            rows.sort_by_key(|row| (row.kind.as_str(), row.subject.as_str()));
            rows.into_iter().map(row::delivery::condition).collect()
        }
        "delivery" => tables.deliveries.values().map(row::delivery::delivery).collect(),
        "workflow_delivery" => tables.workflow_deliveries.values().map(row::delivery::workflow_delivery).collect(),
        "kept_answer" => tables.keys.values().map(row::key).collect::<Result<_, _>>()?,
        "topic" => contents.heads.values().map(record::head_values).collect(),
        "event" => contents.entries.iter().map(record::entry_values).collect(),
        other => return Err(Fault::Bug { what: format!("no table {other}") }),
    })
}

/// Fills the memory store with the rows of an import. Fails when the store is not empty, and then changes nothing.
pub(crate) fn fill(contents: &mut Contents, source: &mut RowSource) -> Result<(), Fault> {
    let empty = Contents::default();
    if contents.tables != empty.tables || !contents.entries.is_empty() {
        return Err(not_empty());
    }
    let mut filled = empty;
    while let Some((table, rows)) = source()? {
        for Row(row) in rows {
            fill_row(&mut filled, TABLES[table].name, row)?;
        }
    }
    *contents = filled;
    Ok(())
}

fn fill_row(contents: &mut Contents, table: &'static str, row: Vec<SqlValue>) -> Result<(), Fault> {
    use engine::Write as W;
    let tables = &mut contents.tables;
    match table {
        "workflow" => tables.write(W::Workflow(Box::new(row::read_workflow(row)?))),
        "workflow_detail" => {
            let (id, detail) = row::read_workflow_detail(row)?;
            tables.write(W::WorkflowDetail(id, Box::new(detail)));
        }
        "task" => {
            let task = row::read_task(row)?;
            tables.tasks.insert(task.id, task);
        }
        "task_detail" => {
            let (id, detail) = row::read_detail(row)?;
            tables.write(W::Detail(id, Box::new(detail)));
        }
        "counter" => tables.write(W::LastTaskNumber(row::read_last_task_number(row)?)),
        "dependency" => {
            let mut columns = Columns::new("dependency", row);
            tables.write(W::Edges(vec![(columns.parsed()?, columns.parsed()?)]));
        }
        "checkpoint" => tables.write(W::Checkpoint(Box::new(row::read_checkpoint(row)?))),
        "agent" => tables.write(W::Agent(Box::new(row::read_agent(row)?))),
        "mailbox" => tables.write(W::Mailbox(row::read_mailbox(row)?)),
        "message" => tables.write(W::Message(Box::new(row::read_message(row)?))),
        "workspace" => tables.write(W::Workspace(Box::new(row::read_workspace(row)?))),
        "repository" => tables.write(W::Repository(row::read_repository(row)?)),
        "attachment" => tables.write(W::Attach(row::read_attachment(row)?)),
        "template" => tables.write(W::Template(Box::new(row::read_template(row)?))),
        "token" => tables.write(W::Token(Box::new(row::token::read_token(row)?))),
        "turn" => tables.write(W::Turn(Box::new(row::turn::read_turn(row)?))),
        "verification" => tables.write(W::Verification(Box::new(row::turn::read_verification(row)?))),
        "reminder" => tables.write(W::Reminder(Box::new(row::turn::read_reminder(row)?))),
        "runner" => tables.write(W::Runner(Box::new(row::turn::read_runner(row)?))),
        "section" => tables.write(W::Section(Box::new(row::turn::read_section(row)?))),
        "section_change" => tables.write(W::SectionChange(Box::new(row::turn::read_section_change(row)?))),
        "notice" => tables.write(W::Notice(Box::new(row::turn::read_notice(row)?))),
        "told_item" => tables.write(W::ToldItem(Box::new(row::turn::read_told_item(row)?))),
        "put_off" => tables.write(W::PutOff(Box::new(row::turn::read_put_off(row)?))),
        "approval" => tables.write(W::Approval(Box::new(row::turn::read_approval(row)?))),
        "review" => tables.write(W::Review(Box::new(row::review::read_review(row)?))),
        "review_round" => tables.write(W::Round(Box::new(row::review::read_round(row)?))),
        "finding" => tables.write(W::Finding(Box::new(row::review::read_finding(row)?))),
        "condition" => tables.write(W::Condition(Box::new(row::delivery::read_condition(row)?))),
        "delivery" => tables.write(W::Delivery(Box::new(row::delivery::read_delivery(row)?))),
        "workflow_delivery" => {
            tables.write(W::WorkflowDelivery(Box::new(row::delivery::read_workflow_delivery(row)?)));
        }
        "kept_answer" => tables.write(W::Key(Box::new(row::read_key(row)?))),
        "topic" => {
            let head = Head::read(row)?;
            contents.heads.insert(head.topic.clone(), head);
        }
        "event" => contents.entries.push(Entry::read(&mut Columns::new("event", row))?),
        other => return Err(Fault::Bug { what: format!("no table {other}") }),
    }
    Ok(())
}
