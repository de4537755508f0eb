//! Export and import. An export has all rows of a store, each as one line of JSON. Its format is the same for every
//! backend.
//!
//! ```text
//! {"handover":"export","schema":1}
//! {"t":"workflow","v":["wf_…","Ship it","ready",null,900000,…]}
//! …
//! {"end":1234,"sha256":"…"}
//! ```
//!
//! The last line has the number of rows and the hash of all lines before it. An import refuses a file in which this
//! number or hash is wrong: a file that was cut short, reordered or changed.

use std::collections::HashMap;
use std::io::{BufRead, Write};
use std::sync::{Arc, Mutex, PoisonError};

use engine::hex::hexadecimal;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::fault::Fault;
use crate::migrate::SCHEMA;
use crate::stored_row::{PAGE, Row};
use crate::table::TABLES;
use crate::value::SqlValue;
use crate::{RowSource, Sink, Store};

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Cell {
    Int(i64),
    Text(String),
    Null(()),
}

#[derive(Serialize, Deserialize)]
struct ExportLine {
    t: String,
    v: Vec<Cell>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExportHeader {
    handover: String,
    schema: i64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Footer {
    end: u64,
    sha256: String,
}

/// The running hash (SHA-256) of all lines of an export so far.
#[derive(Default)]
struct ExportSeal(Sha256);

impl ExportSeal {
    fn add(&mut self, line: &str) {
        self.0.update(line);
        self.0.update("\n");
    }

    fn close(&mut self) -> String {
        hexadecimal(&std::mem::take(&mut self.0).finalize())
    }
}

fn refused(problem: impl Into<String>) -> Fault {
    Fault::Import { problem: problem.into() }
}

/// An export that is being written: the output, the number of rows so far, and the hash so far.
struct Outlet<W> {
    out: W,
    count: u64,
    seal: ExportSeal,
}

impl<W: Write> Outlet<W> {
    fn line(&mut self, line: &impl Serialize) -> Result<(), Fault> {
        let text = serde_json::to_string(line).map_err(|error| Fault::Bug { what: error.to_string() })?;
        self.seal.add(&text);
        written(writeln!(self.out, "{text}"))
    }
}

fn written(result: std::io::Result<()>) -> Result<(), Fault> {
    result.map_err(|cause| Fault::File { action: "write the export to", path: "the output".into(), cause })
}

/// Writes all rows of the store to `out`. All rows have the state of the same moment. Returns the number of rows.
pub async fn export<W: Write + Send + 'static>(store: &dyn Store, out: W) -> Result<u64, Fault> {
    let shared = Arc::new(Mutex::new(Outlet { out, count: 0, seal: ExportSeal::default() }));
    let writer = Arc::clone(&shared);
    let first = ExportHeader { handover: "export".to_owned(), schema: SCHEMA };
    writer.lock().unwrap_or_else(PoisonError::into_inner).line(&first)?;
    let sink: Sink = Box::new(move |table, rows| {
        let mut outlet = writer.lock().unwrap_or_else(PoisonError::into_inner);
        for Row(values) in rows {
            let cells = values.into_iter().map(|value| match value {
                SqlValue::Null => Cell::Null(()),
                SqlValue::Int(number) => Cell::Int(number),
                SqlValue::Text(text) => Cell::Text(text),
            });
            outlet.line(&ExportLine { t: TABLES[table].name.to_owned(), v: cells.collect() })?;
            outlet.count += 1;
        }
        Ok(())
    });
    store.dump(sink).await?;
    let mut outlet = shared.lock().unwrap_or_else(PoisonError::into_inner);
    let footer = Footer { end: outlet.count, sha256: outlet.seal.close() };
    outlet.line(&footer)?;
    written(outlet.out.flush())?;
    Ok(outlet.count)
}

/// Reads an export into an empty store. After a fault the store stays empty. Refuses a file that was cut short.
pub async fn import<R: BufRead + Send + 'static>(store: &dyn Store, input: R) -> Result<(), Fault> {
    let mut lines = input.lines().enumerate();
    let mut next = move || -> Result<Option<(usize, String)>, Fault> {
        match lines.next() {
            None => Ok(None),
            Some((_, Err(cause))) => {
                Err(Fault::File { action: "read the export from", path: "the input".into(), cause })
            }
            Some((number, Ok(line))) => Ok(Some((number + 1, line))),
        }
    };
    let mut seal = ExportSeal::default();
    let (_, first) = next()?.unwrap_or_default();
    seal.add(&first);
    let schema = schema_of(&first)?;
    let mut pending: Option<(usize, Row)> = None;
    let mut order = RowOrder::default();
    let mut count = 0_u64;
    let mut ended = false;
    let source: RowSource = Box::new(move || {
        let mut page: Option<(usize, Vec<Row>)> = pending.take().map(|(table, row)| (table, vec![row]));
        while !ended {
            let Some((number, line)) = next()? else {
                return Err(refused("the export is cut short: its last line is missing"));
            };
            if let Ok(footer) = serde_json::from_str::<Footer>(&line) {
                if footer.end != count {
                    return Err(refused(format!("the export says it has {} rows, but {count} are there", footer.end)));
                }
                if footer.sha256 != seal.close() {
                    return Err(refused(
                        "the export was changed: its lines do not have the hash that its last line says",
                    ));
                }
                if let Some((number, _)) = next()? {
                    return Err(refused(format!("line {number}: something follows the last line")));
                }
                ended = true;
                break;
            }
            seal.add(&line);
            let (table, row) = read_line(number, &line, schema)?;
            order.check(number, table, &row)?;
            count += 1;
            match &mut page {
                None => page = Some((table, vec![row])),
                Some((same, rows)) if *same == table && rows.len() < PAGE => rows.push(row),
                Some(_) => {
                    pending = Some((table, row));
                    break;
                }
            }
        }
        Ok(page)
    });
    if schema == SCHEMA {
        return store.fill(source).await;
    }
    // Load the rows of an older export into an in-memory database with the old schema. The usual migrations then bring
    // them to the present schema.
    let upgraded = tokio::task::spawn_blocking(move || crate::sqlite::upgrade(schema, source)).await;
    store.fill(upgraded.map_err(|error| Fault::Bug { what: error.to_string() })??).await
}

/// Returns the number of the database schema of an export, from its first line.
fn schema_of(first: &str) -> Result<i64, Fault> {
    let header = serde_json::from_str::<ExportHeader>(first).ok();
    let header = header
        .filter(|header| header.handover == "export")
        .ok_or_else(|| refused("line 1 is not the beginning of an export"))?;
    let schema = header.schema;
    if !(SCHEMA_OLDEST..=SCHEMA).contains(&schema) {
        let known = format!("this program reads {SCHEMA_OLDEST} to {SCHEMA}");
        return Err(refused(format!(
            "the export has schema {schema}; {known}; use the program that wrote it, or a newer one"
        )));
    }
    Ok(schema)
}

/// The number of the database schema of version 0.1.0, the first version whose exports can be read.
const SCHEMA_OLDEST: i64 = 7;

fn read_line(number: usize, line: &str, schema: i64) -> Result<(usize, Row), Fault> {
    let line: ExportLine = serde_json::from_str(line).map_err(|error| refused(format!("line {number}: {error}")))?;
    let table = TABLES.iter().position(|table| table.name == line.t);
    let table = table.ok_or_else(|| refused(format!("line {number}: there is no table {}", line.t)))?;
    let columns = TABLES[table].columns.len();
    if line.v.len() > columns || (line.v.len() < columns && schema == SCHEMA) {
        return Err(refused(format!("line {number}: a row of {} has {} columns", line.t, TABLES[table].columns.len())));
    }
    let values = line.v.into_iter().map(|cell| match cell {
        Cell::Null(()) => SqlValue::Null,
        Cell::Int(number) => SqlValue::Int(number),
        Cell::Text(text) => SqlValue::Text(text),
    });
    Ok((table, Row(values.collect())))
}

/// The last row of an import that was read. The next row is compared with it to check the order: table by table, the
/// rows of a table by their key, and the entries of a topic (a log) by their numbers. Without this check, a wrong order
/// would lead to different errors in different databases, or to a log in a different order.
#[derive(Default)]
struct RowOrder {
    table: usize,
    key: Vec<SqlValue>,
    topics: HashMap<String, i64>,
}

impl RowOrder {
    fn check(&mut self, number: usize, table: usize, row: &Row) -> Result<(), Fault> {
        let name = TABLES[table].name;
        let wrong = || refused(format!("line {number}: a row of {name} is not where it belongs"));
        if table < self.table {
            return Err(wrong());
        }
        if table > self.table {
            (self.table, self.key) = (table, Vec::new());
        }
        if let ("event", [SqlValue::Text(topic), SqlValue::Int(seq), ..]) = (name, row.0.as_slice()) {
            let last = self.topics.entry(topic.clone()).or_default();
            if *seq != *last + 1 {
                return Err(wrong());
            }
            *last = *seq;
            return Ok(());
        }
        let columns = TABLES[table].columns.iter().zip(&row.0);
        let in_key = |column: &str| TABLES[table].order.split(", ").any(|part| part == column);
        let key: Vec<SqlValue> = columns.filter(|(column, _)| in_key(column)).map(|(_, value)| value.clone()).collect();
        if key <= self.key {
            return Err(wrong());
        }
        self.key = key;
        Ok(())
    }
}
