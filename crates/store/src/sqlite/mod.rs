//! The SQLite store. One writer thread runs several commands in one durable transaction. Readers use their own
//! connections. A file lock lets the writers of different processes write one after the other. See docs/decisions/0002
//! and 0003.

mod connection;
mod mount;
mod queue;
mod reader;
mod reply;
mod upgrade;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use engine::{Change, Need, World};
use tokio::sync::{Semaphore, oneshot};

use crate::fault::Fault;
use crate::log::{Cursor, Entry, Head, LogPage};
use crate::watch::{Bell, StoreWatch};
use crate::{Answer, Job, RowSource, Sink, StateQuestion, Store};
use connection::{ConnectionSettings, make, open};
use queue::Queue;
use reader::Readers;
use reply::{Others, ReplySender, ReplyTicket};
pub(crate) use upgrade::upgrade;
use writer::{Writer, WriterRequest};

/// The options with which an SQLite store is opened.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// The longest time that a caller waits for the writer thread to start its command. After this time, the caller
    /// gets [`Fault::Busy`].
    pub wait_max: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self { wait_max: Duration::from_secs(30) }
    }
}

/// The longest time that dropping the store waits for the writer thread to end. The thread may need longer, because it
/// may wait for another process.
const CLOSE_MAX: Duration = Duration::from_secs(1);
/// The maximum number of commands that may wait for the writer thread. A caller that comes when the queue is full gets
/// a fault.
const QUEUE_MAX: usize = 16_384;
/// The time between two checks whether another process changed the database. The checks run only while a caller waits
/// for changes.
const POLL: Duration = Duration::from_millis(25);

/// Counters of the writer thread's work since the store was opened.
#[derive(Debug, Default)]
pub struct Statistics {
    commits: AtomicU64,
    commands: AtomicU64,
}

impl Statistics {
    pub fn commits(&self) -> u64 {
        self.commits.load(Ordering::Relaxed)
    }

    pub fn commands(&self) -> u64 {
        self.commands.load(Ordering::Relaxed)
    }
}

pub struct Sqlite {
    path: PathBuf,
    options: Options,
    /// The sending end of the channel to the writer thread. The channel is unbounded, because a bounded channel
    /// allocates the memory for all its slots when it is created, about a megabyte. The semaphore `places` bounds the
    /// number of waiting commands instead.
    sender: Mutex<Option<Sender<WriterRequest>>>,
    places: Arc<Semaphore>,
    /// A channel that disconnects when the writer thread ends.
    closed: Mutex<Receiver<()>>,
    readers: Arc<Readers>,
    bell: Bell,
    poller: Arc<Mutex<bool>>,
    statistics: Arc<Statistics>,
    generation: i64,
}

impl std::fmt::Debug for Sqlite {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sqlite").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Sqlite {
    /// Opens the database file, and creates it when it is missing. Any number of processes may do this at the same
    /// time. `seed` is any random number; it distinguishes the cursors (positions in the log) of a new store from the
    /// cursors of another store.
    pub async fn open(path: &Path, seed: u64) -> Result<Self, Fault> {
        Self::open_with(path, seed, Options::default()).await
    }

    /// Opens the database file like [`Sqlite::open`], with the given options.
    pub async fn open_with(path: &Path, seed: u64, options: Options) -> Result<Self, Fault> {
        let (answer, receiver) = oneshot::channel();
        let file = path.to_owned();
        // Use a separate thread instead of a blocking thread of the runtime. When a runtime ends, it waits for its
        // blocking threads, and opening may block without end.
        let opening = move || drop(answer.send(Self::open_blocking(file, seed, options)));
        let thread = std::thread::Builder::new().name("handover-opener".to_owned()).spawn(opening);
        thread.map_err(Fault::file("start the opener of", path))?;
        match tokio::time::timeout(options.wait_max, receiver).await {
            Ok(result) => result.unwrap_or(Err(Fault::Closed)),
            Err(_) => Err(Fault::Busy { seconds: options.wait_max.as_secs() }),
        }
    }

    fn open_blocking(path: PathBuf, seed: u64, options: Options) -> Result<Self, Fault> {
        if let Some(kind) = mount::remote(&path) {
            let problem = format!(
                "it lies on a network file system ({kind}), where SQLite loses data; use a local disk or PostgreSQL"
            );
            return Err(Fault::Url { url: path.display().to_string(), problem });
        }
        let queue = Queue::beside(&path)?;
        let turn = queue.wait(|| ()).map_err(|cause| queue.fault(cause))?;
        make(&path)?;
        let (connection, generation) = open(&path, ConnectionSettings::WRITER, Some(seed))?;
        drop(turn);
        let bell = Bell::new();
        let statistics = Arc::new(Statistics::default());
        let (sender, receiver) = std::sync::mpsc::channel();
        let writer = Writer {
            path: path.clone(),
            connection,
            queue: Arc::new(queue),
            bell: bell.clone(),
            statistics: Arc::clone(&statistics),
            untold: Others::default(),
        };
        let (done, closed) = std::sync::mpsc::channel();
        let run = move || {
            writer.run(&receiver);
            drop::<Sender<()>>(done);
        };
        let thread = std::thread::Builder::new().name("handover-writer".to_owned()).spawn(run);
        thread.map_err(Fault::file("start the writer of", &path))?;
        Ok(Self {
            readers: Arc::new(Readers::new(path.clone())),
            path,
            options,
            sender: Mutex::new(Some(sender)),
            places: Arc::new(Semaphore::new(QUEUE_MAX)),
            closed: Mutex::new(closed),
            bell,
            poller: Arc::default(),
            statistics,
            generation,
        })
    }

    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    async fn ask<T: Send>(&self, request: impl FnOnce(ReplySender<T>) -> WriterRequest + Send) -> Result<T, Fault> {
        let (answer, mut receiver) = oneshot::channel();
        let ticket = Arc::new(ReplyTicket::default());
        let sender = self.sender.lock().unwrap_or_else(PoisonError::into_inner).clone().ok_or(Fault::Closed)?;
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else { return Err(Fault::Busy { seconds: 0 }) };
        let reply = ReplySender { answer, ticket: Arc::clone(&ticket), _place: place };
        sender.send(request(reply)).map_err(|_| Fault::Closed)?;
        let answer = match tokio::time::timeout(self.options.wait_max, &mut receiver).await {
            Ok(answer) => answer,
            Err(_) if ticket.take() => return Err(Fault::Busy { seconds: self.options.wait_max.as_secs() }),
            // The caller's time limit is over, but the writer has already started this command. So wait for the answer,
            // which comes soon.
            Err(_) => receiver.await,
        };
        answer.map_or(Err(Fault::Closed), |told| told.result)
    }

    /// Starts the thread that checks for changes by other processes, unless the thread runs already.
    fn start_poller(&self) {
        let mut running = self.poller.lock().unwrap_or_else(PoisonError::into_inner);
        if *running {
            return;
        }
        let (bell, readers, flag) = (self.bell.clone(), Arc::clone(&self.readers), Arc::clone(&self.poller));
        let poll = move || reader::poll(&readers, &bell, &flag, POLL);
        *running = std::thread::Builder::new().name("handover-poller".to_owned()).spawn(poll).is_ok();
    }
}

impl Drop for Sqlite {
    fn drop(&mut self) {
        // Close the channel. The writer then finishes the commands that it has already taken, and ends.
        drop(self.sender.lock().unwrap_or_else(PoisonError::into_inner).take());
        let _ = self.closed.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(CLOSE_MAX);
    }
}

impl Store for Sqlite {
    fn transact(&self, job: Job) -> Answer<'_, Change> {
        Box::pin(self.ask(move |reply| WriterRequest::Transact(job, reply)))
    }

    fn look(&self, needs: Vec<Need>, question: StateQuestion) -> Answer<'_, World> {
        Box::pin(self.readers.run(move |connection| reader::look(connection, &needs, &question)))
    }

    fn follow(&self, after: Cursor, limit: u32) -> Answer<'_, LogPage> {
        let after = after.in_generation(self.generation);
        Box::pin(self.readers.run(move |connection| reader::follow(connection, after, limit)))
    }

    fn integrity(&self) -> Answer<'_, Vec<String>> {
        Box::pin(self.readers.run(reader::integrity))
    }

    fn end(&self) -> Answer<'_, Cursor> {
        let generation = self.generation;
        Box::pin(self.readers.run(move |connection| reader::end(connection, generation)))
    }

    fn topic(&self, topic: String, after: i64, limit: u32) -> Answer<'_, Vec<Entry>> {
        Box::pin(self.readers.run(move |connection| reader::topic(connection, &topic, after, limit)))
    }

    fn heads(&self, after: String, limit: u32) -> Answer<'_, Vec<Head>> {
        Box::pin(self.readers.run(move |connection| reader::heads(connection, &after, limit)))
    }

    fn head(&self, topic: String) -> Answer<'_, Option<Head>> {
        Box::pin(self.readers.run(move |connection| reader::head(connection, &topic)))
    }

    fn headless(&self) -> Answer<'_, Option<(String, i64)>> {
        Box::pin(self.readers.run(reader::headless))
    }

    fn watch(&self) -> StoreWatch {
        let watch = self.bell.watch();
        self.start_poller();
        watch
    }

    fn dump(&self, mut sink: Sink) -> Answer<'_, ()> {
        Box::pin(self.readers.run(move |connection| reader::dump(connection, &mut sink)))
    }

    fn fill(&self, source: RowSource) -> Answer<'_, ()> {
        Box::pin(self.ask(move |reply| WriterRequest::Fill(source, reply)))
    }
}
