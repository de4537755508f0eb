//! Kills the PostgreSQL server under load and starts it again. Every acknowledged write must exist exactly once.

#![expect(clippy::unwrap_used, reason = "a proof that cannot go on has failed")]

#[path = "proof/ack.rs"]
mod ack;
#[path = "proof/crew.rs"]
mod crew;
#[path = "proof/ledger.rs"]
#[expect(dead_code, reason = "some checks are for the crash campaign")]
mod ledger;
#[path = "proof/server.rs"]
mod server_process;
#[path = "proof/state.rs"]
mod state;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ack::{Ack, Report};
use base::Error;
use base::Service;
use base::ground::clock::SystemClock;
use chance::SeededRandom;
use crew::{Board, Writer};
use ledger::Ledger;
use server_process::{End, Server};
use state::State;
use store::{Cursor, Fault, Postgres, Store};
use tokio::sync::Notify;
use tokio::task::JoinSet;

const WRITERS: usize = 16;
/// The longest time without an acknowledged write while the server is up. After that the writers count as hung and the
/// test fails.
const SILENCE_MAX: Duration = Duration::from_secs(60);

/// The acknowledged writes and the faults that the writers report while they run.
#[derive(Default)]
struct Said {
    acks: Mutex<Vec<Ack>>,
    count: AtomicUsize,
    heard: Notify,
    faults: Mutex<Vec<String>>,
    stop: AtomicBool,
}

impl Said {
    fn ack(&self, ack: Ack) {
        self.acks.lock().unwrap().push(ack);
        self.count.fetch_add(1, Ordering::SeqCst);
        self.heard.notify_one();
    }

    /// Waits until the writers report this many more acknowledged writes.
    async fn more(&self, wanted: usize) {
        let end = self.count.load(Ordering::SeqCst) + wanted;
        while self.count.load(Ordering::SeqCst) < end {
            let heard = tokio::time::timeout(SILENCE_MAX, self.heard.notified()).await;
            assert!(heard.is_ok(), "nothing was acknowledged for {SILENCE_MAX:?}");
        }
    }
}

#[test]
fn acknowledged_writes_survive_the_postgres_server() {
    let setting = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let seed = setting("HANDOVER_SERVER_SEED").unwrap_or(1);
    let rounds = setting("HANDOVER_SERVER_ROUNDS").unwrap_or(6);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let server = Server::start("killed", 5433);
    let (acks, faults) = runtime.block_on(kill_under_load(&server, seed, rounds));
    let (writes, entries) = runtime.block_on(check(&server, seed, acks));
    println!("{rounds} kills, {writes} acknowledged writes, {entries} entries, seed {seed}");
    assert_eq!(faults, Vec::<String>::new(), "seed {seed}: told to callers though the server came back");
}

async fn kill_under_load(server: &Server, seed: u64, rounds: u64) -> (Vec<Ack>, Vec<String>) {
    let mut rng = SeededRandom::new(seed);
    let said = Arc::new(Said::default());
    let mut tasks = JoinSet::new();
    // Open two stores, which stand for two processes with their own connections.
    for _ in 0..2 {
        let store: Arc<dyn Store> = Arc::new(Postgres::open(&server.url(), seed).await.unwrap());
        let service = Service::new(store, Arc::new(SystemClock));
        let board = Arc::new(Board::read(&service).await.unwrap());
        for _ in 0..WRITERS / 2 {
            tasks.spawn(write(service.clone(), Arc::clone(&board), Arc::clone(&said), SeededRandom::new(rng.word())));
        }
        tasks.spawn(plan(service, board, Arc::clone(&said)));
    }
    for round in 0..rounds {
        said.more(50 + rng.below(300)).await;
        let moment = Duration::from_micros(u64::try_from(rng.below(20_000)).unwrap());
        tokio::time::sleep(moment).await;
        let how = [End::Immediate, End::KillPostmaster, End::KillBackend][usize::try_from(round % 3).unwrap()];
        server.end(how);
        if how != End::KillBackend {
            server.start_again();
        }
    }
    said.more(100).await;
    said.stop.store(true, Ordering::SeqCst);
    while let Some(ended) = tasks.join_next().await {
        ended.unwrap();
    }
    let acks = std::mem::take(&mut *said.acks.lock().unwrap());
    (acks, std::mem::take(&mut *said.faults.lock().unwrap()))
}

async fn write(service: Service, board: Arc<Board>, said: Arc<Said>, rng: SeededRandom) {
    let heard = Arc::clone(&said);
    let report: Report = Arc::new(move |ack| heard.ack(ack));
    let mut writer = Writer::register(service, board, report, rng).await.unwrap();
    while !said.stop.load(Ordering::SeqCst) {
        tell(&said, writer.act().await);
    }
}

async fn plan(service: Service, board: Arc<Board>, said: Arc<Said>) {
    let heard = Arc::clone(&said);
    let report: Report = Arc::new(move |ack| heard.ack(ack));
    while !said.stop.load(Ordering::SeqCst) {
        tell(&said, crew::plan_large(&service, &board, &report).await);
    }
}

fn tell(said: &Said, result: Result<(), Error>) {
    match result {
        Ok(()) | Err(Error::Refused(_)) => {}
        Err(Error::Fault(fault)) => said.faults.lock().unwrap().push(chain(&fault)),
        Err(Error::Random(text)) => panic!("{text}"),
    }
}

fn chain(fault: &Fault) -> String {
    let mut text = fault.to_string();
    let mut cause = std::error::Error::source(fault);
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

async fn check(server: &Server, seed: u64, acks: Vec<Ack>) -> (usize, u64) {
    let store = Postgres::open(&server.url(), seed).await.unwrap();
    let state = State::read(&store).await.unwrap();
    let total = acks.len();
    let ledger = Ledger { acks };
    assert_eq!(ledger.check(&state), Vec::new(), "seed {seed}, {total} acknowledged writes");
    let verdict = store::verify(&store, &[]).await.unwrap();
    assert_eq!(verdict.findings, Vec::new(), "seed {seed}");
    let followed = follow(&store).await;
    assert_eq!(followed, verdict.entries, "seed {seed}: following from the beginning gives every entry once");
    (total, followed)
}

/// Reads the log from the beginning, and returns the number of entries. In every topic, an ordered part of the log, the
/// numbers must have no gap.
async fn follow(store: &Postgres) -> u64 {
    let mut cursor = Cursor::default();
    let mut last: BTreeMap<String, i64> = BTreeMap::new();
    let mut count = 0;
    loop {
        let page = store.follow(cursor, 97).await.unwrap();
        if page.entries.is_empty() {
            return count;
        }
        for entry in page.entries {
            let before = last.insert(entry.topic.clone(), entry.seq).unwrap_or(0);
            assert_eq!(entry.seq, before + 1, "{} out of order", entry.topic);
            count += 1;
        }
        cursor = page.next;
    }
}
