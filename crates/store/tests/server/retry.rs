//! Tests that the store retries a command that the server refuses only for the moment. The caller does not notice the
//! refusal.

use std::sync::Arc;
use std::time::Duration;

use store::conformance::{act, has_small, must, small};

use super::{Place, alone, shared};

/// Checks retries after serialization failures and deadlocks. A trigger refuses the first two tries of each command.
/// The trigger counts the tries with a database sequence, because a rollback does not reset a sequence.
#[tokio::test(flavor = "multi_thread")]
async fn serialization_failures_and_deadlocks_are_tried_again() {
    let _shared = shared().await;
    for code in ["40001", "40P01"] {
        let place = Place::new(&format!("refuses_{code}").to_lowercase()).await;
        let store = place.open().await;
        let plain = place.plain().await;
        let trigger = format!(
            "CREATE SEQUENCE tries; \
             CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
             IF nextval('tries') % 3 <> 0 THEN RAISE EXCEPTION 'not now' USING ERRCODE = '{code}'; END IF; \
             RETURN NEW; END $$; \
             CREATE TRIGGER refuse BEFORE INSERT ON event FOR EACH ROW EXECUTE FUNCTION refuse()"
        );
        must(plain.batch_execute(&trigger).await, "a trigger");
        for number in 0..10 {
            act(&store, &small(number)).await;
        }
        let tries: i64 =
            must(must(plain.query_one("SELECT last_value FROM tries", &[]).await, "ask").try_get(0), "tries");
        assert_eq!(tries, 30, "each was tried three times");
        let verdict = must(store::verify(&store, &[]).await, "verify");
        assert_eq!((verdict.entries, verdict.findings), (10, Vec::new()), "and done once");
    }
}

/// Checks the retry after a real deadlock. A database session outside of the store holds a row that the store's command
/// wants, and then wants a lock that this command holds. The server ends the transaction of the store, because the
/// other session has the longer deadlock timeout.
#[tokio::test(flavor = "multi_thread")]
async fn a_real_deadlock_is_tried_again() {
    let _alone = alone().await;
    let place = Place::new("deadlock").await;
    let store = Arc::new(place.open().await);
    act(store.as_ref(), &small(1)).await;
    let (foreign, watcher) = (place.plain().await, place.plain().await);
    let begin = "SET deadlock_timeout = '60s'; BEGIN; SELECT 1 FROM topic FOR UPDATE";
    must(foreign.batch_execute(begin).await, "hold the row");
    let ours = tokio::spawn({
        let store = Arc::clone(&store);
        async move { act(store.as_ref(), &small(2)).await }
    });
    let held = "SELECT (classid::bigint << 32) | objid::bigint FROM pg_locks JOIN pg_stat_activity USING (pid) \
                WHERE locktype = 'advisory' AND granted AND application_name = 'test_deadlock' AND wait_event_type = 'Lock'";
    let key = loop {
        if let Some(row) = must(watcher.query_opt(held, &[]).await, "look for locks") {
            break must(row.try_get::<_, i64>(0), "a key");
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    };
    // This query waits for the lock that the store's transaction holds. So it returns only after the server ended that
    // transaction.
    must(foreign.query("SELECT pg_advisory_xact_lock($1)::text", &[&key]).await, "take its lock");
    must(foreign.batch_execute("COMMIT").await, "go away");
    must(ours.await, "our command");
    assert!(has_small(store.as_ref(), 2).await, "it was done");
    let sql = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()";
    let mut seen = 0;
    for _ in 0..100 {
        seen = must(must(watcher.query_one(sql, &[]).await, "ask").try_get::<_, i64>(0), "a count");
        if seen > 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(seen > 0, "the server knows of no deadlock");
    assert_eq!(must(store::verify(store.as_ref(), &[]).await, "verify").findings, []);
}
