//! Tests that the server's OpenAPI document is well-formed and complete, and that the server does what the document
//! says. `scripts/clients` also checks the document with an external validator.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use wire::lifecycle::TOOLS;

use crate::http::Answer;
use crate::place::Place;
use crate::security::{Team, word};
use crate::serve::Server;

fn document(server: &Server) -> Value {
    let answer = server.get(&server.token, "/api/v1/openapi.json");
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/json")));
    answer.json()
}

/// Returns the path, the method and the object of every operation in the OpenAPI document.
fn operations(document: &Value) -> Vec<(&str, &str, &Value)> {
    let paths = document["paths"].as_object().unwrap();
    paths
        .iter()
        .flat_map(|(path, item)| {
            item.as_object().unwrap().iter().map(move |(method, operation)| (path.as_str(), method.as_str(), operation))
        })
        .collect()
}

/// Collects all `$ref` values of the OpenAPI document.
fn references<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    if let Value::Object(members) = value {
        found.extend(members.get("$ref").and_then(Value::as_str));
        members.values().for_each(|member| references(member, found));
    } else if let Value::Array(items) = value {
        items.iter().for_each(|item| references(item, found));
    }
}

/// Checks an answer against the schema that the OpenAPI document gives for it.
fn check_answer(document: &Value, operation: &Value, answer: &Answer) {
    let name = operation["operationId"].as_str().unwrap();
    let responses = &operation["responses"];
    let status = answer.status.to_string();
    let told = responses.get(&status).unwrap_or(&responses["default"]);
    let (kind, media) = told["content"].as_object().unwrap().iter().next().unwrap();
    assert_eq!(answer.header("content-type"), Some(kind.as_str()), "{name}: {}", answer.text());
    let mut schema = media["schema"].clone();
    schema["components"] = document["components"].clone();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let problems: Vec<String> = validator.iter_errors(&answer.json()).map(|problem| problem.to_string()).collect();
    assert_eq!(problems, Vec::<String>::new(), "{name} answers against the document: {}", answer.text());
}

#[test]
fn the_document_is_whole() {
    let place = Place::new();
    let server = Server::start(&place);
    let document = document(&server);
    assert_eq!(document["openapi"], "3.1.0");
    let mut found = Vec::new();
    references(&document, &mut found);
    assert!(found.len() > TOOLS.len() * 2, "{}", found.len());
    for reference in found {
        let pointer = reference.strip_prefix('#').unwrap();
        assert!(document.pointer(pointer).is_some(), "{reference} leads nowhere");
    }
    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        assert!(jsonschema::meta::is_valid(schema), "{name} is no JSON Schema");
    }
    let all = operations(&document);
    let names: BTreeSet<&str> =
        all.iter().map(|(_, _, operation)| operation["operationId"].as_str().unwrap()).collect();
    assert_eq!(names.len(), all.len(), "an operation's id is used twice");
    for tool in TOOLS {
        assert!(names.contains(tool.name), "{} is not told", tool.name);
    }
    for (path, method, operation) in &all {
        let declared: Vec<String> = operation["parameters"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|parameter| parameter["in"] == "path")
            .map(|parameter| format!("{{{}}}", word(&parameter["name"])))
            .collect();
        let named: Vec<&str> = path.split('/').filter(|part| part.starts_with('{')).collect();
        assert_eq!(declared, named, "{method} {path}");
    }
    server.stop();
}

/// The paths that read something that the test's project does not have, each with the code of the refusal.
const WITHOUT_WORK: &[(&str, &str)] = &[
    ("/api/v1/tasks/{id}/merge", "WORK_NOT_FOUND"),
    ("/api/v1/tasks/{id}/diff", "WORK_NOT_FOUND"),
    ("/api/v1/workflows/{id}/merge", "WORK_NOT_FOUND"),
    ("/api/v1/workflows/{id}/diff", "WORK_NOT_FOUND"),
    ("/api/v1/tasks/{id}/checks/{number}/output", "CHECK_NOT_FOUND"),
    ("/api/v1/turns/{id}", "TURN_NOT_FOUND"),
    ("/api/v1/turns/{id}/transcript", "TURN_NOT_FOUND"),
];

/// Every path in the OpenAPI document exists, and its answers match the schemas, both for success and for errors.
#[test]
fn the_server_does_what_the_document_says() {
    let team = Team::new();
    let document = document(&team.server);
    let plan = json!({"id": team.workflow, "plan": {"summary": "s", "tasks": [{"name": "t"}]}});
    team.server.must("workflow_set_plan", &plan);
    let task = word(&team.server.must("task_get_available", &json!({}))["tasks"][0]["id"]);
    let known = |path: &str| match path {
        path if path.starts_with("/api/v1/workflows/{id}") => team.workflow.clone(),
        path if path.starts_with("/api/v1/tasks/{id}") => task.clone(),
        path if path.starts_with("/api/v1/turns/{id}") => "tn_000000000000".to_owned(),
        "/api/v1/agents/{id}" => team.amy.clone(),
        "/api/v1/inbox/{agent}" => "amy".to_owned(),
        "/api/v1/log/{topic}" => format!("workflows/{}", team.workflow),
        "/api/v1/messages/{id}/reply" => "msg_000000000000".to_owned(),
        path if path.starts_with("/api/v1/approvals") => "ap_000000000000".to_owned(),
        _ => "tok_000000000000".to_owned(),
    };
    let mut found = 0;
    for (path, method, operation) in operations(&document) {
        if path == "/api/v1/events" {
            continue;
        }
        // The machine's token has the scope `admin`. Its holder manages tokens, and may see approvals but not decide
        // them.
        let is_admins = ["/api/v1/tokens", "/api/v1/approvals"].iter().any(|start| path.starts_with(start));
        let bearer = format!("Bearer {}", if is_admins { &team.server.admin } else { &team.server.token });
        let method = method.to_ascii_uppercase();
        let filled = path.split('/').map(|part| if part.starts_with('{') { known(path) } else { part.to_owned() });
        let filled = filled.collect::<Vec<String>>().join("/");
        let stranger = team.server.ask(&method, &filled, &[], b"{}");
        // An operation with an empty list of securities needs no token: the routes by which browsers connect.
        let needs_token = operation["security"].is_null();
        assert_eq!(stranger.status == 401, needs_token, "{method} {path}: {}", stranger.text());
        check_answer(&document, operation, &stranger);
        let asked: &[u8] = if path.ends_with("/task_wait") { br#"{"wait_seconds": 0}"# } else { b"{}" };
        let answer = team.server.ask(&method, &filled, &[("Authorization", &bearer)], asked);
        check_answer(&document, operation, &answer);
        let is_tool = path.starts_with("/api/v1/tools/");
        if path.starts_with("/api/v1/approvals/{id}") {
            let expected = if method == "GET" { "APPROVAL_NOT_FOUND" } else { "NOT_PERMITTED" };
            assert_eq!(answer.code(), expected, "{filled}: {}", answer.text());
        } else if let Some((_, expected)) = WITHOUT_WORK.iter().find(|(known, _)| method == "GET" && path == *known) {
            assert_eq!(answer.code(), *expected, "{filled}: {}", answer.text());
        } else if method == "GET" {
            assert_eq!(answer.status, 200, "{filled}: {}", answer.text());
        } else if answer.status == 404 {
            assert!(is_tool || answer.code() == "TOKEN_NOT_FOUND", "{filled}: {}", answer.text());
        }
        assert_ne!(answer.code(), "ROUTE_NOT_FOUND", "{filled} is told and not there");
        found += usize::from(answer.status < 300);
    }
    assert!(found > 15, "{found}");
    team.server.stop();
}
