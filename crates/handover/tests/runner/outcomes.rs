//! Tests that the same output of an agent has the same effects in two cases: at the end of a turn (one run of the
//! agent's program by the runner), and at the Stop hook of a person's own session.
//!
//! `outcomes.txt` has the cases: a name, the agent's last text, and after `=>` the effects, one on each line. Each text
//! is given to a real run and to the real hook, and the log of each store must show exactly these effects. With
//! `UPDATE=1` the test writes the effects of the run into the file.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use engine::agent::Origin;
use engine::command::{CreateWorkflow, Register};
use engine::plan::PlanTask;
use engine::{Caller, Command, Reply, Rights};
use serde_json::{Value, json};

use crate::people::service;
use crate::scene::Scene;

const CONVERSATION: &str = "326057d8-656f-4a0c-8bab-3f8a9f07e9f5";

/// The script of the agent: prints the text of the test case, with the agent's own id in it.
const SPEAKER: &str = "#!/bin/sh\ncat >/dev/null\n\
    agent=$(sed -n 's/.*\"agent_id\":\"\\([^\"]*\\)\".*/\\1/p' \"$HANDOVER_INPUT\")\n\
    echo made >made.txt\nsed \"s/AGENT/$agent/\" \"$SIM/output\"\n";

struct OutcomeCase {
    name: String,
    text: String,
    effects: Vec<String>,
}

fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/runner/outcomes.txt")
}

fn cases() -> Vec<OutcomeCase> {
    let all = fs::read_to_string(file()).unwrap();
    let parts = all.split("\n# ").skip(1);
    let case = |part: &str| {
        let (name, rest) = part.split_once('\n').unwrap();
        let (text, effects) = rest.split_once("=>\n").unwrap();
        let effects = effects.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect();
        OutcomeCase { name: name.to_owned(), text: text.to_owned(), effects }
    };
    parts.map(case).collect()
}

/// Makes a project whose settings and agent card (the file that describes the agent) route some kinds of problems, such
/// as an unclear schema, to the agent `planner`.
fn scene(case: &OutcomeCase) -> Scene {
    let mut scene = Scene::new();
    fs::write(scene.sim().join("output"), &case.text).unwrap();
    let script = scene.sim().join("speaker.sh");
    fs::write(&script, SPEAKER).unwrap();
    assert!(crate::scene::program("chmod").args(["+x", script.to_str().unwrap()]).status().unwrap().success());
    scene.settings.push_str("[routes]\nambiguity = \"roles.ba\"\ndependency = \"planner\"\n");
    scene.settings.push_str(&format!(
        "\n[[agent]]\nslug = \"speaker\"\nadapter = \"exec\"\ncommand = [\"{}\"]\noutput = \"handoff\"\n\
         writable_sections = [\"stack\"]\nroles = [\"speaker\"]\nenv = {{ SIM = \"{}\" }}\n",
        script.display(),
        scene.sim().display()
    ));
    scene.agent("planner", "roles = [\"ba\"]");
    let cards = scene.project().join(".handover/cards");
    fs::create_dir_all(&cards).unwrap();
    let card = |slug: &str, rules: Value| {
        let mut card: Value =
            serde_json::from_str(include_str!("../../../base/src/project/init/builder.json")).unwrap();
        (card["identity"]["slug"], card["output_types"]) = (json!(slug), json!([]));
        card["escalation_rules"] = rules;
        fs::write(cards.join(format!("{slug}.json")), card.to_string()).unwrap();
    };
    card("planner", json!([]));
    let rules = json!([
        {"trigger": "the schema is unclear", "route_to": "planner", "via": "inbox"},
        {"trigger": "touches production", "route_to": "exec", "via": "exec.gate"},
        {"trigger": "nobody owns this", "route_to": "roles.ba", "via": "task.blocked"},
    ]);
    card("speaker", rules);
    scene.settle();
    scene
}

/// Returns the effects of an agent's output, as the log of a store shows them. Leaves out the entries that only a
/// runner or only a session makes.
fn effects(scene: &Scene) -> Vec<String> {
    let output = scene.ask(&["log", "tail", "--json", "-n", "1000"]);
    let text = String::from_utf8(output.stdout).unwrap();
    let entries = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut found: Vec<String> = entries.filter_map(|entry| effect(&entry["body"])).map(|line| masked(&line)).collect();
    // Sort the effects: the log does not keep the order of entries that belong to different topics (parts of the log).
    found.sort();
    found
}

/// Replaces the ids of approvals by a fixed text, because they are random.
fn masked(line: &str) -> String {
    let word =
        |word: &str| if word.starts_with("ap_") && word.len() == 15 { "ap_*".to_owned() } else { word.to_owned() };
    line.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

fn effect(body: &Value) -> Option<String> {
    let text = |pointer: &str| match body.pointer(pointer) {
        Some(Value::String(text)) => text.replace('\n', " / "),
        Some(other) => other.to_string(),
        None => String::new(),
    };
    match body["event"].as_str()? {
        "checkpoint_added" => Some(format!("checkpoint: {}", text("/checkpoint/note/summary"))),
        "section_written" => Some(format!("section {}: {}", text("/change/section"), text("/change/after"))),
        "sent" => {
            let draft = |name: &str| text(&format!("/message/draft/{name}"));
            Some(format!("{} to {}: {}: {}", draft("kind"), text("/slug"), draft("subject"), draft("body")))
        }
        "approval_asked" => {
            let request = |name: &str| text(&format!("/approval/request/{name}"));
            let source = text("/approval/source");
            Some(format!("{source} approval of {}: {}", request("operation"), request("content")))
        }
        "moved" => moved(body),
        _ => None,
    }
}

/// Returns the effect of a task's new state. The state `in_progress` is no effect of the agent's output, because a
/// runner sets it before it starts the agent's program.
fn moved(body: &Value) -> Option<String> {
    let state = &body["state"];
    let text = |name: &str| state[name].as_str().unwrap_or_default().replace('\n', " / ");
    match state["status"].as_str()? {
        "in_progress" => None,
        "completed" => Some(format!("completed: {}", text("outcome"))),
        "blocked" => Some(format!("blocked ({}, role {}): {}", text("kind"), text("role"), text("reason"))),
        status => Some(format!("{status}: {}", text("reason"))),
    }
}

fn by_the_runner(case: &OutcomeCase) -> Vec<String> {
    let scene = scene(case);
    let ran = scene.run_plan("name: release\ntasks:\n  - {name: one, description: do it, role: speaker}\n");
    assert!(!ran.events.is_empty(), "{}: {}", case.name, ran.stderr);
    effects(&scene)
}

fn by_the_hook(case: &OutcomeCase) -> Vec<String> {
    let scene = scene(case);
    let agent = service(&scene, async |service| {
        let origin = Origin { conversation: Some(CONVERSATION.to_owned()), ..Origin::default() };
        let own = Caller { origin, ..Caller::with_rights(Rights::Agent) };
        let register = Register { role: Some("speaker".to_owned()), ..Register::named("speaker", "claude") };
        let reply = service.execute(own, Command::Register(register)).await.unwrap();
        let Reply::Registered { agent, .. } = reply else { panic!("{reply:?}") };
        let planner = Register { role: Some("ba".to_owned()), ..Register::named("planner", "claude") };
        service.execute(Caller::with_rights(Rights::Agent), Command::Register(planner)).await.unwrap();
        let person = || Caller::with_rights(Rights::Person);
        let made = service.execute(person(), Command::CreateWorkflow(CreateWorkflow::named("release"))).await.unwrap();
        let Reply::WorkflowCreated { workflow, .. } = made else { panic!("{made:?}") };
        let plan = service.set_plan(person(), workflow, "s".to_owned(), vec![PlanTask::named("one")]).await.unwrap();
        let Reply::PlanSet { task_ids, .. } = plan else { panic!("{plan:?}") };
        service.execute(Caller::agent(agent), Command::Claim { task: task_ids[0].1 }).await.unwrap();
        agent
    });
    let text = case.text.replace("AGENT", &wire::handoff::alias(agent));
    // After a progress report a runner starts the agent's program again, and after the third report it blocks the task.
    // So in a case with `three times` in its name the session must also stop three times.
    for prompt in 0..if case.name.contains("three times") { 3 } else { 1 } {
        stop(&scene, &format!("p{prompt}"), &text);
    }
    effects(&scene)
}

fn stop(scene: &Scene, prompt: &str, text: &str) {
    let payload = json!({
        "hook_event_name": "Stop", "session_id": CONVERSATION, "prompt_id": prompt, "cwd": scene.project(),
        "last_assistant_message": text, "stop_hook_active": false,
    });
    let mut hook = scene.handover(&["hook", "Stop"]);
    let mut child = hook.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(payload.to_string().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{text}: {}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn an_output_does_the_same_in_a_turn_and_at_a_stop_hook() {
    let mut cases = cases();
    for case in &mut cases {
        let (run, hook) = (by_the_runner(case), by_the_hook(case));
        assert_eq!(run, hook, "{}: a run and a hook differ", case.name);
        if std::env::var_os("UPDATE").is_some() {
            case.effects = run;
        } else {
            assert_eq!(run, case.effects, "{}", case.name);
        }
    }
    assert!(cases.len() >= 12, "a file without cases tests nothing");
    if std::env::var_os("UPDATE").is_some() {
        let head = "The effects of an agent's last text, at the end of a runner's turn and at the Stop hook alike.\n";
        let all: String = cases
            .iter()
            .map(|case| format!("\n# {}\n{}=>\n{}\n", case.name, case.text, case.effects.join("\n")))
            .collect();
        fs::write(file(), format!("{head}{all}")).unwrap();
    }
}
