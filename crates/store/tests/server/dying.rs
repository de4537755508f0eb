//! Tests with database connections that are killed at random moments, under load.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use store::Store;
use store::conformance::{act, must, small};
use tokio_postgres::Client;

use super::{Place, agents, alone, mailbox, message, shared};

const WRITERS: u64 = 8;
const MESSAGES: u64 = 60;

/// Kills the server's connections that match an SQL condition. Returns the number of killed connections.
async fn kill(client: &Client, which: &str) -> usize {
    let sql = format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {which}");
    must(client.query(&sql, &[]).await, "kill").len()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nothing_acknowledged_is_lost_and_nothing_is_done_twice() {
    let _shared = shared().await;
    let place = Arc::new(Place::new("dying").await);
    let store = Arc::new(place.open().await);
    let agents = Arc::new(agents(store.as_ref(), 4).await);
    let over = Arc::new(AtomicBool::new(false));
    let killer = tokio::spawn({
        let (place, over) = (Arc::clone(&place), Arc::clone(&over));
        async move {
            let client = place.plain().await;
            let mut killed = 0;
            while !over.load(Ordering::SeqCst) {
                must(client.batch_execute("SELECT pg_sleep(0.005 + random() * 0.03)").await, "pause");
                // Kill the connections that are in the middle of a command, and some of the other connections.
                killed += kill(
                    &client,
                    "application_name = 'test_dying' AND (random() < 0.3 OR state = 'active' OR state LIKE 'idle in%')",
                )
                .await;
            }
            killed
        }
    });
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let (store, agents) = (Arc::clone(&store), Arc::clone(&agents));
            tokio::spawn(async move {
                for number in 0..MESSAGES {
                    let to = agents[usize::try_from((writer + number) % 4).unwrap_or(0)];
                    act(store.as_ref(), &message(to, writer * 1_000 + number)).await;
                }
            })
        })
        .collect();
    for writer in writers {
        must(writer.await, "a writer met a fault");
    }
    over.store(true, Ordering::SeqCst);
    let killed = must(killer.await, "the killer");
    assert!(killed > 20, "only {killed} connections were killed");
    let mut found = Vec::new();
    for agent in agents.iter() {
        let bodies = mailbox(store.as_ref(), *agent).await;
        for writer in 0..WRITERS {
            let own: Vec<u64> = bodies.iter().copied().filter(|body| body / 1_000 == writer).collect();
            assert!(own.is_sorted(), "messages of one sender keep their order: {own:?}");
        }
        found.extend(bodies);
    }
    found.sort_unstable();
    let sent: Vec<u64> =
        (0..WRITERS).flat_map(|writer| (0..MESSAGES).map(move |number| writer * 1_000 + number)).collect();
    assert_eq!(found, sent, "each message is there, once");
    assert_eq!(must(store::verify(store.as_ref(), &[]).await, "verify").findings, []);
}

/// Checks that a change is not made twice when the answer to its commit is lost. The test makes the server wait for a
/// standby server that never answers. So a commit is durable but not acknowledged. When the connection is killed at
/// that moment, the answer is lost, and the store must find out that the change was made.
#[tokio::test(flavor = "multi_thread")]
async fn a_lost_answer_to_a_commit_is_found_out() {
    let _alone = alone().await;
    let place = Place::new("fate").await;
    let store = Arc::new(place.open().await);
    let agent = agents(store.as_ref(), 1).await[0];
    let client = place.plain().await;
    let wait_for = async |standby: &str| {
        must(client.batch_execute(&format!("ALTER SYSTEM SET synchronous_standby_names = '{standby}'")).await, "set");
        must(client.batch_execute("SELECT pg_reload_conf()").await, "reload");
    };
    wait_for("nobody").await;
    let mut sent = 0;
    let mut last = loop {
        sent += 1;
        let sending = tokio::spawn({
            let store = Arc::clone(&store);
            async move { store.transact(message(agent, sent).job()).await }
        });
        let mut killed = 0;
        while killed == 0 && !sending.is_finished() {
            killed = kill(&client, "application_name = 'test_fate' AND wait_event = 'SyncRep'").await;
        }
        // The first commits may not wait for the standby yet, because the server needs a moment to apply the new
        // setting. So send further messages until a waiting commit was killed.
        if killed > 0 || sent > 1_000 {
            break sending;
        }
    };
    let answer = tokio::time::timeout(crate::busy::patience(Duration::from_secs(20)), &mut last).await;
    wait_for("").await;
    assert!(sent <= 1_000, "no commit ever waited");
    let answer = must(must(must(answer, "an answer"), "the sender"), "the command whose answer was lost");
    assert!(answer.reply.is_ok(), "{answer:?}");
    act(store.as_ref(), &message(agent, sent + 1)).await;
    assert!(mailbox(store.as_ref(), agent).await.into_iter().eq(1..=sent + 1), "each message is there, once");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_survives_the_loss_of_its_connection() {
    let _shared = shared().await;
    let place = Place::new("deaf").await;
    let (writer, waiter) = (place.open().await, place.open().await);
    let mut watch = waiter.watch();
    act(&writer, &small(1)).await;
    assert!(watch.changed(Duration::from_secs(10)).await, "it works to begin with");
    let client = place.plain().await;
    let mut listeners = 0;
    while listeners == 0 {
        listeners = kill(&client, "application_name = 'test_deaf' AND query ILIKE 'LISTEN%'").await;
    }
    for number in 2..5 {
        while watch.changed(Duration::from_millis(50)).await {}
        act(&writer, &small(number)).await;
        assert!(watch.changed(Duration::from_secs(5)).await, "nobody was woken after the loss");
    }
    kill(&client, "application_name = 'test_deaf'").await;
    while watch.changed(Duration::from_millis(50)).await {}
    act(&writer, &small(9)).await;
    assert!(watch.changed(Duration::from_secs(5)).await, "nobody was woken after all connections were lost");
}
