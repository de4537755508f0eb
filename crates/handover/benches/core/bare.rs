//! The reference for the benchmark on SQLite: a plain loop runs the SQL statements that Handover runs, without
//! Handover's queue, rules and hashes.

use std::path::Path;
use std::time::Instant;

use anyhow::Result;
use rusqlite::{Connection, params};

const TASK: &str = "SELECT id, workflow, name, sequence, priority, role, capabilities, touches, parallel_group, verify, \
     attempts_max, attempt, crashes, unmet, checkpoints, repository, workspace, status, holder, lease_since, \
     lease_until, actor, note, block_kind, block_role, created, updated FROM task WHERE id = ?1";
const AGENT: &str = "SELECT id, slug, name, runtime, role, capabilities, workflow, workspace_path, metadata, session, seen, \
     left_at, created, updated FROM agent WHERE id = ?1";
const HELD: &str = "SELECT 1 FROM task WHERE holder = ?1 AND holder IS NOT NULL ORDER BY id LIMIT 1 OFFSET ?2";
const WORKFLOW: &str = "SELECT id, name, status, parallel_max, lease_ms, lock_owner, lock_since, lock_until, draft_token, \
     draft_until, tasks, open, sequence, created, updated FROM workflow WHERE id = ?1";
const TOPIC: &str = "SELECT name, seq, hash, at FROM topic WHERE name = ?1";
const UPDATE: &str = "UPDATE task SET attempt = ?1, crashes = ?2, checkpoints = ?3, workspace = ?4, status = ?5, holder = ?6, \
     lease_since = ?7, lease_until = ?8, actor = ?9, note = ?10, block_kind = ?11, block_role = ?12, updated = ?13 \
     WHERE id = ?14";
const APPEND: &str = "INSERT INTO event (topic, seq, at, type, sender, body, prev, hash, xid) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 0)";
const PUT_TOPIC: &str = "INSERT INTO topic (name, seq, hash, at) VALUES (?1, ?2, ?3, ?4) \
     ON CONFLICT (name) DO UPDATE SET seq = excluded.seq, hash = excluded.hash, at = excluded.at";
const HASH: &str = "b5bb9d8014a0f9b1d61e21e796d78dccdf1352f23cd32812f4850b878ae4944c";

pub(crate) fn open(path: &Path) -> Result<Connection> {
    let connection = Connection::open(path)?;
    connection.set_prepared_statement_cache_capacity(64);
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "cache_size", -16 * 1024)?;
    connection.pragma_update(None, "mmap_size", 0)?;
    Ok(connection)
}

/// Runs a query and reads every column of every row, because a real program would read them, too.
fn read(connection: &Connection, sql: &str, values: impl rusqlite::Params) -> Result<Vec<rusqlite::types::Value>> {
    let mut statement = connection.prepare_cached(sql)?;
    let width = statement.column_count();
    let mut rows = statement.query(values)?;
    let mut found = Vec::with_capacity(width);
    while let Some(row) = rows.next()? {
        for column in 0..width {
            found.push(row.get::<_, rusqlite::types::Value>(column)?);
        }
    }
    Ok(found)
}

fn claim(connection: &Connection, task: &str, agent: &str, now: i64) -> Result<()> {
    use rusqlite::types::Value;
    read(connection, AGENT, params![agent])?;
    let found = read(connection, TASK, params![task])?;
    read(connection, HELD, params![agent, 199])?;
    let workflow = match found.get(1) {
        Some(Value::Text(workflow)) => workflow.clone(),
        _ => String::new(),
    };
    read(connection, WORKFLOW, params![workflow])?;
    let until = now + 900_000;
    let none: Option<&str> = None;
    connection
        .prepare_cached(UPDATE)?
        .execute(params![1, 0, 0, none, "pending", agent, now, until, none, none, none, none, now, task])?;
    let topic = format!("workflows/{workflow}");
    let head = read(connection, TOPIC, params![topic])?;
    let seq = match head.get(1) {
        Some(Value::Integer(seq)) => seq + 1,
        _ => 1,
    };
    let body = format!(
        "{{\"event\":\"claimed\",\"task\":\"{task}\",\"workflow\":\"{workflow}\",\"agent\":\"{agent}\",\"attempt\":1,\"until\":{until}}}"
    );
    connection.prepare_cached(APPEND)?.execute(params![topic, seq, now, "claimed", agent, body, HASH, HASH])?;
    connection.prepare_cached(PUT_TOPIC)?.execute(params![topic, seq, HASH, now])?;
    Ok(())
}

/// Claims tasks in transactions of `batch` tasks. Returns claims per second, and the time of each transaction in
/// microseconds.
pub(crate) fn claims(
    connection: &Connection,
    tasks: &[String],
    agents: &[String],
    batch: usize,
) -> Result<(f64, Vec<f64>)> {
    let mut times = Vec::new();
    let began = Instant::now();
    for (number, group) in tasks.chunks(batch).enumerate() {
        let start = Instant::now();
        connection.execute_batch("BEGIN IMMEDIATE")?;
        for (place, task) in group.iter().enumerate() {
            claim(connection, task, &agents[(number * batch + place) % agents.len()], 1_800_000_000_000)?;
        }
        connection.execute_batch("COMMIT")?;
        times.push(start.elapsed().as_secs_f64() * 1e6);
    }
    #[expect(clippy::cast_precision_loss, reason = "a few thousand")]
    let count = tasks.len() as f64;
    Ok((count / began.elapsed().as_secs_f64(), times))
}

/// Claims every task that the file `tasks` lists, one task per transaction, as a single caller does. The benchmark
/// counts the machine instructions of this process.
pub(crate) fn child(path: &str, tasks: &str) -> Result<()> {
    let text = std::fs::read_to_string(tasks)?;
    let mut lines = text.lines().map(str::to_owned);
    let agent = lines.next().unwrap_or_default();
    let tasks: Vec<String> = lines.collect();
    claims(&open(Path::new(path))?, &tasks, &[agent], 1)?;
    Ok(())
}
