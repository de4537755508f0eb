//! Tests callers that change the plan of a workflow while a runner works on it. Each change is shown in the run's
//! events, at the end of the run, and in `handover status`.

use std::time::Duration;

use serde_json::{Value, json};

use crate::process::{now, rest};
use crate::scene::{Scene, ran};

const PLAN: &str = "name: disturbed\ntasks:\n  - {name: slow, description: waits, role: worker}\n  \
                    - {name: extra, description: finished, role: nobody}\n  \
                    - {name: guarded, description: finished, role: nobody, gate: true}\n";

/// Waits until the agent's program has started. The program records its start in a file.
fn begun(scene: &Scene) {
    let end = now() + Duration::from_secs(120);
    let is_begun = |name: &str| name.ends_with(".begun");
    while !std::fs::read_dir(scene.sim()).unwrap().flatten().any(|entry| is_begun(&entry.file_name().to_string_lossy()))
    {
        assert!(now() < end, "the agent never began");
        rest(Duration::from_millis(20));
    }
}

fn interventions(events: &[Value]) -> Vec<[String; 5]> {
    let text = |event: &Value, name: &str| event[name].as_str().unwrap_or_default().to_owned();
    let row = |event: &Value| ["subject", "act", "by", "before", "after"].map(|name| text(event, name));
    events.iter().map(row).collect()
}

#[test]
fn what_others_change_is_a_line_of_the_run_of_its_end_and_of_the_status() {
    let mut scene = Scene::new();
    scene.agent("worker", "roles = [\"worker\"]");
    scene.settle();
    let plan = scene.plan(PLAN);
    let child = scene.handover(&["run", "--json", "--plan", plan.to_str().unwrap()]);
    let child = { child }.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    begun(&scene);
    let workflow = scene.json(&["workflow", "list"])["workflows"][0]["id"].as_str().unwrap().to_owned();
    let tasks = scene.json(&["workflow", "show", &workflow, "--include-tasks"])["tasks"].clone();
    let id = |name: &str| {
        let task = tasks.as_array().unwrap().iter().find(|task| task["name"] == name).unwrap();
        task["id"].as_str().unwrap().to_owned()
    };
    scene.json(&["agent", "register", "meddler", "codex"]);
    let skip = |task: &str, who: &[&str]| {
        let arguments = ["task", "status", &id(task), "skipped", "--reason", "not needed"];
        scene.json(&[&arguments, who].concat())
    };
    // An agent may skip a task that is not gated. Only a person may skip a gated task, which needs a person's approval
    // to start.
    assert_eq!(skip("extra", &["--agent-id", "meddler"])["success"], true);
    assert_eq!(skip("guarded", &["--agent-id", "meddler"])["code"], "PROTECTED");
    let raise = ["workflow", "config", &workflow, "{\"limits\":{\"usd\":100000}}", "--agent-id", "meddler"];
    assert_eq!(scene.json(&raise)["code"], "PROTECTED");
    scene.json(&["workflow", "limit", &workflow, "3"]);
    // A person's script must not skip a gated task, which needs a person's approval to start. The person may skip it at
    // a terminal.
    let told = skip("guarded", &[]);
    assert_eq!(told["code"], "PROTECTED");
    assert!(told["suggestion"].as_str().unwrap().contains("in a terminal"), "{told}");
    let skipped = scene.decide(&["task", "status", &id("guarded"), "skipped", "--reason", "not needed"]);
    assert_eq!(skipped["success"], true);
    std::fs::write(scene.sim().join("go"), "").unwrap();
    let ran = ran(child.wait_with_output().unwrap());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let expected = [
        ["extra", "skipped", "meddler", "pending", "skipped: not needed"],
        ["disturbed", "limit changed", "human", "no limit", "3 at once"],
        ["guarded", "skipped", "human", "pending", "skipped: not needed"],
    ];
    let expected: Vec<[String; 5]> = expected.map(|row| row.map(str::to_owned)).to_vec();
    let told: Vec<Value> = ran.events.iter().filter(|event| event["event"] == "intervention").cloned().collect();
    assert_eq!(interventions(&told), expected, "{:?}", ran.events);
    assert!(told.iter().all(|event| event["at"].as_i64().is_some_and(|at| at > 0)));
    let status = scene.json(&["status"]);
    let mut shown = interventions(status["interventions"].as_array().unwrap());
    shown.reverse();
    assert_eq!(shown, expected);
    assert_eq!(scene.json(&["task", "show", &id("guarded")])["status"], json!("skipped"));
}

#[test]
fn a_run_that_people_read_ends_with_what_others_changed() {
    let mut scene = Scene::new();
    scene.agent("worker", "roles = [\"worker\"]");
    scene.settle();
    let plan = scene.plan(PLAN);
    let child = scene.handover(&["run", "--plan", plan.to_str().unwrap()]);
    let child = { child }.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    begun(&scene);
    let workflow = scene.json(&["workflow", "list"])["workflows"][0]["id"].as_str().unwrap().to_owned();
    let tasks = scene.json(&["workflow", "show", &workflow, "--include-tasks"])["tasks"].clone();
    for task in tasks.as_array().unwrap().iter().filter(|task| task["name"] != "slow") {
        let id = task["id"].as_str().unwrap();
        scene.decide(&["task", "status", id, "skipped", "--reason", "not needed"]);
    }
    std::fs::write(scene.sim().join("go"), "").unwrap();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let line = "extra: skipped by human: pending -> skipped: not needed";
    assert_eq!(text.matches(line).count(), 2, "once as it happens, once at the end: {text}");
    assert!(text.contains("Changes by people and agents during this run (2):"), "{text}");
}
