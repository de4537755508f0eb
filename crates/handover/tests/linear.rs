//! Tests that claims of tasks are linearizable. The test records the calls of concurrent clients on real stores, and
//! checks that the answers follow the rules of a lease in some order of the calls.
//!
//! The clients have clocks that are wrong and jump past the ends of leases. They use old claims, repeat their calls,
//! and disconnect in the middle of a call. `HANDOVER_LINEAR_ROUNDS` sets the number of rounds. A failure prints the
//! seed of its round, and `HANDOVER_LINEAR_SEED` repeats that round.

#![expect(clippy::unwrap_used, reason = "a proof that cannot go on has failed")]

#[path = "proof/checker.rs"]
mod checker;
#[path = "proof/clients.rs"]
mod clients;
#[path = "proof/lease.rs"]
mod lease;
#[path = "proof/server.rs"]
#[expect(dead_code, reason = "this server is not killed")]
mod server;

use std::sync::Arc;

use checker::{Call, check};
use clients::Round;
use engine::Timestamp;
use lease::{Act, Answer, By, LEASE_MS};
use server::Server;
use store::{MemoryStore, Postgres, Sqlite, Store};

fn setting(name: &str) -> Option<u64> {
    Some(std::env::var(name).ok()?.parse().unwrap())
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// Runs rounds in which clients call the stores concurrently, and checks the history of every task. Returns the number
/// of calls.
async fn rounds(stores: &[Arc<dyn Store>], count: u64) -> usize {
    let seeds = match setting("HANDOVER_LINEAR_SEED") {
        Some(seed) => seed..seed + 1,
        None => 1..1 + setting("HANDOVER_LINEAR_ROUNDS").unwrap_or(count),
    };
    let mut calls = 0;
    for seed in seeds {
        for history in Round::new(seed, stores).await.run().await {
            calls += history.len();
            if let Err(offence) = check(&history) {
                panic!("seed {seed}: {offence}");
            }
        }
    }
    calls
}

#[test]
fn claims_are_linearizable_on_sqlite() {
    let files = tempfile::tempdir().unwrap();
    let path = files.path().join("handover.db");
    let calls = runtime().block_on(async {
        let mut stores: Vec<Arc<dyn Store>> = Vec::new();
        for seed in 0..3 {
            stores.push(Arc::new(Sqlite::open(&path, seed).await.unwrap()));
        }
        rounds(&stores, 60).await
    });
    println!("{calls} calls");
}

#[test]
fn claims_are_linearizable_on_postgres() {
    let server = Server::start("linear", 5434);
    let calls = runtime().block_on(async {
        let mut stores: Vec<Arc<dyn Store>> = Vec::new();
        for seed in 0..2 {
            stores.push(Arc::new(Postgres::open(&server.url(), seed).await.unwrap()));
        }
        rounds(&stores, 30).await
    });
    println!("{calls} calls");
}

/// Returns histories (the calls of all clients on one task) of real runs. The tests below change an answer in a
/// history, and the checker must find the change.
fn histories() -> Vec<Vec<Call>> {
    runtime().block_on(async {
        let stores: Vec<Arc<dyn Store>> = vec![Arc::new(MemoryStore::default())];
        let mut histories = Vec::new();
        for seed in 1..=30 {
            histories.extend(Round::new(seed, &stores).await.run().await);
        }
        histories
    })
}

/// Plants a fault: changes one answer in each history (the calls of all clients on one task) that has a suitable
/// answer. Returns the number of changed histories, and the number of these histories that the checker rejects.
fn planted(change: impl Fn(&[Call], &Call) -> Option<Answer>) -> (usize, usize) {
    let (mut planted, mut found) = (0, 0);
    for mut history in histories() {
        assert_eq!(check(&history), Ok(()));
        let lie = (0..history.len()).rev().find_map(|place| Some((place, change(&history, &history[place])?)));
        let Some((place, lie)) = lie else { continue };
        planted += 1;
        let (ended, _) = history[place].answer.unwrap();
        history[place].answer = Some((ended, lie));
        if let Err(offence) = check(&history) {
            assert!(!offence.before.is_empty() && !offence.calls.is_empty(), "{offence}");
            found += 1;
        }
    }
    assert!(planted > 5, "only {planted} histories had something to falsify");
    (planted, found)
}

fn claims(history: &[Call]) -> impl Iterator<Item = (&Call, u32)> {
    history.iter().filter_map(|call| match call.answer {
        Some((_, Answer::Claimed { attempt, .. })) => Some((call, attempt)),
        _ => None,
    })
}

#[test]
fn a_planted_double_claim_is_found() {
    // Planted fault: an agent that got the answer "held by another agent" gets a claim instead, with the attempt number
    // of the real holder.
    let (planted, found) = planted(|history, call| {
        let Some((_, Answer::HeldBy(holder))) = call.answer else { return None };
        let (given, attempt) = claims(history).find(|(given, _)| given.by.agent == holder)?;
        let Some((_, Answer::Claimed { until, .. })) = given.answer else { return None };
        Some(Answer::Claimed { attempt, until })
    });
    assert_eq!(found, planted);
}

#[test]
fn a_planted_write_of_a_stale_attempt_is_found() {
    // Planted fault: an agent that got the answer "claim lost" gets the answer "completed" instead, although another
    // agent has claimed a later attempt.
    let (planted, found) = planted(|history, call| {
        let (Act::Complete { attempt: Some(stale) }, Some((_, Answer::Lost { .. }))) = (call.act, call.answer) else {
            return None;
        };
        let newer = |(given, attempt): (&Call, u32)| {
            attempt > stale && given.answer.is_some_and(|(ended, _)| ended < call.began)
        };
        claims(history).any(newer).then_some(Answer::Completed)
    });
    assert_eq!(found, planted);
}

#[test]
fn a_planted_lost_completion_is_found() {
    // Planted fault: an agent whose claim was refused, because the task was already completed, gets the claim instead.
    let (planted, found) = planted(|history, call| {
        let done = history.iter().find(|it| matches!(it.answer, Some((_, Answer::Completed))))?;
        let (_, attempt) = claims(history).find(|(given, _)| given.by.agent == done.by.agent)?;
        let is_refused = call.began > done.answer?.0 && matches!(call.answer, Some((_, Answer::Refused)));
        let until = Timestamp(call.by.now.0 + i64::from(LEASE_MS));
        is_refused.then_some(Answer::Claimed { attempt: attempt + 1, until })
    });
    assert_eq!(found, planted);
}

#[test]
fn the_checker_knows_what_is_allowed() {
    let [a, b] = ["ag_00000000000a", "ag_00000000000b"].map(|id| id.parse().unwrap());
    let call = |agent, act, began, answer| Call { by: By { agent, now: Timestamp(0) }, act, began, answer };
    let claimed = Answer::Claimed { attempt: 1, until: Timestamp(i64::from(LEASE_MS)) };
    let two_at_once = |second| [call(a, Act::Claim, 1, Some((4, claimed))), call(b, Act::Claim, 2, Some((3, second)))];
    assert_eq!(check(&two_at_once(Answer::HeldBy(a))), Ok(()), "the first to begin need not be the first to end");
    let offence = check(&two_at_once(claimed)).unwrap_err();
    assert_eq!(offence.calls.last(), Some(&call(a, Act::Claim, 1, Some((4, claimed)))), "{offence}");

    let gone = [call(a, Act::Claim, 1, None), call(b, Act::Claim, 5, Some((6, Answer::HeldBy(a))))];
    assert_eq!(check(&gone), Ok(()), "a client that went away may have been served");
    let unserved = [call(a, Act::Claim, 1, None), call(b, Act::Claim, 5, Some((6, claimed)))];
    assert_eq!(check(&unserved), Ok(()), "or not");
    let too_early = [call(b, Act::Claim, 1, Some((2, Answer::HeldBy(a)))), call(a, Act::Claim, 3, Some((4, claimed)))];
    assert!(check(&too_early).is_err(), "but not before it began");
}
