//! Tests callers that claim a false identity: with a token of another agent, with another caller's session, as a person
//! over MCP, and with a revoked token.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::busy::patience;
use crate::door::properties;
use crate::http::Connection;
use crate::pipe::Pipe;
use crate::security::{Team, word};
use crate::serve::{Era, ask_mcp, tool_call};

/// Returns valid arguments for a tool, chosen by the names of its required fields.
fn legal(team: &Team, tool: &str, schema: &Value, message: &str) -> Value {
    let mut arguments = json!({});
    for field in schema["required"].as_array().into_iter().flatten().map(word) {
        let noun = tool.split('_').next().unwrap();
        let known = match (field.as_str(), noun) {
            ("id", "task") | ("task_id", _) => json!("tk_000000000000"),
            ("id", "workflow") | ("workflow_id", _) => json!(team.workflow),
            ("id", "message") => json!(message),
            ("id", "workspace") | ("workspace_id", _) => json!("ws_000000000000"),
            ("repository_id", _) => json!("rp_000000000000"),
            ("message_ids", _) => json!([message]),
            ("recipient_id", _) => json!("human"),
            ("message_type", _) => json!("info"),
            ("type", _) => json!("progress"),
            ("status", "task") => json!("in_progress"),
            ("status", _) => json!("paused"),
            ("max_parallel_tasks", _) => json!(1),
            ("config", _) => json!({}),
            ("plan", "workflow") => json!({"summary": "s", "reason": "r", "tasks": [{"name": "t"}]}),
            ("plan" | "new_plan", _) => json!({"approach": "a", "steps": ["one"]}),
            ("wire", _) => json!({"wire": "1.0", "type": "inbox", "sender": "amy"}),
            _ => json!("x"),
        };
        arguments[field] = known;
    }
    if tool == "review_answer" {
        arguments["status"] = json!("accepted");
    }
    if tool == "workflow_set_plan" {
        arguments["plan"] = json!({"summary": "s", "tasks": [{"name": "t"}]});
    }
    arguments
}

/// Bob's token cannot act as Amy: not with any tool that takes an agent, not over the API, not over MCP. The test names
/// Amy by her id and, for mailboxes, also by her name.
#[test]
fn a_token_that_stands_for_one_agent_is_no_other() {
    let team = Team::new();
    let message = team.message("amy");
    let before = team.place.export();
    let all = team.server.get(&team.server.token, "/api/v1/openapi.json").json();
    let schemas = all["components"]["schemas"].as_object().unwrap().clone();
    let mut tried = Vec::new();
    for (name, schema) in schemas {
        let Some(tool) = name.strip_suffix(".arguments") else { continue };
        let mut fields: Vec<&str> = vec!["agent_id", "sender_id"];
        if ["agent_update", "agent_unregister"].contains(&tool) {
            fields.push("id");
        }
        for field in fields.into_iter().filter(|field| properties(&schema).contains_key(*field)) {
            let mut arguments = legal(&team, tool, &schema, &message);
            let is_mailbox = ["inbox_read", "message_list", "message_count_unread"].contains(&tool);
            let names = if is_mailbox { vec![team.amy.as_str(), "amy"] } else { vec![team.amy.as_str()] };
            for other in names {
                arguments[field] = json!(other);
                let answer = team.call("bob", tool, &arguments);
                let call = tool_call(&Era::New, tool, &arguments).to_string();
                let over_mcp = team.server.post_mcp(team.token("bob"), &Era::New, call.as_bytes());
                let text = over_mcp.message()["result"]["content"][0]["text"].to_string();
                if is_public(tool) {
                    // Every caller may use this tool. So the answer is 200, or 404 for a row that does not exist, and
                    // it does not depend on the agent that the call names.
                    let is_read = [200, 404].contains(&answer.status);
                    assert!(is_read, "{tool} as {other} by {field}: {}", answer.text());
                    assert!(!text.contains("AGENT_ELSEWHERE"), "{tool} as {other} by {field}: {text}");
                    continue;
                }
                // The call may be refused for another reason before the caller's identity is checked: a missing
                // argument, an unknown task or a wrong state.
                let code = answer.code();
                assert!(answer.status >= 400, "{tool} as {other} by {field}: {}", answer.text());
                assert!(text.contains(&code), "{tool} as {other} by {field}: {text}");
            }
            tried.push(tool.to_owned());
        }
    }
    assert!(tried.len() > 30, "{tried:?}");
    for mark_read in [true, false] {
        let answer = team.call("bob", "message_get", &json!({"id": message, "mark_read": mark_read}));
        assert_eq!(answer.code(), "NOT_PERMITTED", "another's message by its id");
    }
    let bearer = format!("Bearer {}", team.token("bob"));
    for other in [team.amy.as_str(), "amy"] {
        let headers = [("Authorization", bearer.as_str()), ("Handover-Agent", other)];
        let answer = team.server.ask("GET", "/api/v1/workflows", &headers, b"");
        assert_eq!(answer.status, 200, "everybody may read workflows, whoever the header names: {}", answer.text());
        let beat = team.server.ask("POST", "/api/v1/tools/agent_heartbeat", &headers, b"{}");
        assert_eq!((beat.status, beat.code().as_str()), (403, "AGENT_ELSEWHERE"), "the header names {other}");
    }
    let read =
        json!({"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": "handover://inbox/amy"}});
    let session = team.server.session(team.token("bob"));
    let answer = team.server.post_mcp(team.token("bob"), &session, read.to_string().as_bytes());
    assert!(answer.message()["error"]["message"].to_string().contains("connected elsewhere"), "{}", answer.text());
    assert_eq!(team.place.export(), before, "something was changed");
    println!("{} tools tried as another agent", tried.len());
    team.server.stop();
}

/// Tells whether every caller may use a tool: the tool only reads, and it is none of the tools below, whose answers are
/// for one agent only.
fn is_public(tool: &str) -> bool {
    let reads = wire::lifecycle::Tool::find(tool).is_some_and(|tool| tool.effect == wire::lifecycle::Effect::Reads);
    reads && !["inbox_read", "message_list", "message_count_unread", "task_wait", "review_status"].contains(&tool)
}

/// Over MCP the caller is a model. So no token and no header gives the rights of a person there.
#[test]
fn over_mcp_nobody_is_a_person() {
    let team = Team::new();
    team.message("human");
    let call = tool_call(&Era::New, "inbox_read", &json!({"agent_id": "human"})).to_string();
    for name in ["person", "admin", "agent", "bob", "coordinator"] {
        for said in [None, Some("person")] {
            let bearer = format!("Bearer {}", team.token(name));
            let mut headers = vec![
                ("Authorization", bearer.as_str()),
                ("Content-Type", "application/json"),
                ("Accept", "application/json, text/event-stream"),
                ("MCP-Protocol-Version", "2026-07-28"),
                ("Mcp-Method", "tools/call"),
                ("Mcp-Name", "inbox_read"),
            ];
            headers.extend(said.map(|said| ("Handover-As", said)));
            let answer = team.server.ask("POST", "/mcp", &headers, call.as_bytes()).message();
            let text = answer["result"]["content"][0]["text"].to_string();
            assert!(text.contains("NOT_PERMITTED"), "{name} who says {said:?}: {answer}");
        }
    }
    let ran = team.place.run(&["mcp", "--as", "person"]);
    assert!(ran.code == Some(2) && ran.err.contains("an MCP client cannot act as a person"), "{}", ran.err);
    team.server.stop();
}

/// A call that names an unregistered agent is refused.
#[test]
fn a_name_that_nobody_has_acts_for_nobody() {
    let team = Team::new();
    let before = team.place.export();
    let bearer = format!("Bearer {}", team.token("agent"));
    for (other, expected) in [("ag_000000000000", 404), ("nobody", 404), ("../amy", 404), ("AMY", 404), ("", 404)] {
        let headers = [("Authorization", bearer.as_str()), ("Handover-Agent", other)];
        let note = json!({"recipient_id": "bob", "message_type": "info", "body": "b"}).to_string();
        let answer = team.server.ask("POST", "/api/v1/tools/message_send", &headers, note.as_bytes());
        assert_eq!(answer.status, expected, "{other}: {}", answer.text());
    }
    assert_eq!(team.place.export(), before, "something was changed");
    team.server.stop();
}

/// A session id works only together with the token that opened the session. The new MCP version ignores session ids.
#[test]
fn a_session_belongs_to_the_token_that_opened_it() {
    let team = Team::new();
    let session = team.server.session(team.token("coordinator"));
    let Era::Old { session: name } = &session else { panic!("a session has a name") };
    let call = tool_call(&session, "agent_register", &json!({"name": "carl", "runtime": "siege"})).to_string();
    assert_eq!(team.server.post_mcp(team.token("coordinator"), &session, call.as_bytes()).status, 200);
    for other in ["agent", "bob", "person", "admin"] {
        let answer = team.server.post_mcp(team.token(other), &session, call.as_bytes());
        assert_eq!(answer.status, 404, "{other} in another's session: {}", answer.text());
        let bearer = format!("Bearer {}", team.token(other));
        let headers = [
            ("Authorization", bearer.as_str()),
            ("Mcp-Session-Id", name.as_str()),
            ("Accept", "text/event-stream"),
            ("MCP-Protocol-Version", "2025-06-18"),
        ];
        assert_eq!(team.server.ask("GET", "/mcp", &headers, b"").status, 404, "{other} listens");
        assert_eq!(team.server.ask("DELETE", "/mcp", &headers, b"").status, 404, "{other} ends it");
    }
    assert_eq!(team.server.post_mcp(team.token("coordinator"), &session, call.as_bytes()).status, 200);
    team.server.stop();
}

/// The longest time for which a revoked token may still work.
const REVOKED_MAX: Duration = Duration::from_millis(500);

/// The connections and the session that are open when a token is revoked.
struct Open {
    stream: Connection,
    session_stream: Connection,
    waiting: Connection,
    waiting_over_mcp: Connection,
    session: Era,
}

impl Open {
    fn new(team: &Team, name: &str) -> Self {
        let (port, token) = (team.server.port, team.token(name));
        let bearer = format!("Bearer {token}");
        let authorized = ("Authorization", bearer.as_str());
        let mut stream = Connection::open(port);
        assert!(stream.ask("GET", "/api/v1/events", &[authorized], b""));
        assert_eq!(stream.head().unwrap().status, 200);
        let session = team.server.session(token);
        let Era::Old { session: id } = &session else { panic!("a session has a name") };
        let mut session_stream = Connection::open(port);
        let headers = [
            authorized,
            ("Mcp-Session-Id", id.as_str()),
            ("Accept", "text/event-stream"),
            ("MCP-Protocol-Version", "2025-06-18"),
        ];
        assert!(session_stream.ask("GET", "/mcp", &headers, b""));
        assert_eq!(session_stream.head().unwrap().status, 200);
        let wait = json!({"task_id": team.task(None), "wait_seconds": 50});
        let mut waiting = Connection::open(port);
        assert!(waiting.ask("POST", "/api/v1/tools/task_wait", &[authorized], wait.to_string().as_bytes()));
        let mut waiting_over_mcp = Connection::open(port);
        let call = tool_call(&Era::New, "task_wait", &wait).to_string();
        assert!(ask_mcp(&mut waiting_over_mcp, token, &Era::New, call.as_bytes()));
        // Check that the call over the API and the call over MCP are still waiting: no answer may have come yet.
        assert!(!waiting.has_come(Duration::from_millis(300)) && !waiting_over_mcp.has_come(Duration::from_millis(50)));
        Self { stream, session_stream, waiting, waiting_over_mcp, session }
    }
}

#[test]
fn a_revoked_token_is_worth_nothing_at_once() {
    let team = Team::new();
    let spare = [("over the API", "agent"), ("by another process", "person")];
    for (how, name) in spare {
        let mut open = Open::new(&team, name);
        let id = team.id(name);
        if name == "agent" {
            assert_eq!(team.ask("admin", "DELETE", &format!("/api/v1/tokens/{id}"), &Value::Null).status, 200);
        } else {
            // Without a terminal, the command line refuses to revoke the token of scope `person`.
            let ran = team.place.run(&["token", "revoke", id]);
            assert!(ran.code == Some(1) && ran.err.contains("NOT_A_PERSON"), "{}", ran.err);
            assert_eq!(team.place.decide(&["token", "revoke", id, "--json"]).out, "{\"success\":true}\n");
        }
        let revoked = Instant::now();
        let mut ended: Vec<(&str, Duration)> = Vec::new();
        while team.ask(name, "GET", "/api/v1/workflows", &Value::Null).status != 401 {
            assert!(revoked.elapsed() < patience(REVOKED_MAX), "{how}: it is still good");
        }
        ended.push(("a request", revoked.elapsed()));
        let call = tool_call(&open.session, "workflow_list", &json!({})).to_string();
        let answer = team.server.post_mcp(team.token(name), &open.session, call.as_bytes());
        assert_eq!(answer.status, 401, "{how}: a session of it");
        for (what, connection) in
            [("a call that waits", &mut open.waiting), ("the same over MCP", &mut open.waiting_over_mcp)]
        {
            assert_eq!(connection.answer().map(|answer| answer.status), Some(401), "{how}: {what}");
            ended.push((what, revoked.elapsed()));
        }
        for (what, connection) in
            [("a stream of events", &mut open.stream), ("a session's stream", &mut open.session_stream)]
        {
            while connection.chunk().is_some() {}
            ended.push((what, revoked.elapsed()));
        }
        println!("{how}: {ended:?}");
        let late: Vec<_> = ended.iter().filter(|(_, after)| *after > patience(REVOKED_MAX)).collect();
        assert!(late.is_empty(), "{how}: {late:?}");
    }
    assert_eq!(team.ask("admin", "GET", "/api/v1/workflows", &Value::Null).status, 200, "others are as good as before");
    team.server.stop();
}

/// A client with an agent's rights can change only tasks that it holds. A client that a person accepted as a
/// coordinator may release the tasks of other agents.
#[test]
fn a_pipe_has_the_rights_it_was_started_with() {
    let team = Team::new();
    let human = team.message("human");
    let mut table: Vec<(&str, Value, &str)> = vec![
        ("inbox_read", json!({"agent_id": "human"}), "NOT_PERMITTED"),
        ("message_list", json!({"agent_id": "human"}), "NOT_PERMITTED"),
        ("message_get", json!({"id": human}), "NOT_PERMITTED"),
        ("message_archive", json!({"message_ids": [human]}), "NOT_PERMITTED"),
    ];
    let held = team.task(None);
    for (tool, arguments) in [
        ("task_update_status", json!({"id": held, "status": "completed", "outcome": "o"})),
        ("task_update_status", json!({"id": held, "status": "failed", "error": "e"})),
        ("checkpoint_add", json!({"task_id": held, "type": "progress", "summary": "s"})),
        ("task_release", json!({"task_id": held})),
        ("task_set_plan", json!({"id": held, "plan": {"approach": "a", "steps": ["one"]}})),
    ] {
        table.push((tool, arguments, "CLAIM_LOST"));
    }
    for status in ["blocked", "paused"] {
        let back = json!({"id": team.task(Some(status)), "status": "pending", "reason": "r"});
        table.push(("task_update_status", back, "NOT_PERMITTED"));
    }
    let mut agent = Pipe::open(&team.place, &["--tools", "full"]);
    agent.register("dora");
    let before = team.place.export();
    for (tool, arguments, code) in &table {
        let found = agent.refused(tool, arguments);
        assert_eq!(found, *code, "{tool} {arguments}");
    }
    assert_eq!(team.place.export(), before, "something was changed");
    let tools = agent.request("tools/list", &json!({})).unwrap();
    let names: Vec<String> = tools["tools"].as_array().unwrap().iter().map(|tool| word(&tool["name"])).collect();
    assert!(!names.iter().any(|name| name.contains("token")), "tokens are not made over MCP");
    let ran = team.place.run(&["mcp", "--as", "coordinator"]);
    assert!(ran.code == Some(2) && ran.err.contains("[mcp] coordinators"), "nobody named a coordinator: {}", ran.err);
    team.place.name_coordinator();
    let ran = team.place.run(&["mcp", "--as", "coordinator"]);
    assert!(ran.code == Some(2) && ran.err.contains("handover trust"), "nobody accepted it: {}", ran.err);
    team.place.allow_coordinator();
    let mut coordinator = Pipe::open(&team.place, &["--tools", "full", "--as", "coordinator"]);
    coordinator.must("task_release", &json!({"task_id": held}));
    assert_eq!(coordinator.refused("inbox_read", &json!({"agent_id": "human"})), "NOT_PERMITTED");
    for pipe in [agent, coordinator] {
        assert_eq!(pipe.leave().1, "");
    }
    // A client that the settings do not list as a coordinator (a caller that may act on tasks of other agents) has only
    // an agent's rights.
    let held = team.task(None);
    let mut stranger = Pipe::start(&team.place, &["--tools", "full", "--as", "coordinator"]);
    stranger.initialize_as("stranger");
    stranger.register("eve");
    assert_eq!(stranger.refused("task_release", &json!({"task_id": held})), "CLAIM_LOST");
    assert!(stranger.leave().1.contains("the client `stranger` has only an agent's rights"));
    team.server.stop();
}
