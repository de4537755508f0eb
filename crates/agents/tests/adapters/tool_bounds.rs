//! Checks that the tool calls of any stream are bounded: no line makes the reader fail, and every text has its limit.

use agents::adapter::{AdapterKind, HeardEvent, Listener, tool_title};
use chance::SeededRandom;
use serde_json::{Value, json};

use super::replay::kind;
use super::tools::streams;

fn check(heard: &HeardEvent) {
    match heard {
        HeardEvent::ToolCall { name, call } => {
            assert!(name.len() <= 200 && call.id.as_ref().is_none_or(|id| id.len() <= 200), "{name}");
            assert!(call.targets.len() <= 16 && call.targets.iter().all(|target| target.len() <= 512), "{name}");
            let title = tool_title(name, call, None, None);
            assert!(title.len() <= 200 && !title.chars().any(char::is_control), "{title:?}");
        }
        HeardEvent::ToolResult(result) => {
            assert!(result.text.len() <= 4 << 10 && result.id.as_ref().is_none_or(|id| id.len() <= 200));
        }
        HeardEvent::Conversation(_) | HeardEvent::Text(_) | HeardEvent::Progress => {}
    }
}

/// Returns a value that no client would send in this place.
fn odd(dice: &mut SeededRandom) -> Value {
    let long = ["äö \u{202e}\n", "+a\n-b\n", "Exit code 9", "*** Begin Patch\n", "/bin/bash -lc '"];
    match dice.below(9) {
        0 => Value::Null,
        1 => json!(dice.below(2) == 0),
        2 => json!(i64::MIN),
        3 => json!(1e300),
        4 => json!([]),
        5 => json!({"content": [{"text": "x"}, 7], "type": "tool_use"}),
        6 => json!([{"path": "p"}, "text", [1]]),
        7 => json!(""),
        _ => json!(long[dice.below(long.len())].repeat(1 + dice.below(3_000))),
    }
}

/// Puts an odd value into one place of a JSON value.
fn spoil(value: &mut Value, dice: &mut SeededRandom) {
    let inner: Vec<&mut Value> = match value {
        Value::Object(members) => members.values_mut().collect(),
        Value::Array(elements) => elements.iter_mut().collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    };
    let count = inner.len();
    match inner.into_iter().nth(dice.below(count + 1)) {
        Some(inner) => spoil(inner, dice),
        None => *value = odd(dice),
    }
}

#[test]
fn odd_values_in_any_place_give_bounded_calls() {
    let mut dice = SeededRandom::new(0x5851_f42d_4c95_7f2d);
    let mut calls = 0;
    for (name, text) in streams() {
        let lines: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        for _ in 0..12 {
            let mut listener = Listener::new(kind(&name));
            for line in &lines {
                let mut line = line.clone();
                for _ in 0..dice.below(4) {
                    spoil(&mut line, &mut dice);
                }
                let heard = listener.feed(format!("{line}\n").as_bytes());
                heard.iter().for_each(check);
                calls += heard.iter().filter(|heard| matches!(heard, HeardEvent::ToolCall { .. })).count();
            }
        }
    }
    assert!(calls > 500, "most lines are still understood: {calls}");
}

#[test]
fn broken_bytes_give_bounded_calls() {
    let mut dice = SeededRandom::new(0x1405_7b7e_f767_814f);
    for (name, text) in streams() {
        for _ in 0..20 {
            let mut bytes = text.clone().into_bytes();
            for _ in 0..200 {
                let at = dice.below(bytes.len());
                bytes[at] ^= 1 << dice.below(8);
            }
            Listener::new(kind(&name)).feed(&bytes).iter().for_each(check);
        }
        let noise: Vec<u8> = (0..4_000).map(|_| u8::try_from(dice.below(256)).unwrap()).collect();
        AdapterKind::ALL.into_iter().for_each(|kind| Listener::new(kind).feed(&noise).iter().for_each(check));
    }
}

#[test]
fn very_long_names_targets_and_results_are_cut() {
    let long = "ä".repeat(20_000);
    let lines = [
        (
            "claude",
            json!({"type": "assistant", "message": {"content": [
            {"type": "tool_use", "id": long, "name": "Bash", "input": {"command": long}}]}}),
        ),
        (
            "claude",
            json!({"type": "user", "message": {"content": [
            {"type": "tool_result", "tool_use_id": long, "content": [{"text": long}, {"text": long}]}]}}),
        ),
        (
            "codex",
            json!({"type": "item.completed", "item": {"id": long, "type": "file_change",
            "changes": vec![json!({"path": long}); 100]}}),
        ),
        ("gemini", json!({"type": "tool_use", "tool_name": long, "tool_id": long, "parameters": {}})),
        (
            "opencode",
            json!({"type": "tool_use", "part": {"tool": "read", "callID": long,
            "state": {"input": {"filePath": long}, "output": long}}}),
        ),
        (
            "acp",
            json!({"method": "session/update", "params": {"update": {"sessionUpdate": "tool_call",
            "toolCallId": long, "title": long, "kind": "execute", "status": "completed", "rawOutput": long}}}),
        ),
    ];
    for (name, line) in lines {
        let heard = Listener::new(kind(name)).feed(format!("{line}\n").as_bytes());
        assert!(heard.iter().any(|heard| *heard != HeardEvent::Progress), "{name}");
        heard.iter().for_each(check);
    }
}
