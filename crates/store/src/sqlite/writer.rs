//! The writer of the SQLite store: one thread that takes the waiting commands, runs them in one transaction, and
//! answers after the commit.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvError, TryRecvError};
use std::time::Duration;

use engine::agent::Agent;
use engine::id::{AgentId, WorkflowId};
use engine::workflow::Workflow;
use engine::{Change, Need, Timestamp, World};
use rusqlite::{Connection, ErrorCode};

use super::Statistics;
use super::connection::{BUSY_MAX, ConnectionSession, ConnectionSettings, open};
use super::queue::Queue;
use super::reader::{load, load_more};
use super::reply::{Others, ReplySender};
use crate::fault::Fault;
use crate::log::Head;
use crate::record::{self, Op};
use crate::stored_row::{Row, not_empty};
use crate::table::TABLES;
use crate::value::{Statement, text};
use crate::watch::Bell;
use crate::{Job, RowSource, sql};

pub(super) enum WriterRequest {
    Transact(Job, ReplySender<Change>),
    Fill(RowSource, ReplySender<()>),
}

pub(super) struct Writer {
    pub(super) path: PathBuf,
    pub(super) connection: Connection,
    pub(super) queue: Arc<Queue>,
    pub(super) bell: Bell,
    pub(super) statistics: Arc<Statistics>,
    /// The answers to the last batch of commands, if they are not sent yet. Dropping this value sends them.
    pub(super) untold: Others,
}

/// The maximum number of commands in one transaction; further commands wait for the next one. The number is large
/// enough to share the cost of a commit, and small enough to keep the wait short.
const BATCH_MAX: usize = 128;
/// The time that the writer thread waits for new commands of the callers that it just answered. Callers often send
/// their next command immediately.
const GATHER: Duration = Duration::from_micros(50);

/// The time that the writer thread stays awake after its last batch of commands before it sleeps.
const AWAKE: Duration = Duration::from_micros(100);

type WriterWaiter = (Job, ReplySender<Change>);

impl Writer {
    pub(super) fn run(mut self, requests: &Receiver<WriterRequest>) {
        let mut last = 0;
        while let Ok(request) = self.next(requests) {
            match request {
                WriterRequest::Fill(source, reply) => self.fill(source, reply),
                WriterRequest::Transact(job, reply) => {
                    let (batch, other) = gather((job, reply), requests, last);
                    last = batch.len();
                    self.commit(batch);
                    if let Some((source, reply)) = other {
                        self.fill(source, reply);
                    }
                }
            }
        }
    }

    /// Waits for the next request. A caller that was just answered often sends its next request immediately, and waking
    /// a thread takes longer than staying awake. So the writer stays awake for a moment and yields to threads that have
    /// work.
    fn next(&mut self, requests: &Receiver<WriterRequest>) -> Result<WriterRequest, RecvError> {
        #[expect(clippy::disallowed_methods, reason = "bounds how long it stays awake")]
        let began = std::time::Instant::now();
        loop {
            match requests.try_recv() {
                Ok(request) => return Ok(request),
                Err(TryRecvError::Disconnected) => return Err(RecvError),
                Err(TryRecvError::Empty) if began.elapsed() < AWAKE => std::thread::yield_now(),
                Err(TryRecvError::Empty) => {
                    self.untold = Others::default();
                    return requests.recv();
                }
            }
        }
    }

    /// Runs a batch of commands in one transaction and answers each caller. A command that fails does not affect the
    /// other commands.
    fn commit(&mut self, mut batch: Vec<WriterWaiter>) {
        let queue = Arc::clone(&self.queue);
        // When another process holds the file lock, send the answers to the last batch of commands, by dropping the old
        // value of `untold`. The callers of that batch must not wait for other processes.
        let turn = queue.wait(|| self.untold = Others::default());
        // Drop the commands whose callers gave up during the wait.
        batch.retain(|(_, reply)| reply.begin());
        if batch.is_empty() {
            return;
        }
        if let Err(cause) = &turn {
            for (_, reply) in batch {
                // Make a copy of the error for each caller of the batch, because every caller gets it and an I/O error
                // cannot be cloned.
                let cause = std::io::Error::new(cause.kind(), cause.to_string());
                reply.send(Err(queue.fault(cause)));
            }
            return;
        }
        let jobs: Vec<&Job> = batch.iter().map(|(job, _)| job).collect();
        let (mut left_behind, busy) = match transaction(&self.connection, &jobs) {
            Ok(changes) => {
                drop(turn);
                self.count(batch.len());
                self.untold = Others::after_first(batch.into_iter().map(|(_, reply)| reply).zip(changes));
                self.bell.ring();
                return;
            }
            Err(failure) => (failure.left_behind, is_busy(&failure.fault)),
        };
        self.mend();
        if busy {
            // Another program holds SQLite's own lock here. Fail all commands of the batch, because a command in its
            // own transaction would have to wait for this lock, too.
            drop(turn);
            batch.into_iter().for_each(|(_, reply)| reply.send(Err(Fault::Busy { seconds: BUSY_MAX.as_secs() })));
            return;
        }
        let mut answers = Vec::with_capacity(batch.len());
        for job in jobs {
            // The batch failed, so run each of its commands in its own transaction. This is rare, so it costs less than
            // a savepoint around every command of every batch.
            match transaction(&self.connection, &[job]) {
                Ok(mut changes) => {
                    self.count(1);
                    left_behind = false;
                    answers.push(changes.pop().ok_or(Fault::Closed));
                }
                Err(mut failure) => {
                    failure.left_behind |= left_behind;
                    let fault = self.settle(failure);
                    left_behind = matches!(fault, Fault::Unknown(_));
                    answers.push(Err(fault));
                }
            }
        }
        drop(turn);
        for ((_, reply), answer) in batch.into_iter().zip(answers) {
            reply.send(answer);
        }
        self.bell.ring();
    }

    fn count(&self, commands: usize) {
        self.statistics.commits.fetch_add(1, Ordering::Relaxed);
        self.statistics.commands.fetch_add(u64::try_from(commands).unwrap_or(0), Ordering::Relaxed);
    }

    /// Rolls back the failed transaction. Opens a new connection to the database file when the rollback fails.
    fn mend(&mut self) {
        if self.connection.is_autocommit() || self.connection.execute_batch("ROLLBACK").is_ok() {
            return;
        }
        if let Ok((connection, _)) = open(&self.path, ConnectionSettings::WRITER, None) {
            self.connection = connection;
        }
    }

    /// Rolls back the failed transaction and returns the fault for the caller. A failed commit may leave pages in the
    /// write-ahead log, so this function overwrites them with another write. If that write also fails, SQLite may treat
    /// the pages as committed when the file is opened next. Then the fault becomes [`Fault::Unknown`].
    fn settle(&mut self, failure: WriterFailure) -> Fault {
        self.mend();
        if failure.left_behind && overwrite(&self.connection).is_err() {
            self.mend();
            return Fault::Unknown(Box::new(failure.fault));
        }
        failure.fault
    }

    fn fill(&mut self, mut source: RowSource, reply: ReplySender<()>) {
        let queue = Arc::clone(&self.queue);
        // An import takes long, so first send the answers to the last batch of commands.
        self.untold = Others::default();
        let turn = queue.wait(|| ());
        if !reply.begin() {
            return;
        }
        let result = match turn {
            Ok(_turn) => fill(&self.connection, &mut source).map_err(|failure| self.settle(failure)),
            Err(cause) => Err(queue.fault(cause)),
        };
        reply.send(result);
        self.bell.ring();
    }
}

/// Takes the commands that wait. When only few wait after a large batch, this function first waits a moment for the
/// callers that were just answered, because they often send their next command immediately. Without this wait, large
/// batches and batches of one command would alternate.
fn gather(
    first: WriterWaiter,
    requests: &Receiver<WriterRequest>,
    last: usize,
) -> (Vec<WriterWaiter>, Option<(RowSource, ReplySender<()>)>) {
    let mut batch = vec![first];
    let mut other = drain(&mut batch, requests);
    if other.is_none() && batch.len() < last / 2 {
        // Sleep once for the whole time, because waking up for each command costs more than it gains.
        std::thread::park_timeout(GATHER);
        other = drain(&mut batch, requests);
    }
    (batch, other)
}

fn drain(batch: &mut Vec<WriterWaiter>, requests: &Receiver<WriterRequest>) -> Option<(RowSource, ReplySender<()>)> {
    while batch.len() < BATCH_MAX {
        match requests.try_recv() {
            Ok(WriterRequest::Transact(job, reply)) => batch.push((job, reply)),
            Ok(WriterRequest::Fill(source, reply)) => return Some((source, reply)),
            Err(_) => break,
        }
    }
    None
}

fn is_busy(fault: &Fault) -> bool {
    let Fault::Sqlite(error) = fault else { return false };
    error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy)
}

/// The fault of a transaction, and whether the transaction left pages in the write-ahead log.
struct WriterFailure {
    fault: Fault,
    /// True when all pages of the failed transaction may be in the write-ahead log. A recovery would then treat the
    /// transaction as committed.
    left_behind: bool,
}

impl<F: Into<Fault>> From<F> for WriterFailure {
    fn from(fault: F) -> Self {
        Self { fault: fault.into(), left_behind: false }
    }
}

/// Runs all jobs (commands of callers) in one transaction. When one of them fails, none has an effect.
fn transaction(connection: &Connection, jobs: &[&Job]) -> Result<Vec<Change>, WriterFailure> {
    connection.execute_batch("BEGIN IMMEDIATE")?;
    let mut batch = Batch {
        session: ConnectionSession::new(connection),
        heads: BTreeMap::new(),
        workflows: BTreeMap::new(),
        agents: BTreeMap::new(),
    };
    let changes = jobs.iter().map(|job| batch.perform(job)).collect::<Result<Vec<_>, _>>()?;
    for head in batch.heads.values() {
        batch.session.run(&Statement::new(sql::PUT_TOPIC, record::head_values(head)))?;
    }
    // End the use of all prepared statements before the commit, because a statement in use would prevent it.
    drop(batch);
    commit(connection)?;
    Ok(changes)
}

/// The state that the commands of one transaction share. No other connection writes until the transaction ends. So each
/// command finds the rows as the command before it left them.
struct Batch<'c> {
    session: ConnectionSession<'c>,
    /// The head of each topic (log): the number and hash of its last entry. Each head is written once, after all
    /// commands of the batch.
    heads: BTreeMap<String, Head>,
    /// The workflows and agents that earlier commands of the batch loaded. Most commands need them. When a command
    /// changes such a row, it also changes this copy, so the copy stays right. Tasks are not kept, because the
    /// statements of a plan change and delete tasks directly in the database.
    workflows: BTreeMap<WorkflowId, Option<Workflow>>,
    agents: BTreeMap<AgentId, Option<Agent>>,
}

fn commit(connection: &Connection) -> Result<(), WriterFailure> {
    connection.execute_batch("COMMIT").map_err(|error| {
        // The last page that SQLite writes completes a transaction. After a failed write this page is missing, so
        // SQLite never treats the transaction as committed. After a failed fsync the page may be in the file.
        let unwritten = error.sqlite_error().is_some_and(|error| {
            error.code == ErrorCode::DiskFull || error.extended_code == rusqlite::ffi::SQLITE_IOERR_WRITE
        });
        WriterFailure { fault: error.into(), left_behind: !unwritten }
    })
}

/// Writes a counter that no rule reads, to overwrite the pages that a failed commit left in the write-ahead log.
fn overwrite(connection: &Connection) -> Result<(), Fault> {
    connection.execute_batch("BEGIN IMMEDIATE")?;
    // Change the value of the counter, because SQLite writes nothing when a value stays the same.
    ConnectionSession::new(connection).run(&Statement::new(sql::COUNT_MENDING, []))?;
    Ok(connection.execute_batch("COMMIT")?)
}

impl Batch<'_> {
    fn perform(&mut self, job: &Job) -> Result<Change, Fault> {
        let mut world = World {
            workflows: std::mem::take(&mut self.workflows),
            agents: std::mem::take(&mut self.agents),
            ..World::default()
        };
        let lacking: Vec<Need> = job.needs.iter().filter(|need| !world.knows(need)).cloned().collect();
        load(&mut self.session, &lacking, &mut world)?;
        let change = loop {
            match job.decide(&world)? {
                Ok(change) => break change,
                Err(needs) => load_more(&mut self.session, &needs, &mut world)?,
            }
        };
        if !change.events.is_empty() {
            for op in record::rows(&mut world, &change, job.now)? {
                self.write(op)?;
            }
            self.append(&change, job.now)?;
        }
        (self.workflows, self.agents) = (world.workflows, world.agents);
        Ok(change)
    }

    fn append(&mut self, change: &Change, now: Timestamp) -> Result<(), Fault> {
        for topic in record::topics(change) {
            let name = topic.to_string();
            let head = match self.heads.remove(&name) {
                Some(head) => head,
                None => {
                    let ask = Statement::new(sql::TOPIC, [name.as_str().into()]);
                    let found = self.session.query(&ask)?.into_iter().next();
                    found.map(Head::read).transpose()?.unwrap_or_else(|| Head::new(name.clone()))
                }
            };
            let (entries, head) = record::entries(change, &topic, head, now)?;
            for entry in &entries {
                self.session.run(&Statement::new(sql::SQLITE.append_event, record::entry_values(entry)))?;
            }
            self.heads.insert(name, head);
        }
        Ok(())
    }

    fn write(&mut self, op: Op) -> Result<(), Fault> {
        let session = &mut self.session;
        match op {
            Op::Run(statement) => session.run(&statement),
            Op::Insert(table, rows) => rows.iter().try_for_each(|row| session.run_with(&table.insert, row)),
            Op::DropTasks(ids) => ids.iter().try_for_each(|id| {
                sql::DROP_TASK.iter().try_for_each(|sql| session.run(&Statement::new(sql, [text(id)])))
            }),
        }
    }
}

fn fill(connection: &Connection, source: &mut RowSource) -> Result<(), WriterFailure> {
    connection.execute_batch("BEGIN IMMEDIATE")?;
    for table in TABLES {
        let sql = format!("SELECT 1 FROM {} LIMIT 1", table.name);
        let mut found = connection.prepare(&sql)?;
        if found.exists([])? {
            return Err(not_empty().into());
        }
    }
    let mut session = ConnectionSession::new(connection);
    while let Some((table, rows)) = source()? {
        let table = TABLES[table];
        let insert = if table.name == "event" { sql::SQLITE.append_event } else { &table.insert };
        rows.iter().try_for_each(|Row(row)| session.run_with(insert, row))?;
    }
    drop(session);
    commit(connection)
}
