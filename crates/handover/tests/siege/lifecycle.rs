//! Replays the whole lifecycle of a task over HTTP: the test repeats the calls that real clients made. The calls name
//! no agent. `handover setup --http` gives the clients access.
//!
//! A transcript in `clients/lifecycle` has the calls of a client (`>`) and the answers that the client got (`<`). A
//! line with `-` names an MCP method that calls no tool. A model that followed a script drove the client, and a proxy
//! recorded the traffic. Ids are numbered by their kind, and times are 0.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::busy::patience;
use crate::place::Place;
use crate::serve::{Era, Server, tool_call};

/// For each client: its name for `handover setup`, the path of its configuration file, and its transcript.
const DRIVEN: [(&str, &str, &str); 3] = [
    ("claude-code", ".claude.json", include_str!("clients/lifecycle/claude.txt")),
    ("copilot", ".copilot/mcp-config.json", include_str!("clients/lifecycle/copilot.txt")),
    ("goose", ".config/goose/config.yaml", include_str!("clients/lifecycle/goose.txt")),
];

/// The numbered ids of a transcript, such as `tk_1`, by the real ids of this store.
#[derive(Debug, Default)]
struct NumberedIds {
    numbered: BTreeMap<String, String>,
}

impl NumberedIds {
    /// Returns the numbered form of an id. A new id gets the next number of its kind.
    fn number(&mut self, id: &str) -> String {
        if let Some(known) = self.numbered.get(id) {
            return known.clone();
        }
        let (kind, _) = id.split_once('_').unwrap();
        let next = self.numbered.values().filter(|known| known.starts_with(&format!("{kind}_"))).count() + 1;
        let new = format!("{kind}_{next}");
        self.numbered.insert(id.to_owned(), new.clone());
        new
    }

    /// Returns a reply as a transcript shows it: with numbered ids and without times.
    fn masked(&mut self, value: &Value) -> Value {
        match value {
            Value::String(text) if is_id(text) => self.number(text).into(),
            Value::Number(number) if number.as_u64().is_some_and(|number| number >= 1_000_000_000_000) => json!(0),
            Value::Array(items) => items.iter().map(|item| self.masked(item)).collect(),
            Value::Object(pairs) => {
                let pairs = pairs.iter().map(|(key, value)| {
                    let masked = match key.as_str() {
                        "handoff_id" => json!("H"),
                        // The estimated number of tokens differs between runs, because ids are random and some have
                        // more tokens than others.
                        "token_estimate" => json!(0),
                        _ => self.masked(value),
                    };
                    (key.clone(), masked)
                });
                Value::Object(pairs.collect())
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
        }
    }

    /// Returns the arguments of a call in a transcript, with the numbered ids replaced by the real ids of this store.
    fn real(&self, arguments: &str) -> Value {
        let mut text = arguments.to_owned();
        for (real, numbered) in &self.numbered {
            text = text.replace(&format!("\"{numbered}\""), &format!("\"{real}\""));
        }
        serde_json::from_str(&text).unwrap()
    }
}

fn is_id(text: &str) -> bool {
    let parts = text.split_once('_').filter(|(kind, rest)| (2..=3).contains(&kind.len()) && rest.len() == 12);
    parts.is_some_and(|(_, rest)| rest.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit()))
}

/// Finds the secret of a token in a client's configuration. The configuration must contain exactly one secret.
fn secret(configuration: &str) -> String {
    let bearers: Vec<&str> = configuration.split("Bearer ").skip(1).collect();
    let [one] = bearers.as_slice() else { panic!("{} tokens", bearers.len()) };
    one.split(['"', '\n']).next().unwrap().to_owned()
}

#[test]
fn real_clients_finish_tasks_over_http_without_naming_themselves() {
    for (client, file, transcript) in DRIVEN {
        for has_session in [false, true] {
            let place = Place::new();
            let workflow = place.json(&["workflow", "create", "demo", "--json"])["id"].as_str().unwrap().to_owned();
            let plan = r#"{"summary": "one", "tasks": [{"name": "a"}, {"name": "b"}]}"#;
            place.json(&["workflow", "plan", &workflow, plan, "--json"]);
            let mut ids = NumberedIds::default();
            for task in place.json(&["task", "list", "--json"])["tasks"].as_array().unwrap() {
                ids.number(task["id"].as_str().unwrap());
            }
            let server = Server::start(&place);
            let url = format!("--http=http://127.0.0.1:{}/mcp", server.port);
            let ran = place.run(&["setup", client, &url, "--yes"]);
            assert_eq!(ran.code, Some(0), "{}", ran.err);
            let token = secret(&std::fs::read_to_string(place.outside().join(file)).unwrap());
            let era = if has_session { server.session(&token) } else { Era::New };
            replay(&server, &token, &era, transcript, &mut ids);
            let progress = place.json(&["workflow", "progress", &workflow, "--json"]);
            assert_eq!(progress["all_complete"], json!(true), "{client}: {progress}");
            let undone = place.run(&["setup", client, "--undo", "--yes"]);
            assert!(undone.err.contains("revoked the token"), "{}", undone.err);
            is_shut_out(&server, &token);
            server.stop();
        }
    }
}

/// Waits until the server refuses a token that another process revoked. The server notices the revocation up to a tenth
/// of a second later.
fn is_shut_out(server: &Server, token: &str) {
    let begun = Instant::now();
    loop {
        let answer = server.post_mcp(token, &Era::New, b"{}");
        if answer.status == 401 {
            return;
        }
        assert!(begun.elapsed() < patience(Duration::from_secs(2)), "{}: {}", answer.status, answer.text());
    }
}

/// Repeats the client's calls, and compares the answers with the transcript.
fn replay(server: &Server, token: &str, era: &Era, transcript: &str, ids: &mut NumberedIds) {
    // A client with a session sends the metadata about itself only once, when it opens the session.
    let meta = transcript.lines().find_map(|line| line.strip_prefix("meta: "));
    let lines: Vec<&str> = transcript.lines().collect();
    let mut calls = 0;
    for pair in lines.windows(2) {
        let (Some(asked), Some(told)) = (pair[0].strip_prefix("> "), pair[1].strip_prefix("< ")) else { continue };
        let (tool, arguments) = asked.split_once(' ').unwrap();
        assert!(!arguments.contains("agent_id"), "{asked}");
        let mut message = tool_call(era, tool, &ids.real(arguments));
        if let Some(meta) = meta.filter(|_| *era == Era::New) {
            message["params"]["_meta"] = serde_json::from_str(meta).unwrap();
        }
        let answer = server.post_mcp(token, era, message.to_string().as_bytes());
        let reply = &answer.message()["result"]["structuredContent"];
        let expected: Value = serde_json::from_str(told).unwrap();
        assert_eq!(ids.masked(reply), expected, "{asked} in {era:?}: {}", answer.text());
        calls += 1;
    }
    assert!(calls >= 15, "only {calls} calls");
}
