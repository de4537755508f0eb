//! The checks that every store must pass. The tests of each backend open a store and call these checks. A check panics
//! when the store fails it.
//!
//! The checks compare a store with [`engine::tables::Tables`], the in-memory tables of the engine. The same commands
//! run on both. The store must give the same answers and end with the same state as these tables.

mod browsers;
mod chance;
mod commands;
mod conversations;
mod crowd;
mod decisions;
mod deliveries;
mod failure;
mod journal;
mod lists;
mod needs;
mod oracle;
mod plans;
mod race;
mod reviews;
mod script;
mod tampering;
mod transfer;
mod turns;
mod wake;
mod work;

use std::fmt::Debug;
use std::sync::{Arc, Mutex, PoisonError};

use engine::{Caller, Change, Command, Need, Rights, Stamp, Timestamp, decide};

use crate::{Job, Row, Store};
use oracle::Oracle;
use script::ConformanceScript;

pub use race::exercise_race;
pub use tampering::{EditedEntries, finds_every_edit};
pub use transfer::{refuses_bad_exports, same_after_transfer};
pub use wake::wakes;

/// A command together with its caller and its stamp (time and random seed), as a store receives them.
#[derive(Debug, Clone)]
pub struct StoreOrder {
    pub caller: Caller,
    pub command: Command,
    pub stamp: Stamp,
}

impl StoreOrder {
    pub fn new(caller: Caller, command: Command, now: i64, seed: u128) -> Self {
        Self { caller, command, stamp: Stamp { now: Timestamp(now), seed } }
    }

    /// Returns this command as the job that [`Store::transact`] takes.
    pub fn job(&self) -> Job {
        let Self { caller, command, stamp } = self.clone();
        Job {
            needs: command.scope(&caller),
            now: stamp.now,
            step: Arc::new(move |world| decide(world, &caller, &command, stamp)),
        }
    }
}

/// Returns a small command for tests: it registers a repository whose path contains this number.
pub fn small(number: u64) -> StoreOrder {
    let command = Command::RegisterRepository { path: small_path(number), name: None };
    let now = 1_700_000_000_000 + i64::try_from(number).unwrap_or(0);
    StoreOrder::new(Caller::with_rights(Rights::Person), command, now, u128::from(number) << 64)
}

fn small_path(number: u64) -> String {
    format!("/small/{number}")
}

/// Returns true when the store holds the repository that [`small`] registers under this number.
pub async fn has_small(store: &dyn Store, number: u64) -> bool {
    let path = small_path(number);
    let world = must(store.look(vec![Need::RepositoryAt(path.clone())], Arc::new(|_| Vec::new())).await, "look");
    world.paths.get(&path).is_some_and(Option::is_some)
}

/// Runs all checks of a store that need one open, empty store.
pub async fn exercise(store: &dyn Store) {
    wake::wakes(store, store).await;
    failure::leaves_nothing(store).await;
    let (mut oracle, never) = same_results_from(store, Oracle::of(store).await, 1, 6_000).await;
    assert!(never.is_empty(), "the script did too little; never accepted: {never:?}");
    crowd::keeps_slugs_apart(store, &mut oracle).await;
    journal::is_sound(store, &oracle).await;
    failure::leaves_nothing(store).await;
}

/// Runs a random script (a sequence of commands) on an empty store, and checks that the answers and the state equal
/// those of the engine's own tables.
pub async fn same_results(store: &dyn Store, seed: u64, steps: usize) {
    let (oracle, _) = same_results_from(store, Oracle::default(), seed, steps).await;
    journal::is_sound(store, &oracle).await;
}

/// Runs a random script (a sequence of commands) on the store and on the oracle (the engine's own tables in memory),
/// which have the same state at the start. Returns the oracle after the script, and the names of the commands that were
/// never accepted.
async fn same_results_from(
    store: &dyn Store,
    mut oracle: Oracle,
    seed: u64,
    steps: usize,
) -> (Oracle, Vec<&'static str>) {
    let mut script = ConformanceScript::new(seed);
    for step in 1..=steps {
        let order = script.next(oracle.tables());
        let change = lock_step(store, &mut oracle, &order, &format!("seed {seed} step {step}")).await;
        script.learn(&order, &change);
        if step % 250 == 0 || step == steps {
            needs::same_answers(store, oracle.tables(), order.stamp.now).await;
        }
    }
    assert_eq!(rows(store).await, oracle.rows(), "seed {seed}: the rows after {steps} steps");
    (oracle, script.never_accepted())
}

/// Runs a command on the store and on the oracle (the engine's own tables in memory). Checks that both give the same
/// reply and the same events.
async fn lock_step(store: &dyn Store, oracle: &mut Oracle, order: &StoreOrder, at: &str) -> Change {
    let expected = oracle.act(order);
    let found = must(store.transact(order.job()).await, &format!("{at}: {order:?}"));
    assert_eq!(found, expected, "{at}: {order:?}");
    found
}

/// Runs a command on the store and returns the change. A fault of the store ends the test. A refusal by the engine's
/// rules does not end the test: it is the reply in the change.
pub async fn act(store: &dyn Store, order: &StoreOrder) -> Change {
    must(store.transact(order.job()).await, &format!("{order:?}"))
}

/// Returns every row of a store. Each row comes with the index of its table in the store's list of tables.
pub async fn rows(store: &dyn Store) -> Vec<(usize, Row)> {
    let all = Arc::new(Mutex::new(Vec::new()));
    let into = Arc::clone(&all);
    let sink = Box::new(move |table: usize, rows: Vec<Row>| {
        let mut all = into.lock().unwrap_or_else(PoisonError::into_inner);
        all.extend(rows.into_iter().map(|row| (table, row)));
        Ok(())
    });
    must(store.dump(sink).await, "dump");
    std::mem::take(&mut *all.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Returns the value of a result. An error ends the test; the message names the failed action.
#[track_caller]
pub fn must<T, E: Debug>(result: Result<T, E>, doing: &str) -> T {
    match result {
        Ok(value) => value,
        Err(error) => panic!("{doing}: {error:?}"),
    }
}
