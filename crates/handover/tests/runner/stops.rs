//! Tests a person who interrupts the runner. After the first interrupt, running turns (runs of agents' programs)
//! finish. After the second interrupt, they are ended and their tasks are open again.

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::busy::patience;
use crate::process::{Runner, now, rest};
use crate::scene::Scene;

/// Starts a runner and waits until the program of its agent runs.
fn started(scene: &Scene, word: &str) -> Runner {
    let tasks = format!("  - {{name: x, description: {word}}}\n  - {{name: y, description: finished}}\n");
    let path = scene.plan(&format!("name: s\ntasks:\n{tasks}"));
    let runner = Runner::start(scene, "here", &["--plan", path.to_str().unwrap()]);
    let until = now() + patience(Duration::from_secs(30));
    while !runner.said().contains("turn_started") {
        assert!(now() < until, "nothing was started");
        rest(Duration::from_millis(10));
    }
    runner
}

fn interrupt(runner: &Runner) {
    kill_process(Pid::from_raw(runner.pid().cast_signed()).unwrap(), Signal::INT).unwrap();
}

#[test]
fn once_lets_turns_finish_and_twice_ends_them() {
    let mut scene = Scene::new();
    scene.agent("worker", "");
    scene.settle();
    let runner = started(&scene, "late");
    interrupt(&runner);
    let once = runner.end();
    assert_eq!((once.code, once.story("x").as_str()), (130, "first done verified merged completed"));
    assert_eq!(once.story("y"), "", "nothing is begun any more");
    let runner = started(&scene, "never");
    interrupt(&runner);
    rest(Duration::from_millis(300));
    interrupt(&runner);
    let twice = runner.end();
    assert_eq!((twice.code, twice.story("x").as_str()), (130, "first cancelled returned"));
    assert_eq!(scene.leftovers(), [""; 0]);
}
