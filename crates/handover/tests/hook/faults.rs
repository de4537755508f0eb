//! Tests `handover hook` when its input or the store is bad. The hook exits with 0 and a JSON object, or with 2 and a
//! reason on standard error. When the store fails, the hook exits with 2 before a tool call, which blocks the call, and
//! with 0 at every other event, because 2 would keep a stopping session open.

use std::path::Path;

use serde_json::{Value, json};

use crate::busy::patience;
use crate::scene::{GATED, HANDS_OVER, SESSION, Said, call, project};

const EVENTS: [&str; 6] = ["SessionStart", "PreToolUse", "PostToolUse", "Stop", "SubagentStop", "SessionEnd"];

/// Checks that a hook's result has a form that clients accept.
#[track_caller]
fn is_an_answer(said: &Said, case: &str) {
    match said.code {
        Some(0) => assert!(said.reply.is_object(), "{case}: {said:?}"),
        Some(2) => assert!(!said.error.trim().is_empty(), "{case}: {said:?}"),
        _ => panic!("{case}: {said:?}"),
    }
}

fn payload(folder: &Path, event: &str) -> Vec<u8> {
    let payload = json!({
        "session_id": SESSION, "hook_event_name": event, "cwd": folder, "prompt_id": "p1", "agent_id": "a1",
        "tool_name": "Bash", "tool_input": {"command": "git push"}, "tool_use_id": "t1",
        "last_assistant_message": "done", "reason": "other", "source": "startup",
    });
    payload.to_string().into_bytes()
}

#[test]
fn bytes_that_are_no_payload() {
    let folder = project(&format!("{HANDS_OVER}{GATED}"));
    let deep = format!("{{\"session_id\":{}1{}}}", "[".repeat(10_000), "]".repeat(10_000));
    let twice = format!(r#"{{"session_id":"{SESSION}","hook_event_name":"PreToolUse","session_id":"x"}}"#);
    let cases: [(&str, &[u8]); 10] = [
        ("nothing", b""),
        ("no JSON", b"hello"),
        ("half", b"{\"session_id\": \"x\""),
        ("a list", b"[]"),
        ("null", b"null"),
        ("no UTF-8", b"{\"session_id\": \"\xff\"}"),
        ("no event", b"{\"session_id\": \"x\"}"),
        ("a number for a name", b"{\"session_id\": 7, \"hook_event_name\": \"Stop\"}"),
        ("deep", deep.as_bytes()),
        ("a name twice", twice.as_bytes()),
    ];
    for (case, bytes) in cases {
        for event in EVENTS {
            let said = call(folder.path(), &["hook", event], bytes, &[]);
            is_an_answer(&said, &format!("{case} at {event}"));
            assert_eq!(said.code, Some(2), "{case} at {event}: {said:?}");
        }
    }
    for session in ["", " ", &"x".repeat(300)] {
        let bytes = json!({"session_id": session, "hook_event_name": "PreToolUse"}).to_string();
        assert_eq!(call(folder.path(), &["hook", "PreToolUse"], bytes.as_bytes(), &[]).code, Some(2), "{session:?}");
    }
}

#[test]
fn a_payload_that_is_too_long_is_not_kept_in_memory() {
    let folder = project(GATED);
    let long = json!({"session_id": SESSION, "hook_event_name": "PostToolUse", "tool_response": "x".repeat(17 << 20)});
    let said = call(folder.path(), &["hook", "PostToolUse"], long.to_string().as_bytes(), &[]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.text("/systemMessage").contains("longer than"), "{said:?}");
    let said = call(folder.path(), &["hook", "PreToolUse"], long.to_string().as_bytes(), &[]);
    assert_eq!(said.code, Some(2), "{said:?}");
}

#[test]
fn arguments_that_are_none() {
    let folder = project("");
    for arguments in [&["hook"][..], &["hook", "Nonsense"], &["hook", "Stop", "Stop"], &["hook", "--frob", "Stop"]] {
        let said = call(folder.path(), arguments, b"{}", &[]);
        assert_eq!(said.code, Some(2), "{arguments:?} {said:?}");
        assert!(!said.error.is_empty());
    }
}

/// A function that damages the store or the settings of a project, so that opening the store fails.
type Spoil = fn(&Path);

/// When gate rules exist and the store fails, the hook blocks the tool call, because it cannot look up approvals. At
/// every other event the hook blocks nothing, and the person gets a message.
#[test]
fn a_store_that_fails() {
    let spoils: [(&str, Spoil); 4] = [
        ("no database", |folder| {
            std::fs::create_dir_all(folder.join(".handover/state")).expect("a folder");
            std::fs::write(folder.join(".handover/state/handover.db"), "this is no database, ".repeat(100))
                .expect("a file");
        }),
        ("a folder in its place", |folder| {
            std::fs::create_dir_all(folder.join(".handover/state/handover.db")).expect("a folder");
        }),
        ("newer than we", |folder| {
            let status = call(folder, &["status"], b"", &[]);
            assert_eq!(status.code, Some(0), "{status:?}");
            let path = folder.join(".handover/state/handover.db");
            let file = rusqlite::Connection::open(path).expect("the file");
            file.execute_batch("UPDATE handover_meta SET value = 4711 WHERE name = 'schema'")
                .expect("it is made newer");
        }),
        ("a server that is not there", |folder| {
            let text = format!("store = \"postgres://nobody@127.0.0.1:1/none\"\n{HANDS_OVER}{GATED}");
            std::fs::write(folder.join(".handover/config.toml"), text).expect("a configuration");
        }),
    ];
    for (case, spoil) in spoils {
        let folder = project(&format!("{HANDS_OVER}{GATED}"));
        spoil(folder.path());
        for event in EVENTS {
            let said = call(folder.path(), &["hook", event], &payload(folder.path(), event), &[]);
            is_an_answer(&said, &format!("{case} at {event}"));
            let code = if event == "PreToolUse" { 2 } else { 0 };
            assert_eq!(said.code, Some(code), "{case} at {event}: {said:?}");
            assert!(!said.error.is_empty(), "{case} at {event}: the person is told");
        }
    }
}

#[test]
fn a_configuration_that_cannot_be_read_may_have_gates() {
    let folder = project("[[gate]]\ncommand = \"not a list\"\n");
    for event in EVENTS {
        let said = call(folder.path(), &["hook", event], &payload(folder.path(), event), &[]);
        is_an_answer(&said, event);
        assert_eq!(said.code == Some(2), event == "PreToolUse", "{event} {said:?}");
    }
}

/// Tests a store whose file another process keeps locked: the hook answers in time instead of waiting for the lock.
#[test]
fn a_store_that_is_locked_does_not_hold_a_session() {
    let folder = project(&format!("{HANDS_OVER}{GATED}"));
    assert_eq!(call(folder.path(), &["status"], b"", &[]).code, Some(0));
    let file = rusqlite::Connection::open(folder.path().join(".handover/state/handover.db")).expect("the file");
    file.execute_batch("BEGIN EXCLUSIVE").expect("a lock");
    let begun = std::time::Instant::now();
    let said = call(folder.path(), &["hook", "SessionEnd"], &payload(folder.path(), "SessionEnd"), &[]);
    is_an_answer(&said, "SessionEnd");
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(begun.elapsed() < patience(std::time::Duration::from_secs(3)), "{:?}", begun.elapsed());
}

#[test]
fn without_gates_nothing_is_looked_at_before_a_tool() {
    let folder = project(HANDS_OVER);
    std::fs::create_dir_all(folder.path().join(".handover/state/handover.db")).expect("a folder");
    let said = call(folder.path(), &["hook", "PreToolUse"], &payload(folder.path(), "PreToolUse"), &[]);
    assert_eq!((said.code, said.reply), (Some(0), Value::Object(serde_json::Map::new())));
}
