//! Turns a change (the events of one command) into statements that write its rows and its log entries.

use std::sync::Arc;

use engine::plan::PlanPiece;
use engine::task::TaskDetail;
use engine::{Change, TaskInsert, Timestamp, Topic, World, Write, fold};

use crate::fault::Fault;
use crate::log::{Entry, Head};
use crate::row;
use crate::sql;
use crate::table::{self, Table};
use crate::value::{SqlValue, Statement, text};

/// A write operation that a backend (SQLite or PostgreSQL) runs.
#[derive(Debug)]
pub(crate) enum Op {
    Run(Statement),
    /// Inserts many rows of one table in few statements, because one round trip for each row would be slow on a server.
    Insert(&'static Table, Vec<Vec<SqlValue>>),
    /// Deletes the tasks with these ids, together with all rows that belong to them.
    DropTasks(Vec<String>),
}

/// Returns the operations that write the rows of a change (the events of one command), and applies the same writes to
/// the world (the loaded state).
pub(crate) fn rows(world: &mut World, change: &Change, now: Timestamp) -> Result<Vec<Op>, Fault> {
    let mut ops = Vec::new();
    for write in fold(world, &change.events, now) {
        push(write, &mut ops)?;
    }
    Ok(ops)
}

fn push(write: Write, ops: &mut Vec<Op>) -> Result<(), Fault> {
    let mut run = |sql, values: Vec<SqlValue>| ops.push(Op::Run(Statement::new(sql, values)));
    match write {
        Write::Insert(tasks) => insert(&tasks, ops),
        Write::LastTaskNumber(number) => run(sql::PUT_LAST_TASK_NUMBER, vec![number.into()]),
        Write::Task(task) => run(sql::UPDATE_TASK, row::task_update(&task)),
        Write::Noted { task, checkpoints, at } => run(sql::NOTE_TASK, vec![checkpoints.into(), at.into(), text(task)]),
        Write::Detail(id, detail) => run(sql::PUT_DETAIL, row::detail(id, &detail)),
        Write::Met(id) => run(sql::MET, vec![text(id)]),
        Write::Reopened(id) => run(sql::REOPENED, vec![text(id)]),
        Write::Unprotected(id) => run(sql::UNPROTECTED, vec![text(id)]),
        Write::Waits(id, unmet) => run(sql::WAITS, vec![unmet.into(), text(id)]),
        Write::Edges(edges) => {
            let piece = Arc::new(PlanPiece { tasks: Vec::new(), edges });
            insert(&TaskInsert { piece, author: None, first: 0 }, ops);
        }
        Write::Drop(ids) => ops.push(Op::DropTasks(ids.iter().map(ToString::to_string).collect())),
        Write::Shift(workflow, from) => run(sql::SHIFT, vec![text(workflow), from.into()]),
        Write::Workflow(workflow) => run(sql::PUT_WORKFLOW, row::workflow(&workflow)),
        Write::WorkflowDetail(id, detail) => run(sql::PUT_WORKFLOW_DETAIL, row::workflow_detail(id, &detail)),
        Write::Agent(agent) => run(sql::PUT_AGENT, row::agent(&agent)),
        Write::Checkpoint(checkpoint) => ops.push(Op::Insert(&table::CHECKPOINT, vec![row::checkpoint(&checkpoint)])),
        Write::Message(message) => ops.push(Op::Insert(&table::MESSAGE, vec![row::message(&message)])),
        Write::Mark(id, state) => {
            let [state, at] = row::message_state(state);
            run(sql::MARK, vec![state, at, text(id)]);
        }
        Write::Answered(id, answer) => run(sql::ANSWERED, vec![text(answer), text(id)]),
        Write::Mailbox(mailbox) => run(sql::PUT_MAILBOX, row::mailbox(&mailbox)),
        Write::Workspace(workspace) => run(sql::PUT_WORKSPACE, row::workspace(&workspace)),
        Write::Repository(repository) => run(sql::PUT_REPOSITORY, row::repository(&repository)),
        Write::Attach(attachment) => ops.push(Op::Insert(&table::ATTACHMENT, vec![row::attachment(&attachment)])),
        Write::Detach(workflow, repository) => run(sql::DETACH, vec![text(workflow), text(repository)]),
        Write::Template(template) => ops.push(Op::Insert(&table::TEMPLATE, vec![row::template(&template)?])),
        Write::DropTemplate(id) => run(sql::DROP_TEMPLATE, vec![text(id)]),
        Write::Token(token) => run(sql::PUT_TOKEN, row::token::token(&token)),
        Write::DropToken(id) => run(sql::DROP_TOKEN, vec![text(id)]),
        Write::Turn(turn) => run(sql::turn::PUT_TURN, row::turn::turn(&turn)),
        Write::Verification(found) => ops.push(Op::Insert(&table::VERIFICATION, vec![row::turn::verification(&found)])),
        Write::Reminder(row) => run(sql::turn::PUT_REMINDER, row::turn::reminder(&row)),
        Write::DropReminders(conversation) => run(sql::turn::DROP_REMINDERS, vec![conversation.into()]),
        Write::Runner(runner) => run(sql::turn::PUT_RUNNER, row::turn::runner(&runner)),
        Write::DropRunner(name) => run(sql::turn::DROP_RUNNER, vec![name.into()]),
        Write::Section(section) => run(sql::turn::PUT_SECTION, row::turn::section(&section)),
        Write::SectionChange(change) => {
            ops.push(Op::Insert(&table::SECTION_CHANGE, vec![row::turn::section_change(&change)]));
        }
        Write::Approval(approval) => run(sql::turn::PUT_APPROVAL, row::turn::approval(&approval)),
        Write::Review(review) => run(sql::review::PUT_REVIEW, row::review::review(&review)),
        Write::Round(round) => run(sql::review::PUT_ROUND, row::review::round(&round)),
        Write::Finding(finding) => run(sql::review::PUT_FINDING, row::review::finding(&finding)),
        Write::Notice(notice) => run(sql::turn::PUT_NOTICE, row::turn::notice(&notice)),
        Write::ToldItem(row) => run(sql::turn::PUT_TOLD_ITEM, row::turn::told_item(&row)),
        Write::DropToldItem(way, item) => run(sql::turn::DROP_TOLD_ITEM, vec![way.as_str().into(), item.into()]),
        Write::PutOff(row) => run(sql::turn::PUT_PUT_OFF, row::turn::put_off(&row)),
        Write::DropPutOff(item) => run(sql::turn::DROP_PUT_OFF, vec![item.into()]),
        Write::Condition(row) => run(sql::delivery::PUT_CONDITION, row::delivery::condition(&row)),
        Write::DropCondition(kind, subject) => {
            run(sql::delivery::DROP_CONDITION, vec![kind.as_str().into(), subject.into()]);
        }
        Write::Delivery(row) => run(sql::delivery::PUT_DELIVERY, row::delivery::delivery(&row)),
        Write::DropDelivery(task) => run(sql::delivery::DROP_DELIVERY, vec![text(task)]),
        Write::WorkflowDelivery(row) => {
            run(sql::delivery::PUT_WORKFLOW_DELIVERY, row::delivery::workflow_delivery(&row));
        }
        Write::Key(key) => run(sql::PUT_KEPT_ANSWER, row::key(&key)?),
        Write::EndKeys(agent) => run(sql::END_KEYS, vec![format!("{agent} ").into(), format!("{agent}!").into()]),
        Write::ForgetKeys(now) => forget_keys(now, ops),
    }
    Ok(())
}

/// Deletes the idempotency keys and the reminders that are out of date at the time `now`.
fn forget_keys(now: Timestamp, ops: &mut Vec<Op>) {
    let before = Timestamp(now.0.saturating_sub(i64::from(engine::limits::REMINDER_MS.0)));
    let deletes = [(sql::FORGET_KEYS, now), (sql::turn::FORGET_REMINDERS, before)];
    ops.extend(deletes.map(|(sql, time)| Op::Run(Statement::new(sql, vec![time.into()]))));
}

fn insert(new: &TaskInsert, ops: &mut Vec<Op>) {
    let tasks: Vec<_> = new.numbered().map(|(number, (task, _))| row::task(task, new.author, number)).collect();
    let piece = &new.piece;
    let empty = TaskDetail::default();
    let details = piece.tasks.iter().filter(|(_, detail)| *detail != empty);
    let details: Vec<_> = details.map(|(task, detail)| row::detail(task.id, detail)).collect();
    let edges: Vec<_> = piece.edges.iter().map(|(task, on)| vec![text(task), text(on)]).collect();
    for (table, rows) in [(&table::TASK, tasks), (&table::TASK_DETAIL, details), (&table::DEPENDENCY, edges)] {
        if !rows.is_empty() {
            ops.push(Op::Insert(table, rows));
        }
    }
}

/// Returns the topics (logs) to which a change appends entries, each topic once.
pub(crate) fn topics(change: &Change) -> Vec<Topic> {
    let mut topics: Vec<Topic> = change.events.iter().filter_map(engine::Event::topic).collect();
    topics.sort_unstable();
    topics.dedup();
    topics
}

/// Returns the log entries that a change appends to one topic, and the new head of the topic (the number and hash of
/// its last entry).
pub(crate) fn entries(
    change: &Change,
    topic: &Topic,
    mut head: Head,
    now: Timestamp,
) -> Result<(Vec<Entry>, Head), Fault> {
    let mut entries = Vec::new();
    let sender = change.sender.to_string();
    for event in change.events.iter().filter(|event| event.topic().as_ref() == Some(topic)) {
        let body = serde_json::to_string(event).map_err(|error| Fault::Bug { what: error.to_string() })?;
        let entry = head.append(event.name(), &sender, body, now);
        entries.push(entry);
    }
    Ok((entries, head))
}

pub(crate) fn entry_values(entry: &Entry) -> Vec<SqlValue> {
    vec![
        (&entry.topic).into(),
        entry.seq.into(),
        entry.at.into(),
        (&entry.kind).into(),
        (&entry.sender).into(),
        (&entry.body).into(),
        (&entry.prev).into(),
        (&entry.hash).into(),
    ]
}

pub(crate) fn head_values(head: &Head) -> Vec<SqlValue> {
    vec![(&head.topic).into(), head.seq.into(), (&head.hash).into(), head.at.into()]
}
