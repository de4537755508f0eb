//! Tests bad input through every interface: each input gets an error with a code, quickly, and changes nothing in the
//! store.

use serde_json::{Value, json};

use crate::door::{Door, Heard, properties};
use crate::http::Connection;
use crate::pipe::Pipe;
use crate::place::Place;
use crate::serve::Server;

/// A server and a store with a few rows, and the content of the store before the test sends bad input.
struct Scene {
    place: Place,
    server: Server,
    workflow: String,
    task: String,
    agent: String,
    before: Vec<Value>,
}

impl Scene {
    fn new() -> Self {
        let place = Place::new();
        let server = Server::start(&place);
        let word = |value: &Value| value.as_str().unwrap().to_owned();
        let workflow = word(&server.must("workflow_create", &json!({"name": "scene"}))["id"]);
        let plan = json!({"id": workflow, "plan": {"summary": "one", "tasks": [{"name": "task"}]}});
        let task = word(&server.must("workflow_set_plan", &plan)["task_ids"]["task"]);
        let agent = word(&server.must("agent_register", &json!({"name": "amy", "runtime": "siege"}))["id"]);
        let before = place.export();
        Self { place, server, workflow, task, agent, before }
    }

    /// Checks that the store is unchanged and that all processes end without an error.
    fn end(self, doors: Vec<Door>) {
        doors.into_iter().for_each(Door::close);
        assert_eq!(self.place.export(), self.before, "something was changed");
        self.server.stop();
    }
}

/// Returns one sample value of each JSON type.
fn kinds() -> Vec<(&'static str, Value)> {
    vec![
        ("null", Value::Null),
        ("boolean", json!(true)),
        ("integer", json!(7)),
        ("number", json!(1.5)),
        ("string", json!("a text")),
        ("array", json!([])),
        ("object", json!({})),
    ]
}

/// Tells whether a schema allows a kind of value at all. A schema without a type allows every kind.
fn allows(schema: &Value, kind: &str) -> bool {
    if let Some(choices) = schema.get("anyOf").or_else(|| schema.get("oneOf")).and_then(Value::as_array) {
        return choices.iter().any(|choice| allows(choice, kind));
    }
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        // A schema with `enum` allows only its own values, and the sample string of `kinds` is never one of them.
        return kind == "null" && values.contains(&Value::Null);
    }
    match &schema["type"] {
        Value::String(word) => word == kind || (word == "number" && kind == "integer"),
        Value::Array(words) => words.iter().any(|word| word == kind),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => true,
    }
}

/// Short forms that tools accept because people write them in plans, although the schemas for models do not mention
/// them. Each row: the tool, the argument and the type.
const SHORT_FORMS: &[(&str, &str, &str)] = &[("workflow_add_task", "depends_on", "string")];

#[test]
fn every_argument_of_every_tool_refuses_every_wrong_type() {
    let scene = Scene::new();
    let mut doors = Door::all(&scene.place, &scene.server);
    for door in &mut doors {
        let tools = door.schemas();
        assert!(tools.len() > 50, "{}: {} tools", door.name(), tools.len());
        let mut calls = 0;
        for (tool, schema) in tools {
            let required = schema["required"].as_array().cloned().unwrap_or_default();
            for (field, schema) in properties(&schema) {
                let is_required = required.contains(&Value::from(field.as_str()));
                // Null is valid for an optional argument: it means that the argument is absent.
                let is_taken = |kind: &str| SHORT_FORMS.contains(&(tool.as_str(), field.as_str(), kind));
                let is_wrong =
                    |kind: &str| !allows(&schema, kind) && !is_taken(kind) && (kind != "null" || is_required);
                for (kind, value) in kinds().iter().filter(|(kind, _)| is_wrong(kind)) {
                    let heard = door.call(&tool, json!({field.clone(): value}).to_string().as_bytes());
                    let case = format!("{}: {tool} with {kind} for {field}: {heard:?}", door.name());
                    assert_eq!(heard.code, "INVALID_INPUT", "{case}");
                    assert!(heard.fields.contains(&field), "{case}");
                    calls += 1;
                }
            }
        }
        println!("{}: {calls} wrong types refused", door.name());
    }
    scene.end(doors);
}

#[test]
fn every_tool_names_what_is_missing_and_what_it_does_not_know() {
    let scene = Scene::new();
    let mut doors = Door::all(&scene.place, &scene.server);
    for door in &mut doors {
        for (tool, schema) in door.schemas() {
            let heard = door.call(&tool, br#"{"no_such_field": 1}"#);
            let required = schema["required"].as_array().cloned().unwrap_or_default();
            let required = required.iter().map(|name| name.as_str().unwrap().to_owned());
            for field in required.chain(["no_such_field".to_owned()]) {
                assert!(heard.fields.contains(&field), "{}: {tool} does not name {field}: {heard:?}", door.name());
            }
            assert_eq!(heard.code, "INVALID_INPUT", "{}: {tool}", door.name());
        }
        // For an argument whose name is nearly right, the refusal suggests the right name.
        let near = door.call("task_claim", br#"{"taskid": "tk_0123456789ab"}"#);
        assert!(near.words.contains("\"nearest\":\"task_id\""), "{}: {near:?}", door.name());
    }
    scene.end(doors);
}

fn nested(depth: usize) -> Vec<u8> {
    let lists = [vec![b'['; depth], vec![b']'; depth]].concat();
    [b"{\"name\":\"a\",\"config\":{\"deep\":", lists.as_slice(), b"}}"].concat()
}

/// Tests arguments that are not a JSON object, or that are ambiguous, such as a key that comes twice. Over MCP the
/// arguments are part of a message. When the message itself cannot be parsed, the answer is a protocol error.
#[test]
fn what_is_no_json_object_is_refused_by_name() {
    let table: Vec<(&str, Vec<u8>, &str)> = vec![
        ("a list", b"[]".to_vec(), "-32602"),
        ("a text", b"\"x\"".to_vec(), "-32602"),
        ("a number", b"7".to_vec(), "-32602"),
        ("nothing", b"".to_vec(), "-32700"),
        ("null", b"null".to_vec(), "INVALID_INPUT"),
        ("half", b"{\"name\":".to_vec(), "-32700"),
        ("more after it", b"{\"name\":\"a\"} x".to_vec(), "-32700"),
        ("a key twice", br#"{"name":"a","name":"b"}"#.to_vec(), "-32602"),
        ("an escaped key twice", br#"{"name":"a","n\u0061me":"b"}"#.to_vec(), "-32602"),
        ("NaN", br#"{"name":NaN}"#.to_vec(), "-32700"),
        ("Infinity", br#"{"name":"a","max_parallel_tasks":-Infinity}"#.to_vec(), "-32700"),
        ("single quotes", b"{'name':'a'}".to_vec(), "-32700"),
        ("a comment", b"{\"name\":\"a\"/* b */}".to_vec(), "-32700"),
        ("a comma too many", b"{\"name\":\"a\",}".to_vec(), "-32700"),
        ("a byte order mark", b"\xef\xbb\xbf{\"name\":\"a\"}".to_vec(), "-32700"),
        ("bytes that are no text", b"{\"name\":\"\xff\xfe\"}".to_vec(), "-32700"),
        ("an overlong slash", b"{\"name\":\"\xc0\xaf\"}".to_vec(), "-32700"),
        ("half a surrogate pair", br#"{"name":"\ud800"}"#.to_vec(), "-32602"),
        ("a pair the wrong way round", br#"{"name":"\udc00\ud800"}"#.to_vec(), "-32602"),
        ("a bare control character", b"{\"name\":\"a\x01\"}".to_vec(), "-32700"),
        ("a zero byte", b"{\"name\":\"a\x00\"}".to_vec(), "-32700"),
        ("129 levels", nested(127), "-32700"),
        ("100,000 levels", nested(100_000), "-32700"),
        ("a huge number", br#"{"name":"a","max_parallel_tasks":1e999999}"#.to_vec(), "INVALID_INPUT"),
        (
            "forty digits",
            format!("{{\"name\":\"a\",\"lease_seconds\":{}}}", "9".repeat(40)).into_bytes(),
            "INVALID_INPUT",
        ),
        (
            "a long fraction",
            format!("{{\"name\":\"a\",\"lease_seconds\":0.{}1}}", "0".repeat(10_000)).into_bytes(),
            "INVALID_INPUT",
        ),
        ("less than nothing", br#"{"name":"a","max_parallel_tasks":-1}"#.to_vec(), "INVALID_INPUT"),
        ("minus zero", br#"{"name":"a","max_parallel_tasks":-0}"#.to_vec(), "INVALID_INPUT"),
        ("a bell in a name", br#"{"name":"a\u0007b"}"#.to_vec(), "INVALID_INPUT"),
        ("a line break in a name", br#"{"name":"a\nb"}"#.to_vec(), "INVALID_INPUT"),
        ("an escape in a name", br#"{"name":"\u001b[2J"}"#.to_vec(), "INVALID_INPUT"),
        ("a written zero byte", br#"{"name":"a\u0000"}"#.to_vec(), "INVALID_INPUT"),
        ("a blank name", br#"{"name":" \u2003 "}"#.to_vec(), "INVALID_INPUT"),
    ];
    let scene = Scene::new();
    let mut doors = Door::all(&scene.place, &scene.server);
    for door in &mut doors {
        for (name, arguments, mcp) in &table {
            let heard = door.call("workflow_create", arguments);
            let expected = if let Door::Api { .. } = door { "INVALID_INPUT" } else { mcp };
            assert_eq!(heard.code, expected, "{}: {name}: {heard:?}", door.name());
        }
    }
    scene.end(doors);
}

/// The size limit of a message depends on the tool that it calls. A message above the limit is refused before its
/// fields are checked.
#[test]
fn what_is_too_long_is_refused_whole() {
    let text = |bytes: usize| format!("{{\"name\":\"{}\"}}", "x".repeat(bytes)).into_bytes();
    let table: Vec<(&str, &str, Vec<u8>, &str, &str)> = vec![
        ("a name of nearly a mebibyte", "workflow_create", text((1 << 20) - 20), "INVALID_INPUT", "INVALID_INPUT"),
        ("two mebibytes", "workflow_create", text(2 << 20), "TOO_LARGE", "-32600"),
        ("33 mebibytes", "workflow_create", text(33 << 20), "TOO_LARGE", "-32600"),
        ("a plan of 31 mebibytes", "workflow_set_plan", text(31 << 20), "INVALID_INPUT", "INVALID_INPUT"),
        ("a plan of 33 mebibytes", "workflow_set_plan", text(33 << 20), "TOO_LARGE", "-32600"),
    ];
    let scene = Scene::new();
    let mut doors = Door::all(&scene.place, &scene.server);
    for door in &mut doors {
        for (name, tool, arguments, api, mcp) in &table {
            let heard = door.call(tool, arguments);
            let expected = if let Door::Api { .. } = door { api } else { mcp };
            assert_eq!(heard.code, *expected, "{}: {name}: {heard:?}", door.name());
            if heard.code == "TOO_LARGE" || heard.code == "-32600" {
                assert!(heard.status.is_none_or(|status| status == 413), "{}: {name}: {heard:?}", door.name());
            }
        }
    }
    scene.end(doors);
}

/// Every stored text has a length limit, and may not hold characters that SQLite or PostgreSQL cannot store.
#[test]
fn every_kept_text_has_a_bound() {
    let scene = Scene::new();
    let (workflow, task, agent) = (&scene.workflow, &scene.task, &scene.agent);
    let note = json!({"task_id": task, "type": "progress", "summary": "s"});
    let message = json!({"recipient_id": agent, "message_type": "info", "body": "b"});
    let table: Vec<(&str, Value, &[&str])> = vec![
        (
            "agent_register",
            json!({"name": "n", "runtime": "r"}),
            &["name", "runtime", "role", "workspace_path", "idempotency_key"],
        ),
        (
            "workflow_create",
            json!({"name": "n"}),
            &["name", "source_type", "source_ref", "repository_path", "idempotency_key"],
        ),
        (
            "workflow_add_task",
            json!({"workflow_id": workflow, "name": "n"}),
            &["name", "description", "parallel_group", "role", "repository_path"],
        ),
        ("workflow_update_status", json!({"id": workflow, "status": "paused"}), &["reason"]),
        ("workflow_lock", json!({"id": workflow, "session_id": "s"}), &["session_id"]),
        ("checkpoint_add", note, &["summary", "idempotency_key"]),
        ("task_update_status", json!({"id": task, "status": "completed", "outcome": "o"}), &["outcome"]),
        ("task_update_status", json!({"id": task, "status": "failed", "error": "e"}), &["error"]),
        ("task_update_status", json!({"id": task, "status": "skipped", "reason": "r"}), &["reason"]),
        ("message_send", message, &["subject", "body"]),
        ("repository_register", json!({"path": "p"}), &["path", "name"]),
        (
            "workspace_create",
            json!({"workflow_id": workflow, "path": "p", "branch": "b"}),
            &["path", "branch", "base_branch"],
        ),
        ("template_create", json!({"name": "n", "template": {"tasks": [{"name": "t"}]}}), &["name", "description"]),
    ];
    let mut doors = Door::all(&scene.place, &scene.server);
    for door in &mut doors {
        for (tool, arguments, fields) in &table {
            for field in *fields {
                for (name, text) in [("a million letters", "x".repeat(1_000_000)), ("a zero byte", "a\0b".to_owned())] {
                    let mut arguments = arguments.clone();
                    arguments[field] = text.into();
                    let heard = door.call(tool, arguments.to_string().as_bytes());
                    let case = format!("{}: {tool} with {name} for {field}: {heard:?}", door.name());
                    assert_eq!(heard.code, "INVALID_INPUT", "{case}");
                    assert!(heard.fields.iter().any(|named| named.contains(field)), "{case}");
                    assert!(heard.words.len() < 4_096, "{case}: the answer repeats it");
                }
            }
        }
    }
    scene.end(doors);
}

/// Invalid MCP messages are refused with a protocol error, on the pipe and over HTTP.
#[test]
fn what_is_no_message_is_refused_by_number() {
    let table: &[(&str, &str, i64)] = &[
        ("a batch", r#"[{"jsonrpc":"2.0","id":7,"method":"ping"}]"#, -32600),
        ("an empty batch", "[]", -32600),
        ("a text", r#""hello""#, -32600),
        ("no jsonrpc", r#"{"id":7,"method":"ping"}"#, -32600),
        ("another jsonrpc", r#"{"jsonrpc":"1.0","id":7,"method":"ping"}"#, -32600),
        ("no method", r#"{"jsonrpc":"2.0","id":7}"#, -32600),
        ("a number for a method", r#"{"jsonrpc":"2.0","id":7,"method":3}"#, -32600),
        ("an object for an id", r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, -32600),
        ("null for an id", r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600),
        ("a fraction for an id", r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, -32600),
        ("a list for parameters", r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":[]}"#, -32602),
        ("no tool", r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{}}"#, -32602),
        ("a number for a tool", r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":1}}"#, -32602),
        ("an unknown tool", r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"nope"}}"#, -32602),
        ("a bad cursor", r#"{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"cursor":"x"}}"#, -32602),
        (
            "a bad address",
            r#"{"jsonrpc":"2.0","id":7,"method":"resources/read","params":{"uri":"file:///etc/passwd"}}"#,
            -32002,
        ),
        (
            "a traversal",
            r#"{"jsonrpc":"2.0","id":7,"method":"resources/read","params":{"uri":"handover://task/../../x"}}"#,
            -32002,
        ),
        ("an unknown prompt", r#"{"jsonrpc":"2.0","id":7,"method":"prompts/get","params":{"name":"nope"}}"#, -32602),
        ("an unknown method", r#"{"jsonrpc":"2.0","id":7,"method":"no/such"}"#, -32601),
        ("no JSON", "hello", -32700),
    ];
    let scene = Scene::new();
    let mut doors = Door::all(&scene.place, &scene.server);
    // In the new MCP version every request names its version. These messages do not, so they count as messages of the
    // old version. Only the first two interfaces, the pipe and MCP with a session, speak that version.
    doors.truncate(2);
    for door in &mut doors {
        for (name, message, number) in table {
            let answer = door.message(message.as_bytes()).unwrap();
            assert_eq!(answer["error"]["code"], *number, "{}: {name}: {answer}", door.name());
        }
    }
    scene.end(doors);
}

/// Tests requests that are not HTTP, or that are ambiguous, such as a request with two different lengths.
#[test]
fn what_is_no_request_is_refused_or_closed() {
    let scene = Scene::new();
    let [token, admin] =
        [&scene.server.token, &scene.server.admin].map(|secret| format!("Authorization: Bearer {secret}\r\n"));
    let call = "POST /api/v1/tools/workflow_create HTTP/1.1\r\nHost: localhost\r\n";
    let table: Vec<(&str, Vec<u8>, &[u16])> = vec![
        ("noise", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n".to_vec(), &[400]),
        ("HTTP/0.9", b"GET /\r\n\r\n".to_vec(), &[400]),
        ("HTTP/3.0", b"GET / HTTP/3.0\r\nHost: localhost\r\n\r\n".to_vec(), &[400]),
        ("the preface of HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(), &[400]),
        ("a header without a name", b"GET / HTTP/1.1\r\n: x\r\n\r\n".to_vec(), &[400]),
        ("a header on two lines", format!("{call}X: a\r\n b\r\n\r\n").into_bytes(), &[400]),
        ("a head of 200 KiB", format!("{call}X: {}\r\n\r\n", "x".repeat(200 << 10)).into_bytes(), &[431]),
        ("a thousand headers", format!("{call}{}\r\n", "X: y\r\n".repeat(1_000)).into_bytes(), &[400, 431]),
        ("two lengths", format!("{call}{token}Content-Length: 2\r\nContent-Length: 14\r\n\r\n{{}}").into_bytes(), &[400]),
        ("a length and chunks", format!("{call}{token}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n").into_bytes(), &[400, 422]),
        ("a negative length", format!("{call}{token}Content-Length: -1\r\n\r\n").into_bytes(), &[400]),
        ("an endless length", format!("{call}{token}Content-Length: 99999999999999999999999\r\n\r\n").into_bytes(), &[400]),
        ("a chunk without a number", format!("{call}{token}Transfer-Encoding: chunked\r\n\r\nxyz\r\n").into_bytes(), &[400]),
        ("an unknown coding", format!("{call}{token}Transfer-Encoding: gzip\r\n\r\n").into_bytes(), &[400, 501]),
        ("no route", format!("GET /api/v2/x HTTP/1.1\r\nHost: localhost\r\n{token}\r\n").into_bytes(), &[404]),
        ("no tool", format!("POST /api/v1/tools/%2e%2e%2ftokens HTTP/1.1\r\nHost: localhost\r\n{token}Content-Length: 0\r\n\r\n").into_bytes(), &[404]),
        ("a tool that is no text", format!("POST /api/v1/tools/%ff HTTP/1.1\r\nHost: localhost\r\n{token}Content-Length: 0\r\n\r\n").into_bytes(), &[400]),
        ("another method", format!("DELETE /api/v1/workflows HTTP/1.1\r\nHost: localhost\r\n{token}\r\n").into_bytes(), &[405]),
        ("no method", format!("FROB /mcp HTTP/1.1\r\nHost: localhost\r\n{token}\r\n").into_bytes(), &[405]),
        ("a number that is none", format!("GET /api/v1/log/registry?after=x HTTP/1.1\r\nHost: localhost\r\n{token}\r\n").into_bytes(), &[422]),
        ("a limit that is none", format!("GET /api/v1/workflows?limit=-1 HTTP/1.1\r\nHost: localhost\r\n{token}\r\n").into_bytes(), &[422]),
        ("a limit over the bound", format!("GET /api/v1/workflows?limit=501 HTTP/1.1\r\nHost: localhost\r\n{token}\r\n").into_bytes(), &[422]),
        ("a cursor that is none", format!("GET /api/v1/events?after=x HTTP/1.1\r\nHost: localhost\r\n{token}\r\n").into_bytes(), &[422]),
        ("a filter that is none", format!("GET /api/v1/events?nope=x HTTP/1.1\r\nHost: localhost\r\n{token}\r\n").into_bytes(), &[422]),
        ("no accept", format!("POST /mcp HTTP/1.1\r\nHost: localhost\r\n{token}Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{{}}").into_bytes(), &[406]),
        ("no type", format!("POST /mcp HTTP/1.1\r\nHost: localhost\r\n{token}Accept: application/json, text/event-stream\r\nContent-Length: 2\r\n\r\n{{}}").into_bytes(), &[415]),
        ("a token that is no object", format!("POST /api/v1/tokens HTTP/1.1\r\nHost: localhost\r\n{admin}Content-Length: 2\r\n\r\n[]").into_bytes(), &[422]),
    ];
    for (name, bytes, expected) in &table {
        let mut connection = Connection::open(scene.server.port);
        let _closed_early = connection.send(bytes);
        // When the bytes are no HTTP request at all, the server may close the connection without an answer.
        let status = connection.answer().map(|answer| answer.status);
        assert!(status.is_none_or(|status| expected.contains(&status)), "{name}: {status:?}");
        let must_answer = expected.iter().any(|status| ![400, 431].contains(status));
        assert!(status.is_some() || !must_answer, "{name}: closed without an answer");
    }
    scene.end(Vec::new());
}

/// On the command line a wrong call exits with 2, and a valid call that Handover refuses exits with 1. Neither changes
/// the store.
#[test]
fn wrong_commands_say_what_is_wrong() {
    let scene = Scene::new();
    let long = "x".repeat(100_000);
    let deep = format!("{{\"a\":{}{}}}", "[".repeat(2_000), "]".repeat(2_000));
    std::fs::write(scene.place.root().join("bad.json"), b"{\"summary\":\"\xff\"}").unwrap();
    std::fs::write(scene.place.root().join("cut.json"), b"{\"summary\":").unwrap();
    let (workflow, task) = (scene.workflow.as_str(), scene.task.as_str());
    let table: Vec<(Vec<&str>, i32, &str)> = vec![
        (vec!["workflow"], 2, "Usage"),
        (vec!["workflow", "frob"], 2, "unrecognized subcommand"),
        (vec!["workflow", "create"], 2, "<NAME>"),
        (vec!["workflow", "create", "a", "--nope"], 2, "unexpected argument"),
        (vec!["workflow", "create", "a", "--max-parallel-tasks", "x"], 2, "invalid value"),
        (vec!["workflow", "create", "a", "--max-parallel-tasks", "-1"], 2, "unexpected argument"),
        (vec!["workflow", "create", "a", "--max-parallel-tasks", "99999999999999999999"], 2, "invalid value"),
        (vec!["workflow", "create", "a", "--max-parallel-tasks", "0"], 1, "max_parallel_tasks"),
        (vec!["workflow", "create", "a", "--config", "{"], 2, "`config` must be JSON"),
        (vec!["workflow", "create", "a", "--config", "[]"], 1, "config"),
        (vec!["workflow", "create", "a", "--config", &deep], 2, "nested deeper"),
        (vec!["workflow", "create", "a", "--config", "@missing.json"], 2, "open missing.json"),
        (vec!["workflow", "create", ""], 1, "name"),
        (vec!["workflow", "create", "a\u{7}b"], 1, "U+0007"),
        (vec!["workflow", "create", &long], 1, "name"),
        (vec!["workflow", "plan", workflow, "@bad.json"], 2, "bad.json"),
        (vec!["workflow", "plan", workflow, "@cut.json"], 2, "cut.json"),
        (vec!["workflow", "plan", workflow, "{}"], 1, "`plan/tasks` is required"),
        (vec!["workflow", "show", "wf_nope"], 1, "Workflow not found: wf_nope"),
        (vec!["workflow", "show", task], 1, "WORKFLOW_NOT_FOUND"),
        (vec!["workflow", "show", "wf_000000000000"], 1, "WORKFLOW_NOT_FOUND"),
        (vec!["workflow", "list", "--limit", "501"], 1, "limit"),
        (vec!["workflow", "list", "--cursor", "x"], 1, "cursor"),
        (vec!["task", "show", "../../etc/passwd"], 1, "Task not found: ../../etc/passwd"),
        (vec!["task", "show", " "], 1, "must be tk_"),
        (vec!["token", "create", "a", "--scope", "root"], 2, "must be agent, coordinator, person or admin"),
        (vec!["token", "create", "a\nb"], 1, "U+000A"),
        (vec!["token", "revoke", "tok_nope"], 2, "tok_"),
        (vec!["mcp", "--as", "root"], 2, "give `agent`, or `coordinator`"),
        (vec!["mcp", "--as", "person"], 2, "an MCP client cannot act as a person"),
        (vec!["token", "create", "x", "--scope", "person", "--shared"], 1, "NOT_A_PERSON"),
        (vec!["token", "create", "x", "--agent", "nobody"], 1, "there is no agent nobody"),
        (vec!["token", "create", "x", "--agent", "a", "--shared"], 2, "cannot be used with"),
        (vec!["mcp", "--tools", "nope"], 2, "there is no tool"),
        (vec!["serve", "--port", "99999"], 2, "invalid value"),
        (vec!["import", "missing.jsonl"], 2, "open missing.jsonl"),
        (vec!["log", "verify", "--heads", "missing"], 2, "missing"),
    ];
    for (arguments, code, words) in &table {
        let ran = scene.place.run(arguments);
        let said = format!("{}{}", ran.out, ran.err);
        let shown: Vec<&str> = arguments.iter().map(|word| &word[..word.len().min(40)]).collect();
        assert_eq!(ran.code, Some(*code), "{shown:?}: {}", &said[..said.len().min(400)]);
        assert!(said.contains(words), "{shown:?}: {}", &said[..said.len().min(400)]);
        assert!(!said.contains("panicked"), "{shown:?}: {said}");
    }
    let odd = std::os::unix::ffi::OsStrExt::from_bytes;
    let odd: &std::ffi::OsStr = odd(b"\xff\xfe");
    let ran = scene.place.program().args(["workflow", "create"]).arg(odd).output().unwrap();
    assert_eq!(ran.status.code(), Some(2), "bytes that are no text");
    scene.end(Vec::new());
}

/// When a line on the pipe is far longer than allowed, the server does not keep it in memory, and it answers the later
/// lines.
#[test]
fn an_endless_line_is_not_kept() {
    let place = Place::new();
    let mut pipe = Pipe::open(&place, &[]);
    let piece = vec![b'x'; 1 << 20];
    let mut sent = 0;
    while sent < 200 {
        pipe.send_part(&piece);
        sent += 1;
    }
    let status = std::fs::read_to_string(format!("/proc/{}/status", pipe.id())).unwrap();
    let peak = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    let peak: u64 = peak.split_whitespace().nth(1).unwrap().parse().unwrap();
    pipe.send(b"");
    let answer = pipe.next().unwrap();
    assert_eq!(answer["error"]["code"], -32600, "{answer}");
    assert!(pipe.request("ping", &json!({})).is_ok());
    println!("a line of 200 MiB: peak {} MiB", peak >> 10);
    assert!(peak < 150 << 10, "{peak} KiB");
    assert_eq!(pipe.leave().1, "");
}

/// Tests that the same wrong call gets the same answer at every interface.
#[test]
fn the_same_mistake_has_the_same_answer_at_every_door() {
    let scene = Scene::new();
    let mut doors = Door::all(&scene.place, &scene.server);
    let mistakes: &[(&str, &[u8])] = &[
        ("task_claim", br#"{"task_id": 7, "agent": "x"}"#),
        ("workflow_create", br#"{"name": "", "max_parallel_tasks": 0}"#),
        ("checkpoint_add", br#"{"task_id": "tk_000000000000", "type": "progress", "summary": "s"}"#),
        ("message_get", br#"{"id": "msg_000000000000"}"#),
    ];
    for (tool, arguments) in mistakes {
        let heard: Vec<Heard> = doors.iter_mut().map(|door| door.call(tool, arguments)).collect();
        for other in &heard {
            let refusal = |heard: &Heard| (heard.code.clone(), heard.fields.clone());
            assert_eq!(refusal(other), refusal(&heard[0]), "{tool}");
        }
    }
    scene.end(doors);
}
