//! What Handover remembers: three backends behind one small port.
//!
//! A backend does two things: it answers needs (`load` says with which statement) and it runs the writes of a change
//! (`record` says which). Rules are in the engine, SQL is in `sql`, columns are in `row`; a backend knows
//! transactions, threads and connections, and nothing of the product.

mod fault;
mod load;
mod log;
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

pub mod conformance;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use engine::{Change, Need, Refusal, Stop, Timestamp, World};

pub use fault::Fault;
pub use log::{Cursor, Entry, Head, Page, ZERO_HASH};
pub use memory::Memory;
pub use postgres::Postgres;
pub use sqlite::{Options, Sqlite, Statistics};
pub use stored_row::Row;
pub use transfer::{export, import};
pub use verify::{Finding, Tampering, Verdict, verify};
pub use watch::Watch;

pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, Fault>> + Send + 'a>>;

/// A decision: pure, so a backend may run it as often as it must.
pub type Step = Arc<dyn Fn(&World) -> Result<Change, Vec<Need>> + Send + Sync>;

/// A question: what else must be loaded before it can be answered. Nothing more when the list is empty.
pub type Question = Arc<dyn Fn(&World) -> Vec<Need> + Send + Sync>;

/// One command on its way to the store.
#[derive(Clone)]
pub struct Job {
    /// What is surely needed; the step may ask for more.
    pub needs: Vec<Need>,
    pub now: Timestamp,
    pub step: Step,
}

impl Job {
    fn decide(&self, world: &World) -> Result<Result<Change, Vec<Need>>, Fault> {
        guarded(|| (self.step)(world))
    }
}

/// Runs a rule. One that panics must not take the store with it: the call fails as a bug, others go on.
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

/// The port. An answer to [`Store::transact`] means that the change is durable and seen by everyone who asks after it.
pub trait Store: Send + Sync {
    /// Loads, decides and records in one transaction. A fault means that nothing happened, except [`Fault::Unknown`].
    fn transact(&self, job: Job) -> Answer<'_, Change>;

    /// Loads for reading, as of one moment. Never waits for a writer.
    fn look(&self, needs: Vec<Need>, question: Question) -> Answer<'_, World>;

    /// Entries of all topics after a cursor, each topic in order. Following misses nothing.
    fn follow(&self, after: Cursor, limit: u32) -> Answer<'_, Page>;

    /// Where one stands who has followed everything there is.
    fn end(&self) -> Answer<'_, Cursor>;

    /// Entries of one topic after a number.
    fn topic(&self, topic: String, after: i64, limit: u32) -> Answer<'_, Vec<Entry>>;

    /// Heads of topics after a name, in the order of their names.
    fn heads(&self, after: String, limit: u32) -> Answer<'_, Vec<Head>>;

    /// The head of one topic.
    fn head(&self, topic: String) -> Answer<'_, Option<Head>>;

    /// The first entry of a topic that has no head.
    fn headless(&self) -> Answer<'_, Option<(String, i64)>>;

    /// Wakes after changes, also by other processes. A hint: the log is the truth.
    fn watch(&self) -> Watch;

    /// What the database itself finds wrong with its file; nothing when all is well.
    fn integrity(&self) -> Answer<'_, Vec<String>>;

    /// Returns the time of the database server. `None` when the database has no clock of its own. The caller measures with
    /// it how far the clock of this host is off; the value reaches no rule, row or event.
    fn server_time(&self) -> Answer<'_, Option<Timestamp>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    /// Returns a text that names this store on its server, however its address is spelled: the same for two addresses of
    /// one store, another one for a copy. `None` when the store is a file, whose place names it.
    fn server_identity(&self) -> Answer<'_, Option<String>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    /// Gives every row to the sink, as of one moment.
    fn dump(&self, sink: Sink) -> Answer<'_, ()>;

    /// Takes every row from the source, all or nothing. Refused when the store holds anything.
    fn fill(&self, source: Source) -> Answer<'_, ()>;
}

/// Takes rows of a table (by its place in the list of tables).
pub type Sink = Box<dyn FnMut(usize, Vec<Row>) -> Result<(), Fault> + Send>;

/// Gives rows of a table, `None` at the end.
pub type Source = Box<dyn FnMut() -> Result<Option<(usize, Vec<Row>)>, Fault> + Send>;

/// Opens what a URL names: `postgres://…`, `memory:`, else an SQLite file, whose folder is made when it is missing. `seed`
/// is any random number.
pub async fn open(url: &str, seed: u64) -> Result<Arc<dyn Store>, Fault> {
    if url.starts_with("postgres://") || url.starts_with("postgresql://") {
        return Ok(Arc::new(Postgres::open(url, seed).await?));
    }
    if url == "memory:" {
        return Ok(Arc::new(Memory::default()));
    }
    let path = std::path::Path::new(url.strip_prefix("sqlite:").unwrap_or(url));
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        let mut maker = std::fs::DirBuilder::new();
        // What lies in it is its owner's: the store, a token.
        std::os::unix::fs::DirBuilderExt::mode(&mut maker, 0o700);
        maker.recursive(true).create(folder).map_err(Fault::file("make the folder", folder))?;
    }
    Ok(Arc::new(Sqlite::open(path, seed).await?))
}

/// Answers a pure question from the store: loads until it has what it asks for.
pub async fn view<T, F>(store: &dyn Store, needs: Vec<Need>, ask: F) -> Result<Result<T, Refusal>, Fault>
where
    F: Fn(&World) -> Result<T, Stop> + Send + Sync + Clone + 'static,
{
    let again = ask.clone();
    let question: Question = Arc::new(move |world| match again(world) {
        Err(Stop::Missing(needs)) => needs,
        Ok(_) | Err(Stop::Refused(_) | Stop::Recorded(_)) => Vec::new(),
    });
    let world = store.look(needs, question).await?;
    match ask(&world) {
        Ok(view) => Ok(Ok(view)),
        Err(Stop::Refused(refusal) | Stop::Recorded(refusal)) => Ok(Err(refusal)),
        Err(Stop::Missing(needs)) => Err(Fault::Bug { what: format!("a question asks again for {needs:?}") }),
    }
}
