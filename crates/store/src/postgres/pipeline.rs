//! Sends statements one after the other without waiting for answers, so that a transaction takes three round trips
//! instead of ten.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

use deadpool_postgres::Object;
use tokio_postgres::types::ToSql;

use super::connection::values;
use crate::fault::Fault;
use crate::record::Op;
use crate::sql;
use crate::table::insert_sql;
use crate::value::{SqlValue, Statement};

type PipelineRows = Vec<Vec<SqlValue>>;
type PipelineWaiter<'a, T> = Pin<Box<dyn Future<Output = Result<T, Fault>> + Send + 'a>>;

/// Sends all statements on one connection in order, without waiting for the first answer. When several of them fail,
/// returns the first fault, because after it the server refuses all other statements of the transaction.
pub(super) async fn run(
    client: &Object,
    first: Option<&str>,
    statements: &[Statement],
) -> Result<Vec<PipelineRows>, Fault> {
    let mut prepared = Vec::with_capacity(statements.len());
    for statement in statements {
        prepared.push(client.prepare_cached(statement.sql).await?);
    }
    let begin = first.map(|sql| client.batch_execute(sql));
    let queries = statements.iter().zip(&prepared).map(|(statement, prepared)| async move {
        let rows = client.query(prepared, &parameters(&statement.values)).await?;
        rows.iter().map(values).collect::<Result<PipelineRows, Fault>>()
    });
    let mut waiting: Vec<PipelineWaiter<'_, PipelineRows>> = Vec::new();
    if let Some(begin) = begin {
        waiting.push(Box::pin(async move {
            begin.await?;
            Ok(PipelineRows::new())
        }));
    }
    waiting.extend(queries.map(|query| Box::pin(query) as PipelineWaiter<'_, PipelineRows>));
    let mut answers = in_order(waiting).await?;
    if first.is_some() {
        answers.remove(0);
    }
    Ok(answers)
}

fn parameters(values: &[SqlValue]) -> Vec<&(dyn ToSql + Sync)> {
    values.iter().map(|value| value as &(dyn ToSql + Sync)).collect()
}

/// Polls the futures in the order of the list, because the connection sends statements in the order of the polls.
async fn in_order<T>(waiting: Vec<PipelineWaiter<'_, T>>) -> Result<Vec<T>, Fault> {
    let mut slots: Vec<Result<_, Result<T, Fault>>> = waiting.into_iter().map(Ok).collect();
    poll_fn(|context| {
        let mut open = false;
        for slot in &mut slots {
            if let Ok(future) = slot {
                match future.as_mut().poll(context) {
                    Poll::Ready(answer) => *slot = Err(answer),
                    Poll::Pending => open = true,
                }
            }
        }
        if open { Poll::Pending } else { Poll::Ready(()) }
    })
    .await;
    slots.into_iter().filter_map(Result::err).collect()
}

/// Runs the write operations and then the statement `last`. Returns the number that `last` gives. Single statements are
/// sent without waiting for answers. An insert of many rows is split into statements of a few fixed sizes, so that the
/// server prepares only one statement for each size.
pub(super) async fn write(client: &Object, ops: Vec<Op>, last: Statement) -> Result<Option<i64>, Fault> {
    let mut single = Vec::new();
    for op in ops {
        match op {
            Op::Run(statement) => single.push(statement),
            Op::DropTasks(ids) => {
                run(client, None, &std::mem::take(&mut single)).await?;
                for page in ids.chunks(DROP_ROWS) {
                    let drop = |id: &String| {
                        let id = SqlValue::from(id);
                        sql::DROP_TASK.iter().map(move |sql| Statement::new(sql, [id.clone()]))
                    };
                    run(client, None, &page.iter().flat_map(drop).collect::<Vec<_>>()).await?;
                }
            }
            Op::Insert(table, mut rows) if rows.len() == 1 => {
                single.push(Statement::new(&table.insert, rows.pop().unwrap_or_default()));
            }
            Op::Insert(table, rows) => {
                run(client, None, &std::mem::take(&mut single)).await?;
                insert(client, table.name, table.columns, &rows).await?;
            }
        }
    }
    single.push(last);
    let answer = run(client, None, &single).await?.into_iter().next_back();
    Ok(answer
        .into_iter()
        .flatten()
        .flatten()
        .next()
        .and_then(|value| if let SqlValue::Int(number) = value { Some(number) } else { None }))
}

const DROP_ROWS: usize = 50;
/// The maximum number of rows of one insert statement; more rows take further statements. 512 rows of the widest table
/// stay below PostgreSQL's limit of 65,535 parameters.
const INSERT_ROWS: usize = 512;

pub(super) async fn insert(
    client: &Object,
    table: &str,
    columns: &[&str],
    rows: &[Vec<SqlValue>],
) -> Result<(), Fault> {
    let mut rest = rows;
    while !rest.is_empty() {
        let size = if rest.len() >= INSERT_ROWS { INSERT_ROWS } else { 1 << rest.len().ilog2() };
        let (now, later) = rest.split_at(size);
        let prepared = client.prepare_cached(&insert_sql(table, columns, size)).await?;
        let parameters: Vec<&(dyn ToSql + Sync)> =
            now.iter().flatten().map(|value| value as &(dyn ToSql + Sync)).collect();
        client.execute(&prepared, &parameters).await?;
        rest = later;
    }
    Ok(())
}
