//! Tests machines with wrong clocks that share one PostgreSQL store. A machine whose clock is fast or jumps never takes
//! a claim that another agent renews, and it does not lose its own claims.
//!
//! A short run is part of the tests; `HANDOVER_CLOCK_SECONDS=300 HANDOVER_CLOCK_AGENTS=40` makes a long run.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::busy::patience;
use crate::client::StdioAgent;
use crate::machine::{Machine, MachineClock};
use crate::postgres::schema_of;
use crate::process::{now, rest};
use crate::scene::Scene;
use chance::SeededRandom;

const LEASE_SECONDS: u64 = 3;
const SECONDS: u64 = 15;
const AGENTS: u64 = 4;
/// The offsets from the right time to which the jumping clock is set.
const JUMPS: [&str; 6] = ["+0", "+10m", "-10m", "+3h", "-30s", "+5s"];
const PATIENCE: Duration = Duration::from_secs(120);

/// The agents of this test, which run on three simulated machines.
struct Team {
    /// Agents on a machine with the right clock. Each claims a task and then makes no call.
    silent: Vec<StdioAgent>,
    /// An agent on a machine whose clock is ten minutes ahead. It holds a task and tries to claim all other tasks.
    fast: StdioAgent,
    /// An agent on a machine whose clock the test changes again and again.
    jumping: StdioAgent,
}

fn plan(scene: &Scene, count: u64) -> (String, Vec<String>) {
    let made = scene.json(&["workflow", "create", "clocks", "--lease-seconds", &LEASE_SECONDS.to_string()]);
    let id = made["id"].as_str().unwrap().to_owned();
    let names: Vec<String> = (0..count).map(|number| format!("t{number}")).collect();
    let lines = names.iter().map(|name| format!("  - {{name: {name}}}\n")).collect::<String>();
    let path = scene.plan(&format!("summary: clocks\ntasks:\n{lines}"));
    let planned = scene.json(&["workflow", "plan", &id, &format!("@{}", path.display())]);
    let tasks = names.iter().map(|name| planned["task_ids"][name].as_str().unwrap().to_owned()).collect();
    (id, tasks)
}

fn set(file: &Path, offset: &str) {
    let whole = file.with_extension("next");
    fs::write(&whole, format!("{offset}\n")).unwrap();
    fs::rename(&whole, file).unwrap();
}

fn machines(scene: &Scene, clock: &Path) -> Result<(Machine, Machine, Machine), String> {
    scene.settle();
    set(clock, "+0");
    Ok((
        Machine::named("right", MachineClock::Right)?,
        Machine::named("fast", MachineClock::Off("+10m"))?,
        Machine::named("jumping", MachineClock::Set(clock.to_owned()))?,
    ))
}

/// Tells whether the program on a machine notices that its clock differs from the server's clock.
fn believes_another_time(scene: &Scene, machine: &Machine) -> bool {
    let output = machine.handover(scene, &["doctor", "--json"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let found: Value = serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {said}"));
    let clock = found["findings"].as_array().unwrap().iter().find(|finding| finding["check"] == "clock");
    clock.unwrap_or_else(|| panic!("nobody looked at the clock: {found}"))["state"] == "notice"
}

#[test]
fn no_claim_over_postgres_is_taken_by_a_clock_that_is_wrong() {
    let seconds = crate::setting("HANDOVER_CLOCK_SECONDS").unwrap_or(SECONDS);
    let agents = crate::setting("HANDOVER_CLOCK_AGENTS").unwrap_or(AGENTS);
    let mut scene = Scene::new();
    scene.environment.push(("HANDOVER_STORE", schema_of("wrong_clocks")));
    let clock = scene.sim().join("clock");
    let (right, fast, jumping) = match machines(&scene, &clock) {
        Ok(machines) => machines,
        Err(reason) => return println!("not run: {reason}"),
    };
    assert!(believes_another_time(&scene, &fast), "the clock of the fast machine is right");
    assert!(!believes_another_time(&scene, &right), "the clock of the right machine is wrong");

    let (workflow, tasks) = plan(&scene, agents + 2);
    let silent = (0..agents).map(|number| StdioAgent::start(&scene, &right, &format!("silent-{number}"), "worker"));
    let mut team = Team {
        silent: silent.collect(),
        fast: StdioAgent::start(&scene, &fast, "fast", "worker"),
        jumping: StdioAgent::start(&scene, &jumping, "jumping", "worker"),
    };
    let holders = team.silent.iter_mut().chain([&mut team.fast, &mut team.jumping]);
    let held: Vec<(String, String)> = holders
        .zip(&tasks)
        .map(|(agent, task)| {
            assert_eq!(agent.claim(task), Ok(1));
            (agent.id.clone(), task.clone())
        })
        .collect();
    let (begun, mut rng, mut tries) = (now(), SeededRandom::new(1), 0_u32);
    while begun.elapsed() < Duration::from_secs(seconds) {
        set(&clock, JUMPS[rng.below(JUMPS.len())]);
        // Even a process that has just started must not take a claim of another agent.
        let mut newcomer = rng.percent(30).then(|| StdioAgent::start(&scene, &fast, "newcomer", "worker"));
        for thief in newcomer.iter_mut().chain([&mut team.fast, &mut team.jumping]) {
            let own = thief.id.clone();
            for (holder, task) in held.iter().filter(|(holder, _)| *holder != own) {
                let claimed = thief.claim(task);
                let by = claimed.as_ref().err().map(|refused| refused["already_claimed_by"].clone());
                assert_eq!(by, Some(json!(holder)), "{} took {task} of {holder}: {claimed:?}", thief.id);
                tries += 1;
            }
            let next = thief.call("task_next", &json!({"workflow_id": workflow}));
            assert!(next["task"].is_null() || next["task"]["id"].is_null(), "{next}");
        }
    }
    println!("{tries} claims were tried in {seconds} s on {} held tasks", held.len());
    let holders = team.silent.iter_mut().chain([&mut team.fast, &mut team.jumping]);
    for (agent, task) in holders.zip(&tasks) {
        let completed = agent.complete(task);
        assert!(completed["code"].is_null(), "{completed}");
    }
    for task in &tasks {
        let found = scene.json(&["task", "show", task, "--include-checkpoints"]);
        assert_eq!((&found["attempt"], &found["status"]), (&json!(1), &json!("completed")), "{found}");
    }
    team.silent.into_iter().chain([team.fast, team.jumping]).for_each(StdioAgent::leave);
}

/// A lease ends when it is not renewed. So after the agent's machine is gone, another agent can claim the task, even on
/// a machine whose clock is wrong.
#[test]
fn a_machine_over_postgres_that_is_gone_loses_its_task_after_the_lease() {
    let mut scene = Scene::new();
    scene.environment.push(("HANDOVER_STORE", schema_of("clocks_gone")));
    let clock = scene.sim().join("clock");
    let (right, fast, _) = match machines(&scene, &clock) {
        Ok(machines) => machines,
        Err(reason) => return println!("not run: {reason}"),
    };
    let (_, tasks) = plan(&scene, 1);
    let mut gone = StdioAgent::start(&scene, &right, "gone", "worker");
    let mut fast = StdioAgent::start(&scene, &fast, "fast", "worker");
    assert_eq!(gone.claim(&tasks[0]), Ok(1));
    drop(gone);
    let until = now() + PATIENCE;
    let killed = now();
    while fast.claim(&tasks[0]) != Ok(2) {
        assert!(now() < until, "the task of a machine that is gone is never free");
        rest(Duration::from_millis(50));
    }
    assert!(killed.elapsed() < patience(Duration::from_secs(30)), "{:?}", killed.elapsed());
    fast.leave();
}
