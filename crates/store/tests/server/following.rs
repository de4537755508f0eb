//! Tests of following the log while transactions are delayed, overlap or stay open.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use engine::id::AgentId;
use store::conformance::{act, must};
use store::{Cursor, Entry, Store};

use super::{Place, agents, alone, message, shared};

/// Triggers that delay the inserts of log entries and the commits. A transaction gets its number when it inserts its
/// first row, and its log entries get their positions a while later. So the order of the transaction numbers differs
/// from the order of the positions.
const PAUSES: &str = "CREATE FUNCTION pause() RETURNS trigger LANGUAGE plpgsql AS $$ \
     BEGIN PERFORM pg_sleep(random() * 0.015); RETURN NEW; END $$; \
     CREATE TRIGGER after_number AFTER INSERT ON message FOR EACH ROW EXECUTE FUNCTION pause(); \
     CREATE TRIGGER before_entry BEFORE INSERT ON event FOR EACH ROW EXECUTE FUNCTION pause(); \
     CREATE CONSTRAINT TRIGGER before_commit AFTER INSERT ON event DEFERRABLE INITIALLY DEFERRED \
     FOR EACH ROW EXECUTE FUNCTION pause()";

const WRITERS: u64 = 12;
const MESSAGES: u64 = 15;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn misses_nothing_while_transactions_pause() {
    let _shared = shared().await;
    let place = Arc::new(Place::new("follow").await);
    let first = place.open().await;
    let agents = Arc::new(agents(&first, 10).await);
    must(place.plain().await.batch_execute(PAUSES).await, "pauses");
    let over = Arc::new(AtomicBool::new(false));
    let expected = must(usize::try_from(10 + WRITERS * MESSAGES), "a number");
    let tail = tokio::spawn(tail(Arc::clone(&place), expected));
    let strangers: Vec<_> = (0..3)
        .map(|place_in_line| {
            tokio::spawn(stranger(Arc::clone(&place), Arc::clone(&agents), place_in_line, Arc::clone(&over)))
        })
        .collect();
    let mut writers = Vec::new();
    for _ in 0..3 {
        let store = Arc::new(place.open().await);
        for _ in 0..WRITERS / 3 {
            let (store, agents) = (Arc::clone(&store), Arc::clone(&agents));
            let writer = u64::try_from(writers.len()).unwrap_or(0);
            writers.push(tokio::spawn(async move {
                for number in 0..MESSAGES {
                    let to = agents[usize::try_from((writer * 7 + number * 3) % 10).unwrap_or(0)];
                    act(store.as_ref(), &message(to, writer * 1_000 + number)).await;
                }
            }));
        }
    }
    for writer in writers {
        must(writer.await, "a writer");
    }
    over.store(true, Ordering::SeqCst);
    for stranger in strangers {
        must(stranger.await, "a stranger");
    }
    let found = must(tail.await, "the follower");
    let mut topics: BTreeMap<&str, i64> = BTreeMap::new();
    for entry in &found {
        let last = topics.entry(&entry.topic).or_default();
        assert_eq!(entry.seq, *last + 1, "{} came out of order", entry.topic);
        *last = entry.seq;
    }
    assert_eq!(found.len(), expected, "every entry came once");
    let verdict = must(store::verify(&first, &[]).await, "verify");
    assert_eq!((usize::try_from(verdict.entries), verdict.findings), (Ok(found.len()), Vec::new()));
}

/// Follows the log in small pages until all expected entries came and no more come.
async fn tail(place: Arc<Place>, expected: usize) -> Vec<Entry> {
    let store = place.open().await;
    let (mut watch, mut cursor, mut found, mut patience) = (store.watch(), Cursor::default(), Vec::new(), 3_000);
    loop {
        let page = must(store.follow(cursor, 5).await, "follow");
        if page.entries.is_empty() {
            if found.len() >= expected {
                return found;
            }
            patience -= 1;
            assert!(patience > 0, "only {} entries of {expected} came", found.len());
            watch.changed(Duration::from_millis(20)).await;
        }
        cursor = page.next;
        found.extend(page.entries);
    }
}

/// Runs transactions that do not belong to the store. Each gets its transaction number before it waits for the lock of
/// a topic (log) that the store's writers also need.
async fn stranger(place: Arc<Place>, agents: Arc<Vec<AgentId>>, number: usize, over: Arc<AtomicBool>) {
    let client = place.plain().await;
    while !over.load(Ordering::SeqCst) {
        let lock = format!("SELECT pg_advisory_xact_lock(hashtextextended('agents/{}', 0))", agents[number * 3]);
        let transaction = format!("BEGIN; SELECT pg_current_xact_id(); {lock}; SELECT pg_sleep(0.03); COMMIT");
        must(client.batch_execute(&transaction).await, "a stranger's transaction");
    }
}

/// Checks that a follower of the log sees a commit as soon as the older open transaction that hid it has ended. No
/// other write happens that could wake the follower instead.
#[tokio::test(flavor = "multi_thread")]
async fn is_woken_when_an_open_transaction_no_longer_holds_entries_back() {
    let _alone = alone().await;
    let place = Place::new("horizon").await;
    let (store, follower) = (place.open().await, place.open().await);
    let agent = agents(&store, 1).await[0];
    let mut watch = follower.watch();
    let mut cursor = Cursor::default();
    while cursor == Cursor::default() {
        cursor = must(follower.follow(cursor, 10).await, "follow").next;
        watch.changed(Duration::from_millis(20)).await;
    }
    let open = place.plain().await;
    must(open.batch_execute("BEGIN; SELECT pg_current_xact_id()").await, "an open transaction");
    act(&store, &message(agent, 1)).await;
    // Wait until all wake-ups that the commit itself caused are over.
    while watch.changed(Duration::from_millis(2_500)).await {
        assert_eq!(must(follower.follow(cursor, 10).await, "follow").entries, [], "what could still be overtaken");
    }
    must(open.batch_execute("COMMIT").await, "end it");
    let mut seen = must(follower.follow(cursor, 10).await, "follow").entries.len();
    let mut tries = 0;
    while seen == 0 {
        assert!(watch.changed(Duration::from_secs(10)).await, "nobody was woken");
        seen = must(follower.follow(cursor, 10).await, "follow").entries.len();
        tries += 1;
        assert!(tries < 1_000, "the entry does not come");
    }
}
