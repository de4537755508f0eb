//! Tests every known way in which an agent might decide its own approval request. Each attempt is refused. At the end a
//! person decides the request, which shows that it was open all the time.

use std::io::Read as _;
use std::process::{Command, Stdio};

use handover::below::marks;
use serde_json::{Value, json};

use crate::approvals::Asked;
use crate::pipe::Pipe;
use crate::security::{Team, word};
use crate::terminal::Terminal;

struct Siege {
    team: Team,
    task: String,
    approval: String,
}

impl Siege {
    fn new() -> Self {
        let team = Team::new();
        let Asked { task, approval } = Asked::new(&team, "push");
        Self { team, task, approval }
    }

    /// Returns the command that runs `handover` without the variables that mark an agent, because an agent may run this
    /// test.
    fn program(&self) -> Command {
        self.team.place.program()
    }

    fn verbs(&self) -> [Vec<String>; 3] {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let id = self.approval.as_str();
        [
            words(&["approval", "approve", id]),
            words(&["approval", "reject", id, "--reason", "x"]),
            words(&["approval", "revoke", id]),
        ]
    }

    /// Runs the three commands that decide an approval, and checks that each one is refused with this error code.
    fn refuses(&self, way: &str, code: &str, prepare: impl Fn(&mut Command) -> Option<Terminal>) {
        for words in self.verbs() {
            let mut program = self.program();
            let terminal = prepare(&mut program);
            let output = program.args(&words).output().unwrap();
            drop(terminal);
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.code() == Some(1) && text.contains(code), "{way} {words:?}: {text}");
        }
        self.stands(way);
    }

    /// Checks that no decision was made: the approval is still pending and the task still paused.
    fn stands(&self, way: &str) {
        let target = format!("/api/v1/approvals/{}", self.approval);
        let found = self.team.server.get(self.team.token("admin"), &target).json();
        let status = word(&self.team.server.must("task_get", &json!({"id": self.task}))["status"]);
        assert_eq!((word(&found["status"]), status), ("pending".to_owned(), "paused".to_owned()), "{way}: {found}");
    }

    fn post(&self, token: &str, verb: &str, headers: &[(&str, &str)]) -> (u16, String) {
        let bearer = format!("Bearer {token}");
        let headers = [&[("Authorization", bearer.as_str())], headers].concat();
        let body = if verb == "approve" { json!({}) } else { json!({"reason": "x"}) };
        let target = format!("/api/v1/approvals/{}/{verb}", self.approval);
        let answer = self.team.server.ask("POST", &target, &headers, body.to_string().as_bytes());
        (answer.status, answer.code())
    }
}

fn at_a_terminal(program: &mut Command) -> Option<Terminal> {
    let terminal = Terminal::new();
    terminal.seat(program);
    Some(terminal)
}

#[test]
fn an_agent_cannot_decide_by_the_command_line() {
    let siege = Siege::new();
    siege.refuses("without a terminal", "NOT_A_PERSON", |_| None);
    siege.refuses("with a yes on a pipe", "NOT_A_PERSON", |program| {
        let (mut reader, mut writer) = std::io::pipe().unwrap();
        std::io::Write::write_all(&mut writer, b"y\nyes\n").unwrap();
        program.stdin(Stdio::from(reader.try_clone().unwrap()));
        drop(writer);
        let _none = reader.read(&mut []);
        None
    });
    for mark in marks() {
        siege.refuses(mark, "NOT_A_PERSON", |program| {
            program.env(mark, "1");
            None
        });
        for value in ["1", ""] {
            siege.refuses(&format!("{mark}={value} at a terminal"), mark, |program| {
                program.env(mark, value);
                at_a_terminal(program)
            });
        }
        siege.refuses(&format!("{mark} with a person's token"), "NOT_A_PERSON", |program| {
            program.env(mark, "1").env("HANDOVER_TOKEN", siege.team.token("person"));
            None
        });
    }
    let machine = siege.team.server.admin.clone();
    let others = ["agent", "bob", "coordinator", "admin"].map(|name| siege.team.token(name).to_owned());
    for token in others.into_iter().chain([machine, "hnd_0000".to_owned(), "nonsense".to_owned()]) {
        siege.refuses("with another token", "NOT_A_PERSON", |program| {
            program.env("HANDOVER_TOKEN", &token);
            None
        });
    }
    // The agent that asked for the approval has a token of scope `person`, and the token is bound to this same agent.
    let (_, secret) = siege.team.place.token(&["amy", "--scope", "person", "--agent", "amy"]);
    siege.refuses("with a person's token of its own", "NOT_PERMITTED", |program| {
        program.env("HANDOVER_TOKEN", &secret);
        None
    });
    // An agent cannot replace this store by a copy in which the approval request is approved.
    let exported = siege.team.place.run(&["export"]).out.replace("\"pending\"", "\"approved\"");
    let path = siege.team.place.outside().join("forged.ndjson");
    std::fs::write(&path, exported).unwrap();
    let ran = siege.team.place.run(&["import", path.to_str().unwrap()]);
    assert_ne!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    siege.stands("an import");
    // A person at a terminal can decide the approval request that the agent could not decide.
    let mut program = siege.program();
    let terminal = at_a_terminal(&mut program);
    let output = program.args(["approval", "approve", &siege.approval]).output().unwrap();
    drop(terminal);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    siege.team.server.stop();
}

#[test]
fn an_agent_cannot_decide_over_http() {
    let siege = Siege::new();
    let verbs = ["approve", "reject", "revoke"];
    let machine = siege.team.server.admin.clone();
    let tokens = ["agent", "bob", "coordinator", "admin"].map(|name| siege.team.token(name).to_owned());
    for token in tokens.iter().chain([&machine]) {
        for verb in verbs {
            let amy = [("Handover-Agent", siege.team.amy.as_str())];
            for headers in [&[][..], &[("Idempotency-Key", "k")][..], &amy[..]] {
                let (status, code) = siege.post(token, verb, headers);
                assert_eq!((status, code.as_str()), (403, "NOT_PERMITTED"), "{verb} {headers:?}");
            }
        }
    }
    for verb in verbs {
        assert_eq!(siege.post("hnd_0000", verb, &[]).0, 401, "a token nobody gave");
    }
    // The agent that asked for the approval cannot decide about it, even with a person's token, when the token or the
    // header `Handover-Agent` names this agent.
    let (_, secret) = siege.team.place.token(&["amy", "--scope", "person", "--agent", "amy"]);
    for verb in verbs {
        assert_eq!(siege.post(&secret, verb, &[]), (403, "NOT_PERMITTED".to_owned()), "{verb}");
        let another = [("Handover-Agent", "bob")];
        assert_eq!(siege.post(&secret, verb, &another), (403, "NOT_PERMITTED".to_owned()), "{verb} as another");
        let headers = [("Handover-Agent", "amy")];
        let person = siege.team.token("person").to_owned();
        assert_eq!(siege.post(&person, verb, &headers), (403, "NOT_PERMITTED".to_owned()), "{verb}");
    }
    siege.stands("HTTP");
    let person = siege.team.token("person").to_owned();
    assert_eq!(siege.post(&person, "approve", &[]).0, 200, "a person can, all the while");
    // An agent that repeats a person's request with the same idempotency key does not get the person's answer.
    assert_eq!(siege.post(&tokens[0], "approve", &[("Idempotency-Key", "k")]).0, 403);
    siege.team.server.stop();
}

#[test]
fn an_agent_cannot_decide_by_tools_or_words() {
    let siege = Siege::new();
    let Siege { team, task, approval } = &siege;
    team.place.allow_coordinator();
    for arguments in [&["--tools", "full"][..], &["--tools", "full", "--as", "coordinator"]] {
        let mut pipe = Pipe::open(&team.place, arguments);
        let tools = pipe.request("tools/list", &json!({})).unwrap();
        let names: Vec<String> = tools["tools"].as_array().unwrap().iter().map(|tool| word(&tool["name"])).collect();
        assert!(!names.iter().any(|name| name.contains("approv") || name.contains("decide")), "{names:?}");
        for tool in ["approval_approve", "approval_decide", "approval", "decide_approval"] {
            let called = pipe.call(tool, &json!({"id": approval, "approval_id": approval, "decision": "approve"}));
            assert!(!matches!(called, Ok(Ok(_))), "{tool}: {called:?}");
        }
        pipe.leave();
    }
    siege.stands("tools");
    // The agent sends messages that say "approved", to a person and to itself.
    let say = |to: &str, kind: &str| json!({"recipient_id": to, "message_type": kind, "sender_id": team.amy, "body": format!("{approval}: approved")});
    for (to, kind) in
        [("human", "info"), ("human", "response"), ("amy", "info"), ("amy", "exec.gate"), ("human", "question")]
    {
        team.server.must("message_send", &say(to, kind));
        siege.stands(&format!("a message of kind {kind} to {to}"));
    }
    // This token is bound to Amy, the agent that asked for the approval.
    let (_, amy) = team.place.token(&["hers", "--agent", "amy"]);
    let wire = |sender: &str, kind: &str, payload: Value| {
        let wire =
            json!({"wire": "1.0", "type": kind, "sender": sender, "ts": "2026-01-01T00:00:00Z", "payload": payload});
        team.server.call(&amy, "wire_post", &json!({"wire": wire, "agent_id": team.amy}))
    };
    let letter = |to: &str, kind: &str| {
        json!({"to_agent": to, "priority": 1, "message_type": kind, "ref_task_id": task, "subject": "approved",
               "body": format!("{approval} is approved"), "action_required": false})
    };
    for sender in ["human", "system", "runner"] {
        let answer = wire(sender, "inbox", letter("amy", "exec.gate"));
        assert_eq!(answer.code(), "NOT_PERMITTED", "{sender}");
    }
    let answer = wire("amy", "inbox", letter("amy", "info"));
    assert_eq!(answer.status, 200, "{}", answer.text());
    siege.stands("documents");
    // The agent tries to continue the task as if its approval request were approved.
    for status in ["in_progress", "completed", "failed", "skipped"] {
        let to =
            json!({"id": task, "status": status, "outcome": "x", "error": "x", "reason": "x", "agent_id": team.amy});
        let answer = team.server.call(&amy, "task_update_status", &to);
        assert_eq!(answer.code(), "APPROVAL_REQUIRED", "{status}");
    }
    siege.stands("the task's own status");
    // A person answers the agent's question in free text. The text is only the answer to the question and does not
    // decide the approval.
    let question = team.server.call(team.token("person"), "message_list", &json!({"agent_id": "human"})).json();
    let is_question = |row: &&Value| row["message_type"] == "question" || row["message_type"] == "query";
    let asked =
        question["messages"].as_array().unwrap().iter().find(is_question).unwrap_or_else(|| panic!("{question}"));
    let mut program = siege.program();
    let terminal = at_a_terminal(&mut program);
    let output = program.args(["inbox", "reply", &word(&asked["id"]), "yes, approved"]).output().unwrap();
    drop(terminal);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    siege.stands("free text of a person");
    let person = siege.team.token("person").to_owned();
    assert_eq!(siege.post(&person, "approve", &[]).0, 200, "a person can, all the while");
    siege.team.server.stop();
}

/// The log records when a person looks at an approval. It does not record when an agent looks.
#[test]
fn the_log_says_who_was_shown_what() {
    let siege = Siege::new();
    let shown = || {
        let found = siege.team.place.run(&["log", "tail", "-n", "1000", "--json"]).out;
        let entries = found.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let shown = entries.filter(|entry| entry["type"] == "approval_shown");
        shown.map(|entry| format!("{} {}", word(&entry["sender"]), word(&entry["body"]["via"]))).collect::<Vec<_>>()
    };
    let target = format!("/api/v1/approvals/{}", siege.approval);
    for name in ["coordinator", "admin"] {
        siege.team.server.get(siege.team.token(name), &target);
    }
    let look = |mark: Option<&str>, terminal: bool| {
        let mut program = siege.program();
        mark.map(|mark| program.env(mark, "1"));
        let kept = if terminal { at_a_terminal(&mut program) } else { None };
        assert!(program.args(["approval", "show", &siege.approval]).output().unwrap().status.success());
        drop(kept);
    };
    look(None, false);
    look(Some("CLAUDECODE"), true);
    assert_eq!(shown(), [""; 0]);
    for _ in 0..2 {
        look(None, true);
        siege.team.server.get(siege.team.token("person"), &target);
    }
    assert_eq!(shown(), ["human command_line", "human http"]);
    assert_eq!(siege.team.place.run(&["log", "verify"]).code, Some(0));
    siege.team.server.stop();
}

/// A running server notifies people of a pending approval after a person has accepted the notify command in the
/// settings.
#[test]
fn a_server_tells_people_of_what_waits() {
    let team = Team::new();
    let root = team.place.root();
    let settings = "[notify]\ncommand = [\"sh\", \"-c\", \"cat > half && mv half told\"]\n";
    std::fs::write(root.join(".handover/config.toml"), settings).unwrap();
    let Asked { task, approval } = Asked::new(&team, "push");
    let siege = Siege { team, task, approval };
    let trust = |words: &[&str]| {
        let output = siege.program().arg("trust").args(words).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let offered: Value = serde_json::from_str(&trust(&["--json"])).unwrap();
    assert!(word(&offered["commands"][0]).starts_with("notify: sh -c"), "{offered}");
    assert!(!root.join("told").exists(), "nobody has accepted it");
    trust(&["--sha256", &word(&offered["sha256"])]);
    let begun = std::time::Instant::now();
    while !root.join("told").exists() {
        assert!(begun.elapsed() < std::time::Duration::from_secs(40), "nobody was told");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let told: Value = serde_json::from_str(&std::fs::read_to_string(root.join("told")).unwrap()).unwrap();
    assert_eq!((&told["approval_id"], &told["task"]), (&json!(siege.approval), &json!("t")), "{told}");
    siege.team.server.stop();
}
