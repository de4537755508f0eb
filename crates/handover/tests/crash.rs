//! Kills processes with `SIGKILL` at random moments while they write to a SQLite store, and checks that no acknowledged
//! write is missing.
//!
//! A short run is part of the tests; `scripts/prove crash` makes a long run. A seed decides the plan of every round of
//! writing and killing, and a failure prints the seed. The exact moment of a kill also depends on the machine, so a
//! seed repeats the plan but not the exact moment.

#![expect(clippy::unwrap_used, reason = "a proof that cannot go on has failed")]

#[path = "proof/ack.rs"]
mod ack;
#[path = "proof/child.rs"]
mod child;
#[path = "proof/crew.rs"]
mod crew;
#[path = "proof/ledger.rs"]
mod ledger;
#[path = "proof/state.rs"]
mod state;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use ack::{Ack, Report};
use base::Service;
use base::ground::clock::{Clock, SystemClock};
use chance::SeededRandom;
use child::{Running, Word, say};
use crew::{Board, Writer};
use engine::Timestamp;
use ledger::{Ledger, Problem, Problems};
use serde::{Deserialize, Serialize};
use state::State;
use store::Sqlite;

/// The number of rounds of writing and killing on one database file. Then a new file is used, so that a long run does
/// not spend its time on reading old rows.
const ROUNDS_PER_FILE: usize = 5;
/// The longest time without a message from a child process. After that the child counts as hung and the test fails.
const SILENCE_MAX: Duration = Duration::from_secs(30);
/// The longest random wait, in microseconds, between the start of a large plan and the kill. Writing such a plan takes
/// several transactions and about this long, so the kill usually happens in the middle of it.
const PLAN_MICROS: usize = if cfg!(debug_assertions) { 300_000 } else { 80_000 };
/// The time, in milliseconds, by which the test's clock advances between two rounds of writing and killing. It is
/// longer than a lease (a claim on a task) lasts, and longer than the store keeps an unfinished plan.
const ROUND_MS: i64 = 120_000;

/// The instructions for one child process, which writes to the store until it is killed.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Order {
    path: PathBuf,
    seed: u64,
    shift_ms: i64,
    writers: usize,
    /// True if one of the writers sets large plans, which are written in several transactions.
    plans: bool,
}

/// A clock that is this many milliseconds ahead of the machine's clock.
struct Ahead(i64);

impl Clock for Ahead {
    fn now(&self) -> Timestamp {
        Timestamp(SystemClock.now().0 + self.0)
    }
}

#[test]
fn acknowledged_writes_survive_sigkill() {
    if let Some(order) = child::order::<Order>() {
        return runtime().block_on(write_until_killed(order));
    }
    let rounds = setting("HANDOVER_CRASH_ROUNDS").unwrap_or(12);
    let seed = setting("HANDOVER_CRASH_SEED").unwrap_or(1);
    let figures = campaign(usize::try_from(rounds).unwrap(), seed);
    println!("{}", figures.table());
    assert!(figures.problems.is_empty(), "seed {seed}: {:#?}", figures.problems);
    assert!(figures.acks > 0, "seed {seed}: nothing was acknowledged, so nothing was tested");
}

/// A system call at which the child process is killed, just before it makes the call.
struct Moment {
    call: &'static str,
    /// The suffix of the name of the file that the call is about, such as `-wal`.
    file: &'static str,
    /// The kill happens at a randomly chosen call among the first calls of this kind. This is the number of calls to
    /// choose from.
    calls: usize,
}

/// The system calls at which a kill may happen. A commit writes pages to the write-ahead log and syncs it. A checkpoint
/// writes pages to the database file and syncs that file.
const MOMENTS: &[Moment] = &[
    Moment { call: "pwrite64", file: "-wal", calls: 400 },
    Moment { call: "fsync", file: "-wal", calls: 40 },
    Moment { call: "pwrite64", file: "", calls: 60 },
    Moment { call: "fsync", file: "", calls: 2 },
];

#[test]
fn acknowledged_writes_survive_sigkill_in_the_middle_of_a_commit() {
    const NAME: &str = "acknowledged_writes_survive_sigkill_in_the_middle_of_a_commit";
    if let Some(order) = child::order::<Order>() {
        return runtime().block_on(write_until_killed(order));
    }
    let seed = setting("HANDOVER_CRASH_SEED").unwrap_or(1);
    let mut rng = SeededRandom::new(seed);
    let mut figures = Figures::default();
    for moment in MOMENTS {
        let files = tempfile::tempdir().unwrap();
        let path = files.path().join("handover.db");
        let mut ledger = Ledger::default();
        for round in 0..3 {
            let shift_ms = ROUND_MS * round;
            let order = Order { path: path.clone(), seed: rng.word(), shift_ms, writers: 8, plans: false };
            let file = format!("{}{}", path.display(), moment.file);
            let when = 1 + rng.below(moment.calls);
            let inject = format!("inject={}:signal=KILL:when={when}", moment.call);
            let trace = format!("trace={}", moment.call);
            let tracer = ["strace", "-f", "-qq", "-P", &file, "-e", &trace, "-e", &inject, "-o", "/dev/null"];
            let (words, heard) = channel();
            let running = child::start(NAME, &tracer, &order, &words);
            drop(words);
            let mut problems = Problems::new();
            loop {
                match heard.recv_timeout(SILENCE_MAX) {
                    Ok(word) => problems.extend(take(word, &mut ledger)),
                    Err(RecvTimeoutError::Disconnected) => break,
                    Err(RecvTimeoutError::Timeout) => panic!("seed {seed}: {inject} on {file}: silent"),
                }
            }
            assert!(!running.end(), "it was killed");
            problems.extend(runtime().block_on(check(&path, shift_ms, &ledger, &mut figures)));
            assert_eq!(problems, Vec::new(), "seed {seed}, round {round}: {inject} on {file}");
        }
    }
}

fn micros(count: usize) -> Duration {
    Duration::from_micros(u64::try_from(count).unwrap())
}

fn setting(name: &str) -> Option<u64> {
    Some(std::env::var(name).ok()?.parse().unwrap())
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

async fn write_until_killed(order: Order) {
    let report: Report = Arc::new(|ack| say(&Word::Ack(ack)));
    let fault = |error: &dyn std::fmt::Display| {
        let text = format!("{error}");
        say(&Word::Fault { asked: String::new(), text, unknown: false });
    };
    let store = match Sqlite::open(&order.path, order.seed).await {
        Ok(store) => store,
        Err(error) => return fault(&error),
    };
    let service = Service::new(Arc::new(store), Arc::new(Ahead(order.shift_ms)));
    let board = Arc::new(Board::read(&service).await.unwrap());
    let mut rng = SeededRandom::new(order.seed);
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..order.writers {
        let (service, board, report) = (service.clone(), Arc::clone(&board), Arc::clone(&report));
        let rng = SeededRandom::new(rng.word());
        tasks.spawn(async move {
            let mut writer = Writer::register(service, board, report, rng).await?;
            loop {
                writer.act().await?;
            }
        });
    }
    if order.plans {
        tasks.spawn(async move {
            loop {
                crew::plan_large(&service, &board, &report).await?;
            }
        });
    }
    // The writers work until the test kills the process. A writer returns earlier only when the store failed.
    while let Some(ended) = tasks.join_next().await {
        let Err(error): Result<std::convert::Infallible, base::Error> = ended.unwrap();
        fault(&error);
    }
}

#[derive(Debug, Default)]
struct Figures {
    seed: u64,
    rounds: usize,
    kills: usize,
    acks: usize,
    /// The number of plans that the checks found half written, because a writer was killed between two transactions of
    /// a plan.
    drafts: usize,
    entries: u64,
    seconds: f64,
    problems: Vec<(usize, Problem, String)>,
}

impl Figures {
    fn table(&self) -> String {
        let mut counts: BTreeMap<Problem, usize> = BTreeMap::new();
        for (_, problem, _) in &self.problems {
            *counts.entry(*problem).or_default() += 1;
        }
        let count = |problem| counts.get(&problem).copied().unwrap_or(0).to_string();
        let rows = [
            ("seed", self.seed.to_string()),
            ("rounds", self.rounds.to_string()),
            ("processes killed", self.kills.to_string()),
            ("acknowledged writes", self.acks.to_string()),
            ("plans found half written, and hidden", self.drafts.to_string()),
            ("log entries verified", self.entries.to_string()),
            ("lost", count(Problem::Lost)),
            ("double claims", count(Problem::DoubleClaim)),
            ("half-done", count(Problem::HalfDone)),
            ("wrong counters", count(Problem::Miscounted)),
            ("verification failures", count(Problem::Unverified)),
            ("faults told to callers", count(Problem::Fault)),
            ("seconds", format!("{:.0}", self.seconds)),
        ];
        let line = |(name, value): &(&str, String)| format!("| {name} | {value} |\n");
        format!("\n| what | figure |\n|---|---|\n{}", rows.iter().map(line).collect::<String>())
    }
}

fn campaign(rounds: usize, seed: u64) -> Figures {
    #[expect(clippy::disallowed_methods, reason = "measures the run")]
    let began = Instant::now();
    let mut figures = Figures { seed, rounds, ..Figures::default() };
    let mut rng = SeededRandom::new(seed);
    let mut files = tempfile::tempdir().unwrap();
    let mut ledger = Ledger::default();
    for round in 0..rounds {
        let place = round % ROUNDS_PER_FILE;
        if place == 0 {
            files = tempfile::tempdir().unwrap();
            ledger = Ledger::default();
        }
        let path = files.path().join("handover.db");
        let shift_ms = ROUND_MS * i64::try_from(place).unwrap();
        let before = ledger.acks.len();
        let processes = if round % 4 == 3 { 3 } else { 1 };
        let site = Site { path: &path, shift_ms, processes };
        let mut problems = kill_writers(&site, &mut rng, &mut ledger, &mut figures);
        figures.acks += ledger.acks.len() - before;
        // In half of the rounds the check opens a copy of the database file. Then the check does not recover the
        // original file, and the next writers must recover it themselves.
        let copy = tempfile::tempdir().unwrap();
        let looked_at = if rng.percent(50) { copy_of(&path, copy.path()) } else { path };
        problems.extend(runtime().block_on(check(&looked_at, shift_ms, &ledger, &mut figures)));
        if (round + 1) % 100 == 0 {
            eprintln!("{} rounds, {} acknowledged writes", round + 1, figures.acks);
        }
        figures.problems.extend(problems.into_iter().map(|(problem, text)| (round, problem, text)));
        if !figures.problems.is_empty() {
            break;
        }
    }
    figures.seconds = began.elapsed().as_secs_f64();
    figures
}

/// The database file, the clock shift and the number of processes for one round of writing and killing.
struct Site<'a> {
    path: &'a Path,
    shift_ms: i64,
    processes: usize,
}

/// Starts one or more processes of writers, waits for a random number of acknowledged writes, and kills the processes.
fn kill_writers(site: &Site<'_>, rng: &mut SeededRandom, ledger: &mut Ledger, figures: &mut Figures) -> Problems {
    let (words, heard) = channel();
    let mut children: Vec<Running> = Vec::new();
    let plans = rng.percent(30);
    for _ in 0..site.processes {
        let (path, writers) = (site.path.to_owned(), 8 / site.processes);
        let order = Order { path, seed: rng.word(), shift_ms: site.shift_ms, writers, plans };
        children.push(child::start("acknowledged_writes_survive_sigkill", &[], &order, &words));
    }
    let mut problems = Problems::new();
    while !children.is_empty() {
        let (until, linger) = match rng.below(100) {
            // Do not wait for a new acknowledged write. So the kill often hits a process that still creates or recovers
            // the database file.
            0..15 => (Until::Acks(ledger.acks.len()), 60_000),
            _ if plans => (Until::LargePlan, PLAN_MICROS),
            _ => (Until::Acks(ledger.acks.len() + rng.below(300)), 4_000),
        };
        problems.extend(listen(&heard, until, micros(rng.below(linger)), ledger));
        // The processes that are still alive continue to write after this kill. The next pass of the loop waits for
        // their acknowledged writes.
        children.swap_remove(rng.below(children.len())).end();
        figures.kills += 1;
    }
    problems.extend(heard.try_iter().filter_map(|word| take(word, ledger)));
    problems
}

/// The condition that must be met before the test kills a process of writers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Until {
    /// The kill waits until this many writes were acknowledged in total.
    Acks(usize),
    /// The kill waits until a writer has started to set a large plan, which is written in several transactions.
    LargePlan,
}

impl Until {
    /// Tells whether the acknowledged writes so far are enough for the kill.
    fn is_over(self, acks: &[Ack]) -> bool {
        match self {
            Self::Acks(wanted) => acks.len() >= wanted,
            Self::LargePlan => {
                matches!(acks.last(), Some(Ack::Created { tasks, .. }) if *tasks >= crew::LARGE_PLAN)
            }
        }
    }
}

/// Records acknowledged writes in the ledger until the condition `until` is met, and then for the time `linger`.
fn listen(heard: &Receiver<Word>, until: Until, linger: Duration, ledger: &mut Ledger) -> Problems {
    let mut problems = Problems::new();
    while problems.is_empty() && !until.is_over(&ledger.acks) {
        match heard.recv_timeout(SILENCE_MAX) {
            Ok(word) => problems.extend(take(word, ledger)),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                problems.push((Problem::Fault, format!("nothing was acknowledged for {SILENCE_MAX:?}")));
                return problems;
            }
        }
    }
    #[expect(clippy::disallowed_methods, reason = "bounds how long the writers live on")]
    let end = Instant::now() + linger;
    #[expect(clippy::disallowed_methods, reason = "bounds how long the writers live on")]
    while let Ok(word) = heard.recv_timeout(end.saturating_duration_since(Instant::now())) {
        problems.extend(take(word, ledger));
    }
    problems
}

fn take(word: Word, ledger: &mut Ledger) -> Option<(Problem, String)> {
    match word {
        Word::Ack(ack) => {
            ledger.acks.push(ack);
            None
        }
        Word::Fault { text, .. } | Word::Done(text) => Some((Problem::Fault, text)),
    }
}

/// Copies the database file and its write-ahead log as the kill left them. The index of the log is not copied, so
/// SQLite rebuilds it, as after a power cut.
fn copy_of(path: &Path, folder: &Path) -> PathBuf {
    for end in ["", "-wal"] {
        let name = format!("handover.db{end}");
        let from = path.with_file_name(&name);
        if from.exists() {
            std::fs::copy(from, folder.join(name)).unwrap();
        }
    }
    folder.join("handover.db")
}

/// Opens the database file as the next process would, and compares its content with the ledger of acknowledged writes.
async fn check(path: &Path, shift_ms: i64, ledger: &Ledger, figures: &mut Figures) -> Problems {
    let store = match Sqlite::open(path, 1).await {
        Ok(store) => Arc::new(store),
        Err(fault) => return vec![(Problem::Fault, format!("the next start: {fault}"))],
    };
    let service = Service::new(Arc::clone(&store) as Arc<_>, Arc::new(Ahead(shift_ms)));
    let state = State::read(&*store).await.unwrap();
    let mut problems = ledger.check(&state);
    problems.extend(ledger::drafts_are_hidden(&service, &state).await);
    figures.drafts += state
        .workflows
        .keys()
        .filter(|id| !state.is_planned(**id) && state.tasks.values().any(|task| task.workflow == **id))
        .count();
    let verdict = store::verify(&*store, &[]).await.unwrap();
    figures.entries += verdict.entries;
    problems.extend(verdict.findings.iter().map(|finding| (Problem::Unverified, finding.to_string())));
    if verdict.entries != u64::try_from(state.log.len()).unwrap() {
        problems.push((Problem::Unverified, format!("{} of {} entries verified", verdict.entries, state.log.len())));
    }
    drop((service, store));
    let integrity = integrity(path);
    if integrity != "ok" {
        problems.push((Problem::Unverified, integrity));
    }
    problems
}

/// Returns the result of SQLite's own integrity check of a database file.
fn integrity(path: &Path) -> String {
    #[expect(clippy::disallowed_methods, reason = "asks the database beside the store")]
    let connection = rusqlite::Connection::open(path).unwrap();
    connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap()
}

#[test]
fn the_books_find_what_is_missing() {
    runtime().block_on(async {
        let store = Arc::new(store::MemoryStore::default());
        let service = Service::new(Arc::clone(&store) as Arc<_>, Arc::new(Ahead(0)));
        let acks = Arc::new(std::sync::Mutex::new(Vec::new()));
        let kept = Arc::clone(&acks);
        let report: Report = Arc::new(move |ack| kept.lock().unwrap().push(ack));
        let mut writer = Writer::register(service, Arc::default(), report, SeededRandom::new(7)).await.unwrap();
        for _ in 0..300 {
            writer.act().await.unwrap();
        }
        let mut state = State::read(&*store).await.unwrap();
        let mut ledger = Ledger { acks: acks.lock().unwrap().clone() };
        assert_eq!(ledger.check(&state), Vec::new());

        let (task, attempt) = ledger.acks.iter().find_map(claim_of).unwrap();
        let agent = "ag_000000000000".parse().unwrap();
        ledger.acks.push(Ack::Claimed { task, agent, attempt });
        let found: Vec<Problem> = ledger.check(&state).into_iter().map(|(problem, _)| problem).collect();
        assert_eq!(found, [Problem::DoubleClaim, Problem::Lost]);
        ledger.acks.pop();

        state.messages.pop_last();
        let found: Vec<Problem> = ledger.check(&state).into_iter().map(|(problem, _)| problem).collect();
        assert!(found.contains(&Problem::Lost) && found.contains(&Problem::Miscounted), "{found:?}");
    });
}

#[expect(clippy::wildcard_enum_match_arm, reason = "one kind is looked for")]
fn claim_of(ack: &Ack) -> Option<(engine::id::TaskId, u32)> {
    match ack {
        Ack::Claimed { task, attempt, .. } => Some((*task, *attempt)),
        _ => None,
    }
}
