//! Tests an agent's program, started by the runner, that tries to act as another agent, as the holder of another task,
//! as the runner, or as a person.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::kills::workflow;
use crate::scene::{Ran, Scene};

struct Played {
    scene: Scene,
    ran: Ran,
    /// The ids of the workflow's tasks, by the names of the tasks.
    ids: BTreeMap<String, String>,
}

/// Runs a workflow with one task for the program that tries to act as others, and one task that no agent of this
/// project can claim.
fn play(words: &str) -> Played {
    let mut scene = Scene::new();
    scene.agent("worker", "");
    scene.settle();
    let other = scene.json(&["agent", "register", "bystander", "exec"]);
    fs::write(scene.sim().join("other"), other["id"].as_str().unwrap()).unwrap();
    let tasks = format!("  - {{name: forger, role: worker, description: {words}}}\n  - {{name: free, role: absent}}\n");
    let workflow = workflow(&scene, &format!("summary: s\ntasks:\n{tasks}"));
    let tasks = scene.json(&["workflow", "show", &workflow, "--include-tasks"]);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let ids: BTreeMap<String, String> =
        tasks["tasks"].as_array().unwrap().iter().map(|task| (text(&task["name"]), text(&task["id"]))).collect();
    fs::write(scene.sim().join("free"), &ids["free"]).unwrap();
    let ran = scene.run(&[&workflow]);
    Played { scene, ran, ids }
}

impl Played {
    fn kept(&self, what: &str) -> String {
        fs::read_to_string(self.scene.sim().join(format!("{}.{what}", self.ids["forger"]))).unwrap()
    }

    /// Returns the answers to the commands of the program that tries to act as others. Each line has the command
    /// without its ids, and the answer's error code or first word.
    fn said(&self) -> Vec<String> {
        let line = |line: &str| {
            let (command, answer) = line.split_once(" => ").unwrap();
            let words = command.split(' ').filter(|word| !word.contains('_') || word.starts_with("in_"));
            let answer = answer.strip_prefix("handover: ").unwrap_or(answer);
            let code = match serde_json::from_str::<Value>(answer) {
                Ok(value) => value["error"]["code"].as_str().unwrap_or("done").to_owned(),
                Err(_) => answer.split(' ').next().unwrap().to_owned(),
            };
            format!("{} => {code}", words.collect::<Vec<_>>().join(" "))
        };
        self.kept("said").lines().map(line).collect()
    }
}

/// Returns the answers to the program's calls over MCP by their numbers: the code of a refusal, or the reply.
fn called(text: &str) -> BTreeMap<u64, Value> {
    let answer = |line: &str| {
        let value: Value = serde_json::from_str(line).unwrap();
        let result = &value["result"];
        let text = result["content"][0]["text"].as_str()?;
        let said: Value = serde_json::from_str(text).unwrap();
        let answer = if result["isError"] == true { said["code"].clone() } else { said };
        Some((value["id"].as_u64()?, answer))
    };
    text.lines().filter_map(answer).collect()
}

#[test]
fn below_a_turn_nobody_is_anybody_else() {
    let played = play("forges");
    let expected = [
        "task checkpoint progress as somebody else --agent-id => AGENT_ELSEWHERE",
        "task claim => NOT_ELIGIBLE",
        "task claim => AGENT_ELSEWHERE",
        "task next => AGENT_ELSEWHERE",
        // For the program's own task, `task release` reports success and changes nothing, because the runner itself
        // ends the claim.
        "task release => done",
        "task status completed --outcome I say so => VERIFICATION_REQUIRED",
        "task status completed --outcome I say so => NOT_PERMITTED",
        "approval approve => NOT_A_PERSON",
        "trust --sha256 0000 => NOT_A_PERSON",
        "agent unregister => AGENT_ELSEWHERE",
        "run --once => NOT_A_PERSON",
        // The program has closed its MCP connection before this command. Closing the connection has not ended the claim
        // of its task.
        "task checkpoint progress still here => done",
    ];
    assert_eq!(played.said(), expected);
    let mut calls = called(&played.kept("mcp"));
    let own = calls[&1]["id"].clone();
    assert_eq!((&calls[&1]["resumed"], &calls[&1]["slug"]), (&json!(true), &json!("worker")));
    let next = calls.insert(4, Value::Null).unwrap();
    assert_eq!((&next["task"]["name"], &next["task"]["assigned_agent_id"]), (&json!("forger"), &own));
    let codes = [
        (2, json!("NOT_ELIGIBLE")),
        (3, json!("AGENT_ELSEWHERE")),
        (4, Value::Null),
        (5, json!({"success": true})),
        (6, json!("VERIFICATION_REQUIRED")),
        (7, json!("NOT_PERMITTED")),
        (8, json!("AGENT_ELSEWHERE")),
        (9, json!("AGENT_ELSEWHERE")),
        (10, json!({"success": true, "tasks_released": 0})),
    ];
    calls.remove(&1);
    assert_eq!(calls, BTreeMap::from(codes));
    assert_eq!(played.ran.story("forger"), "first done verified merged completed");
    assert_eq!(played.ran.story("free"), "");
    let bystander = played.scene.json(&["agent", "show", "bystander"]);
    assert_eq!(bystander["left_at"], Value::Null, "{bystander}");
}

#[test]
fn below_a_turn_no_status_ends_the_claim() {
    let played = play("ends-claim");
    let expected = [
        "task status pending => NOT_PERMITTED",
        "task status skipped --reason not today => NOT_PERMITTED",
        "task status failed --error no => NOT_PERMITTED",
        "task status paused => NOT_PERMITTED",
        "task replan better {\"approach\": \"x\", \"steps\": [\"y\"]} => NOT_PERMITTED",
        "task checkpoint progress still here => done",
    ];
    assert_eq!(played.said(), expected);
    assert_eq!(played.ran.story("forger"), "first done verified merged completed");
}

#[test]
fn after_its_turn_a_program_has_nothing_to_say() {
    let played = play("finished");
    let ended = played.ran.events.iter().find(|event| event["event"] == "turn_ended").unwrap();
    let turn = ended["turn_id"].as_str().unwrap();
    let task = &played.ids["forger"];
    let arguments = ["task", "checkpoint", task, "progress", "late", "--json"];
    let output = played.scene.handover(&arguments).env("HANDOVER_TURN", turn).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("CLAIM_LOST"), "{said}");
    let mut command = played.scene.handover(&["mcp"]);
    command.env("HANDOVER_TURN", turn).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}}});
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let call = |id: u64, tool: &str, arguments: Value| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": arguments}});
    let calls = [
        call(1, "agent_register", json!({"name": "me", "runtime": "exec"})),
        call(2, "checkpoint_add", json!({"task_id": task, "type": "progress", "summary": "late"})),
        call(3, "task_next", json!({})),
    ];
    let mut stdin = child.stdin.take().unwrap();
    for message in [hello, ready].into_iter().chain(calls) {
        writeln!(stdin, "{message}").unwrap();
    }
    // The test reads all answers before it closes the pipe, because closing the pipe ends the server.
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));
    let heard: Vec<String> = (0..4).map(|_| lines.next().unwrap().unwrap()).collect();
    drop(stdin);
    child.wait().unwrap();
    let lost = json!("CLAIM_LOST");
    assert_eq!(called(&heard.join("\n")), BTreeMap::from([(1, lost.clone()), (2, lost.clone()), (3, lost)]));
}
