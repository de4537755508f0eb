//! Runs one command as one transaction: lock, load, decide, write, commit. Retries after conflicts and lost
//! connections.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use deadpool_postgres::{Object, Pool};
use engine::{Change, Need, Topic, World};
use tokio_postgres::error::SqlState;

use super::guard::{Guards, HeldLocks};
use super::{WAIT_MAX, pipeline};
use crate::fault::Fault;
use crate::log::Head;
use crate::value::{SqlValue, Statement};
use crate::{Job, load, record, sql};

/// The maximum number of retries of a command after unique violations (errors because a key exists already). Usually
/// another transaction inserted the same key first. After these retries, the caller gets the violation as a fault.
const RACES_MAX: u32 = 16;
/// The statement that returns the number of the current transaction. `FATE` takes this number and returns the status of
/// the transaction.
const XID: &str = "SELECT pg_current_xact_id()::text::bigint";
const FATE: &str = "SELECT pg_xact_status($1::bigint::text::xid8)";

/// The result of one try to run a command in a transaction.
enum TransactionTry {
    Done(Box<Change>),
    /// The decision needs more locks than this try took. The next try takes all of these locks.
    Grow,
    /// The transaction had no effect, because of this fault.
    Failed(Fault),
    /// The connection broke after the commit was sent, so it is not known whether the transaction was committed.
    Unknown {
        change: Box<Change>,
        trail: Trail,
        fault: Fault,
    },
}

/// The data with which the store later finds out whether a transaction was committed.
struct Trail {
    /// The number of the transaction. After a crash, a server reuses the numbers of the transactions that it lost. So a
    /// committed transaction with this number may be a different one. The statement `witness` finds a row only if this
    /// transaction was committed.
    xid: i64,
    /// The statement that finds a row that only this transaction can have written. `None` when running the command
    /// twice has the same effect as running it once.
    witness: Option<Statement>,
}

pub(super) async fn transact(pool: &Pool, job: &Job) -> Result<Change, Fault> {
    let mut guards = Guards::default();
    for need in &job.needs {
        guards.add(need);
    }
    let mut patience = Patience::new();
    loop {
        let client = match connect(pool).await {
            Ok(client) => client,
            Err(fault) => {
                patience.wait(fault).await?;
                continue;
            }
        };
        let mut open = OpenTransaction::new(client);
        match attempt(&mut open, job, &mut guards).await {
            TransactionTry::Done(change) => {
                open.keep();
                return Ok(*change);
            }
            TransactionTry::Grow => open.roll_back().await,
            TransactionTry::Failed(fault) => {
                open.roll_back().await;
                patience.wait(fault).await?;
            }
            TransactionTry::Unknown { change, trail, fault } => {
                drop(open);
                if committed(pool, &trail, fault).await? {
                    return Ok(*change);
                }
            }
        }
    }
}

pub(super) async fn connect(pool: &Pool) -> Result<Object, Fault> {
    pool.get().await.map_err(|error| Fault::Pool(Box::new(error)))
}

/// A connection with an open transaction. When this value is dropped before the transaction ends, for example because
/// the caller is gone, the connection is closed and not reused.
pub(super) struct OpenTransaction {
    client: Option<Object>,
}

impl OpenTransaction {
    pub(super) fn new(client: Object) -> Self {
        Self { client: Some(client) }
    }

    pub(super) fn client(&self) -> Result<&Object, Fault> {
        self.client.as_ref().ok_or(Fault::Closed)
    }

    /// Gives the connection back to the pool. The caller must have ended the transaction.
    pub(super) fn keep(&mut self) {
        drop(self.client.take());
    }

    pub(super) async fn roll_back(&mut self) {
        if let Some(client) = &self.client
            && client.batch_execute("ROLLBACK").await.is_ok()
        {
            self.keep();
        }
    }
}

impl Drop for OpenTransaction {
    fn drop(&mut self) {
        if let Some(client) = self.client.take() {
            drop(Object::take(client));
        }
    }
}

async fn attempt(open: &mut OpenTransaction, job: &Job, guards: &mut Guards) -> TransactionTry {
    match decide_and_write(open, job, guards).await {
        Err(fault) => TransactionTry::Failed(fault),
        Ok(None) => TransactionTry::Grow,
        Ok(Some((change, trail))) => {
            let Ok(client) = open.client() else { return TransactionTry::Failed(Fault::Closed) };
            match client.batch_execute("COMMIT").await {
                Ok(()) => TransactionTry::Done(Box::new(change)),
                Err(error) if error.as_db_error().is_some() && !is_away(&error) => TransactionTry::Failed(error.into()),
                Err(error) => match trail {
                    Some(trail) => TransactionTry::Unknown { change: Box::new(change), trail, fault: error.into() },
                    None => TransactionTry::Failed(error.into()),
                },
            }
        }
    }
}

/// Runs all steps of a command before the commit. Returns `None` when the decision needs more locks; `guards` then
/// holds the locks for the next try.
async fn decide_and_write(
    open: &OpenTransaction,
    job: &Job,
    guards: &mut Guards,
) -> Result<Option<(Change, Option<Trail>)>, Fault> {
    let client = open.client()?;
    let (mut world, held, mut heads) = begin(client, job, guards).await?;
    let change = loop {
        match job.decide(&world)? {
            Ok(change) => break change,
            Err(needs) => {
                if needs.iter().all(|need| world.knows(need)) {
                    return Err(Fault::asks_again(&needs));
                }
                let mut grown = false;
                for need in &needs {
                    grown |= guards.add(need) && !held.covers(need, &world);
                }
                if grown {
                    return Ok(None);
                }
                let statements: Vec<Statement> = needs.iter().map(load::query).collect();
                let answers = pipeline::run(client, None, &statements).await?;
                for (need, rows) in needs.iter().zip(answers) {
                    load::absorb(need, rows, &mut world)?;
                }
            }
        }
    };
    let topics = record::topics(&change);
    if topics.iter().any(|topic| !held.has(topic)) {
        topics.iter().for_each(|topic| guards.add_topic(topic));
        return Ok(None);
    }
    if change.events.is_empty() {
        return Ok(Some((change, None)));
    }
    load_heads(client, &topics, &mut heads).await?;
    let mut ops = record::rows(&mut world, &change, job.now)?;
    let mut witness = ops.iter().find_map(inserted);
    for topic in &topics {
        let name = topic.to_string();
        let head = heads.remove(&name).unwrap_or_else(|| Head::new(name));
        let (entries, head) = record::entries(&change, topic, head, job.now)?;
        let append = |entry| Statement::new(sql::POSTGRES.append_event, record::entry_values(entry));
        ops.extend(entries.iter().map(append).map(record::Op::Run));
        ops.push(record::Op::Run(Statement::new(sql::PUT_TOPIC, record::head_values(&head))));
        witness = Some(Statement::new(sql::IS_ENTRY, [(&head.topic).into(), head.seq.into(), (&head.hash).into()]));
    }
    let xid = pipeline::write(client, ops, Statement::new(XID, [])).await?;
    Ok(Some((change, xid.map(|xid| Trail { xid, witness }))))
}

/// Returns a statement that finds the first row of an insert. A large plan is written in several transactions, and most
/// of them only insert rows and leave no log entry. When the answer to such a commit is lost, this row shows whether
/// the transaction was committed.
fn inserted(op: &record::Op) -> Option<Statement> {
    let record::Op::Insert(table, rows) = op else { return None };
    let row = rows.first()?;
    match table.name {
        "task" => Some(Statement::new(sql::IS_TASK, [row.first()?.clone()])),
        "dependency" => Some(Statement::new(sql::IS_DEPENDENCY, [row.first()?.clone(), row.get(1)?.clone()])),
        _ => None,
    }
}

/// Begins the transaction, takes the locks and loads the rows, all in one round trip. For a command about a task, it
/// also loads the workflow of the task and the head (last entry's number and hash) of the workflow's log, because
/// nearly every such command needs them.
async fn begin(
    client: &Object,
    job: &Job,
    guards: &Guards,
) -> Result<(World, HeldLocks, BTreeMap<String, Head>), Fault> {
    let mut statements = vec![guards.lock()];
    statements.extend(job.needs.iter().map(load::query));
    let beside: Vec<Need> = job.needs.iter().filter(|need| matches!(need, Need::Task(_))).cloned().collect();
    for need in &beside {
        let Need::Task(id) = need else { continue };
        statements.push(Statement::new(sql::WORKFLOW_OF_TASK, [SqlValue::Text(id.to_string())]));
        statements.push(Statement::new(sql::TOPIC_OF_TASK, [SqlValue::Text(id.to_string())]));
    }
    if guards.is_empty() {
        statements.remove(0);
    }
    let mut answers = pipeline::run(client, Some("BEGIN"), &statements).await?.into_iter();
    let held =
        if guards.is_empty() { HeldLocks::default() } else { HeldLocks::read(answers.next().unwrap_or_default()) };
    let mut world = World::default();
    for need in &job.needs {
        load::absorb(need, answers.next().unwrap_or_default(), &mut world)?;
    }
    let mut heads = BTreeMap::new();
    for _ in &beside {
        for row in answers.next().unwrap_or_default() {
            let workflow = crate::row::read_workflow(row)?;
            world.workflows.insert(workflow.id, Some(workflow));
        }
        for row in answers.next().unwrap_or_default() {
            let head = Head::read(row)?;
            heads.insert(head.topic.clone(), head);
        }
    }
    Ok((world, held, heads))
}

async fn load_heads(client: &Object, topics: &[Topic], heads: &mut BTreeMap<String, Head>) -> Result<(), Fault> {
    let names: Vec<String> = topics.iter().map(ToString::to_string).filter(|name| !heads.contains_key(name)).collect();
    let statements: Vec<Statement> = names.iter().map(|name| Statement::new(sql::TOPIC, [name.into()])).collect();
    for rows in pipeline::run(client, None, &statements).await? {
        for row in rows {
            let head = Head::read(row)?;
            heads.insert(head.topic.clone(), head);
        }
    }
    Ok(())
}

/// Asks on a new connection whether a transaction was committed. If the transaction still runs, this function waits
/// until it ends.
async fn committed(pool: &Pool, trail: &Trail, fault: Fault) -> Result<bool, Fault> {
    let mut patience = Patience::new();
    let statement = Statement::new(FATE, [trail.xid.into()]);
    loop {
        let waited = match ask(pool, &statement).await {
            Ok(Some(SqlValue::Text(fate))) if fate == "aborted" => return Ok(false),
            Ok(Some(SqlValue::Text(fate))) if fate == "committed" => match &trail.witness {
                // A change without a witness (a row that only this transaction can have written) only renewed
                // something, such as a lease, or wrote other data that is not logged, such as the reply for an
                // idempotency key. Repeating such a change has the same effect, so report it as not committed.
                None => return Ok(false),
                Some(witness) => match ask(pool, witness).await {
                    Ok(found) => return Ok(found.is_some()),
                    Err(fault) => patience.wait(fault).await.map_err(|_| ()),
                },
            },
            // This error means that the server has not given out the transaction number yet: the server crashed and
            // started again with lower numbers. So the transaction was lost.
            Err(Fault::Postgres(error)) if error.code() == Some(&SqlState::INVALID_PARAMETER_VALUE) => {
                return Ok(false);
            }
            Ok(_) => patience.pause().await,
            Err(fault) => patience.wait(fault).await.map_err(|_| ()),
        };
        if waited.is_err() {
            return Err(Fault::Unknown(Box::new(fault)));
        }
    }
}

/// Runs an SQL statement and returns the first value of its first row.
async fn ask(pool: &Pool, statement: &Statement) -> Result<Option<SqlValue>, Fault> {
    let client = connect(pool).await?;
    let answers = pipeline::run(&client, None, std::slice::from_ref(statement)).await?;
    Ok(answers.into_iter().flatten().flatten().next())
}

/// The retries of one command: the time at which it began, the number of its conflicts with other transactions, and the
/// number of its retries.
struct Patience {
    began: Instant,
    races: u32,
    tries: u32,
}

impl Patience {
    #[expect(clippy::disallowed_methods, reason = "bounds a wait; no rule sees this time")]
    fn new() -> Self {
        Self { began: Instant::now(), races: 0, tries: 0 }
    }

    /// Waits before the next try of a command, a little longer each time. Returns the fault when a retry cannot help or
    /// the time for retries is over.
    async fn wait(&mut self, fault: Fault) -> Result<(), Fault> {
        match class(&fault) {
            FailureClass::Final => return Err(fault),
            FailureClass::Race if self.races >= RACES_MAX => return Err(fault),
            FailureClass::Race => self.races += 1,
            FailureClass::Again => {}
        }
        self.pause().await.map_err(|_| fault)
    }

    async fn pause(&mut self) -> Result<(), ()> {
        if self.began.elapsed() > WAIT_MAX {
            return Err(());
        }
        let step = Duration::from_millis(1 << self.tries.min(8));
        self.tries += 1;
        tokio::time::sleep(step).await;
        Ok(())
    }
}

enum FailureClass {
    /// The command may succeed when it is tried again: the server or the connection is not available, or two
    /// transactions conflict.
    Again,
    /// Another transaction inserted a row with the same key first. The next try loads that row.
    Race,
    Final,
}

fn class(fault: &Fault) -> FailureClass {
    let Fault::Postgres(error) = fault else {
        return if matches!(fault, Fault::Pool(_)) { FailureClass::Again } else { FailureClass::Final };
    };
    match error.code() {
        Some(code) if *code == SqlState::UNIQUE_VIOLATION => FailureClass::Race,
        Some(code) if *code == SqlState::T_R_SERIALIZATION_FAILURE || *code == SqlState::T_R_DEADLOCK_DETECTED => {
            FailureClass::Again
        }
        _ if is_away(error) => FailureClass::Again,
        _ => FailureClass::Final,
    }
}

/// Returns true when the error says that the server cannot be used at the moment: it ended the connection, starts or
/// stops, has no free connection, does not accept writes, or does not answer.
pub(super) fn is_away(error: &tokio_postgres::Error) -> bool {
    match error.code() {
        None => error.is_closed() || error.as_db_error().is_none(),
        Some(code) => {
            let away = [SqlState::ADMIN_SHUTDOWN, SqlState::CRASH_SHUTDOWN, SqlState::CANNOT_CONNECT_NOW];
            let full = [SqlState::TOO_MANY_CONNECTIONS, SqlState::READ_ONLY_SQL_TRANSACTION];
            away.contains(code) || full.contains(code) || code.code().starts_with("08")
        }
    }
}

/// Runs a read, and retries it when the connection or the server was lost.
pub(super) async fn again<T, F: Future<Output = Result<T, Fault>>>(read: impl Fn() -> F) -> Result<T, Fault> {
    let mut patience = Patience::new();
    loop {
        match read().await {
            Ok(found) => return Ok(found),
            Err(fault) => patience.wait(fault).await?,
        }
    }
}
