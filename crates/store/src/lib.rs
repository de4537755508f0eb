//! The store keeps the state and the log of Handover in one of three backends (SQLite, PostgreSQL, memory). All
//! backends have the same trait.
//!
//! A backend does two things. It answers needs, which are requests for rows; `load` turns a need into a statement. It
//! writes the rows of a change; `record` lists the writes. The rules are in the engine, the SQL is in `sql`, and the
//! columns are in `row`. A backend knows only transactions, threads and connections.

mod fault;
mod load;
mod log;
#[cfg(feature = "testing")]
mod memory;
mod migrate;
mod postgres;
mod record;
mod row;
mod sql;
mod sqlite;
mod stored_row;
mod table;
mod transfer;
mod value;
mod verify;
mod watch;

#[cfg(feature = "testing")]
pub mod conformance;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use engine::{Change, DecisionStop, Need, Refusal, Timestamp, World};

pub use fault::{Fault, FaultCause};
pub use log::{Cursor, Entry, Head, LogPage, ZERO_HASH};
#[cfg(feature = "testing")]
pub use memory::MemoryStore;
pub use postgres::Postgres;
pub use sqlite::{Options, Sqlite, Statistics};
pub use stored_row::Row;
pub use transfer::{export, import};
pub use verify::{LogVerdict, TamperFinding, Tampering, verify};
pub use watch::StoreWatch;

pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, Fault>> + Send + 'a>>;

/// A function that decides a command on the loaded rows. It returns the change, or the needs (requests for rows) that
/// the store must still load. It has no side effects, so a backend may run it several times.
pub type DecisionStep = Arc<dyn Fn(&World) -> Result<Change, Vec<Need>> + Send + Sync>;

/// A function that reads the loaded state to answer a question. It returns the needs (requests for rows) that the store
/// must still load. An empty list means that the question can be answered.
pub type StateQuestion = Arc<dyn Fn(&World) -> Vec<Need> + Send + Sync>;

/// A command that a caller passes to the store, with the function that decides it.
#[derive(Clone)]
pub struct Job {
    /// The needs (requests for rows) that are known before the decision runs. `step` may ask for more.
    pub needs: Vec<Need>,
    pub now: Timestamp,
    pub step: DecisionStep,
}

impl Job {
    fn decide(&self, world: &World) -> Result<Result<Change, Vec<Need>>, Fault> {
        guarded(|| (self.step)(world))
    }
}

/// Runs a rule of the engine. When the rule panics, this returns [`Fault::Bug`], so the store and the other calls
/// continue.
fn guarded<T>(rule: impl FnOnce() -> T) -> Result<T, Fault> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(rule)).map_err(|panic| {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
        Fault::Bug { what: text.unwrap_or_else(|| "a rule panicked".to_owned()) }
    })
}

impl std::fmt::Debug for Job {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Job").field("needs", &self.needs).field("now", &self.now).finish_non_exhaustive()
    }
}

/// The trait of all backends (SQLite, PostgreSQL, memory). When [`Store::transact`] returns a change, the change is
/// durable, and every later call sees it.
pub trait Store: Send + Sync {
    /// Loads the needs of a job (the rows that it asks for), decides its command and writes the change, all in one
    /// transaction. A command that ends with a fault had no effect. The exception is [`Fault::Unknown`], after which
    /// the command may have had its effect.
    fn transact(&self, job: Job) -> Answer<'_, Change>;

    /// Loads the rows that the needs and then `question` ask for, without writing. All rows have the state of the same
    /// moment. Never waits for a writer.
    fn look(&self, needs: Vec<Need>, question: StateQuestion) -> Answer<'_, World>;

    /// Returns the entries of all topics (logs) after a cursor (a position in these logs), each topic in order. A
    /// caller that always continues from the returned cursor misses no entry.
    fn follow(&self, after: Cursor, limit: u32) -> Answer<'_, LogPage>;

    /// Returns the cursor (a position in the log) after the newest log entry.
    fn end(&self) -> Answer<'_, Cursor>;

    /// Returns the entries of one topic (one of the logs) with numbers above `after`.
    fn topic(&self, topic: String, after: i64, limit: u32) -> Answer<'_, Vec<Entry>>;

    /// Returns the heads of the topics (logs) whose names sort after `after`, in the order of their names. A head is
    /// the number, hash and time of a topic's last entry.
    fn heads(&self, after: String, limit: u32) -> Answer<'_, Vec<Head>>;

    /// Returns the head of one topic (the number, hash and time of its last log entry), or `None` when the topic has no
    /// entry.
    fn head(&self, topic: String) -> Answer<'_, Option<Head>>;

    /// Returns the topic and number of the first log entry whose topic has no head (the row with the topic's last
    /// number and hash), or `None` when all topics have a head. A missing head was deleted by an intruder.
    fn headless(&self) -> Answer<'_, Option<(String, i64)>>;

    /// Returns a watch that wakes up after changes of the store, also after changes by other processes. A wake-up only
    /// says that something may have changed; read the log to learn what changed.
    fn watch(&self) -> StoreWatch;

    /// Returns the defects that the database itself finds in its file. The list is empty when there are no defects.
    fn integrity(&self) -> Answer<'_, Vec<String>>;

    /// Returns the time of the database server, or `None` when the database has no clock. The caller compares it with
    /// the clock of this host. No rule, row or event uses this time.
    fn server_time(&self) -> Answer<'_, Option<Timestamp>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    /// Returns a text that identifies this store on its server. Two addresses of one store give the same text. A copy
    /// of the store gives a different text. Returns `None` when the store is a file, because the path identifies a
    /// file.
    fn server_identity(&self) -> Answer<'_, Option<String>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    /// Passes every row of the store to the function `sink`. All rows have the state of the same moment.
    fn dump(&self, sink: Sink) -> Answer<'_, ()>;

    /// Calls `source` until it has returned all rows, and inserts them. After a fault, none of them is inserted. Fails
    /// when the store is not empty.
    fn fill(&self, source: RowSource) -> Answer<'_, ()>;
}

/// A function that receives rows of one table. The number is the index of the table in the store's list of tables.
pub type Sink = Box<dyn FnMut(usize, Vec<Row>) -> Result<(), Fault> + Send>;

/// A function that returns the next rows of a table together with the index of the table in the store's list of tables.
/// Returns `None` after the last row.
pub type RowSource = Box<dyn FnMut() -> Result<Option<(usize, Vec<Row>)>, Fault> + Send>;

/// Opens the store of a URL: `postgres://…`, `memory:`, or else the path of an SQLite file. Creates the folder of the
/// file when it is missing. `seed` is any random number; it distinguishes the cursors (positions in the log) of a new
/// store from the cursors of another store.
pub async fn open(url: &str, seed: u64) -> Result<Arc<dyn Store>, Fault> {
    if url.starts_with("postgres://") || url.starts_with("postgresql://") {
        return Ok(Arc::new(Postgres::open(url, seed).await?));
    }
    if url == "memory:" {
        return in_memory();
    }
    let path = std::path::Path::new(url.strip_prefix("sqlite:").unwrap_or(url));
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        let mut maker = std::fs::DirBuilder::new();
        // Only the owner may read this folder, because it holds the database and a token.
        std::os::unix::fs::DirBuilderExt::mode(&mut maker, 0o700);
        maker.recursive(true).create(folder).map_err(Fault::file("create the folder", folder))?;
    }
    Ok(Arc::new(Sqlite::open(path, seed).await?))
}

#[cfg(feature = "testing")]
fn in_memory() -> Result<Arc<dyn Store>, Fault> {
    Ok(Arc::new(MemoryStore::default()))
}

#[cfg(not(feature = "testing"))]
fn in_memory() -> Result<Arc<dyn Store>, Fault> {
    let problem = "a store in memory is only for tests; name a file or a PostgreSQL server".to_owned();
    Err(Fault::Url { url: "memory:".to_owned(), problem })
}

/// Answers a question about the stored state, without writing. Loads rows until `ask` has all rows that it needs.
pub async fn view<T, F>(store: &dyn Store, needs: Vec<Need>, ask: F) -> Result<Result<T, Refusal>, Fault>
where
    F: Fn(&World) -> Result<T, DecisionStop> + Send + Sync + Clone + 'static,
{
    let again = ask.clone();
    let question: StateQuestion = Arc::new(move |world| match again(world) {
        Err(DecisionStop::Missing(needs)) => needs,
        Ok(_) | Err(DecisionStop::Refused(_) | DecisionStop::Recorded(_)) => Vec::new(),
    });
    let world = store.look(needs, question).await?;
    match ask(&world) {
        Ok(view) => Ok(Ok(view)),
        Err(DecisionStop::Refused(refusal) | DecisionStop::Recorded(refusal)) => Ok(Err(refusal)),
        Err(DecisionStop::Missing(needs)) => Err(Fault::asks_again(&needs)),
    }
}
