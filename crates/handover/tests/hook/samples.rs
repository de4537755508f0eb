//! Tests hooks with payloads that were recorded from real clients and are unchanged except for the names of folders.

use serde_json::{Value, json};

use crate::scene::{GATED, HANDS_OVER, call, project};

fn payloads() -> Vec<Value> {
    let files = [include_str!("samples/claude.ndjson"), include_str!("samples/codex.ndjson")];
    let lines = files.into_iter().flat_map(str::lines);
    lines.map(|line| serde_json::from_str(line).expect("a payload")).collect()
}

/// The folders in these payloads are no Handover projects, so the hooks answer without creating a store.
#[test]
fn every_event_of_a_real_client_is_answered_and_makes_no_store() {
    let folder = project(&format!("{HANDS_OVER}{GATED}"));
    let payloads = payloads();
    assert!(payloads.len() > 30, "{}", payloads.len());
    for payload in payloads {
        let event = payload["hook_event_name"].as_str().expect("an event").to_owned();
        let said = call(folder.path(), &["hook", &event], payload.to_string().as_bytes(), &[]);
        assert_eq!((said.code, &said.reply), (Some(0), &json!({})), "{payload}\n{said:?}");
    }
    assert!(!folder.path().join(".handover/state").exists());
    assert!(!folder.path().join("data").exists());
}

/// A hook that is called for one event and gets the payload of another event returns an error. This holds for every
/// pair of events.
#[test]
fn a_payload_of_another_event_is_an_error() {
    let folder = project("");
    let events = ["SessionStart", "PreToolUse", "PostToolUse", "Stop", "SubagentStop", "SessionEnd", "Notification"];
    for payload in payloads() {
        let own = payload["hook_event_name"].as_str().expect("an event");
        let Some(other) = events.iter().find(|event| **event != own) else { continue };
        let said = call(folder.path(), &["hook", other], payload.to_string().as_bytes(), &[]);
        // A stop that a hook blocked once is not blocked again: a wrong hook configuration must not keep a session open
        // forever.
        let code = if payload["stop_hook_active"] == json!(true) { 0 } else { 2 };
        assert_eq!(said.code, Some(code), "{other} {payload}");
        assert!(said.error.contains(own) && said.error.contains(other), "{}", said.error);
    }
}
