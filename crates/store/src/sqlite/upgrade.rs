//! Converts rows of an older database schema to the present schema. The conversion loads the rows into an in-memory
//! database and runs the migrations there.

use rusqlite::Connection;

use super::reader;
use crate::fault::Fault;
use crate::stored_row::Row;
use crate::table::{TABLES, insert_sql};
use crate::{RowSource, migrate, sql};

/// Returns the rows of `source`, which have the given older schema, in the present schema.
pub(crate) fn upgrade(schema: i64, mut source: RowSource) -> Result<RowSource, Fault> {
    let connection = Connection::open_in_memory()?;
    let scripts = migrate::pending(0, &sql::SQLITE)?;
    let (before, after) = scripts.split_at(usize::try_from(schema).unwrap_or(0).min(scripts.len()));
    before.iter().try_for_each(|(_, script)| connection.execute_batch(script))?;
    while let Some((table, rows)) = source()? {
        let table = TABLES[table];
        let width = rows.first().map_or(0, |Row(row)| row.len());
        let insert = insert_sql(table.name, &table.columns[..width.min(table.columns.len())], 1);
        let insert = if table.name == "event" { sql::SQLITE.append_event } else { &insert };
        let mut statement = connection.prepare(insert)?;
        for Row(row) in &rows {
            statement.execute(rusqlite::params_from_iter(row))?;
        }
    }
    after.iter().try_for_each(|(_, script)| connection.execute_batch(script))?;
    let mut pages = Vec::new();
    let (give, take) = std::sync::mpsc::channel();
    let mut sink: crate::Sink =
        Box::new(move |table, rows| give.send((table, rows)).map_err(|error| Fault::Bug { what: error.to_string() }));
    reader::dump(&connection, &mut sink)?;
    drop(sink);
    pages.extend(take);
    let mut pages = pages.into_iter();
    Ok(Box::new(move || Ok(pages.next())))
}
