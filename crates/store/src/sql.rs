//! All SQL statements. SQLite and PostgreSQL run the same text, with `$n` parameters and only TEXT and BIGINT columns.
//!
//! The statements contain no rules. A statement finds a bounded number of rows by key or index, or writes rows with the
//! given values. [`SqlDialect`] holds the few words that differ between the databases.
//!
//! In each statement the parameters must first appear in the order of their numbers, because SQLite numbers them by
//! their first appearance.

/// The parts of SQL text that differ between SQLite and PostgreSQL.
#[derive(Debug)]
pub(crate) struct SqlDialect {
    /// The type of a column whose texts are compared byte by byte.
    pub(crate) text: &'static str,
    /// The type of the column `pos`, the position of a log entry among the entries of all topics (logs).
    pub(crate) pos: &'static str,
    /// The clause that makes SQLite store the rows of a table inside the index of the table's primary key.
    pub(crate) keyed: &'static str,
    /// The text before the lines of a migration that only PostgreSQL runs. For SQLite it is `-- `, which makes the line
    /// a comment.
    pub(crate) postgres: &'static str,
    pub(crate) append_event: &'static str,
    pub(crate) follow: &'static str,
}

pub(crate) const SQLITE: SqlDialect = SqlDialect {
    text: "TEXT",
    pos: "INTEGER PRIMARY KEY AUTOINCREMENT",
    keyed: "WITHOUT ROWID",
    postgres: "-- ",
    append_event: "INSERT INTO event (topic, seq, at, type, sender, body, prev, hash, xid) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0)",
    // Order the entries by `pos` only, because SQLite runs one writer at a time, so `pos` alone gives the order of
    // commits.
    follow: "SELECT topic, seq, at, type, sender, body, prev, hash, xid, pos FROM event WHERE $1 >= 0 AND pos > $2 \
             ORDER BY pos LIMIT $3",
};

pub(crate) const POSTGRES: SqlDialect = SqlDialect {
    text: "TEXT COLLATE \"C\"",
    pos: "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
    keyed: "",
    postgres: "",
    append_event: "INSERT INTO event (topic, seq, at, type, sender, body, prev, hash, xid) \
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, pg_current_xact_id()::text::bigint)",
    // Return only entries of transactions that are older than all running transactions, because no further entry can
    // appear among these entries. A transaction gets its number (`xid`) after it holds the lock of the topic (log). So
    // within a topic the order by `xid` is the order of the entries.
    follow: "SELECT topic, seq, at, type, sender, body, prev, hash, xid, pos FROM event \
             WHERE (xid, pos) > ($1, $2) AND xid < pg_snapshot_xmin(pg_current_snapshot())::text::bigint \
             ORDER BY xid, pos LIMIT $3",
};

pub(crate) mod delivery;
pub(crate) mod list;
pub(crate) mod review;
pub(crate) mod turn;

use list::task_columns;

// Statements that find one row by its key.
pub(crate) const TASK: &str = concat!(task_columns!(), "WHERE id = $1");
pub(crate) const DETAIL: &str = "SELECT task, description, brief, plan, context, context_from, extra, outcome_detail \
     FROM task_detail WHERE task = $1";
pub(crate) const WORKFLOW: &str = "SELECT id, name, status, parallel_max, lease_ms, lock_owner, lock_since, lock_until, \
     draft_token, draft_until, tasks, open, sequence, created, updated, standing, archived, branch FROM workflow WHERE id = $1";
/// The statement that finds the workflow of a task. The workflow is loaded together with the task, to save a round trip
/// to the server.
pub(crate) const WORKFLOW_OF_TASK: &str = "SELECT id, name, status, parallel_max, lease_ms, lock_owner, lock_since, \
     lock_until, draft_token, draft_until, tasks, open, sequence, created, updated, standing, archived, branch FROM workflow \
     WHERE id = (SELECT workflow FROM task WHERE id = $1)";
pub(crate) const TOPIC_OF_TASK: &str = "SELECT name, seq, hash, at FROM topic \
     WHERE name = (SELECT 'workflows/' || workflow FROM task WHERE id = $1)";
pub(crate) const WORKFLOW_DETAIL: &str = "SELECT workflow, source_type, source_ref, source_content, plan_summary, \
     auto_workspaces, config FROM workflow_detail WHERE workflow = $1";
pub(crate) const AGENT: &str = "SELECT id, slug, name, runtime, role, capabilities, workflow, workspace_path, metadata, \
     session, seen, left_at, created, updated, conversation, part, call_id, principal, registered FROM agent WHERE id = $1";
pub(crate) const MAILBOX: &str = "SELECT owner, sequence, unread FROM mailbox WHERE owner = $1";
macro_rules! message_columns {
    () => {
        "SELECT id, owner, sequence, sender, thread, state, state_at, kind, priority, subject, body, body_json, \
         action_required, workflow, task, reply_to, at, answer FROM message "
    };
}
pub(crate) const MESSAGE: &str = concat!(message_columns!(), "WHERE id = $1");
pub(crate) const WORKSPACE: &str = "SELECT id, workflow, repository, path, branch, base_branch, status, merge_commit, \
     pr_url, config, created_by_us, created, updated FROM workspace WHERE id = $1";
pub(crate) const REPOSITORY: &str = "SELECT id, path, name, created, actor FROM repository WHERE id = $1";
pub(crate) const REPOSITORY_AT: &str = "SELECT id FROM repository WHERE path = $1";
pub(crate) const TEMPLATE: &str = "SELECT id, name, description, body, created FROM template WHERE id = $1";
pub(crate) const TEMPLATE_NAMED: &str = "SELECT id FROM template WHERE name = $1";
pub(crate) const KEPT_ANSWER: &str = "SELECT owner, act, idempotency_key, fingerprint, answer, until FROM kept_answer \
     WHERE owner = $1 AND act = $2 AND idempotency_key = $3";
pub(crate) const TOKEN: &str =
    "SELECT id, name, hash, scope, agent, created, revoked, kind, used FROM token WHERE id = $1";
pub(crate) const TOKEN_HASHED: &str =
    "SELECT id, name, hash, scope, agent, created, revoked, kind, used FROM token WHERE hash = $1";
pub(crate) const TOPIC: &str = "SELECT name, seq, hash, at FROM topic WHERE name = $1";

pub(crate) const LAST_TASK_NUMBER: &str = "SELECT value FROM counter WHERE name = 'task_number'";

// Statements that find several rows, up to a limit.
pub(crate) const SLUG: &str = "SELECT id FROM agent WHERE slug = $1";
/// Finds the slugs (short names of agents) that consist of a base and a number (`ada-2`), the highest number first.
/// Handover never makes numbers of more than ten digits, so longer numbers are left out. The code that reads the rows
/// skips numbers that do not fit into a `u32`.
pub(crate) const SLUG_ENDINGS: &str = "SELECT slug FROM agent WHERE slug > $1 AND slug < $2 \
     AND ltrim(substr(slug, length($1) + 1), '0123456789') = '' AND length(slug) <= length($1) + 10 \
     ORDER BY CAST(substr(slug, length($1) + 1) AS BIGINT) DESC LIMIT 64";
pub(crate) const SESSION_AGENTS: &str = "SELECT id FROM agent WHERE session = $1 AND session IS NOT NULL AND left_at IS NULL \
     ORDER BY registered DESC, created DESC, id DESC LIMIT $2";
pub(crate) const CONVERSATION_AGENTS: &str = "SELECT id FROM agent WHERE conversation = $1 AND conversation IS NOT NULL \
     AND left_at IS NULL ORDER BY registered DESC, created DESC, id DESC LIMIT $2";
pub(crate) const CALLED_AGENTS: &str = "SELECT id FROM agent WHERE call_id = $1 AND call_id IS NOT NULL AND left_at IS NULL \
     ORDER BY registered DESC, created DESC, id DESC LIMIT $2";
pub(crate) const SAME_AGENTS: &str = "SELECT id FROM agent WHERE name = $1 AND runtime = $2 AND left_at IS NULL \
     ORDER BY registered DESC, created DESC, id DESC LIMIT $3";
pub(crate) const ROLE_HOLDERS: &str = "SELECT id FROM agent WHERE role = $1 AND left_at IS NULL ORDER BY id LIMIT $2";
pub(crate) const AGENTS: &str = "SELECT id FROM agent WHERE left_at IS NULL AND (CAST($1 AS TEXT) IS NULL OR role = $1) \
     AND (CAST($2 AS TEXT) IS NULL OR runtime = $2) AND (CAST($3 AS TEXT) IS NULL OR workflow = $3) ORDER BY id LIMIT $4";
pub(crate) const HELD: &str = "SELECT id FROM task WHERE holder = $1 AND holder IS NOT NULL ORDER BY id LIMIT $2";
/// Finds the tasks in a workspace that agents hold. The order by `holder` lets the database use the index of held
/// tasks, which is small.
pub(crate) const HELD_IN: &str = "SELECT id FROM task WHERE workflow = $1 AND workspace = $2 AND holder IS NOT NULL \
     ORDER BY holder, id LIMIT $3";
/// Returns a row when an agent holds more tasks than the given number.
pub(crate) const HOLDS_MOST: &str =
    "SELECT 1 FROM task WHERE holder = $1 AND holder IS NOT NULL ORDER BY id LIMIT 1 OFFSET $2";
pub(crate) const STANDING: &str = "SELECT id FROM workflow WHERE standing = 1";
pub(crate) const WITH_BRANCH: &str = "SELECT id FROM workflow WHERE branch = $1 AND branch IS NOT NULL";
pub(crate) const LOCKED_BY: &str =
    "SELECT id FROM workflow WHERE lock_owner = $1 AND lock_owner IS NOT NULL ORDER BY id LIMIT $2";
pub(crate) const RUNNING: &str = "SELECT count(*) FROM (SELECT 1 FROM task WHERE workflow = $1 AND holder IS NOT NULL \
     AND status <> 'paused' AND lease_until > $2 LIMIT $3) AS running";
pub(crate) const BUSY_FILES: &str = concat!(
    task_columns!(),
    "WHERE workflow = $1 AND holder IS NOT NULL AND touches IS NOT NULL \
     AND (status = 'paused' OR lease_until > $2) ORDER BY id LIMIT $3"
);
pub(crate) const UNMET: &str = "SELECT t.id, t.name FROM dependency d JOIN task t ON t.id = d.depends_on \
     WHERE d.task = $1 AND t.status NOT IN ('completed', 'skipped') ORDER BY t.sequence, t.id LIMIT $2";
pub(crate) const FREED: &str = "SELECT t.id, t.status FROM dependency d JOIN task t ON t.id = d.task \
     WHERE d.depends_on = $1 AND t.unmet = 1 ORDER BY t.status, t.id LIMIT $2";
pub(crate) const DEPENDENCIES: &str = "SELECT depends_on FROM dependency WHERE task = $1 ORDER BY depends_on LIMIT $2";
pub(crate) const DEPENDENTS: &str = "SELECT task FROM dependency WHERE depends_on = $1 ORDER BY task LIMIT $2";
pub(crate) const OPEN_ANCESTORS: &str = concat!(
    task_columns!(),
    "WHERE id IN (WITH RECURSIVE above(id) AS (SELECT d.depends_on FROM dependency d JOIN task t ON t.id = d.depends_on \
     WHERE d.task = $1 AND t.status NOT IN ('completed', 'skipped') UNION \
     SELECT d.depends_on FROM above JOIN dependency d ON d.task = above.id JOIN task t ON t.id = d.depends_on \
     WHERE t.status NOT IN ('completed', 'skipped')) SELECT id FROM above) ORDER BY id LIMIT $2"
);
pub(crate) const OPEN_TASKS: &str =
    concat!(task_columns!(), "WHERE workflow = $1 AND status NOT IN ('completed', 'skipped') ORDER BY id LIMIT $2");
pub(crate) const OPEN_EDGES: &str = "SELECT d.task, d.depends_on FROM dependency d JOIN task t ON t.id = d.task \
     JOIN task o ON o.id = d.depends_on WHERE t.workflow = $1 AND t.status NOT IN ('completed', 'skipped') \
     AND o.workflow = $1 AND o.status NOT IN ('completed', 'skipped') ORDER BY d.task, d.depends_on LIMIT $2";
pub(crate) const TASK_NAMED: &str = "SELECT id FROM task WHERE workflow = $1 AND name = $2";
pub(crate) const REMOVABLE: &str = concat!(
    task_columns!(),
    "WHERE workflow = $1 AND holder IS NULL AND status IN ('pending', 'blocked') ORDER BY id LIMIT $2"
);
pub(crate) const EXPIRED: &str = "SELECT id FROM task WHERE workflow = $1 AND holder IS NOT NULL AND status <> 'paused' \
     AND lease_until <= $2 ORDER BY lease_until, id LIMIT $3";
pub(crate) const EXPIRED_ANYWHERE: &str = "SELECT DISTINCT workflow FROM task WHERE holder IS NOT NULL \
     AND status <> 'paused' AND lease_until <= $1 ORDER BY workflow LIMIT $2";
pub(crate) const READY: &str = concat!(
    task_columns!(),
    "WHERE workflow = $1 AND status = 'pending' AND holder IS NULL AND unmet = 0 \
     AND (priority, sequence, id) > ($2, $3, $4) ORDER BY priority, sequence, id LIMIT $5"
);
pub(crate) const FAILED: &str = concat!(
    task_columns!(),
    "WHERE workflow = $1 AND status = 'failed' AND unmet = 0 \
     AND (priority, sequence, id) > ($2, $3, $4) ORDER BY priority, sequence, id LIMIT $5"
);
pub(crate) const UNMERGED: &str = "SELECT id FROM workspace WHERE workflow = $1 AND status = 'active' \
     AND pr_url IS NOT NULL AND id <> $2 LIMIT 1";
pub(crate) const REPOSITORY_USED: &str = "SELECT 1 FROM task WHERE workflow = $1 AND repository = $2 \
     UNION ALL SELECT 1 FROM workspace WHERE workflow = $1 AND repository = $2 LIMIT 1";
pub(crate) const ATTACHED: &str = "SELECT added FROM attachment WHERE workflow = $1 AND repository = $2";
pub(crate) const CHECKPOINTS: &str = "SELECT task, sequence, id, attempt, actor, kind, summary, detail, files, at \
     FROM checkpoint WHERE task = $1 AND sequence > $2 ORDER BY sequence LIMIT $3";
pub(crate) const INBOX_UNREAD: &str = concat!(
    message_columns!(),
    "WHERE owner = $1 AND state = 'unread' AND sequence > $2 ORDER BY priority, sequence LIMIT $3"
);
pub(crate) const INBOX: &str =
    concat!(message_columns!(), "WHERE owner = $1 AND sequence > $2 ORDER BY sequence LIMIT $3");

// Statements that write rows.
pub(crate) const UPDATE_TASK: &str = "UPDATE task SET attempt = $1, crashes = $2, checkpoints = $3, workspace = $4, \
     status = $5, holder = $6, lease_since = $7, lease_until = $8, actor = $9, note = $10, block_kind = $11, \
     block_role = $12, updated = $13, review = $14 WHERE id = $15";
pub(crate) const PUT_LAST_TASK_NUMBER: &str = "INSERT INTO counter (name, value) VALUES ('task_number', $1) \
     ON CONFLICT (name) DO UPDATE SET value = excluded.value";
pub(crate) const NOTE_TASK: &str = "UPDATE task SET checkpoints = $1, updated = $2 WHERE id = $3";
pub(crate) const MET: &str =
    "UPDATE task SET unmet = unmet - 1 WHERE id IN (SELECT task FROM dependency WHERE depends_on = $1)";
pub(crate) const REOPENED: &str =
    "UPDATE task SET unmet = unmet + 1 WHERE id IN (SELECT task FROM dependency WHERE depends_on = $1)";
pub(crate) const UNPROTECTED: &str = "UPDATE task SET gate = 0, review = 0, limited = 0, verify = 0 WHERE id = $1";
pub(crate) const WAITS: &str = "UPDATE task SET unmet = $1 WHERE id = $2";
pub(crate) const SHIFT: &str = "UPDATE task SET sequence = sequence + 1 WHERE workflow = $1 AND sequence >= $2";
pub(crate) const DROP_TASK: &[&str] = &[
    "DELETE FROM dependency WHERE task = $1",
    "DELETE FROM dependency WHERE depends_on = $1",
    "DELETE FROM checkpoint WHERE task = $1",
    "DELETE FROM task_detail WHERE task = $1",
    "DELETE FROM task WHERE id = $1",
];
pub(crate) const DETACH: &str = "DELETE FROM attachment WHERE workflow = $1 AND repository = $2";
pub(crate) const DROP_TEMPLATE: &str = "DELETE FROM template WHERE id = $1";
pub(crate) const DROP_TOKEN: &str = "DELETE FROM token WHERE id = $1";
pub(crate) const ANSWERED: &str = "UPDATE message SET answer = $1 WHERE id = $2";
pub(crate) const MARK: &str = "UPDATE message SET state = $1, state_at = $2 WHERE id = $3";
/// Deletes the idempotency keys of an agent. The owner of such a key begins with the agent's id and a space. In ASCII,
/// `!` follows the space, so the range from the id with a space to the id with `!` has exactly these owners.
pub(crate) const END_KEYS: &str = "DELETE FROM kept_answer WHERE owner >= $1 AND owner < $2";
pub(crate) const FORGET_KEYS: &str = "DELETE FROM kept_answer WHERE (owner, act, idempotency_key) IN (\
     SELECT owner, act, idempotency_key FROM kept_answer WHERE until <= $1 ORDER BY until LIMIT 1000)";
pub(crate) const PUT_WORKFLOW: &str = "INSERT INTO workflow (id, name, status, parallel_max, lease_ms, lock_owner, \
     lock_since, lock_until, draft_token, draft_until, tasks, open, sequence, created, updated, standing, archived, \
     branch) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18) \
     ON CONFLICT (id) DO UPDATE SET name = excluded.name, status = excluded.status, \
     parallel_max = excluded.parallel_max, lease_ms = excluded.lease_ms, lock_owner = excluded.lock_owner, \
     lock_since = excluded.lock_since, lock_until = excluded.lock_until, draft_token = excluded.draft_token, \
     draft_until = excluded.draft_until, tasks = excluded.tasks, open = excluded.open, sequence = excluded.sequence, \
     updated = excluded.updated, archived = excluded.archived, branch = excluded.branch";
pub(crate) const PUT_WORKFLOW_DETAIL: &str = "INSERT INTO workflow_detail (workflow, source_type, source_ref, \
     source_content, plan_summary, auto_workspaces, config) VALUES ($1, $2, $3, $4, $5, $6, $7) \
     ON CONFLICT (workflow) DO UPDATE SET plan_summary = excluded.plan_summary, \
     auto_workspaces = excluded.auto_workspaces, config = excluded.config";
pub(crate) const PUT_DETAIL: &str = "INSERT INTO task_detail (task, description, brief, plan, context, context_from, \
     extra, outcome_detail) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (task) DO UPDATE SET \
     description = excluded.description, brief = excluded.brief, plan = excluded.plan, context = excluded.context, \
     context_from = excluded.context_from, extra = excluded.extra, outcome_detail = excluded.outcome_detail";
pub(crate) const PUT_AGENT: &str = "INSERT INTO agent (id, slug, name, runtime, role, capabilities, workflow, \
     workspace_path, metadata, session, seen, left_at, created, updated, conversation, part, call_id, principal, \
     registered) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19) \
     ON CONFLICT (id) DO UPDATE SET runtime = excluded.runtime, role = excluded.role, \
     capabilities = excluded.capabilities, principal = excluded.principal, registered = excluded.registered, \
     workspace_path = excluded.workspace_path, metadata = excluded.metadata, session = excluded.session, \
     seen = excluded.seen, left_at = excluded.left_at, updated = excluded.updated, conversation = excluded.conversation, \
     part = excluded.part, call_id = excluded.call_id";
pub(crate) const PUT_MAILBOX: &str = "INSERT INTO mailbox (owner, sequence, unread) VALUES ($1, $2, $3) \
     ON CONFLICT (owner) DO UPDATE SET sequence = excluded.sequence, unread = excluded.unread";
pub(crate) const PUT_WORKSPACE: &str = "INSERT INTO workspace (id, workflow, repository, path, branch, base_branch, status, \
     merge_commit, pr_url, config, created_by_us, created, updated) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) ON CONFLICT (id) DO UPDATE SET \
     status = excluded.status, merge_commit = excluded.merge_commit, pr_url = excluded.pr_url, \
     config = excluded.config, updated = excluded.updated";
pub(crate) const PUT_REPOSITORY: &str = "INSERT INTO repository (id, path, name, created, actor) \
     VALUES ($1, $2, $3, $4, $5) ON CONFLICT (id) DO UPDATE SET actor = excluded.actor";
pub(crate) const PUT_KEPT_ANSWER: &str = "INSERT INTO kept_answer (owner, act, idempotency_key, fingerprint, answer, until) \
     VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (owner, act, idempotency_key) DO UPDATE SET \
     fingerprint = excluded.fingerprint, answer = excluded.answer, until = excluded.until";
pub(crate) const PUT_TOKEN: &str = "INSERT INTO token (id, name, hash, scope, agent, created, revoked, kind, used) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (id) DO UPDATE SET name = excluded.name, \
     revoked = excluded.revoked, used = excluded.used";
pub(crate) const PUT_TOPIC: &str = "INSERT INTO topic (name, seq, hash, at) VALUES ($1, $2, $3, $4) \
     ON CONFLICT (name) DO UPDATE SET seq = excluded.seq, hash = excluded.hash, at = excluded.at";

// Statements that read the log.
/// Finds the position of the last log entry. Only SQLite runs this statement.
pub(crate) const END: &str = "SELECT 0, max(pos) FROM event HAVING max(pos) IS NOT NULL";
/// Finds the last log entry whose transaction is older than every running transaction. Followers of the log see the
/// entries up to this entry. Only PostgreSQL runs this statement.
pub(crate) const FRONTIER: &str = "SELECT xid, pos FROM event \
     WHERE xid < pg_snapshot_xmin(pg_current_snapshot())::text::bigint ORDER BY xid DESC, pos DESC LIMIT 1";
pub(crate) const TOPIC_ENTRIES: &str = "SELECT topic, seq, at, type, sender, body, prev, hash, xid, pos FROM event \
     WHERE topic = $1 AND seq > $2 ORDER BY seq LIMIT $3";
pub(crate) const HEADS: &str = "SELECT name, seq, hash, at FROM topic WHERE name > $1 ORDER BY name LIMIT $2";
/// Finds the first log entry whose topic has no row in the table `topic`, which means that this row was deleted.
pub(crate) const HEADLESS: &str = "SELECT e.topic, e.seq FROM event e LEFT JOIN topic t ON t.name = e.topic \
     WHERE t.name IS NULL ORDER BY e.topic, e.seq LIMIT 1";

// Statements that check whether a row exists.
pub(crate) const IS_ENTRY: &str = "SELECT seq FROM event WHERE topic = $1 AND seq = $2 AND hash = $3";
pub(crate) const IS_TASK: &str = "SELECT id FROM task WHERE id = $1";
pub(crate) const IS_DEPENDENCY: &str = "SELECT task FROM dependency WHERE task = $1 AND depends_on = $2";

// Statements about the database itself: schema, clock and identity.
pub(crate) const SCHEMA_TABLE: &str =
    "CREATE TABLE IF NOT EXISTS handover_meta (name TEXT PRIMARY KEY, value BIGINT NOT NULL)";
/// The only statement that reads the database server's clock. `Store::server_time` runs it.
pub(crate) const SERVER_TIME: &str = "SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint";
/// The statement that returns the identifier of a PostgreSQL server. A server gets its identifier when its data folder
/// is created. `STORE_NUMBERS` distinguishes the stores on one server.
pub(crate) const SERVER_IDENTIFIER: &str = "SELECT system_identifier::text FROM pg_control_system()";
pub(crate) const STORE_NUMBERS: &str = "SELECT (SELECT oid FROM pg_database WHERE datname = current_database())::text \
     || '/' || 'handover_meta'::regclass::oid::text";
pub(crate) const META: &str = "SELECT value FROM handover_meta WHERE name = $1";
pub(crate) const PUT_META: &str = "INSERT INTO handover_meta (name, value) VALUES ($1, $2) \
     ON CONFLICT (name) DO UPDATE SET value = excluded.value";
/// Changes a counter that no rule reads. This write replaces the pages that a failed commit left in SQLite's
/// write-ahead log, so that SQLite cannot treat them as committed later.
pub(crate) const COUNT_MENDING: &str = "INSERT INTO handover_meta (name, value) VALUES ('mended', 1) \
     ON CONFLICT (name) DO UPDATE SET value = handover_meta.value + 1";

#[cfg(test)]
mod tests {
    /// Checks the order of parameters. SQLite numbers `$n` by first appearance, so a statement that begins with `$2`
    /// would get its values swapped.
    #[test]
    fn parameters_appear_in_order() {
        let source = include_str!("sql.rs").split("#[cfg(test)]").next().unwrap_or_default();
        // Replace each macro in the list statements by the parameters that it contains, because the macros hide these
        // parameters.
        let lists = include_str!("sql/list.rs")
            .replace("workflow_filter!()", "$1 $2 $3 $4 $5 $6 $7 $8 $9 $10")
            .replace("eight!()", "$1 $2 $3 $4 $5 $6 $7 $8");
        let statements = source.split("\";").flat_map(|part| part.split("\",\n")).chain(lists.split(";\n"));
        let mut seen = 0;
        for statement in statements.filter(|text| text.contains('$')) {
            let numbers = statement.split('$').skip(1).filter_map(|rest| {
                let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
                digits.parse::<u32>().ok()
            });
            let mut highest = 0;
            for number in numbers {
                assert!(number <= highest + 1, "${number} after ${highest} in {statement}");
                highest = highest.max(number);
            }
            seen += 1;
        }
        assert!(seen > 50, "only {seen} statements were found");
    }
}
