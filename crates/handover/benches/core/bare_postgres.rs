//! The reference for the benchmark on PostgreSQL: a plain loop that runs the prepared SQL statements that Handover
//! runs, one after the other and without Handover's rules. The connections come from the pool library that Handover
//! uses, too.

use anyhow::Result;
use deadpool_postgres::Pool;

const LOCK: &str = "SELECT pg_advisory_xact_lock(key)::text FROM (SELECT hashtextextended(name, 0) AS key FROM (\
     SELECT 'agents/' || $1::text AS name UNION SELECT 'workflows/' || workflow FROM task WHERE id = $2::text) AS names ORDER BY key) AS keys";
const TASK: &str = "SELECT id, workflow, name, sequence, priority, role, capabilities, touches, parallel_group, verify, \
     attempts_max, attempt, crashes, unmet, checkpoints, repository, workspace, status, holder, lease_since, \
     lease_until, actor, note, block_kind, block_role, created, updated FROM task WHERE id = $1";
const AGENT: &str = "SELECT id, slug, name, runtime, role, capabilities, workflow, workspace_path, metadata, session, seen, \
     left_at, created, updated FROM agent WHERE id = $1";
const HELD: &str = "SELECT 1 FROM task WHERE holder = $1 AND holder IS NOT NULL ORDER BY id LIMIT 1 OFFSET 199";
const WORKFLOW: &str = "SELECT id, name, status, parallel_max, lease_ms, lock_owner, lock_since, lock_until, draft_token, \
     draft_until, tasks, open, sequence, created, updated FROM workflow WHERE id = $1";
const TOPIC: &str = "SELECT name, seq, hash, at FROM topic WHERE name = $1";
const UPDATE: &str = "UPDATE task SET attempt = $1, crashes = $2, checkpoints = $3, workspace = $4, status = $5, holder = $6, \
     lease_since = $7, lease_until = $8, actor = $9, note = $10, block_kind = $11, block_role = $12, updated = $13 \
     WHERE id = $14";
const APPEND: &str = "INSERT INTO event (topic, seq, at, type, sender, body, prev, hash, xid) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, pg_current_xact_id()::text::bigint)";
const PUT_TOPIC: &str = "INSERT INTO topic (name, seq, hash, at) VALUES ($1, $2, $3, $4) \
     ON CONFLICT (name) DO UPDATE SET seq = excluded.seq, hash = excluded.hash, at = excluded.at";
const HASH: &str = "b5bb9d8014a0f9b1d61e21e796d78dccdf1352f23cd32812f4850b878ae4944c";

pub(crate) async fn claim(pool: &Pool, task: &str, agent: &str) -> Result<()> {
    let mut client = pool.get().await?;
    let transaction = client.transaction().await?;
    let lock = transaction.prepare_cached(LOCK).await?;
    transaction.query(&lock, &[&agent, &task]).await?;
    for sql in [AGENT, HELD] {
        let prepared = transaction.prepare_cached(sql).await?;
        transaction.query(&prepared, &[&agent]).await?;
    }
    let prepared = transaction.prepare_cached(TASK).await?;
    let workflow: String = transaction.query_one(&prepared, &[&task]).await?.try_get(1)?;
    let prepared = transaction.prepare_cached(WORKFLOW).await?;
    transaction.query(&prepared, &[&workflow]).await?;
    let topic = format!("workflows/{workflow}");
    let prepared = transaction.prepare_cached(TOPIC).await?;
    let head = transaction.query_opt(&prepared, &[&topic]).await?;
    let seq = head.map_or(Ok(0), |row| row.try_get::<_, i64>(1))? + 1;
    let (now, until) = (1_800_000_000_000_i64, 1_800_000_900_000_i64);
    let none: Option<String> = None;
    let prepared = transaction.prepare_cached(UPDATE).await?;
    transaction
        .execute(
            &prepared,
            &[&1_i64, &0_i64, &0_i64, &none, &"pending", &agent, &now, &until, &none, &none, &none, &none, &now, &task],
        )
        .await?;
    let body = format!(
        "{{\"event\":\"claimed\",\"task\":\"{task}\",\"workflow\":\"{workflow}\",\"agent\":\"{agent}\",\"attempt\":1,\"until\":{until}}}"
    );
    let prepared = transaction.prepare_cached(APPEND).await?;
    transaction.execute(&prepared, &[&topic, &seq, &now, &"claimed", &agent, &body, &HASH, &HASH]).await?;
    let prepared = transaction.prepare_cached(PUT_TOPIC).await?;
    transaction.execute(&prepared, &[&topic, &seq, &HASH, &now]).await?;
    transaction.commit().await?;
    Ok(())
}
