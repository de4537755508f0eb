//! The PostgreSQL store: a pool of connections, advisory locks instead of a single writer, retries, LISTEN and NOTIFY.
//! See docs/decisions/0001.

mod connection;
mod guard;
mod listen;
mod pipeline;
mod transaction;

use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::{Object, Pool};
use engine::{Change, Need, Timestamp, World};

use crate::fault::Fault;
use crate::log::{Cursor, Entry, Head, LogPage};
use crate::migrate;
use crate::record;
use crate::stored_row::{PAGE, Row, not_empty};
use crate::table::TABLES;
use crate::value::{Columns, SqlValue, Statement};
use crate::watch::StoreWatch;
use crate::{Answer, Job, RowSource, Sink, StateQuestion, Store, guarded, load, sql};
use listen::ListenConnection;
use transaction::{OpenTransaction, connect};

/// The longest time for which a command is retried while the server is not available. After this time, the caller gets
/// the fault.
const WAIT_MAX: Duration = Duration::from_secs(30);

pub struct Postgres {
    pool: Pool,
    wire: Arc<ListenConnection>,
    generation: i64,
}

impl std::fmt::Debug for Postgres {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Postgres").field("pool", &self.pool.status()).finish_non_exhaustive()
    }
}

impl Postgres {
    /// Connects to the server and migrates the database to the schema of this program. Any number of processes may do
    /// this at the same time. `seed` is any random number; it distinguishes the cursors (positions in the log) of a new
    /// store from the cursors of another store.
    pub async fn open(url: &str, seed: u64) -> Result<Self, Fault> {
        let config = connection::config(url)?;
        let pool = connection::pool(config.clone())?;
        let mut open = OpenTransaction::new(connect(&pool).await?);
        let generation = migrate(open.client()?, seed).await;
        match &generation {
            Ok(_) => open.keep(),
            Err(_) => open.roll_back().await,
        }
        let wire = Arc::new(ListenConnection::new(pool.clone(), config)?);
        Ok(Self { pool, wire, generation: generation? })
    }

    async fn read(&self, statement: Statement) -> Result<Vec<Vec<SqlValue>>, Fault> {
        let client = connect(&self.pool).await?;
        let answers = pipeline::run(&client, None, std::slice::from_ref(&statement)).await?;
        Ok(answers.into_iter().next().unwrap_or_default())
    }

    async fn look_once(&self, needs: &[Need], question: &StateQuestion) -> Result<World, Fault> {
        let mut open = OpenTransaction::new(connect(&self.pool).await?);
        let client = open.client()?;
        let mut world = World::default();
        let mut begin = Some("BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY");
        let mut more = needs.to_vec();
        loop {
            let statements: Vec<Statement> = more.iter().map(load::query).collect();
            for (need, rows) in more.iter().zip(pipeline::run(client, begin.take(), &statements).await?) {
                load::absorb(need, rows, &mut world)?;
            }
            more = guarded(|| question(&world))?;
            if more.is_empty() {
                break;
            }
            if more.iter().all(|need| world.knows(need)) {
                return Err(Fault::asks_again(&more));
            }
        }
        client.batch_execute("COMMIT").await?;
        open.keep();
        Ok(world)
    }

    async fn dump_all(&self, sink: &mut Sink) -> Result<(), Fault> {
        let mut open = OpenTransaction::new(connect(&self.pool).await?);
        let client = open.client()?;
        client.batch_execute("BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY").await?;
        for (place, table) in TABLES.iter().enumerate() {
            let declare = format!(
                "DECLARE rows NO SCROLL CURSOR FOR SELECT {} FROM {} ORDER BY {}",
                table.columns.join(", "),
                table.name,
                table.order
            );
            client.batch_execute(&declare).await?;
            loop {
                let rows = client.query(&format!("FETCH {PAGE} FROM rows"), &[]).await?;
                let rows = rows.iter().map(|row| connection::values(row).map(Row)).collect::<Result<Vec<_>, _>>()?;
                if rows.is_empty() {
                    break;
                }
                sink(place, rows)?;
            }
            client.batch_execute("CLOSE rows").await?;
        }
        client.batch_execute("COMMIT").await?;
        open.keep();
        Ok(())
    }

    async fn fill_all(&self, source: &mut RowSource) -> Result<(), Fault> {
        let mut open = OpenTransaction::new(connect(&self.pool).await?);
        let result = fill(open.client()?, source).await;
        match &result {
            Ok(()) => open.keep(),
            Err(_) => open.roll_back().await,
        }
        self.wire.changed();
        result
    }
}

/// Runs the migrations under a lock, because two processes that start at the same time would otherwise both create the
/// same tables. Returns the generation of the store, a number that marks the cursors (positions in the log) of this
/// store.
async fn migrate(client: &Object, seed: u64) -> Result<i64, Fault> {
    client.batch_execute("BEGIN; SELECT pg_advisory_xact_lock(hashtextextended('handover migration', 0))").await?;
    client.batch_execute(sql::SCHEMA_TABLE).await?;
    let found = meta(client, "schema").await?.unwrap_or(0);
    for (number, script) in migrate::pending(found, &sql::POSTGRES)? {
        client.batch_execute(&script).await?;
        put_meta(client, "schema", number).await?;
    }
    let mut generation = match meta(client, "generation").await? {
        Some(generation) => generation,
        None => i64::from(u32::try_from(seed >> 33).unwrap_or(1).max(1)),
    };
    // Every log entry has the number of the transaction that wrote it. After a restore into a new server, these numbers
    // may be higher than all numbers of this server, and followers of the log would not see the entries. So set the
    // numbers to 0. Cursors (positions in the log) contain old numbers, so also change the store's generation, which
    // makes these cursors invalid.
    let future = "SELECT max(xid) >= pg_snapshot_xmax(pg_current_snapshot())::text::bigint FROM event";
    if client.query_one(future, &[]).await?.try_get::<_, Option<bool>>(0)?.unwrap_or(false) {
        client.batch_execute("UPDATE event SET xid = 0").await?;
        generation += 1;
    }
    put_meta(client, "generation", generation).await?;
    client.batch_execute("COMMIT").await?;
    Ok(generation)
}

async fn meta(client: &Object, name: &str) -> Result<Option<i64>, Fault> {
    let row = client.query_opt(sql::META, &[&name]).await?;
    row.map(|row| row.try_get(0)).transpose().map_err(Fault::from)
}

async fn put_meta(client: &Object, name: &str, value: i64) -> Result<(), Fault> {
    client.execute(sql::PUT_META, &[&name, &value]).await?;
    Ok(())
}

async fn fill(client: &Object, source: &mut RowSource) -> Result<(), Fault> {
    client.batch_execute("BEGIN").await?;
    let names: Vec<&str> = TABLES.iter().map(|table| table.name).collect();
    client.batch_execute(&format!("LOCK TABLE {} IN EXCLUSIVE MODE", names.join(", "))).await?;
    for name in names {
        if client.query_opt(&format!("SELECT 1 FROM {name} LIMIT 1"), &[]).await?.is_some() {
            return Err(not_empty());
        }
    }
    while let Some((table, rows)) = source()? {
        let table = TABLES[table];
        let mut rows: Vec<Vec<SqlValue>> = rows.into_iter().map(|Row(row)| row).collect();
        let mut columns = table.columns.to_vec();
        if table.name == "event" {
            columns.push("xid");
            rows.iter_mut().for_each(|row| row.push(SqlValue::Int(0)));
        }
        pipeline::insert(client, table.name, &columns, &rows).await?;
    }
    client.batch_execute("COMMIT").await?;
    Ok(())
}

impl Store for Postgres {
    fn transact(&self, job: Job) -> Answer<'_, Change> {
        Box::pin(async move {
            let change = transaction::transact(&self.pool, &job).await?;
            if !record::topics(&change).is_empty() {
                self.wire.changed();
            }
            Ok(change)
        })
    }

    fn look(&self, needs: Vec<Need>, question: StateQuestion) -> Answer<'_, World> {
        Box::pin(async move { transaction::again(|| self.look_once(&needs, &question)).await })
    }

    fn follow(&self, after: Cursor, limit: u32) -> Answer<'_, LogPage> {
        let after = after.in_generation(self.generation);
        let statement = Statement::new(sql::POSTGRES.follow, [after.xid.into(), after.pos.into(), limit.into()]);
        Box::pin(async move {
            let rows = transaction::again(|| self.read(statement.clone())).await?;
            LogPage::read(after, rows)
        })
    }

    fn integrity(&self) -> Answer<'_, Vec<String>> {
        Box::pin(async move {
            // A PostgreSQL server checks its data pages itself. So this function only checks that the server answers.
            transaction::again(|| self.read(Statement::new(sql::META, ["schema".into()]))).await?;
            Ok(Vec::new())
        })
    }

    fn server_time(&self) -> Answer<'_, Option<Timestamp>> {
        Box::pin(async move {
            // Do not retry this query, because the caller measures how long this function takes, and a retry would make
            // the measured time too long.
            let rows = self.read(Statement::new(sql::SERVER_TIME, [])).await?;
            let now = rows.into_iter().next().map(|row| Columns::new("server time", row).int()).transpose()?;
            Ok(now.map(Timestamp))
        })
    }

    fn server_identity(&self) -> Answer<'_, Option<String>> {
        let text = |rows: Vec<Vec<SqlValue>>| {
            rows.into_iter().next().map(|row| Columns::new("server identity", row).text()).transpose()
        };
        Box::pin(async move {
            // A server may refuse to show its identifier. Then only the numbers (oids) of the database and of its table
            // `handover_meta` identify the store.
            let server = self.read(Statement::new(sql::SERVER_IDENTIFIER, [])).await.and_then(text).unwrap_or_default();
            let numbers = text(transaction::again(|| self.read(Statement::new(sql::STORE_NUMBERS, []))).await?)?;
            Ok(numbers.map(|numbers| format!("{}/{numbers}", server.unwrap_or_default())))
        })
    }

    fn end(&self) -> Answer<'_, Cursor> {
        Box::pin(async move {
            let rows = transaction::again(|| self.read(Statement::new(sql::FRONTIER, []))).await?;
            Cursor::read(self.generation, rows)
        })
    }

    fn topic(&self, topic: String, after: i64, limit: u32) -> Answer<'_, Vec<Entry>> {
        let statement = Statement::new(sql::TOPIC_ENTRIES, [topic.into(), after.into(), limit.into()]);
        Box::pin(async move {
            let rows = transaction::again(|| self.read(statement.clone())).await?;
            rows.into_iter().map(|row| Entry::read(&mut Columns::new("event", row))).collect()
        })
    }

    fn heads(&self, after: String, limit: u32) -> Answer<'_, Vec<Head>> {
        let statement = Statement::new(sql::HEADS, [after.into(), limit.into()]);
        Box::pin(async move {
            let rows = transaction::again(|| self.read(statement.clone())).await?;
            rows.into_iter().map(Head::read).collect()
        })
    }

    fn head(&self, topic: String) -> Answer<'_, Option<Head>> {
        let statement = Statement::new(sql::TOPIC, [topic.into()]);
        Box::pin(async move {
            let rows = transaction::again(|| self.read(statement.clone())).await?;
            rows.into_iter().next().map(Head::read).transpose()
        })
    }

    fn headless(&self) -> Answer<'_, Option<(String, i64)>> {
        Box::pin(async move {
            let rows = transaction::again(|| self.read(Statement::new(sql::HEADLESS, []))).await?;
            let read = |row| {
                let mut columns = Columns::new("event", row);
                Ok((columns.text()?, columns.int()?))
            };
            rows.into_iter().next().map(read).transpose()
        })
    }

    fn watch(&self) -> StoreWatch {
        ListenConnection::watch(&self.wire)
    }

    fn dump(&self, mut sink: Sink) -> Answer<'_, ()> {
        Box::pin(async move { self.dump_all(&mut sink).await })
    }

    fn fill(&self, mut source: RowSource) -> Answer<'_, ()> {
        Box::pin(async move { self.fill_all(&mut source).await })
    }
}
