//! SQLite: one writer thread that gathers commands into one durable transaction, readers beside it, a queue between
//! processes. See docs/decisions/0002 and 0003.

mod connection;
mod queue;
mod reader;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use engine::{Change, Need, World};
use tokio::sync::oneshot;

use crate::fault::Fault;
use crate::log::{Cursor, Entry, Head, Page};
use crate::watch::{Bell, Watch};
use crate::{Answer, Job, Question, Sink, Source, Store};
use connection::{Settings, open};
use queue::Queue;
use reader::Readers;
use writer::{Reply, Request, Writer};

/// How long a caller waits for its turn before it is told that another process blocks all writing.
const WAIT_MAX: Duration = Duration::from_secs(30);
/// An import is as long as its file.
const FILL_MAX: Duration = Duration::from_secs(24 * 3600);
/// Commands that may wait for the writer; more than this at once are a fault of their sender.
const QUEUE_MAX: usize = 16_384;
/// Other processes' changes are noticed so often while somebody waits.
const POLL: Duration = Duration::from_millis(25);

/// What the writer did since it was opened.
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
    sender: Mutex<Option<SyncSender<Request>>>,
    writer: Mutex<Option<std::thread::JoinHandle<()>>>,
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
    /// Opens the file, making it on first use. Any number of processes may do so at once. `seed` is any random number;
    /// it tells a new store's cursors from those of another.
    pub async fn open(path: &Path, seed: u64) -> Result<Self, Fault> {
        let path = path.to_owned();
        let opening = tokio::task::spawn_blocking(move || Self::open_blocking(path, seed));
        match tokio::time::timeout(WAIT_MAX, opening).await {
            Ok(Ok(result)) => result,
            Ok(Err(join)) => Err(Fault::Bug { what: join.to_string() }),
            Err(_) => Err(Fault::Busy { seconds: WAIT_MAX.as_secs() }),
        }
    }

    fn open_blocking(path: PathBuf, seed: u64) -> Result<Self, Fault> {
        let queue = Queue::beside(&path)?;
        let turn = queue.wait()?;
        let (connection, generation) = open(&path, Settings::WRITER, Some(seed))?;
        drop(turn);
        let bell = Bell::new();
        let statistics = Arc::new(Statistics::default());
        let (sender, receiver) = std::sync::mpsc::sync_channel(QUEUE_MAX);
        let writer = Writer {
            path: path.clone(),
            connection,
            queue: Arc::new(queue),
            bell: bell.clone(),
            statistics: Arc::clone(&statistics),
        };
        let thread = std::thread::Builder::new()
            .name("handover-writer".to_owned())
            .spawn(move || writer.run(&receiver))
            .map_err(Fault::file("start the writer of", &path))?;
        Ok(Self {
            readers: Arc::new(Readers::new(path.clone())),
            path,
            sender: Mutex::new(Some(sender)),
            writer: Mutex::new(Some(thread)),
            bell,
            poller: Arc::default(),
            statistics,
            generation,
        })
    }

    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    async fn ask<T: Send>(&self, wait: Duration, request: impl FnOnce(Reply<T>) -> Request + Send) -> Result<T, Fault> {
        let (answer, receiver) = oneshot::channel();
        let sender = self.sender.lock().unwrap_or_else(PoisonError::into_inner).clone().ok_or(Fault::Closed)?;
        let taken = Arc::new(AtomicBool::new(false));
        match sender.try_send(request(Reply::new(answer, Arc::clone(&taken)))) {
            Ok(()) => {}
            Err(TrySendError::Full(_)) => return Err(Fault::Busy { seconds: 0 }),
            Err(TrySendError::Disconnected(_)) => return Err(Fault::Closed),
        }
        match tokio::time::timeout(wait, receiver).await {
            Ok(Ok(result)) => result,
            Ok(Err(_)) => Err(Fault::Closed),
            Err(_) => {
                let busy = Fault::Busy { seconds: wait.as_secs() };
                // What the writer has not begun is taken back; the rest may still be done.
                Err(if taken.swap(true, Ordering::AcqRel) { Fault::Unknown(Box::new(busy)) } else { busy })
            }
        }
    }

    /// Starts the thread that looks for other processes' changes, if none runs.
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
        // Closing the channel ends the writer after what it has taken.
        drop(self.sender.lock().unwrap_or_else(PoisonError::into_inner).take());
        if let Some(thread) = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take() {
            let _ = thread.join();
        }
    }
}

impl Store for Sqlite {
    fn transact(&self, job: Job) -> Answer<'_, Change> {
        Box::pin(self.ask(WAIT_MAX, move |answer| Request::Transact(job, answer)))
    }

    fn look(&self, needs: Vec<Need>, question: Question) -> Answer<'_, World> {
        Box::pin(self.readers.run(move |connection| reader::look(connection, &needs, &question)))
    }

    fn follow(&self, after: Cursor, limit: u32) -> Answer<'_, Page> {
        let after = after.in_generation(self.generation);
        Box::pin(self.readers.run(move |connection| reader::follow(connection, after, limit)))
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

    fn watch(&self) -> Watch {
        let watch = self.bell.watch();
        self.start_poller();
        watch
    }

    fn dump(&self, mut sink: Sink) -> Answer<'_, ()> {
        Box::pin(self.readers.run(move |connection| reader::dump(connection, &mut sink)))
    }

    fn fill(&self, source: Source) -> Answer<'_, ()> {
        Box::pin(self.ask(FILL_MAX, move |answer| Request::Fill(source, answer)))
    }
}
