//! Tests of tokens: which tokens are accepted, and what a token of each scope may do and see.

use serde_json::{Value, json};

use crate::http::{Answer, Connection};
use crate::place::Place;
use crate::serve::Server;

/// A server with two agents, a workflow, and one token of each kind.
pub(crate) struct Team {
    pub(crate) place: Place,
    pub(crate) server: Server,
    pub(crate) workflow: String,
    pub(crate) amy: String,
    /// The scope (or the name of the bound agent), the id and the secret of each token.
    tokens: Vec<(&'static str, String, String)>,
}

pub(crate) fn word(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

impl Team {
    pub(crate) fn new() -> Self {
        let place = Place::new();
        let server = Server::start(&place);
        let workflow = word(&server.must("workflow_create", &json!({"name": "team"}))["id"]);
        let agent = |name: &str| word(&server.must("agent_register", &json!({"name": name, "runtime": "siege"}))["id"]);
        let (amy, _bob) = (agent("amy"), agent("bob"));
        let mut tokens = Vec::new();
        let (id, secret) = server.token(&json!({"name": "agent", "scope": "agent", "shared": true}));
        tokens.push(("agent", id, secret));
        for scope in ["coordinator", "person", "admin"] {
            let (id, secret) = place.token(&[scope, "--scope", scope]);
            tokens.push((scope, id, secret));
        }
        let (id, secret) = server.token(&json!({"name": "bob"}));
        tokens.push(("bob", id, secret));
        Self { place, server, workflow, amy, tokens }
    }

    pub(crate) fn token(&self, name: &str) -> &str {
        self.tokens.iter().find(|(known, ..)| *known == name).map(|(_, _, secret)| secret.as_str()).unwrap()
    }

    pub(crate) fn id(&self, name: &str) -> &str {
        self.tokens.iter().find(|(known, ..)| *known == name).map(|(_, id, _)| id.as_str()).unwrap()
    }

    /// Sends an HTTP request with one of the tokens. `name` is the scope of the token or the name of its agent.
    pub(crate) fn ask(&self, name: &str, method: &str, target: &str, body: &Value) -> Answer {
        let bearer = format!("Bearer {}", self.token(name));
        let body = if body.is_null() { String::new() } else { body.to_string() };
        self.server.ask(method, target, &[("Authorization", &bearer)], body.as_bytes())
    }

    pub(crate) fn call(&self, name: &str, tool: &str, arguments: &Value) -> Answer {
        self.server.call(self.token(name), tool, arguments)
    }

    /// Creates a task that the agent `amy` holds, moves it to the status if one is given, and returns its id.
    pub(crate) fn task(&self, status: Option<&str>) -> String {
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

    /// Sends a question from the agent `amy` to a person, and returns the message's id.
    pub(crate) fn question(&self) -> String {
        let question = json!({
            "recipient_id": "human", "message_type": "query", "body": "which database?", "task_id": self.task(Some("paused")),
            "priority": "urgent", "action_required": true, "sender_id": self.amy,
        });
        word(&self.server.must("message_send", &question)["id"])
    }

    /// Sends a message to a mailbox, and returns the message's id.
    pub(crate) fn message(&self, to: &str) -> String {
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

/// A caller that guesses tokens is slowed down. A caller with a valid token is not slowed down.
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

/// Checks the HTTP status that each scope gets for each request.
#[test]
fn each_scope_may_do_its_own_and_no_more() {
    let team = Team::new();
    let human = team.message("human");
    let spare = team.server.token(&json!({"name": "spare", "shared": true})).0;
    let get = |target: &str| ("GET", target.to_owned(), Value::Null);
    let tool = |name: &str, arguments: Value| ("POST", format!("/api/v1/tools/{name}"), arguments);
    let move_to = |task: String, status: &str| {
        tool("task_update_status", json!({"id": task, "status": status, "reason": "r", "outcome": "o", "error": "e"}))
    };
    let as_amy = |task: String| tool("checkpoint_add", json!({"task_id": task, "type": "progress", "summary": "s"}));
    let make = |scope: &str| ("POST", "/api/v1/tokens".to_owned(), json!({"name": "n", "scope": scope}));
    let revoke = |id: &str| ("DELETE", format!("/api/v1/tokens/{id}"), Value::Null);
    let question = team.question();
    let answer = || ("POST", format!("/api/v1/messages/{question}/reply"), json!({"text": "the small one"}));
    type Ask<'a> = Box<dyn Fn() -> (&'static str, String, Value) + 'a>;
    // The four statuses are for tokens of the scopes `agent`, `coordinator`, `person` and `admin`.
    let table: Vec<(&str, Ask<'_>, [u16; 4])> = vec![
        ("list tokens", Box::new(|| get("/api/v1/tokens")), [403, 403, 403, 200]),
        ("make an agent's token", Box::new(|| make("agent")), [403, 403, 403, 201]),
        ("make a coordinator's token", Box::new(|| make("coordinator")), [403; 4]),
        ("make a person's token", Box::new(|| make("person")), [403; 4]),
        ("make an admin's token", Box::new(|| make("admin")), [403; 4]),
        ("revoke a person's token", Box::new(|| revoke(team.id("person"))), [403; 4]),
        ("revoke an admin's token", Box::new(|| revoke(team.id("admin"))), [403; 4]),
        ("revoke an agent's token", Box::new(|| revoke(&spare)), [403, 403, 403, 200]),
        ("read metrics", Box::new(|| get("/metrics")), [200; 4]),
        ("read a person's mail", Box::new(|| get("/api/v1/inbox/human")), [403, 403, 200, 403]),
        ("list a person's mail", Box::new(|| tool("message_list", json!({"agent_id": "human"}))), [403, 403, 200, 403]),
        (
            "count a person's mail",
            Box::new(|| tool("message_count_unread", json!({"agent_id": "human"}))),
            [403, 403, 200, 403],
        ),
        (
            "read one of it",
            Box::new(|| tool("message_get", json!({"id": human, "mark_read": false}))),
            [403, 403, 200, 403],
        ),
        ("see a person's mail in the log", Box::new(|| get("/api/v1/log/agents/human")), [403, 403, 200, 403]),
        ("see tokens in the log", Box::new(|| get("/api/v1/log/registry")), [403, 403, 200, 200]),
        ("see an agent's mail in the log", Box::new(|| get("/api/v1/log/agents/amy")), [403, 200, 200, 403]),
        ("see workflows in the log", Box::new(|| get(&format!("/api/v1/log/workflows/{}", team.workflow))), [200; 4]),
        ("write on another's task", Box::new(|| as_amy(team.task(None))), [404, 200, 200, 404]),
        ("complete another's task", Box::new(|| move_to(team.task(None), "completed")), [404, 200, 200, 404]),
        ("release a blocked task", Box::new(|| move_to(team.task(Some("blocked")), "pending")), [404, 200, 200, 404]),
        ("send a paused task back", Box::new(|| move_to(team.task(Some("paused")), "pending")), [404, 200, 200, 404]),
        (
            "say a person's mail is read",
            Box::new(|| tool("message_mark_read", json!({"message_ids": [team.message("human")]}))),
            [404, 403, 200, 404],
        ),
        ("answer a question", Box::new(answer), [403, 403, 200, 403]),
    ];
    for (name, ask, expected) in &table {
        let got = ["agent", "coordinator", "person", "admin"].map(|scope| {
            let (method, target, body) = ask();
            team.ask(scope, method, &target, &body).status
        });
        assert_eq!(got, *expected, "{name}");
    }
    drop(table);
    // A shared token stands for no agent, so its calls get status 404 in the table of expected statuses above. Bob's
    // token stands for an agent, so here each refusal says why this agent may not change the task.
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

/// A caller that follows the events sees only the events that its token may see, including events from before it
/// connected.
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
