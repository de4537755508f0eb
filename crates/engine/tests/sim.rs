//! The simulator: it makes random plans, agents and faults from a seed. After every step it checks every invariant.
//!
//! `SIM_SEEDS=100000 SIM_STEPS=400 cargo test -p engine --release --test sim` runs more seeds, and `SIM_SEED=123` runs
//! one seed and prints a line for each step. A failure prints its seed, and a run with this seed repeats the failure.

#![expect(clippy::wildcard_enum_match_arm, reason = "the checker looks for single events and writes among many")]

#[path = "sim/acts.rs"]
mod acts;
#[path = "sim/approvals.rs"]
mod approvals;
#[path = "sim/asks.rs"]
mod asks;
#[path = "sim/browsers.rs"]
mod browsers;
#[path = "sim/check.rs"]
mod check;
#[path = "sim/claims.rs"]
mod claims;
#[path = "sim/connections.rs"]
mod connections;
#[path = "sim/crew.rs"]
mod crew;
#[path = "sim/deliveries.rs"]
mod deliveries;
#[path = "sim/ending.rs"]
mod ending;
#[path = "sim/fault.rs"]
mod fault;
#[path = "sim/homes.rs"]
mod homes;
#[path = "sim/intruders.rs"]
mod intruders;
#[path = "sim/keys.rs"]
mod keys;
#[path = "sim/machine.rs"]
mod machine;
#[path = "sim/plans.rs"]
mod plans;
#[path = "sim/protections.rs"]
mod protections;
#[path = "sim/put_offs.rs"]
mod put_offs;
#[path = "sim/recount.rs"]
mod recount;
#[path = "sim/tally.rs"]
mod tally;
#[path = "sim/voice.rs"]
mod voice;

use std::sync::atomic::{AtomicU64, Ordering};

use crew::Crew;
use fault::Fault;
use machine::Machine;

const SEEDS: u64 = 2_000;
const STEPS: u64 = 120;
/// The number of simulated runs (one run for each seed) for each fault that the test plants in the engine on purpose.
/// The checker of the invariants must find the fault in one of these runs.
const FAULT_SEEDS: u64 = 120;
/// The number of simulated runs (one run for each seed) in which every situation of the list `WANTED`, such as certain
/// refusals, must occur. The rarest situation is a script that resumes a task while a question to a person is open.
const TALLY_SEEDS: u64 = 300;

struct Failure {
    seed: u64,
    report: String,
}

/// Runs one seed of the simulator. The report of a failure has everything that is needed to replay the run.
fn run(seed: u64, steps: u64, fault: Fault, trace: bool) -> Result<Machine, Failure> {
    let mut crew = Crew::new(seed);
    let mut machine = Machine::new(fault, trace);
    let fail = |step: u64, command: String, broken: machine::Broken| Failure {
        seed,
        report: format!(
            "seed {seed}, step {step}: {}\n  {}\n  command: {command}\n  replay: SIM_SEED={seed} SIM_STEPS={steps} cargo \
             test -p engine --test sim -- --nocapture",
            broken.rule, broken.what
        ),
    };
    for number in 1..=steps {
        let order = crew.next(&machine.tables);
        match machine.act(&order.step) {
            Ok(reply) => crew.learn(&order, &reply),
            Err(broken) => return Err(fail(number, machine::brief(&order.step), broken)),
        }
    }
    match ending::run(&mut machine, &mut crew) {
        Ok(()) => Ok(machine),
        Err(broken) => Err(fail(steps, "the end of the run".to_owned(), broken)),
    }
}

/// Runs all seeds of the simulator, on every core. Returns the failure with the lowest seed.
fn run_all(seeds: u64, steps: u64, fault: Fault) -> Option<Failure> {
    let next = AtomicU64::new(0);
    let worker = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds {
                return None;
            }
            if let Err(failure) = run(seed, steps, fault, false) {
                next.store(seeds, Ordering::Relaxed);
                return Some(failure);
            }
        }
    };
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..cores).map(|_| scope.spawn(worker)).collect();
        let found = workers.into_iter().filter_map(|worker| match worker.join() {
            Ok(found) => found,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        found.min_by_key(|failure| failure.seed)
    })
}

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn everything_holds() {
    let steps = setting("SIM_STEPS").unwrap_or(STEPS);
    let failure = match setting("SIM_SEED") {
        Some(seed) => run(seed, steps, Fault::None, true).err(),
        None => run_all(setting("SIM_SEEDS").unwrap_or(SEEDS), steps, Fault::None),
    };
    if let Some(Failure { report, .. }) = failure {
        panic!("{report}");
    }
}

#[test]
fn the_same_seed_gives_the_same_state() {
    for seed in 0..40 {
        let tables = || run(seed, STEPS, Fault::None, false).ok().map(|machine| machine.tables);
        assert_eq!(tables(), tables(), "seed {seed}");
    }
}

/// Checks that the simulated callers meet every situation of the list `WANTED`. If all their calls were refused, they
/// would break no rule, and the simulator would prove nothing.
#[test]
fn the_crew_tries_every_takeover_and_every_way_round() {
    let mut met = std::collections::BTreeMap::new();
    for seed in 0..TALLY_SEEDS {
        let tally = run(seed, STEPS, Fault::None, false).map(|machine| machine.tally).unwrap_or_default();
        tally.into_iter().for_each(|(what, count)| *met.entry(what).or_insert(0) += count);
    }
    eprintln!("{met:#?}");
    let missing: Vec<_> = tally::WANTED.iter().filter(|wanted| !met.contains_key(**wanted)).collect();
    assert!(missing.is_empty(), "within {TALLY_SEEDS} seeds: {missing:#?}");
}

#[test]
fn every_planted_fault_is_caught() {
    let mut missed = Vec::new();
    for fault in Fault::ALL {
        let caught = run_all(FAULT_SEEDS, STEPS, fault);
        let report = caught.map(|failure| failure.report).unwrap_or_default();
        let first = report.lines().next().unwrap_or("not caught");
        eprintln!("{fault:?}: {first}");
        if !first.contains(fault.breaks()) {
            missed.push(format!("{fault:?}: {report}"));
        }
    }
    assert!(missed.is_empty(), "within {FAULT_SEEDS} seeds: {missed:#?}");
}
