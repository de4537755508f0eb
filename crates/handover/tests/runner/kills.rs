//! Tests a runner that is killed with SIGKILL and started again until the workflow is completed. No work may be lost or
//! done twice, and nothing may be left behind.
//!
//! A short run is part of the tests; `scripts/prove runner` makes a long run. The moments of the kills come from a
//! seed, which a failure prints. The state of the programs at the moment of a kill also depends on the machine.

use std::time::Duration;

use crate::books;
use crate::process::{Runner, now, strangers_after};
use crate::scene::Scene;
use chance::SeededRandom;

/// A plan of eleven tasks. It has dependencies, outputs that contain files, outputs that are invalid at first, a check
/// and an evaluation that first fail, a task that needs a second run of its agent's program, and a task that is
/// reviewed.
pub(crate) const PLAN: &str = r#"
summary: killed again and again
tasks:
  - {name: base, role: worker, description: finished}
  - {name: repaired, role: worker, description: bad finished, depends_on: [base]}
  - {name: silent, role: worker, description: nothing finished, depends_on: [base]}
  - {name: soon, role: worker, description: soon, depends_on: [base]}
  - {name: goes-on, role: worker, description: goes-on finished, depends_on: [base]}
  - name: checked
    role: worker
    depends_on: [repaired]
    brief:
      goal: wrong right
      acceptance_criteria: [It is right.]
      output_contract: {type: file, schema_ref: checked, output_ref_required: true, evaluate: null}
  - name: judged
    role: worker
    depends_on: [base]
    brief:
      goal: finished
      acceptance_criteria: [Somebody finds it good.]
      output_contract: {type: file, schema_ref: null, output_ref_required: true, evaluate: judge-fail judge-pass}
  - {name: reviewed, role: worker, description: finished, depends_on: [base], review: critic}
  - {name: left, role: worker, description: finished, depends_on: [checked, soon]}
  - {name: right, role: worker, description: soon, depends_on: [goes-on, judged]}
  - {name: last, role: worker, description: finished, depends_on: [left, right, silent, reviewed]}
"#;

/// The time after which no new round of kills starts. It does not apply when the environment sets a number of rounds.
const TIME_MAX: Duration = Duration::from_secs(40);
const ROUNDS: u64 = 12;
/// The number of rounds of kills in one test project. The project grows with each round, so the test makes a new
/// project after some rounds.
const ROUNDS_PER_SCENE: u64 = 10;

pub(crate) fn scene() -> Scene {
    let mut scene = Scene::new();
    scene.settings.push_str(
        "[contract.checked]\nchecks = [{ command = [\"sh\", \"-c\", \"sleep 0.1; ! grep -rqx wrong out\"], seconds = 20 }]\n\
         [evaluator]\nagent = \"judge\"\n",
    );
    scene.agent("worker", "max_parallel = 3");
    scene.agent("judge", "roles = [\"judge\"]");
    scene.reviewer("critic", "slow", "roles = [\"critic\"]");
    scene
}

/// Creates a workflow that no runner works on yet, and returns its id.
pub(crate) fn workflow(scene: &Scene, plan: &str) -> String {
    let made = scene.json(&["workflow", "create", "killed"]);
    let id = made["id"].as_str().unwrap().to_owned();
    let path = scene.plan(plan);
    scene.json(&["workflow", "plan", &id, &format!("@{}", path.display())]);
    id
}

#[derive(Debug, Default)]
struct Figures {
    rounds: u64,
    kills: u64,
    /// The number of kills in each tenth of the duration of a run.
    tenths: [u64; 10],
}

#[test]
fn a_killed_runner_loses_nothing_and_does_nothing_twice() {
    let asked = crate::setting("HANDOVER_RUNNER_ROUNDS");
    let seed = crate::setting("HANDOVER_RUNNER_SEED").unwrap_or(1);
    let begun = now();
    let mut figures = Figures::default();
    let mut place: Option<(Scene, Duration)> = None;
    while figures.rounds < asked.unwrap_or(ROUNDS) && (asked.is_some() || begun.elapsed() < TIME_MAX) {
        if figures.rounds % ROUNDS_PER_SCENE == 0 {
            place = None;
        }
        let (scene, length) = place.get_or_insert_with(|| {
            let scene = scene();
            scene.settle();
            let length = unkilled(&scene);
            println!("unkilled: {} ms", length.as_millis());
            (scene, length)
        });
        let seed = seed + figures.rounds;
        let problems = round(scene, *length, &mut SeededRandom::new(seed), &mut figures);
        assert!(
            problems.is_empty(),
            "HANDOVER_RUNNER_SEED={seed} HANDOVER_RUNNER_ROUNDS=1 repeats it\n{}",
            problems.join("\n")
        );
    }
    println!("seed {seed}, {} s, {figures:?}", begun.elapsed().as_secs());
    assert!(figures.kills > 0, "nobody was killed");
}

/// Runs the plan without killing the runner, and returns the duration.
fn unkilled(scene: &Scene) -> Duration {
    let workflow = workflow(scene, PLAN);
    let begun = now();
    let ran = Runner::start(scene, "here", &[&workflow]).end();
    let length = begun.elapsed();
    assert_eq!(ran.code, 0, "{:#?}\n{}", ran.events, ran.stderr);
    assert_eq!(books::problems(scene, &workflow), Vec::<String>::new());
    length
}

/// Runs the workflow once, kills the runner at random moments and starts it again. Returns the problems found.
fn round(scene: &Scene, length: Duration, rng: &mut SeededRandom, figures: &mut Figures) -> Vec<String> {
    let workflow = workflow(scene, PLAN);
    let millis = usize::try_from(length.as_millis()).unwrap();
    let mut moments: Vec<usize> = (0..=rng.below(4)).map(|_| rng.below(millis)).collect();
    moments.sort_unstable();
    figures.rounds += 1;
    let mut told = String::new();
    let mut runner = Runner::start(scene, "here", &[&workflow]);
    let mut before = 0;
    for moment in moments {
        if runner.ends_within(Duration::from_millis(u64::try_from(moment - before).unwrap())) {
            break;
        }
        before = moment;
        told.push_str(&runner.kill());
        let killed = now();
        figures.kills += 1;
        figures.tenths[(moment * 10 / millis.max(1)).min(9)] += 1;
        let at_once = rng.percent(50);
        let strange = if at_once { Vec::new() } else { strangers_after(scene, &[], killed) };
        runner = Runner::start(scene, "here", &[&workflow]);
        let strange = if at_once { strangers_after(scene, &[runner.pid()], killed) } else { strange };
        if !strange.is_empty() {
            return strange;
        }
    }
    let ran = runner.end();
    // If the workflow is not completed, report only that, because all other checks are about a completed workflow.
    let mut problems =
        if ran.code == 0 { books::problems(scene, &workflow) } else { vec!["it did not end".to_owned()] };
    if !problems.is_empty() {
        problems.push(format!("the last run ended with {}: {:#?}\n{told}{}", ran.code, ran.events, ran.stderr));
    }
    problems
}
