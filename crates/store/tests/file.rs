//! Tests of one SQLite file in one process: batches of commands, readers, damaged files, and files of other schemas.

use std::sync::Arc;
use std::time::Duration;

use engine::command::CreateWorkflow;
use engine::event::Event;
use engine::id::{Ids, WorkflowId};
use engine::{Actor, Caller, Change, Command, Need, Reply, Rights, Timestamp};
use rusqlite::Connection;
use store::conformance::{self, StoreOrder, act, has_small, must, small};
use store::{Fault, Job, Options, Sqlite, Store};

/// Opens the database file directly, without the store, as another tool would.
#[expect(clippy::disallowed_methods, reason = "a test looks at the file from outside")]
fn foreign(path: &std::path::Path) -> Connection {
    must(Connection::open(path), "a foreign connection")
}

fn queue(path: &std::path::Path) -> std::fs::File {
    let path = path.with_extension("db.lock");
    must(std::fs::File::options().write(true).create(true).truncate(false).open(path), "the queue's file")
}

async fn open(path: &std::path::Path) -> Arc<Sqlite> {
    Arc::new(must(Sqlite::open(path, 5 << 40).await, "open"))
}

#[tokio::test(flavor = "multi_thread")]
async fn one_failing_command_does_not_spoil_the_others_of_its_batch() {
    let folder = must(tempfile::tempdir(), "a folder");
    let path = folder.path().join("a.db");
    let store = open(&path).await;
    act(store.as_ref(), &small(0)).await;
    // While this test holds the file lock of the write queue, the writer cannot begin, so all commands gather into one
    // batch.
    let queue = queue(&path);
    must(queue.lock(), "hold the queue");
    let send = |job: Job| {
        let store = Arc::clone(&store);
        tokio::spawn(async move { store.transact(job).await })
    };
    let good: Vec<_> = (0..20).map(|number| send(small(number).job())).collect();
    let bad: Vec<_> = bad_jobs().into_iter().map(|(what, job)| (what, send(job))).collect();
    let more: Vec<_> = (20..40).map(|number| send(small(number).job())).collect();
    must(queue.unlock(), "let the queue go");
    for one in good.into_iter().chain(more) {
        let change = must(must(one.await, "a caller"), "a good command");
        assert!(change.reply.is_ok(), "{change:?}");
    }
    for (what, one) in bad {
        let result = must(one.await, "a caller");
        match what {
            "panics" => assert!(matches!(result, Err(Fault::Bug { .. })), "{what}: {result:?}"),
            _ => assert!(matches!(result, Err(Fault::Sqlite(_))), "{what}: {result:?}"),
        }
    }
    for number in 0..40 {
        assert!(has_small(store.as_ref(), number).await, "command {number} was answered but is not there");
    }
    let verdict = must(store::verify(store.as_ref(), &[]).await, "verify");
    assert_eq!((verdict.entries, verdict.findings), (40, Vec::new()), "only what was answered is logged");
}

/// Returns jobs (commands for the store) that fail. The first job writes a row that breaks a check of its table. The
/// second job writes a row that exists already. The third job panics while it decides which rows to write.
fn bad_jobs() -> Vec<(&'static str, Job)> {
    let id = WorkflowId::next(&mut Ids::new(9));
    let change = |open: u32| {
        let mut workflow = engine_workflow(id);
        workflow.open = open;
        let events = vec![Event::WorkflowCreated { workflow: Box::new(workflow), detail: Box::default() }];
        Change { events, sender: Actor::Engine, reply: Ok(Reply::Configured) }
    };
    let job =
        |change: Change| Job { needs: Vec::new(), now: Timestamp(1), step: Arc::new(move |_| Ok(change.clone())) };
    let twice = Event::RepositoryRegistered {
        repository: engine::workspace::Repository {
            id: engine::id::RepositoryId::FIRST,
            path: "/small/0".to_owned(),
            name: None,
            created: Timestamp(1),
            by: None,
        },
    };
    let twice = Change { events: vec![twice], sender: Actor::Engine, reply: Ok(Reply::Configured) };
    let panics = Job { needs: Vec::new(), now: Timestamp(1), step: Arc::new(|_| panic!("a planned panic")) };
    vec![("breaks a check", job(change(7))), ("is there already", job(twice)), ("panics", panics)]
}

fn engine_workflow(id: WorkflowId) -> engine::workflow::Workflow {
    engine::workflow::Workflow {
        id,
        name: "bad".to_owned(),
        status: engine::workflow::WorkflowStatus::Planning,
        parallel_max: None,
        lease_ms: engine::Millis(1_000),
        lock: None,
        draft: None,
        standing: false,
        archived: false,
        branch: None,
        tasks: 0,
        open: 0,
        sequence: 0,
        created: Timestamp(1),
        updated: Timestamp(1),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn many_commands_share_a_commit() {
    let folder = must(tempfile::tempdir(), "a folder");
    let store = open(&folder.path().join("a.db")).await;
    let callers = (0..16).map(|caller| {
        let store = Arc::clone(&store);
        tokio::spawn(async move {
            for number in 0..40 {
                act(store.as_ref(), &small(caller * 1_000 + number)).await;
            }
        })
    });
    for caller in callers.collect::<Vec<_>>() {
        must(caller.await, "a caller");
    }
    let (commits, commands) = (store.statistics().commits(), store.statistics().commands());
    assert_eq!(commands, 640);
    assert!(commits * 2 <= commands, "{commands} commands took {commits} commits");
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_wait_for_nobody() {
    let folder = must(tempfile::tempdir(), "a folder");
    let path = folder.path().join("a.db");
    let store = open(&path).await;
    conformance::same_results(store.as_ref(), 3, 60).await;
    let queue = queue(&path);
    must(queue.lock(), "hold the queue");
    let writer = foreign(&path);
    must(writer.execute_batch("BEGIN IMMEDIATE; UPDATE topic SET seq = seq"), "hold a transaction");
    let waiting = {
        let store = Arc::clone(&store);
        tokio::spawn(async move { store.transact(small(1).job()).await })
    };
    let reading = async {
        assert!(!has_small(store.as_ref(), 1).await, "nothing is written while the queue is held");
        assert!(!conformance::rows(store.as_ref()).await.is_empty());
        must(store.follow(store::Cursor::default(), 10).await, "follow");
        must(store.heads(String::new(), 10).await, "heads");
        assert_eq!(must(store::verify(store.as_ref(), &[]).await, "verify").findings, []);
    };
    assert!(tokio::time::timeout(Duration::from_secs(20), reading).await.is_ok(), "a reader waited for a writer");
    assert!(!waiting.is_finished(), "the writer waits for its turn");
    must(writer.execute_batch("ROLLBACK"), "end the transaction");
    must(queue.unlock(), "let the queue go");
    must(must(waiting.await, "the caller"), "its command");
    assert!(has_small(store.as_ref(), 1).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_held_queue_is_a_fault_after_a_bound_and_the_command_is_not_done_later() {
    let folder = must(tempfile::tempdir(), "a folder");
    let path = folder.path().join("a.db");
    let options = Options { wait_max: Duration::from_secs(1) };
    let store = must(Sqlite::open_with(&path, 1, options).await, "open");
    let queue = queue(&path);
    must(queue.lock(), "hold the queue");
    let result = store.transact(small(1).job()).await;
    assert!(matches!(result, Err(Fault::Busy { seconds: 1 })), "{result:?}");
    let other = Sqlite::open_with(&path, 1, options).await;
    assert!(matches!(other, Err(Fault::Busy { seconds: 1 })), "{other:?}");
    must(queue.unlock(), "let the queue go");
    act(&store, &small(2)).await;
    assert!(!has_small(&store, 1).await, "a command whose caller was told that it failed was done");
    assert!(has_small(&store, 2).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_newer_schema_is_refused() {
    let folder = must(tempfile::tempdir(), "a folder");
    let path = folder.path().join("a.db");
    drop(open(&path).await);
    must(foreign(&path).execute_batch("UPDATE handover_meta SET value = 4711 WHERE name = 'schema'"), "age it");
    let Err(fault) = Sqlite::open(&path, 1).await else { panic!("a newer database was opened") };
    let text = fault.to_string();
    assert!(matches!(fault, Fault::Newer { found: 4711, .. }), "{fault:?}");
    assert!(text.contains("newer program") && text.contains("4711") && text.contains("upgrade"), "{text}");
    let ours = format!("UPDATE handover_meta SET value = {} WHERE name = 'schema'", SINCE.len() + 1);
    must(foreign(&path).execute_batch(&ours), "make it ours again");
    act(open(&path).await.as_ref(), &small(1)).await;
}

/// The statements that undo the migrations to the database schemas 2, 3 and so on. Each item undoes one migration.
const SINCE: &[&str] = &[
    "DROP TABLE token; DROP INDEX workflow_created; DROP INDEX task_plan; DROP INDEX task_group; DROP INDEX task_since; \
     DROP INDEX task_stuck; DROP INDEX agent_created; DROP INDEX repository_created; \
     UPDATE handover_meta SET value = 1 WHERE name = 'schema'",
    "DROP TABLE turn; DROP TABLE verification; DROP TABLE runner; DROP TABLE section; DROP TABLE section_change; \
     DROP TABLE approval; UPDATE handover_meta SET value = 2 WHERE name = 'schema'",
    "DROP INDEX message_question; ALTER TABLE message DROP COLUMN answer; \
     UPDATE handover_meta SET value = 3 WHERE name = 'schema'",
    "DROP INDEX agent_conversation; DROP INDEX agent_call; ALTER TABLE agent DROP COLUMN conversation; \
     ALTER TABLE agent DROP COLUMN part; ALTER TABLE agent DROP COLUMN call_id; DROP TABLE reminder; \
     DROP INDEX approval_refused; UPDATE handover_meta SET value = 4 WHERE name = 'schema'",
    "DROP TABLE finding; DROP TABLE review_round; DROP TABLE review; ALTER TABLE task DROP COLUMN review; \
     UPDATE handover_meta SET value = 5 WHERE name = 'schema'",
    "DROP TABLE notice; DROP INDEX approval_agent; DROP INDEX approval_gate; DROP INDEX approval_pending; \
     ALTER TABLE approval DROP COLUMN shown; DROP INDEX task_gated; ALTER TABLE task DROP COLUMN gate; \
     UPDATE handover_meta SET value = 6 WHERE name = 'schema'",
    "DROP INDEX agent_named; ALTER TABLE agent DROP COLUMN principal; ALTER TABLE agent DROP COLUMN registered; \
     ALTER TABLE task DROP COLUMN limited; ALTER TABLE task DROP COLUMN author; \
     ALTER TABLE approval DROP COLUMN used_by; ALTER TABLE approval DROP COLUMN used; \
     ALTER TABLE repository DROP COLUMN actor; UPDATE handover_meta SET value = 7 WHERE name = 'schema'",
    "DROP INDEX agent_session; DROP INDEX workflow_lock; \
     CREATE INDEX agent_session ON agent (session) WHERE session IS NOT NULL AND left_at IS NULL; \
     CREATE INDEX workflow_lock ON workflow (lock_owner) WHERE lock_owner IS NOT NULL; \
     UPDATE handover_meta SET value = 8 WHERE name = 'schema'",
    // Set back only the number of the schema, because the migration to schema 10 changes rows and no table.
    "UPDATE handover_meta SET value = 9 WHERE name = 'schema'",
    "DROP INDEX approval_of_task; DROP INDEX message_question_of_task; \
     UPDATE handover_meta SET value = 10 WHERE name = 'schema'",
    "DROP TABLE condition; DROP TABLE workflow_delivery; DROP TABLE delivery; DROP TABLE counter; DROP INDEX task_number; DROP INDEX task_named; ALTER TABLE task DROP COLUMN number; \
     DROP INDEX workflow_standing; ALTER TABLE workflow DROP COLUMN standing; ALTER TABLE workflow DROP COLUMN archived; \
     UPDATE handover_meta SET value = 11 WHERE name = 'schema'",
    "DROP TABLE told_item; UPDATE handover_meta SET value = 12 WHERE name = 'schema'",
    "DROP INDEX workflow_branch; ALTER TABLE workflow DROP COLUMN branch; \
     UPDATE handover_meta SET value = 13 WHERE name = 'schema'",
    "ALTER TABLE token DROP COLUMN used; ALTER TABLE token DROP COLUMN kind; \
     UPDATE handover_meta SET value = 14 WHERE name = 'schema'",
    "DROP TABLE put_off; DROP INDEX turn_started; ALTER TABLE turn DROP COLUMN tokens_in; \
     ALTER TABLE turn DROP COLUMN tokens_out; ALTER TABLE turn DROP COLUMN model; \
     ALTER TABLE review_round DROP COLUMN tokens_in; ALTER TABLE review_round DROP COLUMN tokens_out; \
     UPDATE handover_meta SET value = 15 WHERE name = 'schema'",
];
/// The numbers of the database schemas whose migration changes only rows and no table.
const ONLY_ROWS: &[usize] = &[10];

#[tokio::test(flavor = "multi_thread")]
async fn a_file_of_an_older_schema_is_brought_up_to_date() {
    // Compare tables by their names and columns, but indexes by their SQL text: the SQL text of a table changes when a
    // column is dropped and added again.
    let schema = |connection: &Connection| -> Vec<String> {
        let text = "SELECT name || ' ' || CASE type WHEN 'index' THEN coalesce(sql, '') ELSE coalesce((SELECT \
             group_concat(found.name) FROM pragma_table_info(sqlite_master.name) found), '') END \
             FROM sqlite_master ORDER BY name";
        let mut all = must(connection.prepare(text), "prepare");
        let rows = must(all.query_map([], |row| row.get(0)), "query");
        rows.map(|row| must(row, "a name")).collect()
    };
    for oldest in 0..SINCE.len() {
        let folder = must(tempfile::tempdir(), "a folder");
        let path = folder.path().join("a.db");
        let store = open(&path).await;
        act(store.as_ref(), &small(1)).await;
        let now = schema(&foreign(&path));
        drop(store);
        let mut before = now.clone();
        for (number, since) in SINCE.iter().enumerate().skip(oldest).rev() {
            must(foreign(&path).execute_batch(since), "make it old");
            let found = schema(&foreign(&path));
            assert_eq!(found == before, ONLY_ROWS.contains(&(number + 2)), "what {since} takes away");
            before = found;
        }
        let store = open(&path).await;
        assert_eq!(schema(&foreign(&path)), now, "from schema {}", oldest + 1);
        act(store.as_ref(), &small(2)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_lost_its_conversation_gets_its_own_ending_from_schema_10_on() {
    let folder = must(tempfile::tempdir(), "a folder");
    let path = folder.path().join("a.db");
    drop(open(&path).await);
    let turn = |id: &str, reason: &str| {
        format!(
            "INSERT INTO turn (id, task, workflow, agent, attempt, number, purpose, adapter, runner, started, ended, ending, \
             reason) VALUES ('{id}', 'tk', 'wf', 'ag', 1, 1, 'first', 'claude', 'here', 1, 2, 'failed', '{reason}');"
        )
    };
    let lost = turn("tn_1", "the conversation it was to resume is gone");
    let since_9: Vec<&str> = SINCE[8..].iter().rev().copied().collect();
    let old = format!("{lost}{} {}", turn("tn_2", "exit code 1"), since_9.join("; "));
    must(foreign(&path).execute_batch(&old), "make it old");
    drop(open(&path).await);
    let file = foreign(&path);
    let mut rows =
        must(file.prepare("SELECT id || ' ' || ending || ' ' || coalesce(reason, '-') FROM turn"), "prepare");
    let rows: Vec<String> =
        must(rows.query_map([], |row| row.get(0)), "query").map(|row| must(row, "a turn")).collect();
    assert_eq!(rows, ["tn_1 conversation_lost -", "tn_2 failed exit code 1"]);
}

/// The ways in which the test damages rows. Each pair has the UPDATE that damages a row, and the name of the damaged
/// table.
const DAMAGE: &[(&str, &str)] = &[
    ("task SET status = 'nonsense'", "task"),
    ("task SET status = 'completed', actor = NULL", "task"),
    ("task SET status = 'in_progress', holder = NULL", "task"),
    ("task SET holder = 'nobody', lease_since = 1, lease_until = 1", "task"),
    ("task SET priority = 9", "task"),
    ("task SET attempt = -1", "task"),
    ("task SET unmet = 5000000000", "task"),
    ("task SET sequence = 'x'", "task"),
    ("task SET name = NULL", "task"),
    ("task SET touches = '[1'", "task"),
    ("task SET capabilities = 'x'", "task"),
    ("task SET workflow = 'wf_short'", "task"),
    ("task SET repository = 'rp_!'", "task"),
    ("task SET updated = 1.5", "task"),
    ("task SET name = x'00ff'", "task"),
    ("workflow SET status = 'nonsense'", "workflow"),
    ("workflow SET lease_ms = -4", "workflow"),
    ("workflow SET open = NULL", "workflow"),
];

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_row_is_a_fault_with_a_name() {
    let folder = must(tempfile::tempdir(), "a folder");
    let path = folder.path().join("a.db");
    let store = open(&path).await;
    let (workflow, task) = planned(store.as_ref()).await;
    let damaged = foreign(&path);
    must(damaged.execute_batch("PRAGMA ignore_check_constraints = ON; PRAGMA writable_schema = ON"), "prepare");
    // A damaged file may contain NULL in a NOT NULL column. So remove NOT NULL from the tables before damaging them.
    let lax = "UPDATE sqlite_schema SET sql = replace(sql, ' NOT NULL,', ',') WHERE name IN ('task', 'workflow')";
    must(damaged.execute_batch(&format!("{lax}; PRAGMA writable_schema = RESET")), "loosen the tables");
    for (change, table) in DAMAGE {
        must(
            damaged.execute_batch(&format!("SAVEPOINT a; CREATE TEMP TABLE kept AS SELECT * FROM main.{table}")),
            "keep",
        );
        must(damaged.execute_batch(&format!("UPDATE {change}; RELEASE a")), change);
        let need = if *table == "task" { Need::Task(task) } else { Need::Workflow(workflow) };
        let read = store.look(vec![need.clone()], Arc::new(|_| Vec::new())).await;
        assert!(matches!(read, Err(Fault::Damaged { .. })), "{change}: reading gives {read:?}");
        let command = Command::AddTask {
            workflow,
            task: Box::new(engine::plan::PlanTask {
                depends_on: vec!["a task".to_owned()],
                ..engine::plan::PlanTask::named(*change)
            }),
            after: None,
        };
        let written = store.transact(StoreOrder::new(Caller::with_rights(Rights::Person), command, 1, 77).job()).await;
        let refused = matches!(&written, Ok(change) if change.reply.is_err());
        assert!(refused || matches!(written, Err(Fault::Damaged { .. })), "{change}: writing gives {written:?}");
        let back =
            format!("BEGIN; DELETE FROM {table}; INSERT INTO main.{table} SELECT * FROM kept; COMMIT; DROP TABLE kept");
        must(damaged.execute_batch(&back), "put it back");
    }
    must(store.look(vec![Need::Task(task), Need::Workflow(workflow)], Arc::new(|_| Vec::new())).await, "whole again");
}

async fn planned(store: &dyn Store) -> (WorkflowId, engine::id::TaskId) {
    let person = || Caller::with_rights(Rights::Person);
    let create = CreateWorkflow::named("a workflow");
    let made = act(store, &StoreOrder::new(person(), Command::CreateWorkflow(create), 1, 1 << 64)).await;
    let Ok(Reply::WorkflowCreated { workflow, .. }) = made.reply else { panic!("{made:?}") };
    let plan = must(engine::plan::Plan::whole(vec![engine::plan::PlanTask::named("a task")]), "a plan");
    let existing = std::collections::BTreeMap::new();
    let place = engine::plan::PlanPlace { workflow, sequence: 0, now: Timestamp(1), existing: &existing };
    let piece = Arc::new(must(plan.lay_out(&place, &mut Ids::new(2 << 64)), "rows"));
    let task = piece.tasks[0].0.id;
    let command = Command::SetPlan { workflow, summary: "one".to_owned(), piece, groups: Vec::new() };
    let set = act(store, &StoreOrder::new(person(), command, 1, 3 << 64)).await;
    assert!(set.reply.is_ok(), "{set:?}");
    (workflow, task)
}

/// The kinds of tokens that the database refuses: an unknown kind, a key without its last use, a secret with one, and a
/// code or a key that belongs to an agent or has another scope than person.
const IMPOSSIBLE_TOKENS: &[&str] = &[
    "'person', NULL, 'nonsense', NULL",
    "'person', NULL, 'browser_key', NULL",
    "'person', NULL, 'secret', 1",
    "'person', NULL, 'enrolment_code', 1",
    "'agent', NULL, 'enrolment_code', NULL",
    "'admin', NULL, 'browser_key', 1",
    "'person', 'ag_000000000000', 'browser_key', 1",
];

#[tokio::test(flavor = "multi_thread")]
async fn a_token_has_exactly_the_columns_of_its_kind() {
    let folder = must(tempfile::tempdir(), "a folder");
    let path = folder.path().join("a.db");
    drop(open(&path).await);
    let file = foreign(&path);
    let insert = |id: &str, values: &str| {
        file.execute_batch(&format!(
            "INSERT INTO token (id, name, hash, created, scope, agent, kind, used) VALUES ('{id}', 'n', '{id}', 1, {values})"
        ))
    };
    for values in IMPOSSIBLE_TOKENS {
        assert!(insert("bad", values).is_err(), "{values} was stored");
    }
    must(insert("tok_1", "'agent', NULL, 'secret', NULL"), "a secret");
    must(insert("tok_2", "'person', NULL, 'enrolment_code', NULL"), "a code");
    must(insert("tok_3", "'person', NULL, 'browser_key', 1"), "a key");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_an_ended_turn_has_tokens_and_a_model() {
    let folder = must(tempfile::tempdir(), "a folder");
    let path = folder.path().join("a.db");
    drop(open(&path).await);
    let file = foreign(&path);
    let insert = |id: &str, values: &str| {
        file.execute_batch(&format!(
            "INSERT INTO turn (id, task, workflow, agent, attempt, number, purpose, adapter, runner, started, ended, ending, \
             tokens_in, tokens_out, model) VALUES ('{id}', 'tk', 'wf', 'ag', 1, 1, 'first', 'claude', 'here', 1, {values})"
        ))
    };
    let impossible = [
        "NULL, NULL, 1, NULL, NULL",
        "NULL, NULL, NULL, 1, NULL",
        "NULL, NULL, NULL, NULL, 'opus'",
        "2, 'finished', -1, NULL, NULL",
        "2, 'finished', NULL, -1, NULL",
    ];
    for values in impossible {
        assert!(insert("bad", values).is_err(), "{values} was stored");
    }
    must(insert("tn_1", "NULL, NULL, NULL, NULL, NULL"), "a running turn");
    must(insert("tn_2", "2, 'finished', 1, 2, 'opus'"), "a turn that ended");
    must(insert("tn_3", "2, 'finished', NULL, NULL, NULL"), "a turn of an older version");
}

#[tokio::test(flavor = "multi_thread")]
async fn turns_of_a_time_range_are_found_by_an_index() {
    let folder = must(tempfile::tempdir(), "a folder");
    let path = folder.path().join("a.db");
    drop(open(&path).await);
    let file = foreign(&path);
    let query = "EXPLAIN QUERY PLAN SELECT id FROM turn WHERE started >= 1 AND (started, id) < (9, 'tn') \
         ORDER BY started DESC, id DESC LIMIT 500";
    let mut rows = must(file.prepare(query), "prepare");
    let plan: Vec<String> =
        must(rows.query_map([], |row| row.get("detail")), "query").map(|row| must(row, "a step")).collect();
    assert!(plan.len() == 1 && plan[0].contains("turn_started"), "{plan:?}");
}
