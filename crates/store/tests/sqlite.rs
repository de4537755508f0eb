//! Runs, with an SQLite store and with a store in memory, the checks that every kind of store must pass.

use std::sync::Arc;

use store::conformance::{self, must};
use store::{MemoryStore, Sqlite, Store};

/// Returns the seeds of the random test scripts: three seeds, or as many as `HANDOVER_TEST_SEEDS` says.
fn seeds() -> std::ops::Range<u64> {
    let wanted = std::env::var("HANDOVER_TEST_SEEDS").ok().and_then(|text| text.parse().ok());
    2..2 + wanted.unwrap_or(3)
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_conforms() {
    conformance::exercise(&MemoryStore::default()).await;
    for seed in seeds() {
        conformance::same_results(&MemoryStore::default(), seed, 800).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sqlite_conforms() {
    let folder = must(tempfile::tempdir(), "a folder");
    let first = must(Sqlite::open(&folder.path().join("first.db"), 1 << 40).await, "open");
    conformance::exercise(&first).await;
    for seed in seeds() {
        let store = must(Sqlite::open(&folder.path().join(format!("{seed}.db")), seed << 40).await, "open");
        conformance::same_results(&store, seed, 1_000).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_goes_from_one_backend_to_another_and_back() {
    let folder = must(tempfile::tempdir(), "a folder");
    let origin = MemoryStore::default();
    conformance::same_results(&origin, 7, 600).await;
    let sqlite = must(Sqlite::open(&folder.path().join("a.db"), 1 << 40).await, "open");
    conformance::refuses_bad_exports(&origin, &sqlite).await;
    let memory = MemoryStore::default();
    conformance::refuses_bad_exports(&sqlite, &memory).await;
    let again = must(Sqlite::open(&folder.path().join("b.db"), 2 << 40).await, "open");
    conformance::same_after_transfer(&memory, &again).await;
    conformance::same_after_transfer(&again, &MemoryStore::default()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn races_in_memory() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    conformance::exercise_race(|| std::future::ready(Arc::clone(&store))).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn races_on_one_file() {
    let folder = must(tempfile::tempdir(), "a folder");
    let path = folder.path().join("race.db");
    conformance::exercise_race(|| async {
        let store: Arc<dyn Store> = Arc::new(must(Sqlite::open(&path, 3 << 40).await, "open"));
        store
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_connection_wakes_another() {
    let folder = must(tempfile::tempdir(), "a folder");
    let path = folder.path().join("wake.db");
    let writer = must(Sqlite::open(&path, 1).await, "open");
    let waiter = must(Sqlite::open(&path, 1).await, "open");
    conformance::wakes(&writer, &waiter).await;
}
