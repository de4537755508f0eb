//! Tests several runners on one store: they share the work, no task is done twice, and when a runner is gone the others
//! do its work.

use std::fs;
use std::time::Duration;

use crate::books;
use crate::busy::patience;
use crate::kills::{self, workflow};
use crate::postgres::schema_of;
use crate::process::{Runner, now, rest, strangers, strangers_after};
use crate::scene::Scene;
use chance::SeededRandom;

fn on_a_server(mut scene: Scene, name: &str) -> Scene {
    scene.environment.push(("HANDOVER_STORE", schema_of(name)));
    scene.settle();
    scene
}

#[test]
fn two_runners_over_postgres_that_are_killed_lose_nothing_and_do_nothing_twice() {
    let asked = crate::setting("HANDOVER_RUNNER_ROUNDS");
    let seed = crate::setting("HANDOVER_RUNNER_SEED").unwrap_or(1);
    let scene = on_a_server(kills::scene(), "runner_killed");
    let (begun, mut kills) = (now(), 0);
    for round in 0..asked.unwrap_or(4) {
        let seed = seed + round;
        let problems = killed(&scene, &mut SeededRandom::new(seed), &mut kills);
        assert!(
            problems.is_empty(),
            "HANDOVER_RUNNER_SEED={seed} HANDOVER_RUNNER_ROUNDS=1 repeats it\n{}",
            problems.join("\n")
        );
        if asked.is_none() && begun.elapsed() > Duration::from_secs(40) {
            break;
        }
    }
    println!("seed {seed}, {kills} kills, {} s", begun.elapsed().as_secs());
}

fn killed(scene: &Scene, rng: &mut SeededRandom, kills: &mut u32) -> Vec<String> {
    const LENGTH_MS: usize = 1_500;
    let workflow = workflow(scene, kills::PLAN);
    let names = ["a", "b"];
    let mut told = String::new();
    let mut runners = names.map(|name| Runner::start(scene, name, &[&workflow]));
    for _ in 0..1 + rng.below(4) {
        let which = rng.below(2);
        let pause = Duration::from_millis(u64::try_from(rng.below(LENGTH_MS / 2)).unwrap());
        if runners[which].ends_within(pause) {
            break;
        }
        told.push_str(&runners[which].kill());
        let killed = now();
        runners[which] = Runner::start(scene, names[which], &[&workflow]);
        *kills += 1;
        let strange = strangers_after(scene, &[runners[0].pid(), runners[1].pid()], killed);
        if !strange.is_empty() {
            return strange;
        }
    }
    let ended = runners.map(Runner::end);
    let mut problems = books::problems(scene, &workflow);
    for ran in ended {
        if ran.code != 0 || !problems.is_empty() {
            problems.push(format!("a runner ended with {}: {:#?}\n{told}{}", ran.code, ran.events, ran.stderr));
        }
    }
    problems
}

/// Returns a plan with this many tasks, each of which takes its agent a moment.
fn many(count: u32) -> String {
    let tasks = (0..count).map(|number| format!("  - {{name: t{number}, role: worker, description: soon}}\n"));
    format!("summary: many\ntasks:\n{}", tasks.collect::<String>())
}

fn one_at_a_time() -> Scene {
    let mut scene = Scene::new();
    scene.agent("worker", "");
    scene
}

#[test]
fn two_runners_over_postgres_share_the_work() {
    let scene = on_a_server(one_at_a_time(), "runner_shared");
    let workflow = workflow(&scene, &many(12));
    let ended = ["a", "b"].map(|name| Runner::start(&scene, name, &[&workflow])).map(Runner::end);
    let counts = ended.each_ref().map(|ran| ran.events.iter().filter(|event| event["event"] == "completed").count());
    let codes = ended.each_ref().map(|ran| ran.code);
    assert_eq!((codes, counts[0] + counts[1]), ([0, 0], 12), "{ended:#?}");
    assert!(counts.iter().all(|count| *count > 0), "{counts:?}");
    assert_eq!(books::problems(&scene, &workflow), Vec::<String>::new());
}

/// Starts a second run with the same runner name `a` in this folder while the first run works. The second run starts no
/// agents, waits for the work of the first run, and ends with the same result.
fn follows(scene: &Scene, folder: &std::path::Path, workflow: &str) {
    let mut command = scene.handover(&["run", "--json", workflow]);
    let output = command.env("HANDOVER_HOST", "a").current_dir(folder).output().unwrap();
    let followed = crate::scene::ran(output);
    assert_eq!(followed.code, 0, "{}\n{:#?}", followed.stderr, followed.events);
    let last = followed.events.last().unwrap();
    assert_eq!((&last["event"], &last["how"]), (&"run_ended".into(), &"completed".into()), "{last}");
}

#[test]
fn a_second_run_of_one_name_starts_nothing_and_follows_the_first() {
    let scene = one_at_a_time();
    scene.settle();
    let workflow = workflow(&scene, &many(4));
    let runner = begun(&scene, &workflow);
    follows(&scene, &scene.project(), &workflow);
    let ran = runner.end();
    assert_eq!(ran.code, 0);
    let done = ran.events.iter().filter(|event| event["event"] == "completed").count();
    assert_eq!(done, 4, "the first run did all the work: {:#?}", ran.events);
}

#[test]
fn a_second_run_of_one_name_over_postgres_follows_also_in_another_clone() {
    let scene = on_a_server(one_at_a_time(), "runner_followed");
    let clone = scene.sim().join("clone");
    scene.git(&["clone", "--quiet", ".", clone.to_str().unwrap()]);
    fs::create_dir_all(clone.join(".handover")).unwrap();
    fs::write(clone.join(".handover/config.toml"), &scene.settings).unwrap();
    let ask = |arguments: &[&str]| scene.handover(arguments).current_dir(&clone).output().unwrap();
    let offered: serde_json::Value = serde_json::from_slice(&ask(&["trust", "--json"]).stdout).unwrap();
    assert!(ask(&["trust", "--sha256", offered["sha256"].as_str().unwrap()]).status.success());
    let workflow = workflow(&scene, &many(4));
    let runner = begun(&scene, &workflow);
    follows(&scene, &clone, &workflow);
    let ran = runner.end();
    let done = ran.events.iter().filter(|event| event["event"] == "completed").count();
    assert_eq!((ran.code, done), (0, 4), "{:#?}", ran.events);
}

/// Starts a runner and waits until the runner has started an agent's program.
fn begun(scene: &Scene, workflow: &str) -> Runner {
    let runner = Runner::start(scene, "a", &[workflow]);
    let until = now() + patience(Duration::from_secs(60));
    while !runner.said().contains("turn_started") {
        assert!(now() < until, "nothing was begun: {}", runner.said());
        rest(Duration::from_millis(5));
    }
    runner
}

#[test]
fn what_a_runner_held_that_never_comes_back_is_done_by_another() {
    let scene = one_at_a_time();
    scene.settle();
    let made = scene.json(&["workflow", "create", "lost", "--lease-seconds", "2"]);
    let workflow = made["id"].as_str().unwrap().to_owned();
    let path = scene.plan(&many(3));
    scene.json(&["workflow", "plan", &workflow, &format!("@{}", path.display())]);
    begun(&scene, &workflow).kill();
    let ran = Runner::start(&scene, "b", &[&workflow]).end();
    assert_eq!(ran.code, 0, "{:#?}\n{}", ran.events, ran.stderr);
    // When the killed runner starts again, it removes the worktrees, folders and processes that it left behind.
    assert_eq!(Runner::start(&scene, "a", &[&workflow]).end().code, 0);
    assert_eq!(books::problems(&scene, &workflow), Vec::<String>::new());
    assert_eq!(strangers(&scene, &[]), Vec::<String>::new());
}
