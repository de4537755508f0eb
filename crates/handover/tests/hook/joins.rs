//! Tests that Handover finds the registered agent that belongs to a client's session or to a sub-agent of the session.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::agent_client::AgentClient;
use crate::scene::{HANDS_OVER, SESSION, Scene};

/// An MCP server, started in the way in which Claude Code and Codex start it.
struct Server {
    child: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
    number: u64,
}

impl Server {
    fn start(scene: &Scene, session: Option<&str>) -> Self {
        let mut program = Command::new(env!("CARGO_BIN_EXE_handover"));
        program.current_dir(scene.at()).arg("mcp");
        for name in ["HANDOVER_STORE", "HANDOVER_TURN", "CLAUDE_CODE_SESSION_ID"] {
            program.env_remove(name);
        }
        program.envs(session.map(|session| ("CLAUDE_CODE_SESSION_ID", session)));
        program.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = program.spawn().expect("it starts");
        let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let mut server = Self { child, lines, number: 0 };
        let client = json!({"name": "test", "version": "1"});
        server.ask("initialize", &json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}));
        server.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        server
    }

    fn say(&mut self, message: &Value) {
        let pipe = self.child.stdin.as_mut().expect("a pipe");
        writeln!(pipe, "{message}").expect("it listens");
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.number += 1;
        let id = self.number;
        self.say(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        loop {
            let line = self.lines.next().expect("an answer").expect("a line");
            let answer: Value = serde_json::from_str(&line).expect("JSON");
            if answer["id"] == json!(id) {
                return answer["result"].clone();
            }
        }
    }

    /// Calls a tool with the client's metadata, and returns the reply.
    fn call(&mut self, tool: &str, arguments: &Value, meta: &Value) -> Value {
        let result = self.ask("tools/call", &json!({"name": tool, "arguments": arguments, "_meta": meta}));
        result["structuredContent"].clone()
    }

    fn register(&mut self, name: &str, meta: &Value) -> Value {
        self.call("agent_register", &json!({"name": name, "runtime": "claude"}), meta)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ended = self.child.wait();
    }
}

fn told(scene: &Scene, session: &str) -> String {
    let said = scene.hook("SessionStart", json!({"session_id": session, "source": "resume"}));
    said.text("/hookSpecificOutput/additionalContext").to_owned()
}

#[test]
fn the_session_in_the_environment_joins_claude_code() {
    let scene = Scene::new("");
    let mut server = Server::start(&scene, Some(SESSION));
    let agent = server.register("quinn", &json!({"claudecode/toolUseId": "toolu_1"}));
    let id = agent["id"].as_str().expect("an agent").to_owned();
    assert!(told(&scene, SESSION).contains(&id));
    assert!(!told(&scene, "another").contains(&id));
}

#[test]
fn the_thread_beside_a_call_joins_codex() {
    let scene = Scene::new("");
    let mut server = Server::start(&scene, None);
    let agent = server.register("quinn", &json!({"threadId": "t-1", "callId": "call_1"}));
    let id = agent["id"].as_str().expect("an agent").to_owned();
    assert!(told(&scene, "t-1").contains(&id));
}

/// A sub-agent shares the connection of its session. The hook after a tool call reports the ids of the call and of the
/// sub-agent. So Handover learns which sub-agent made the call that registered an agent.
#[test]
fn the_call_that_registered_joins_a_sub_agent() {
    let scene = Scene::new(crate::scene::HANDS_OVER);
    let mut server = Server::start(&scene, Some(SESSION));
    let main = server.register("main", &json!({"claudecode/toolUseId": "toolu_1"}));
    let sub = server.register("quinn", &json!({"claudecode/toolUseId": "toolu_2"}));
    let id = |agent: &Value| agent["id"].as_str().expect("an agent").to_owned();
    let after = json!({"tool_name": "mcp__handover__agent_register", "tool_use_id": "toolu_2", "agent_id": "sub1"});
    scene.hook("PostToolUse", after).is_nothing();
    let text = told(&scene, SESSION);
    assert!(text.contains(&id(&main)) && !text.contains(&id(&sub)), "{text}");
    // The stop of a sub-agent is separate from the stop of its session. Here only the sub-agent holds a task, so only
    // the sub-agent must hand over a report of its work.
    scene.held(id(&sub).parse().expect("an id"), engine::plan::PlanTask::named("one"));
    scene.stop("p1", "x").is_nothing();
    let said = scene.hook("SubagentStop", json!({"agent_id": "sub1", "last_assistant_message": "x"}));
    assert_eq!(said.text("/decision"), "block", "{said:?}");
    let other = scene.hook("SubagentStop", json!({"agent_id": "sub2", "last_assistant_message": "x"}));
    other.is_nothing();
}

/// A resumed session uses another connection to Handover, and its agent stays the same.
#[test]
fn a_resumed_session_is_the_same_agent() {
    let scene = Scene::new("");
    let first = Server::start(&scene, Some(SESSION)).register("quinn", &json!({}));
    let again = Server::start(&scene, Some(SESSION)).register("quinn", &json!({}));
    assert_eq!((&again["id"], &again["resumed"]), (&first["id"], &json!(true)), "{again}");
    // While a session is alive, another session that registers the same name gets another agent. After the session has
    // ended, its user may resume its agent in any session.
    let mut living = Server::start(&scene, Some(SESSION));
    let living_agent = living.register("quinn", &json!({}));
    let other = Server::start(&scene, Some("another")).register("quinn", &json!({}));
    assert_eq!(living_agent["id"], first["id"]);
    assert_ne!(other["id"], first["id"]);
}

/// A hook gives up when the machine is too busy, and then the test calls it again. After this many calls the test
/// fails.
const HOOK_TRIES_MAX: u32 = 30;

/// Tests two clients, each with its own MCP server. The payload of a hook can name any session, but the hook only
/// affects agents of the client that called the hook.
#[test]
fn a_hook_does_not_speak_for_the_session_of_another_client() {
    let scene = Scene::new(HANDS_OVER);
    let start = || {
        let mut shell = Command::new("sh");
        shell.current_dir(scene.at()).env("XDG_DATA_HOME", scene.at().join("data"));
        for name in ["HANDOVER_STORE", "HANDOVER_TURN"] {
            shell.env_remove(name);
        }
        shell.env("CLAUDE_CODE_SESSION_ID", SESSION);
        AgentClient::start(shell)
    };
    let mut victim = start();
    victim.must("agent_register", &json!({"name": "quinn", "runtime": "claude"}));
    let made = victim.must("workflow_create", &json!({"name": "release"}));
    let plan = json!({"summary": "s", "tasks": [{"name": "one"}]});
    victim.must("workflow_set_plan", &json!({"id": made["id"], "plan": plan}));
    let claimed = victim.must("task_next", &json!({}));
    let task = claimed["task"]["id"].as_str().expect("a task").parse().expect("an id");
    let is_held = || scene.task(task).state.lease().is_some();
    assert!(is_held());
    let mut other = start();
    other.must("agent_register", &json!({"name": "eve", "runtime": "claude"}));
    // These hooks name the session of the first client, the victim. But the test process and the second client call
    // them, so they must have no effect on the victim.
    let more = json!({"reason": "other", "last_assistant_message": "done", "source": "resume", "tool_name": "Bash"});
    for event in ["PostToolUse", "Stop", "SessionEnd"] {
        let payload = scene.at().join("payload");
        std::fs::write(&payload, scene.payload(event, more.clone()).to_string()).expect("a file");
        assert_eq!(scene.hook(event, more.clone()).code, Some(0), "{event}");
        let ran = other.shell(&["hook", event], Some(&payload));
        assert_eq!((ran.code, ran.out.trim(), ran.err.trim()), (0, "{}", ""), "{event}");
        assert!(is_held(), "{event}");
    }
    other.end_server();
    let heard = told(&scene, SESSION);
    assert!(
        heard.contains("(eve)") && !heard.contains("(quinn)"),
        "{heard}: what the agent holds and its mail is told to its own client"
    );
    // Now the first client, the victim, calls the hooks itself. The agent of this client holds a task and stops without
    // a handoff document (the report that it owes). Then the session ends.
    let payload = scene.at().join("payload");
    for (event, held) in [("Stop", true), ("SessionEnd", false)] {
        std::fs::write(&payload, scene.payload(event, more.clone()).to_string()).expect("a file");
        // On a busy machine a hook may give up and report that it gave no answer. Only then is it called again.
        let tries = (0..HOOK_TRIES_MAX).map(|_| victim.shell(&["hook", event], Some(&payload)));
        let ran = tries.into_iter().find(|ran| !ran.out.contains("gave no answer within")).expect("an answer");
        assert_eq!((ran.code, ran.out.contains("block"), is_held()), (0, held, held), "{event}: {ran:?}");
    }
}
