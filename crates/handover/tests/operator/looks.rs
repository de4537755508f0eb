//! Tests of the commands that show a person the work of a runner: turns (runs of agents' programs), the output of these
//! programs, and the project context (the shared knowledge about the project).

use engine::turn::Purpose;
use engine::verification::Verdict;
use engine::{Command, Json, Reply};
use serde_json::{Value, json};

use crate::handover;
use crate::scene::{NOW, Scene};

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

#[test]
fn a_turn_tells_what_it_said_called_and_cost() {
    let scene = Scene::new();
    let run = |arguments: &[&str]| handover(scene.at(), arguments);
    let nothing = run(&["turn", "list"]);
    assert_eq!(nothing, (Some(0), "there are no turns; `handover run` starts them\n".to_owned(), String::new()));
    let wrote = b"{\"type\":\"text\"}\n\xff\x00\x1b[31m";
    let first = scene.turn(Purpose::First, Some(wrote));
    scene.verify(first, Verdict::Fail);
    let second = scene.turn(Purpose::Verification, None);
    scene.verify(first, Verdict::Pass);
    let (task, workflow) = (scene.task.to_string(), scene.workflow.to_string());
    for filter in [vec![], vec!["--task", &task], vec!["--workflow", &workflow]] {
        let (code, text, errors) = run(&[vec!["turn", "list", "--json"], filter].concat());
        assert_eq!(code, Some(0), "{errors}");
        let found = parsed(&text);
        let ids: Vec<&str> = found["turns"].as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap()).collect();
        let mut wanted = [first.to_string(), second.to_string()];
        // All turns (runs of agents' programs) started in the same millisecond, so `turn list` sorts them by id, the
        // highest first.
        wanted.sort_by(|left, right| right.cmp(left));
        assert_eq!(ids, wanted, "{text}");
    }
    let (code, text, _) = run(&["turn", "list"]);
    assert!(code == Some(0) && text.contains("it builds") && text.contains("no such program"), "{text}");

    let (code, text, _) = run(&["turn", "show", &first.to_string(), "--json"]);
    assert_eq!(code, Some(0));
    let found = parsed(&text);
    let hash = base::ground::digest::sha256(wrote);
    assert_eq!(found["stream"], json!({"sha256": hash, "bytes": wrote.len(), "is_here": true}));
    assert_eq!(found["verdict"]["warnings"], json!(["MULTIPLE_BLOCKS"]));
    let spent = json!({"usd_micros": 120_000, "tokens": 13_300, "tokens_in": 12_400, "tokens_out": 900, "seconds": 12,
        "turns": 1});
    assert_eq!((&found["spent"], &found["model"]), (&spent, &json!("opus")));
    let told = ["agent", "task", "status", "conversation", "tool_calls"].map(|name| found[name].clone());
    assert_eq!(told.to_vec(), vec![json!("quinn"), json!("build"), json!("finished"), json!("c-1"), json!(7)]);
    let verified = found["verifications"].as_array().unwrap();
    assert_eq!(verified.iter().map(|row| row["passed"].clone()).collect::<Vec<_>>(), [json!(false), json!(true)]);
    assert_eq!(verified[0]["evidence"]["commands"][0]["tail"], "ok. 12 passed");

    let (code, text, _) = run(&["turn", "show", &first.to_string()]);
    assert!(code == Some(0) && text.contains("it builds") && text.contains("12 passed"), "{text}");
    assert!(text.contains("$0.12, 12,400 tokens in, 900 out, 12.4 s, 1 turn"), "{text}");
    let (code, text, _) = run(&["turn", "show", &second.to_string(), "--json"]);
    assert_eq!(code, Some(0));
    let found = parsed(&text);
    assert_eq!((&found["reason"], &found["stream"]), (&json!("no such program"), &Value::Null));
    assert_eq!(found["verifications"], json!([]));
}

#[test]
fn what_a_program_wrote_is_printed_byte_for_byte_or_not_at_all() {
    let scene = Scene::new();
    let wrote = b"{\"type\":\"text\"}\n\xff\x00\x1b[31m";
    let turn = scene.turn(Purpose::First, Some(wrote)).to_string();
    let silent = scene.turn(Purpose::Next, None).to_string();
    let program = || {
        let mut program = std::process::Command::new(env!("CARGO_BIN_EXE_handover"));
        program.current_dir(scene.at()).env_remove("HANDOVER_STORE").args(["turn", "show", "--stream"]);
        program
    };
    let output = program().arg(&turn).output().expect("the program");
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(0), wrote.as_slice()));
    let (code, _, errors) = handover(scene.at(), &["turn", "show", "--stream", &silent]);
    assert!(code == Some(1) && errors.contains("was not kept"), "{errors}");
    let (code, _, errors) = handover(scene.at(), &["turn", "show", "--stream", "tn_000000000000"]);
    assert!(code == Some(1) && errors.contains("TURN_NOT_FOUND"), "{errors}");
    let hash = base::ground::digest::sha256(wrote);
    let path = scene.state().join("objects").join(&hash[..2]).join(&hash);
    std::fs::write(&path, "something else").expect("a file");
    let (code, _, errors) = handover(scene.at(), &["turn", "show", "--stream", &turn]);
    assert!(code != Some(0) && errors.contains("was changed after it was saved"), "{code:?} {errors}");
    std::fs::remove_file(&path).expect("a file");
    let (code, _, errors) = handover(scene.at(), &["turn", "show", "--stream", &turn]);
    assert!(code != Some(0) && errors.contains(&hash), "{code:?} {errors}");
    let (_, text, _) = handover(scene.at(), &["turn", "show", &turn, "--json"]);
    assert_eq!(parsed(&text)["stream"]["is_here"], false);
}

#[test]
fn what_is_asked_for_and_not_there_is_refused_by_code() {
    let scene = Scene::new();
    let cases: &[(&[&str], i32, &str)] = &[
        (&["turn", "show", "tn_000000000000"], 1, "TURN_NOT_FOUND"),
        (&["turn", "list", "--task", "tk_000000000000"], 1, "TASK_NOT_FOUND"),
        (&["turn", "list", "--workflow", "wf_000000000000"], 1, "WORKFLOW_NOT_FOUND"),
        (&["turn", "show", "tk_000000000000"], 2, "invalid value"),
        (&["project", "show", "stack"], 1, "SECTION_NOT_FOUND"),
        (&["project", "history", "stack"], 1, "SECTION_NOT_FOUND"),
        (&["project", "show", "No Slug\u{1b}[31m"], 1, "SECTION_NOT_FOUND"),
    ];
    for (arguments, code, words) in cases {
        let (found, _, errors) = handover(scene.at(), arguments);
        assert_eq!(found, Some(*code), "{arguments:?}: {errors}");
        assert!(errors.contains(words) && !errors.contains("\u{1b}[31mx"), "{arguments:?}: {errors}");
    }
}

#[test]
fn a_section_tells_who_wrote_it_and_what_it_was_before() {
    let scene = Scene::new();
    let run = |arguments: &[&str]| handover(scene.at(), arguments);
    let (code, text, _) = run(&["project", "show"]);
    assert_eq!((code, text.as_str()), (Some(0), "the project context is empty; agents write it with their handoffs\n"));
    let write = |name: &str, version, body: &str| Command::WriteSection {
        name: name.to_owned(),
        version,
        body: Json::from_stored(body.to_owned()),
        task: Some(scene.task),
    };
    assert_eq!(scene.as_person(write("stack", 0, r#"{"db":"sqlite"}"#)), Reply::SectionWritten { version: 1 });
    scene.as_runner(write("stack", 1, r#"{"db":"postgres"}"#));
    scene.as_runner(write("services", 0, r#"["api"]"#));
    let (code, text, _) = run(&["project", "show", "--json"]);
    assert_eq!(code, Some(0));
    let found = parsed(&text);
    let at = NOW;
    let by = scene.agent.to_string();
    let section = |name: &str, version: u64, body: &Value| json!({"name": name, "version": version, "by": by, "agent": "quinn", "updated_at": at, "body": body});
    let stack = section("stack", 2, &json!({"db": "postgres"}));
    assert_eq!(found, json!({"sections": [section("services", 1, &json!(["api"])), stack]}));
    let (_, text, _) = run(&["project", "show", "stack", "--json"]);
    assert_eq!(parsed(&text), stack);
    let (_, text, _) = run(&["project", "history", "stack", "--json"]);
    let task = scene.task.to_string();
    assert_eq!(
        parsed(&text),
        json!({"section": "stack", "changes": [
            {"version": 2, "by": by, "agent": "quinn", "at": at, "task_id": task, "before": {"db": "sqlite"}, "after": {"db": "postgres"}},
            {"version": 1, "by": "human", "agent": null, "at": at, "task_id": task, "before": null, "after": {"db": "sqlite"}},
        ]})
    );
    let (code, text, _) = run(&["project", "show"]);
    assert!(code == Some(0) && text.contains("services") && text.contains("quinn"), "{text}");
    let (code, text, _) = run(&["project", "history", "stack"]);
    assert!(code == Some(0) && text.contains("sqlite") && text.contains("2096-10-02"), "{text}");
}

/// A command whose output pipe is closed early, as by `head`, exits quietly and not with an error.
#[test]
fn whoever_has_seen_enough_hears_no_complaint() {
    let scene = Scene::new();
    for words in [&["status"][..], &["approval", "list"], &["workflow", "list"], &["log", "verify"]] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let mut program = std::process::Command::new(env!("CARGO_BIN_EXE_handover"));
        program.current_dir(scene.at()).env_remove("HANDOVER_STORE").args(words).stdout(writer);
        let output = program.stderr(std::process::Stdio::piped()).output().expect("the program");
        assert_eq!(
            (output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()),
            (Some(0), ""),
            "{words:?}"
        );
    }
}
