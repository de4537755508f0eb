//! Runs, with a PostgreSQL store, the checks that every kind of store must pass.

// The module `busy` lengthens time limits when the machine is loaded. The tests of the `handover` binary use it, too.
#[path = "../../handover/tests/proof/busy.rs"]
mod busy;
mod server;

use std::sync::Arc;

use server::Place;
use store::conformance::{self, EditedEntries, must};
use store::{MemoryStore, Postgres, Sqlite, Store};

#[tokio::test(flavor = "multi_thread")]
async fn postgres_conforms() {
    let _shared = server::shared().await;
    let place = Place::new("conforms").await;
    conformance::exercise(&place.open_hasty().await).await;
    for seed in 2..=3 {
        let place = Place::new(&format!("conforms_{seed}")).await;
        conformance::same_results(&place.open_hasty().await, seed, 600).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn races_on_one_database() {
    let _shared = server::shared().await;
    let place = Place::new("races").await;
    conformance::exercise_race(|| async {
        let store: Arc<dyn Store> = Arc::new(place.open().await);
        store
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_goes_to_the_server_and_back() {
    let _shared = server::shared().await;
    let folder = must(tempfile::tempdir(), "a folder");
    let sqlite = must(Sqlite::open(&folder.path().join("a.db"), 1 << 40).await, "open");
    conformance::same_results(&sqlite, 7, 400).await;
    let (first, second) = (Place::new("transfer").await, Place::new("transfer_back").await);
    let postgres = first.open_hasty().await;
    conformance::refuses_bad_exports(&sqlite, &postgres).await;
    conformance::same_after_transfer(&postgres, &MemoryStore::default()).await;
    conformance::same_after_transfer(&postgres, &second.open().await).await;
    let again = must(Sqlite::open(&folder.path().join("b.db"), 2 << 40).await, "open");
    conformance::same_after_transfer(&postgres, &again).await;
}

/// Checks that verification finds every edit of the log by an intruder: every kind of edit at each kind of entry of
/// each topic. With `HANDOVER_TAMPERING_FULL` it makes the edits at every entry, as the test on SQLite always does.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_of_a_real_log_can_be_changed_unseen() {
    let _shared = server::shared().await;
    let place = Place::new("tampering").await;
    let (store, intruder) = (place.open_hasty().await, place.plain().await);
    let intruder = &intruder;
    let run = |statement: String| async move { must(intruder.batch_execute(&statement).await, &statement) };
    let full = std::env::var_os("HANDOVER_TAMPERING_FULL").is_some();
    let chosen = if full { EditedEntries::All } else { EditedEntries::EachKind };
    let found = conformance::finds_every_edit(&store, chosen, run).await;
    eprintln!("{found} edits, each found");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_connection_wakes_another() {
    let _shared = server::shared().await;
    let place = Place::new("wakes").await;
    let (writer, waiter) = (place.open().await, place.open().await);
    conformance::wakes(&writer, &waiter).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_first_starts_at_once() {
    let _shared = server::shared().await;
    let place = Place::new("first_starts").await;
    let url = place.url();
    let opening = (0..24_u64).map(|number| {
        let url = url.clone();
        tokio::spawn(async move {
            let store = must(Postgres::open(&url, number << 40).await, "open");
            conformance::act(&store, &conformance::small(number)).await;
        })
    });
    for one in opening.collect::<Vec<_>>() {
        must(one.await, "a first start");
    }
    let store = place.open().await;
    let verdict = must(store::verify(&store, &[]).await, "verify");
    assert_eq!((verdict.entries, verdict.findings), (24, Vec::new()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_newer_schema_is_refused() {
    let _shared = server::shared().await;
    let place = Place::new("newer").await;
    drop(place.open().await);
    must(
        place.plain().await.batch_execute("UPDATE handover_meta SET value = 4711 WHERE name = 'schema'").await,
        "age it",
    );
    let Err(fault) = Postgres::open(&place.url(), 1).await else { panic!("a newer database was opened") };
    assert!(matches!(fault, store::Fault::Newer { found: 4711, .. }), "{fault:?}");
}
