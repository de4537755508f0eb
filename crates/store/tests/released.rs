//! Checks that this version opens stores of released versions without losing any row.
//!
//! `fixtures/VERSION` has a store of that version as an SQLite file, as a dump of PostgreSQL and as an export. The
//! script `make` in that folder shows how they were made. All three have the same rows.

use std::collections::BTreeSet;
use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};

use store::conformance::{self, act, has_small, must, small};
use store::{MemoryStore, Postgres, Sqlite, Store};

/// The tables that a store of version 0.1.0 has.
const TABLES: &[&str] = &[
    "agent",
    "approval",
    "attachment",
    "checkpoint",
    "dependency",
    "event",
    "finding",
    "kept_answer",
    "mailbox",
    "message",
    "notice",
    "reminder",
    "repository",
    "review",
    "review_round",
    "runner",
    "section",
    "section_change",
    "task",
    "task_detail",
    "template",
    "token",
    "topic",
    "turn",
    "verification",
    "workflow",
    "workflow_detail",
    "workspace",
];

/// The kinds of log entries that a store of version 0.1.0 has.
const KINDS: &[&str] = &[
    "agent_updated",
    "answered",
    "approval_asked",
    "approval_moved",
    "approval_shown",
    "checkpoint_added",
    "claimed",
    "configured",
    "finding_decided",
    "joined",
    "lease_ended",
    "left",
    "locked",
    "marked",
    "moved",
    "plan_set",
    "registered",
    "replanned",
    "repository_attached",
    "repository_detached",
    "repository_registered",
    "review_opened",
    "round_ended",
    "round_started",
    "section_written",
    "sent",
    "session_closed",
    "task_added",
    "task_planned",
    "task_removed",
    "template_created",
    "template_removed",
    "token_created",
    "token_revoked",
    "turn_ended",
    "turn_started",
    "unlocked",
    "verified",
    "workflow_changed",
    "workflow_created",
    "workflow_moved",
    "workspace_assigned",
    "workspace_created",
    "workspace_updated",
];

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/0.1.0").join(name)
}

fn read(name: &str) -> String {
    must(std::fs::read_to_string(fixture(name)), name)
}

/// A row as an export writes it: its table and its values.
type Row = (String, Vec<serde_json::Value>);

fn rows(export: &str) -> Vec<Row> {
    let line = |line: &str| -> serde_json::Value { must(serde_json::from_str(line), line) };
    let row = |line: serde_json::Value| Some((line["t"].as_str()?.to_owned(), line["v"].as_array()?.clone()));
    export.lines().map(line).filter_map(row).collect()
}

/// Returns the heads that version 0.1.0 wrote: the number and hash of each topic's last log entry. A migrated store
/// must still contain these entries.
fn heads() -> Vec<store::Head> {
    let head = |(table, values): Row| {
        let text = |place: usize| values[place].as_str().unwrap_or_default().to_owned();
        let number = |place: usize| values[place].as_i64().unwrap_or_default();
        let head = || store::Head { topic: text(0), seq: number(1), hash: text(2), at: engine::Timestamp(number(3)) };
        (table == "topic").then(head)
    };
    rows(&read("store.jsonl")).into_iter().filter_map(head).collect()
}

#[derive(Clone, Default)]
struct SharedText(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for SharedText {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

async fn exported(store: &dyn Store) -> String {
    let text = SharedText::default();
    must(store::export(store, text.clone()).await, "export");
    let bytes = std::mem::take(&mut *text.0.lock().unwrap_or_else(PoisonError::into_inner));
    must(String::from_utf8(bytes), "an export is text")
}

/// Checks that a store of version 0.1.0 is read completely: every kind of row and log entry is there, the log is
/// unchanged, and the store works. Returns the store's export.
async fn is_whole(store: &dyn Store, what: &str) -> String {
    let export = exported(store).await;
    let rows = rows(&export);
    let tables: BTreeSet<&str> = rows.iter().map(|(table, _)| table.as_str()).collect();
    let lost: Vec<_> = TABLES.iter().filter(|table| !tables.contains(**table)).collect();
    assert!(lost.is_empty(), "{what} has no row of {lost:?}");
    let is_entry = |(table, _): &&Row| table == "event";
    let kinds: BTreeSet<&str> = rows.iter().filter(is_entry).filter_map(|(_, values)| values[3].as_str()).collect();
    let lost: Vec<_> = KINDS.iter().filter(|kind| !kinds.contains(**kind)).collect();
    assert!(lost.is_empty(), "{what} has no entry of {lost:?}");
    let verdict = must(store::verify(store, &heads()).await, "verify");
    assert_eq!(verdict.findings, [], "the log of {what}");
    // The memory store converts each row into the engine's type, so the transfer shows that every row can be read.
    conformance::same_after_transfer(store, &MemoryStore::default()).await;
    act(store, &small(1)).await;
    assert!(has_small(store, 1).await, "{what} does not work");
    export
}

async fn imported(store: &dyn Store) {
    must(store::import(store, Cursor::new(read("store.jsonl"))).await, "import");
}

/// Returns the number of rows in each table of version 0.1.0.
fn counts(export: &str) -> Vec<(&'static str, usize)> {
    let rows = rows(export);
    TABLES.iter().map(|name| (*name, rows.iter().filter(|(table, _)| table == name).count())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_and_an_export_of_0_1_0_become_the_same_store() {
    let folder = must(tempfile::tempdir(), "a folder");
    let path = folder.path().join("a.db");
    must(std::fs::copy(fixture("store.db"), &path), "copy");
    let migrated = is_whole(&must(Sqlite::open(&path, 1).await, "open"), "the file").await;
    let empty = must(Sqlite::open(&folder.path().join("b.db"), 1).await, "open");
    imported(&empty).await;
    let from_export = is_whole(&empty, "the import").await;
    assert_eq!(migrated, from_export, "a migration and an import give different rows");
    assert_eq!(counts(&migrated), counts(&read("store.jsonl")), "rows were lost");
    let memory = MemoryStore::default();
    imported(&memory).await;
    assert_eq!(is_whole(&memory, "the import into memory").await, from_export);
}

/// Checks that opening a file of version 0.1.0 a second time changes no row.
#[tokio::test(flavor = "multi_thread")]
async fn a_file_of_0_1_0_is_migrated_once() {
    let folder = must(tempfile::tempdir(), "a folder");
    let path = folder.path().join("a.db");
    must(std::fs::copy(fixture("store.db"), &path), "copy");
    let first = exported(&must(Sqlite::open(&path, 1).await, "open")).await;
    let second = exported(&must(Sqlite::open(&path, 2).await, "open")).await;
    assert_eq!(first, second);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dump_and_an_export_of_0_1_0_become_the_same_store_on_postgres() {
    let (dumped, empty) = (Database::new("released_dump").await, Database::new("released_import").await);
    dumped.load(&fixture("store.sql"));
    let store = must(Postgres::open(&dumped.url, 1).await, "open");
    let migrated = is_whole(&store, "the dump").await;
    let import = must(Postgres::open(&empty.url, 1).await, "open");
    imported(&import).await;
    assert_eq!(is_whole(&import, "the import").await, migrated, "a migration and an import give different rows");
    assert_eq!(counts(&migrated), counts(&read("store.jsonl")), "rows were lost");
    followed(&store).await;
    drop((store, import));
    dumped.remove().await;
    empty.remove().await;
}

/// Checks that a follower gets the whole log of a restored PostgreSQL dump, on a server whose transaction numbers
/// differ from the numbers in the dump.
async fn followed(store: &dyn Store) {
    let expected = must(store::verify(store, &[]).await, "verify").entries;
    let (mut cursor, mut found, mut watch) = (store::Cursor::default(), 0, store.watch());
    for _ in 0..400 {
        let page = must(store.follow(cursor, 500).await, "follow");
        (cursor, found) = (page.next, found + u64::try_from(page.entries.len()).unwrap_or(0));
        if found >= expected {
            break;
        }
        // Another test on this server may hold a transaction open for a moment, which hides the newest entries. So wait
        // and read again.
        if page.entries.is_empty() {
            watch.changed(std::time::Duration::from_millis(50)).await;
        }
    }
    assert_eq!(found, expected, "entries that a follower gets");
}

/// A separate test database, because a PostgreSQL dump can only be loaded into the schema that it names.
struct Database {
    url: String,
    name: String,
}

impl Database {
    async fn new(name: &str) -> Self {
        let server = must(std::env::var("HANDOVER_TEST_POSTGRES"), "run scripts/test, which starts a server");
        let database = Self { url: server.replace("/handover_test", &format!("/{name}")), name: name.to_owned() };
        assert_ne!(server, database.url);
        database.remove().await;
        let plain = plain(&server).await;
        must(plain.batch_execute(&format!("CREATE DATABASE {name}")).await, "a database");
        database
    }

    fn load(&self, dump: &Path) {
        let bin = must(std::env::var("HANDOVER_TEST_PGBIN"), "run scripts/test, which starts a server");
        #[expect(clippy::disallowed_methods, reason = "a test loads a dump as a person would")]
        let mut psql = Command::new(Path::new(&bin).join("psql"));
        psql.args(["--quiet", "--no-psqlrc", "--set=ON_ERROR_STOP=1", "--file"]).arg(dump).arg(&self.url);
        let output = must(psql.output(), "psql");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    async fn remove(&self) {
        let server = must(std::env::var("HANDOVER_TEST_POSTGRES"), "run scripts/test, which starts a server");
        let plain = plain(&server).await;
        let drop = format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name);
        must(plain.batch_execute(&drop).await, "drop the database");
    }
}

#[expect(clippy::disallowed_methods, reason = "a test looks at the server from outside")]
async fn plain(url: &str) -> tokio_postgres::Client {
    let (client, connection) = must(tokio_postgres::connect(url, tokio_postgres::NoTls).await, "connect");
    tokio::spawn(connection);
    client
}
