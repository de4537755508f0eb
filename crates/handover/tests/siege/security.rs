//! Tokens: who gets in, what each scope may do, that a token which stands for one agent is no other, and that a revoked one
//! is worth nothing at once.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::door::properties;
use crate::http::{Answer, Connection};
use crate::pipe::Pipe;
use crate::place::Place;
use crate::serve::{Era, Server, ask_mcp, tool_call};

/// A team: two agents, a workflow, and one token of each kind.
struct Team {
    place: Place,
    server: Server,
    workflow: String,
    amy: String,
    bob: String,
    /// Scope or name, id and secret.
    tokens: Vec<(&'static str, String, String)>,
}

fn word(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

impl Team {
    fn new() -> Self {
        let place = Place::new();
        let server = Server::start(&place);
        let workflow = word(&server.must("workflow_create", &json!({"name": "team"}))["id"]);
        let agent = |name: &str| word(&server.must("agent_register", &json!({"name": name, "runtime": "siege"}))["id"]);
        let (amy, bob) = (agent("amy"), agent("bob"));
        let mut tokens = Vec::new();
        for scope in ["agent", "coordinator", "person", "admin"] {
            let (id, secret) = server.token(&json!({"name": scope, "scope": scope}));
            tokens.push((scope, id, secret));
        }
        let (id, secret) = server.token(&json!({"name": "bob", "scope": "agent", "agent": bob}));
        tokens.push(("bob", id, secret));
        Self { place, server, workflow, amy, bob, tokens }
    }

    fn token(&self, name: &str) -> &str {
        self.tokens.iter().find(|(known, ..)| *known == name).map(|(_, _, secret)| secret.as_str()).unwrap()
    }

    fn id(&self, name: &str) -> &str {
        self.tokens.iter().find(|(known, ..)| *known == name).map(|(_, id, _)| id.as_str()).unwrap()
    }

    /// Sends a request with somebody's token.
    fn ask(&self, name: &str, method: &str, target: &str, body: &Value) -> Answer {
        let bearer = format!("Bearer {}", self.token(name));
        let body = if body.is_null() { String::new() } else { body.to_string() };
        self.server.ask(method, target, &[("Authorization", &bearer)], body.as_bytes())
    }

    fn call(&self, name: &str, tool: &str, arguments: &Value) -> Answer {
        self.server.call(self.token(name), tool, arguments)
    }

    /// A fresh task that Amy holds, in a state.
    fn task(&self, status: Option<&str>) -> String {
        static NUMBER: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        let workflow = word(&self.server.must("workflow_create", &json!({"name": format!("own {number}")}))["id"]);
        let plan = json!({"id": workflow, "plan": {"summary": "one", "tasks": [{"name": "task"}]}});
        let task = word(&self.server.must("workflow_set_plan", &plan)["task_ids"]["task"]);
        let claim = json!({"task_id": task, "agent_id": self.amy});
        assert_eq!(self.server.must("task_claim", &claim)["success"], true);
        if let Some(status) = status {
            let reason = "a decision is needed";
            let mut to = json!({"id": task, "status": status, "reason": reason, "agent_id": self.amy});
            if status == "blocked" {
                to["blocker_type"] = json!("ambiguity");
            }
            self.server.must("task_update_status", &to);
        }
        task
    }

    /// A message in somebody's mailbox; its id.
    fn message(&self, to: &str) -> String {
        let message = json!({"recipient_id": to, "message_type": "info", "body": "for your eyes"});
        word(&self.server.must("message_send", &message)["id"])
    }
}

#[test]
fn who_has_no_good_token_gets_nothing() {
    let team = Team::new();
    let (good, hash) = (team.token("admin").to_owned(), handover::token::hash(team.token("admin")));
    let routes = [
        ("GET", "/api/v1/workflows"),
        ("GET", "/api/v1/tokens"),
        ("POST", "/api/v1/tools/workflow_list"),
        ("GET", "/api/v1/events"),
        ("GET", "/api/v1/log/registry"),
        ("GET", "/api/v1/openapi.json"),
        ("GET", "/metrics"),
        ("POST", "/mcp"),
        ("GET", "/mcp"),
        ("DELETE", "/mcp"),
        ("GET", "/no/such/page"),
    ];
    for (method, route) in routes {
        let answer = team.server.ask(method, route, &[], b"");
        assert_eq!((answer.status, answer.code().as_str()), (401, "UNAUTHORIZED"), "{method} {route}");
        assert_eq!(answer.header("www-authenticate"), Some("Bearer"), "{method} {route}");
        assert_eq!(answer.header("access-control-allow-origin"), None, "{method} {route}");
    }
    let table: Vec<(&str, String)> = vec![
        ("nothing", String::new()),
        ("a scheme alone", "Bearer".to_owned()),
        ("a scheme and a blank", "Bearer ".to_owned()),
        ("another scheme", format!("Basic {good}")),
        ("no scheme", good.clone()),
        ("a wrong token", "Bearer hnd_0000".to_owned()),
        ("part of one", format!("Bearer {}", &good[..good.len() - 1])),
        ("more than one", format!("Bearer {good}0")),
        ("another case", format!("Bearer {}", good.to_uppercase())),
        ("two tokens", format!("Bearer {good} {good}")),
        ("what is stored of it", format!("Bearer {hash}")),
        ("a long one", format!("Bearer {}", "x".repeat(10_000))),
        ("a quoted one", format!("Bearer \"{good}\"")),
    ];
    for (name, value) in &table {
        let answer = team.server.ask("GET", "/api/v1/workflows", &[("Authorization", value)], b"");
        assert_eq!(answer.status, 401, "{name}: {}", answer.text());
        assert!(!answer.text().contains(&good) && !answer.text().contains("hnd_"), "{name}: the answer shows it");
    }
    let elsewhere = team.server.ask("GET", &format!("/api/v1/workflows?token={good}&access_token={good}"), &[], b"");
    assert_eq!(elsewhere.status, 401, "a token in an address ends up in logs");
    let lower = team.server.ask("GET", "/api/v1/workflows", &[("Authorization", &format!("bearer  {good} "))], b"");
    assert_eq!(lower.status, 200, "the scheme has no case");
    for health in ["/healthz", "/readyz"] {
        let answer = team.server.ask("GET", health, &[], b"");
        assert_eq!(answer.status, 200, "{health} needs no token");
        assert!(!answer.text().contains('/'), "and shows nothing of the machine: {}", answer.text());
    }
    team.server.stop();
}

/// Strangers who try without end are slowed; who has a token is not.
#[test]
fn guessing_is_slowed_for_strangers_only() {
    let team = Team::new();
    let mut connection = Connection::open(team.server.port);
    let guess = |connection: &mut Connection, number: usize| {
        let bearer = format!("Bearer hnd_{number:064}");
        connection.request("GET", "/api/v1/workflows", &[("Authorization", &bearer)], b"").unwrap().status
    };
    let slowed = (0..5_000).find(|number| guess(&mut connection, *number) == 429);
    assert!(slowed.is_some(), "5,000 guesses were answered");
    assert_eq!(team.ask("agent", "GET", "/api/v1/workflows", &Value::Null).status, 200);
    team.server.stop();
}

/// What is asked, and what each scope gets for it.
#[test]
fn each_scope_may_do_its_own_and_no_more() {
    let team = Team::new();
    let human = team.message("human");
    let spare = team.server.token(&json!({"name": "spare"})).0;
    let get = |target: &str| ("GET", target.to_owned(), Value::Null);
    let tool = |name: &str, arguments: Value| ("POST", format!("/api/v1/tools/{name}"), arguments);
    let move_to = |task: String, status: &str| {
        tool("task_update_status", json!({"id": task, "status": status, "reason": "r", "outcome": "o", "error": "e"}))
    };
    let as_amy = |task: String| tool("checkpoint_add", json!({"task_id": task, "type": "progress", "summary": "s"}));
    type Ask<'a> = Box<dyn Fn() -> (&'static str, String, Value) + 'a>;
    // In the order: agent, coordinator, person, admin.
    let table: Vec<(&str, Ask<'_>, [u16; 4])> = vec![
        ("list tokens", Box::new(|| get("/api/v1/tokens")), [403, 403, 403, 200]),
        (
            "make a token",
            Box::new(|| ("POST", "/api/v1/tokens".to_owned(), json!({"name": "n", "scope": "admin"}))),
            [403, 403, 403, 201],
        ),
        (
            "revoke a token",
            Box::new(|| ("DELETE", format!("/api/v1/tokens/{spare}"), Value::Null)),
            [403, 403, 403, 200],
        ),
        ("read a person's mail", Box::new(|| get("/api/v1/inbox/human")), [403, 403, 200, 200]),
        ("list a person's mail", Box::new(|| tool("message_list", json!({"agent_id": "human"}))), [403, 403, 200, 200]),
        (
            "count a person's mail",
            Box::new(|| tool("message_count_unread", json!({"agent_id": "human"}))),
            [403, 403, 200, 200],
        ),
        (
            "read one of it",
            Box::new(|| tool("message_get", json!({"id": human, "mark_read": false}))),
            [403, 403, 200, 200],
        ),
        ("see a person's mail in the log", Box::new(|| get("/api/v1/log/agents/human")), [403, 403, 200, 200]),
        ("see tokens in the log", Box::new(|| get("/api/v1/log/registry")), [403, 403, 200, 200]),
        ("see an agent's mail in the log", Box::new(|| get("/api/v1/log/agents/amy")), [403, 200, 200, 200]),
        ("see workflows in the log", Box::new(|| get(&format!("/api/v1/log/workflows/{}", team.workflow))), [200; 4]),
        ("write on another's task", Box::new(|| as_amy(team.task(None))), [404, 200, 200, 200]),
        ("complete another's task", Box::new(|| move_to(team.task(None), "completed")), [404, 200, 200, 200]),
        ("release a blocked task", Box::new(|| move_to(team.task(Some("blocked")), "pending")), [404, 200, 200, 200]),
        ("send a paused task back", Box::new(|| move_to(team.task(Some("paused")), "pending")), [403, 200, 200, 200]),
        (
            "say a person's mail is read",
            Box::new(|| tool("message_mark_read", json!({"message_ids": [team.message("human")]}))),
            [404, 403, 200, 200],
        ),
    ];
    for (name, ask, expected) in &table {
        let got = ["agent", "coordinator", "person", "admin"].map(|scope| {
            let (method, target, body) = ask();
            team.ask(scope, method, &target, &body).status
        });
        assert_eq!(got, *expected, "{name}");
    }
    drop(table);
    // Without an agent it is nobody, hence 404 above; as an agent it is told who has the task.
    let told = |task: String, status: &str| {
        let arguments = json!({"id": task, "status": status, "reason": "r", "outcome": "o"});
        team.call("bob", "task_update_status", &arguments).code()
    };
    assert_eq!(told(team.task(None), "completed"), "CLAIM_LOST");
    assert_eq!(told(team.task(Some("blocked")), "pending"), "NOT_PERMITTED");
    assert_eq!(told(team.task(Some("paused")), "pending"), "NOT_PERMITTED");
    let foreign = team.call("bob", "message_mark_read", &json!({"message_ids": [team.message("human")]}));
    assert_eq!(foreign.code(), "NOT_PERMITTED");
    team.server.stop();
}

/// A follower sees what its token may see, also of what was there before.
#[test]
fn events_show_no_more_than_the_token_may_see() {
    let team = Team::new();
    for to in ["human", "amy", "bob"] {
        team.message(to);
    }
    let mark = json!({"id": team.workflow, "config": {"the": "end"}});
    team.server.must("workflow_set_config", &mark);
    let table: &[(&str, &[&str], &[&str])] = &[
        ("agent", &["workflows/"], &["agents/", "registry"]),
        ("bob", &["workflows/", "agents/bob"], &["agents/amy", "agents/human", "registry"]),
        ("coordinator", &["workflows/", "agents/amy", "agents/bob"], &["agents/human", "registry"]),
        ("person", &["workflows/", "agents/amy", "agents/human", "registry"], &[]),
    ];
    for (name, seen, unseen) in table {
        let mut connection = Connection::open(team.server.port);
        let bearer = format!("Bearer {}", team.token(name));
        assert!(connection.ask("GET", "/api/v1/events?after=0", &[("Authorization", &bearer)], b""));
        assert_eq!(connection.head().unwrap().status, 200);
        let mut text = String::new();
        while !text.contains("\"the\"") {
            text.push_str(&String::from_utf8_lossy(&connection.chunk().unwrap()));
        }
        let shows = |topic: &&&str| text.contains(&format!("\"topic\":\"{topic}"));
        assert!(seen.iter().all(|topic| shows(&topic)), "{name} does not see what it may");
        let too_much: Vec<_> = unseen.iter().filter(shows).collect();
        assert!(too_much.is_empty(), "{name} sees {too_much:?}");
        assert!(!text.contains("hnd_"), "a secret is in the log");
    }
    team.server.stop();
}

/// Arguments that a tool takes, from the names of what it needs.
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
    if tool == "workflow_set_plan" {
        arguments["plan"] = json!({"summary": "s", "tasks": [{"name": "t"}]});
    }
    arguments
}

/// Every tool that says who acts, at both doors, by id; mailboxes also by name.
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
                assert_eq!(answer.code(), "NOT_PERMITTED", "{tool} as {other} by {field}: {}", answer.text());
                let call = tool_call(&Era::New, tool, &arguments).to_string();
                let answer = team.server.post_mcp(team.token("bob"), &Era::New, call.as_bytes());
                let text = answer.message()["result"]["content"][0]["text"].to_string();
                assert!(text.contains("NOT_PERMITTED"), "{tool} as {other} by {field}: {}", answer.text());
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
        assert_eq!((answer.status, answer.code().as_str()), (403, "NOT_PERMITTED"), "the header names {other}");
    }
    let read =
        json!({"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": "handover://inbox/amy"}});
    let session = team.server.session(team.token("bob"));
    let answer = team.server.post_mcp(team.token("bob"), &session, read.to_string().as_bytes());
    assert!(answer.message()["error"]["message"].to_string().contains("mailbox"), "{}", answer.text());
    assert_eq!(team.place.export(), before, "something was changed");
    println!("{} tools tried as another agent", tried.len());
    team.server.stop();
}

/// An agent that nobody registered is nobody, whoever names it.
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

/// A session's name is no key: it is worth something with the token that opened it. In the new era it is worth nothing.
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

/// How long a revoked token may still be good for, at most.
const REVOKED_MAX: Duration = Duration::from_millis(500);

/// Everything that is open when a token is revoked.
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
        // They wait: nothing has come.
        assert!(!waiting.has_come(Duration::from_millis(300)) && !waiting_over_mcp.has_come(Duration::from_millis(50)));
        Self { stream, session_stream, waiting, waiting_over_mcp, session }
    }
}

#[test]
fn a_revoked_token_is_worth_nothing_at_once() {
    let team = Team::new();
    let spare = [("over the API", "coordinator"), ("by another process", "person")];
    for (how, name) in spare {
        let mut open = Open::new(&team, name);
        let id = team.id(name);
        if name == "coordinator" {
            assert_eq!(team.ask("admin", "DELETE", &format!("/api/v1/tokens/{id}"), &Value::Null).status, 200);
        } else {
            assert_eq!(team.place.json(&["token", "revoke", id, "--json"]), json!({"success": true}));
        }
        let revoked = Instant::now();
        let mut ended: Vec<(&str, Duration)> = Vec::new();
        while team.ask(name, "GET", "/api/v1/workflows", &Value::Null).status != 401 {
            assert!(revoked.elapsed() < REVOKED_MAX, "{how}: it is still good");
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
        let late: Vec<_> = ended.iter().filter(|(_, after)| *after > REVOKED_MAX).collect();
        assert!(late.is_empty(), "{how}: {late:?}");
    }
    assert_eq!(team.ask("admin", "GET", "/api/v1/workflows", &Value::Null).status, 200, "others are as good as before");
    team.server.stop();
}

/// A client that was started as an agent's works on what it holds; what others hold is decided by whoever started it so.
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
    let mut coordinator = Pipe::open(&team.place, &["--tools", "full", "--as", "coordinator"]);
    coordinator.must("task_release", &json!({"task_id": held}));
    assert_eq!(coordinator.refused("inbox_read", &json!({"agent_id": "human"})), "NOT_PERMITTED");
    let mut person = Pipe::open(&team.place, &["--tools", "full", "--as", "person"]);
    person.must("inbox_read", &json!({"agent_id": "human"}));
    for pipe in [agent, coordinator, person] {
        assert_eq!(pipe.leave().1, "");
    }
    assert_ne!(team.amy, team.bob);
    team.server.stop();
}
