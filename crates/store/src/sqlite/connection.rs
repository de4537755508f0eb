//! Opens SQLite connections, and runs statements on them.

use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::types::{ToSql, ToSqlOutput, ValueRef};
use rusqlite::{CachedStatement, Connection};

use crate::fault::Fault;
use crate::value::{SqlValue, Statement};
use crate::{migrate, sql};

/// The settings of a connection, which differ between the writer and the readers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ConnectionSettings {
    /// The size of SQLite's page cache for this connection, in KiB.
    cache_kib: u32,
    writes: bool,
}

impl ConnectionSettings {
    pub(super) const WRITER: Self = Self { cache_kib: 16 * 1024, writes: true };
    pub(super) const READER: Self = Self { cache_kib: 2 * 1024, writes: false };
}

/// The maximum number of prepared statements that a connection keeps: about as many as this program has. When there are
/// more, the least recently used one is dropped.
const PREPARED_MAX: usize = 128;
/// The time of one wait for SQLite's own lock. A connection waits `BUSY_STEPS` times, about ten seconds in all, and
/// then fails. Processes of Handover first wait for a separate file lock, the write queue. So a connection waits for
/// SQLite's lock only while a checkpoint, a recovery or another program holds it.
const BUSY_STEP: Duration = Duration::from_millis(1);
const BUSY_STEPS: i32 = 10_000;
pub(super) const BUSY_MAX: Duration = Duration::from_secs(10);

/// Creates the database file with mode 0600. If SQLite created the file, all users could read it. SQLite gives its
/// companion files the mode of the database file.
pub(super) fn make(path: &Path) -> Result<(), Fault> {
    let mut options = std::fs::File::options();
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.create_new(true).write(true).open(path) {
        Err(cause) if cause.kind() != std::io::ErrorKind::AlreadyExists => Err(Fault::file("make", path)(cause)),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Opens a database file. With settings for writing, this function also migrates the file to the schema of this
/// program; the caller must then hold the write queue (the file lock for writers). Returns the connection and the
/// generation, a number that distinguishes the cursors (positions in the log) of this store from the cursors of another
/// store.
pub(super) fn open(path: &Path, settings: ConnectionSettings, seed: Option<u64>) -> Result<(Connection, i64), Fault> {
    #[expect(clippy::disallowed_methods, reason = "the one place that opens a file")]
    let mut connection = Connection::open(path)?;
    connection.busy_handler(Some(|tries| {
        std::thread::park_timeout(BUSY_STEP);
        tries < BUSY_STEPS
    }))?;
    connection.set_prepared_statement_cache_capacity(PREPARED_MAX);
    // Make SQLite plan each statement without looking at its values. Otherwise it plans some statements again whenever
    // a value changes.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    let set = |name: &str, value: &dyn ToSql| connection.pragma_update(None, name, value);
    set("synchronous", &"FULL")?;
    set("cache_size", &-i64::from(settings.cache_kib))?;
    set("mmap_size", &0)?;
    set("temp_store", &"MEMORY")?;
    if settings.writes {
        let mode: String = connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))?;
        if mode != "wal" {
            let problem = format!("this file system does not support write-ahead logging (journal mode is {mode})");
            return Err(Fault::Url { url: path.display().to_string(), problem });
        }
        set("journal_size_limit", &(64 * 1024 * 1024))?;
        migrate(&connection, seed.unwrap_or(0))?;
    } else {
        set("query_only", &true)?;
    }
    let generation = meta(&connection, "generation")?.unwrap_or(0);
    Ok((connection, generation))
}

fn meta(connection: &Connection, name: &str) -> Result<Option<i64>, Fault> {
    let rows = ConnectionSession::new(connection).query(&Statement::new(sql::META, [name.into()]))?;
    Ok(rows
        .into_iter()
        .flatten()
        .next()
        .and_then(|value| if let SqlValue::Int(number) = value { Some(number) } else { None }))
}

fn migrate(connection: &Connection, seed: u64) -> Result<(), Fault> {
    connection.execute_batch("BEGIN IMMEDIATE")?;
    let result = (|| {
        connection.execute_batch(sql::SCHEMA_TABLE)?;
        let found = meta(connection, "schema")?.unwrap_or(0);
        for (number, script) in migrate::pending(found, &sql::SQLITE)? {
            connection.execute_batch(&script)?;
            ConnectionSession::new(connection).run(&Statement::new(sql::PUT_META, ["schema".into(), number.into()]))?;
        }
        if found == 0 {
            let generation = i64::from(u32::try_from(seed >> 33).unwrap_or(1).max(1));
            ConnectionSession::new(connection)
                .run(&Statement::new(sql::PUT_META, ["generation".into(), generation.into()]))?;
        }
        connection.execute_batch("COMMIT").map_err(Fault::from)
    })();
    if result.is_err() && !connection.is_autocommit() {
        connection.execute_batch("ROLLBACK")?;
    }
    result
}

impl ToSql for SqlValue {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Int(number) => ValueRef::Integer(*number),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
        }))
    }
}

/// A connection during one transaction. It keeps references to the prepared statements that it used, because looking a
/// statement up by its text takes a large part of the time of a small statement.
pub(super) struct ConnectionSession<'c> {
    connection: &'c Connection,
    prepared: Vec<(&'static str, CachedStatement<'c>)>,
}

impl<'c> ConnectionSession<'c> {
    pub(super) fn new(connection: &'c Connection) -> Self {
        Self { connection, prepared: Vec::new() }
    }

    fn prepare(&mut self, sql: &'static str) -> Result<&mut CachedStatement<'c>, Fault> {
        let place = match self.prepared.iter().position(|(known, _)| std::ptr::eq(*known, sql)) {
            Some(place) => place,
            None => {
                self.prepared.push((sql, self.connection.prepare_cached(sql)?));
                self.prepared.len() - 1
            }
        };
        Ok(&mut self.prepared[place].1)
    }

    pub(super) fn run(&mut self, statement: &Statement) -> Result<(), Fault> {
        self.run_with(statement.sql, &statement.values)
    }

    pub(super) fn run_with(&mut self, sql: &'static str, values: &[SqlValue]) -> Result<(), Fault> {
        let prepared = self.prepare(sql)?;
        bind(prepared, values)?;
        prepared.raw_execute()?;
        Ok(())
    }

    pub(super) fn query(&mut self, statement: &Statement) -> Result<Vec<Vec<SqlValue>>, Fault> {
        let prepared = self.prepare(statement.sql)?;
        bind(prepared, &statement.values)?;
        let mut found = Vec::new();
        each(prepared, |row| {
            found.push(row);
            Ok(())
        })?;
        Ok(found)
    }
}

fn bind(statement: &mut rusqlite::Statement<'_>, values: &[SqlValue]) -> rusqlite::Result<()> {
    (1..).zip(values).try_for_each(|(place, value)| statement.raw_bind_parameter(place, value))
}

/// Passes the rows to `take` one by one, so that a whole table need not fit in memory.
pub(super) fn each(
    prepared: &mut rusqlite::Statement<'_>,
    mut take: impl FnMut(Vec<SqlValue>) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let width = prepared.column_count();
    let mut rows = prepared.raw_query();
    while let Some(row) = rows.next()? {
        let mut values = Vec::with_capacity(width);
        for column in 0..width {
            values.push(match row.get_ref(column)? {
                ValueRef::Null => SqlValue::Null,
                ValueRef::Integer(number) => SqlValue::Int(number),
                ValueRef::Text(bytes) => SqlValue::Text(String::from_utf8_lossy(bytes).into_owned()),
                ValueRef::Real(_) | ValueRef::Blob(_) => {
                    return Err(Fault::Damaged {
                        what: format!("column {column} holds neither text nor a whole number"),
                    });
                }
            });
        }
        take(values)?;
    }
    Ok(())
}
