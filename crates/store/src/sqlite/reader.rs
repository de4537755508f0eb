//! Runs reads on separate connections, so that no read waits for the thread that writes.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use engine::{Need, World};
use rusqlite::Connection;
use tokio::sync::Semaphore;

use super::connection::{ConnectionSession, ConnectionSettings, each, open};
use crate::fault::Fault;
use crate::log::{Cursor, Entry, Head, LogPage};
use crate::stored_row::{PAGE, Row};
use crate::table::TABLES;
use crate::value::{Columns, SqlValue, Statement};
use crate::watch::Bell;
use crate::{Sink, StateQuestion, guarded, load, sql};

/// The maximum number of reads that run at the same time. Further reads wait until one ends. Each reader has its own
/// connection with a small page cache.
const READERS_MAX: usize = 8;

#[derive(Debug)]
pub(super) struct Readers {
    path: PathBuf,
    idle: Arc<Mutex<Vec<Connection>>>,
    places: Arc<Semaphore>,
}

impl Readers {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, idle: Arc::default(), places: Arc::new(Semaphore::new(READERS_MAX)) }
    }

    fn connect(&self) -> Result<Connection, Fault> {
        open(&self.path, ConnectionSettings::READER, None).map(|(connection, _)| connection)
    }

    /// Runs a read on a thread that may block. The read is one transaction, so it sees the state of one moment.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, Fault> {
        let place = Arc::clone(&self.places).acquire_owned().await.map_err(|_| Fault::Closed)?;
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let (path, back) = (self.path.clone(), Arc::clone(&self.idle));
        let reading = tokio::task::spawn_blocking(move || {
            let _place = place;
            let connection = match idle {
                Some(connection) => connection,
                None => open(&path, ConnectionSettings::READER, None)?.0,
            };
            connection.execute_batch("BEGIN")?;
            let result = read(&connection);
            // Keep the connection for the next read only if its transaction could be ended. Otherwise the connection is
            // closed.
            if connection.execute_batch("COMMIT").is_ok() {
                back.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
            }
            result
        });
        reading.await.map_err(|join| Fault::Bug { what: join.to_string() })?
    }
}

pub(super) fn load(session: &mut ConnectionSession<'_>, needs: &[Need], world: &mut World) -> Result<(), Fault> {
    for need in needs {
        load::absorb(need, session.query(&load::query(need))?, world)?;
    }
    Ok(())
}

/// Loads the rows that a decision or question still needs. Fails when all of them are loaded already, because the
/// decision would then ask for them again and again.
pub(super) fn load_more(session: &mut ConnectionSession<'_>, needs: &[Need], world: &mut World) -> Result<(), Fault> {
    if needs.iter().all(|need| world.knows(need)) {
        return Err(Fault::asks_again(needs));
    }
    load(session, needs, world)
}

pub(super) fn look(connection: &Connection, needs: &[Need], question: &StateQuestion) -> Result<World, Fault> {
    let mut session = ConnectionSession::new(connection);
    let mut world = World::default();
    load(&mut session, needs, &mut world)?;
    loop {
        let more = guarded(|| question(&world))?;
        if more.is_empty() {
            return Ok(world);
        }
        load_more(&mut session, &more, &mut world)?;
    }
}

pub(super) fn follow(connection: &Connection, after: Cursor, limit: u32) -> Result<LogPage, Fault> {
    let values = [after.xid.into(), after.pos.into(), limit.into()];
    LogPage::read(after, ConnectionSession::new(connection).query(&Statement::new(sql::SQLITE.follow, values))?)
}

/// Checks every page and every index of the database. Returns the first lines of SQLite's report that are not `ok`.
pub(super) fn integrity(connection: &Connection) -> Result<Vec<String>, Fault> {
    let mut check = connection.prepare("PRAGMA integrity_check(20)")?;
    let rows = check.query_map([], |row| row.get::<_, String>(0))?;
    let lines = rows.collect::<Result<Vec<_>, _>>()?;
    Ok(lines.into_iter().filter(|line| line != "ok").collect())
}

pub(super) fn end(connection: &Connection, generation: i64) -> Result<Cursor, Fault> {
    Cursor::read(generation, ConnectionSession::new(connection).query(&Statement::new(sql::END, []))?)
}

pub(super) fn topic(connection: &Connection, topic: &str, after: i64, limit: u32) -> Result<Vec<Entry>, Fault> {
    let rows = ConnectionSession::new(connection)
        .query(&Statement::new(sql::TOPIC_ENTRIES, [topic.into(), after.into(), limit.into()]))?;
    rows.into_iter().map(|row| Entry::read(&mut Columns::new("event", row))).collect()
}

pub(super) fn heads(connection: &Connection, after: &str, limit: u32) -> Result<Vec<Head>, Fault> {
    ConnectionSession::new(connection)
        .query(&Statement::new(sql::HEADS, [after.into(), limit.into()]))?
        .into_iter()
        .map(Head::read)
        .collect()
}

pub(super) fn head(connection: &Connection, topic: &str) -> Result<Option<Head>, Fault> {
    ConnectionSession::new(connection)
        .query(&Statement::new(sql::TOPIC, [topic.into()]))?
        .into_iter()
        .next()
        .map(Head::read)
        .transpose()
}

pub(super) fn headless(connection: &Connection) -> Result<Option<(String, i64)>, Fault> {
    let row = ConnectionSession::new(connection).query(&Statement::new(sql::HEADLESS, []))?.into_iter().next();
    row.map(|row| {
        let mut columns = Columns::new("event", row);
        Ok((columns.text()?, columns.int()?))
    })
    .transpose()
}

pub(super) fn dump(connection: &Connection, sink: &mut Sink) -> Result<(), Fault> {
    for (place, table) in TABLES.iter().enumerate() {
        // Order events by `pos` only. The first sort column, `xid`, is the same for all events in SQLite, and without
        // it SQLite can read the rows in their stored order.
        let order = if table.name == "event" { "pos" } else { table.order };
        let sql = format!("SELECT {} FROM {} ORDER BY {order}", table.columns.join(", "), table.name);
        let mut page = Vec::with_capacity(PAGE);
        each(&mut *connection.prepare_cached(&sql)?, |row| {
            page.push(Row(row));
            if page.len() == PAGE { sink(place, std::mem::take(&mut page)) } else { Ok(()) }
        })?;
        sink(place, page)?;
    }
    Ok(())
}

/// Wakes the waiting callers when another connection has committed. Ends when no caller waits for changes any more.
pub(super) fn poll(readers: &Readers, bell: &Bell, running: &Mutex<bool>, every: Duration) {
    let connection = readers.connect();
    let version = || -> Option<i64> {
        let connection = connection.as_ref().ok()?;
        let rows = ConnectionSession::new(connection).query(&Statement::new("PRAGMA data_version", [])).ok()?;
        rows.into_iter()
            .flatten()
            .next()
            .and_then(|value| if let SqlValue::Int(number) = value { Some(number) } else { None })
    };
    let mut last = version();
    // Wake the callers once at the start. Otherwise they would miss a commit that came after they began to wait and
    // before this thread first read the database's `data_version`.
    bell.ring();
    loop {
        std::thread::park_timeout(every);
        let found = version();
        // Also wake the callers when SQLite's `data_version` cannot be read: a needless wake-up is better than a missed
        // change.
        if found != last || found.is_none() {
            last = found;
            bell.ring();
        }
        let mut running = running.lock().unwrap_or_else(PoisonError::into_inner);
        if !bell.is_heard() {
            *running = false;
            return;
        }
    }
}
