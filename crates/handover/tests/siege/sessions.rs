//! Tests the limits of MCP sessions, which are counted for each token. One token cannot end the sessions of another
//! token. To make room for a new session, the server never ends a session whose agent holds a claim.

use serde_json::{Value, json};

use crate::http::Answer;
use crate::place::Place;
use crate::serve::{Era, Server, tool_call};

/// The number of sessions that one token opens: several times the limit of one token.
const MANY: usize = 1_010;

/// A client that calls tools with one token and in one MCP session.
struct Client<'a> {
    server: &'a Server,
    token: String,
    era: Era,
}

impl<'a> Client<'a> {
    fn open(server: &'a Server, token: &str) -> Self {
        Self { server, token: token.to_owned(), era: server.session(token) }
    }

    fn ask(&self, tool: &str, arguments: &Value) -> Answer {
        self.server.post_mcp(&self.token, &self.era, tool_call(&self.era, tool, arguments).to_string().as_bytes())
    }

    fn must(&self, tool: &str, arguments: &Value) -> Value {
        let answer = self.ask(tool, arguments);
        assert_eq!(answer.status, 200, "{tool}: {}", answer.text());
        let reply = answer.message()["result"].clone();
        assert_eq!(reply["isError"], json!(false), "{tool}: {reply}");
        reply["structuredContent"].clone()
    }

    /// Registers an agent under this name, and claims the task for it.
    fn works_on(&self, name: &str, task: &str) {
        self.must("agent_register", &json!({"name": name, "runtime": "siege"}));
        assert_eq!(self.must("task_claim", &json!({"task_id": task}))["attempt"], json!(1));
    }

    fn completes(&self, task: &str) {
        self.must("task_update_status", &json!({"id": task, "status": "completed", "outcome": "done"}));
    }
}

/// Starts a server, and returns it with two tasks and one token for each of two agents.
fn scene(place: &Place) -> (Server, [String; 2], [String; 2]) {
    let server = Server::start(place);
    let word = |value: &Value| value.as_str().unwrap().to_owned();
    let workflow = word(&server.must("workflow_create", &json!({"name": "sessions"}))["id"]);
    let plan = json!({"id": workflow, "plan": {"summary": "two", "tasks": [{"name": "a"}, {"name": "b"}]}});
    let ids = server.must("workflow_set_plan", &plan)["task_ids"].clone();
    let tokens = ["one", "two"].map(|name| server.token(&json!({"name": name, "scope": "agent"})).1);
    (server, [word(&ids["a"]), word(&ids["b"])], tokens)
}

#[test]
fn a_token_that_opens_a_thousand_sessions_ends_only_its_own_idle_ones() {
    let place = Place::new();
    let (server, [task_a, task_b], [one, two]) = scene(&place);
    let victim = Client::open(&server, &one);
    victim.works_on("victim", &task_a);
    let busy = Client::open(&server, &two);
    busy.works_on("busy", &task_b);
    let idle = Client::open(&server, &two);
    let opening = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params":
        {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "siege", "version": "1"}}});
    for number in 0..MANY {
        let answer = server.post_mcp(&two, &Era::New, opening.to_string().as_bytes());
        assert_eq!(answer.status, 200, "{number}: {}", answer.text());
    }
    assert_eq!(idle.ask("workflow_list", &json!({})).status, 404, "the oldest of its own that holds nothing was ended");
    busy.completes(&task_b);
    victim.completes(&task_a);
    for task in [task_a, task_b] {
        let found = server.must("task_get", &json!({"id": task}));
        assert_eq!((&found["status"], &found["attempt"]), (&json!("completed"), &json!(1)));
    }
    server.stop();
}
