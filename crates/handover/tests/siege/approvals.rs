//! Tests of approvals over HTTP and on the command line: which callers may see and decide them, and that an agent
//! cannot decide.

use std::sync::Arc;

use base::Service;
use base::ground::clock::SystemClock;
use engine::approval::{ApprovalRequest, Source};
use engine::command::AskApproval;
use engine::{Caller, Command, Reply, Rights};
use serde_json::{Value, json};

use crate::http::Answer;
use crate::security::{Team, word};

/// A task that the agent `amy` holds, and the approval that the runner asked for.
pub(crate) struct Asked {
    pub(crate) task: String,
    pub(crate) approval: String,
}

impl Asked {
    pub(crate) fn new(team: &Team, operation: &str) -> Self {
        let plan = json!({"id": team.workflow, "plan": {"summary": "s", "tasks": [{"name": "t"}]}});
        // When a test asks for a second approval, the plan already exists. So a refusal of this call is ignored.
        let _planned = team.server.call(&team.server.token, "workflow_set_plan", &plan);
        let mine = json!({"id": team.workflow, "include_tasks": true});
        let task = word(&team.server.must("workflow_get", &mine)["tasks"][0]["id"]);
        let claim = json!({"task_id": task, "agent_id": team.amy});
        let claimed = team.server.must("task_claim", &claim);
        let attempt = u32::try_from(claimed["attempt"].as_u64().unwrap()).unwrap();
        let text = |words: &str| words.to_owned();
        let request = ApprovalRequest {
            operation: text(operation),
            content: text("git push origin main"),
            scope: text("the remote"),
            directory: text("/repo"),
            risk: text("HIGH"),
            rollback: text("revert"),
            verification: text("look"),
        };
        let asked = AskApproval {
            source: Source::Handoff,
            waits: Some((task.parse().unwrap(), attempt)),
            request,
            fingerprint: text(operation),
        };
        let caller = Caller { agent: Some(team.amy.parse().unwrap()), ..Caller::with_rights(Rights::Runner) };
        let path = team.place.state().join("handover.db").display().to_string();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let reply = runtime.block_on(async {
            let store = store::open(&path, 1).await.unwrap();
            let service = Service::new(store, Arc::new(SystemClock));
            service.execute(caller, Command::AskApproval(Box::new(asked))).await.unwrap()
        });
        let Reply::ApprovalAsked { approval, .. } = reply else { panic!("{reply:?}") };
        Self { task, approval: approval.to_string() }
    }
}

fn post(team: &Team, name: &str, target: &str, body: &Value) -> Answer {
    let bearer = format!("Bearer {}", team.token(name));
    team.server.ask("POST", target, &[("Authorization", &bearer)], body.to_string().as_bytes())
}

#[test]
fn a_person_decides_and_nobody_else() {
    let team = Team::new();
    let Asked { task, approval } = Asked::new(&team, "push");
    let status = |team: &Team| word(&team.server.must("task_get", &json!({"id": task}))["status"]);
    assert_eq!(status(&team), "paused");
    let list = "/api/v1/approvals?status=pending";
    let one = format!("/api/v1/approvals/{approval}");
    for (name, expected) in [("agent", 403), ("bob", 403), ("coordinator", 200), ("person", 200), ("admin", 200)] {
        for target in [list, one.as_str()] {
            assert_eq!(team.server.get(team.token(name), target).status, expected, "{name} {target}");
        }
    }
    let found = team.server.get(team.token("person"), list).json();
    assert_eq!(found["approvals"][0]["exact_content"], "git push origin main", "{found}");
    let reason = json!({"reason": "because"});
    for name in ["agent", "bob", "coordinator", "admin"] {
        for (verb, body) in [("approve", &json!({})), ("reject", &reason), ("revoke", &reason)] {
            let answer = post(&team, name, &format!("{one}/{verb}"), body);
            assert_eq!((answer.status, answer.code().as_str()), (403, "NOT_PERMITTED"), "{name} {verb}");
        }
    }
    let bad = [
        ("approve", json!({"reason": "x"})),
        ("reject", json!({})),
        ("reject", json!({"reason": 1})),
        ("revoke", json!({"why": "x"})),
    ];
    for (verb, body) in bad {
        let answer = post(&team, "person", &format!("{one}/{verb}"), &body);
        assert_eq!((answer.status, answer.code().as_str()), (422, "INVALID_INPUT"), "{verb} {body}");
    }
    assert_eq!(post(&team, "person", &format!("{one}/bless"), &json!({})).status, 404);
    for nothing in ["nope", "ap_000000000000"] {
        let answer = post(&team, "person", &format!("/api/v1/approvals/{nothing}/approve"), &json!({}));
        assert_eq!((answer.status, answer.code().as_str()), (404, "APPROVAL_NOT_FOUND"), "{nothing}");
        assert!(answer.text().contains(&format!("Approval not found: {nothing}")), "{}", answer.text());
    }
    let other = post(&team, "person", &format!("{one}/approve"), &json!({"fingerprint": "of another request"}));
    assert_eq!((other.status, other.code().as_str()), (409, "FINGERPRINT_MISMATCH"));
    assert_eq!(status(&team), "paused", "nothing of that decided");
    let seen = json!({"fingerprint": found["approvals"][0]["fingerprint"]});
    let answer = post(&team, "person", &format!("{one}/approve"), &seen);
    assert_eq!((answer.status, word(&answer.json()["status"])), (200, "approved".to_owned()));
    assert_eq!(status(&team), "in_progress");
    let again = post(&team, "person", &format!("{one}/reject"), &reason);
    assert_eq!((again.status, again.code().as_str()), (409, "INVALID_STATE"));
    team.server.stop();
}

/// On the command line, a process that an agent's program started, or a process without a terminal, can list approvals
/// but cannot decide them.
#[test]
fn the_command_line_asks_for_a_person() {
    let team = Team::new();
    let Asked { task, approval } = Asked::new(&team, "push");
    let run = |words: &[&str], mark: Option<&str>| {
        let mut program = team.place.program();
        program.args(["approval"]).args(words);
        if let Some(mark) = mark {
            program.env(mark, "1");
        }
        let output = program.stdin(std::process::Stdio::null()).output().unwrap();
        let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        (output.status.code(), text)
    };
    let (code, text) = run(&["list"], None);
    assert!(code == Some(0) && text.contains(&approval) && text.contains("push"), "{text}");
    let (code, text) = run(&["show", &approval], None);
    assert!(code == Some(0) && text.contains("git push origin main"), "{text}");
    let (code, text) = run(&["show", "ap_000000000000"], None);
    assert!(code == Some(1) && text.contains("APPROVAL_NOT_FOUND"), "{text}");
    let marks = [None].into_iter().chain(handover::below::marks().map(Some));
    for mark in marks {
        for words in [vec!["approve", &approval], vec!["reject", &approval, "--reason", "x"], vec!["revoke", &approval]]
        {
            let (code, text) = run(&words, mark);
            assert!(code == Some(1) && text.contains("NOT_A_PERSON"), "{mark:?} {words:?}: {text}");
        }
    }
    assert_eq!(word(&team.server.must("task_get", &json!({"id": task}))["status"]), "paused");
    team.server.stop();
}

/// `log verify` names an entry that was edited in the database file. Each topic (a part of the log) has a head: the
/// number and the hash of its last entry. When the last entry of a topic was removed, `log verify` notices it only if
/// it gets the heads that were saved before.
#[test]
fn the_command_line_names_what_was_changed() {
    let team = Team::new();
    Asked::new(&team, "push");
    team.server.stop();
    let heads = team.place.outside().join("heads.jsonl");
    std::fs::write(&heads, team.place.run(&["log", "head"]).out).unwrap();
    let file = rusqlite::Connection::open(team.place.state().join("handover.db")).unwrap();
    let asked = "type = 'approval_asked'";
    let place = format!("SELECT topic, seq FROM event WHERE {asked}");
    let (topic, seq): (String, i64) = file.query_row(&place, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    let verify = |more: &[&str]| {
        let ran = team.place.run(&[&["log", "verify"], more].concat());
        (ran.code, ran.out.trim().to_owned())
    };
    let kept = ["--heads", heads.to_str().unwrap()];
    assert_eq!((verify(&[]).0, verify(&kept).0), (Some(0), Some(0)));
    let change = |from: &str, to: &str| {
        file.execute_batch(&format!("UPDATE event SET body = replace(body, '{from}', '{to}') WHERE {asked}")).unwrap();
    };
    change("origin main", "origin prod");
    assert_eq!(verify(&[]), (Some(1), format!("{topic} entry {seq} was changed")));
    change("origin prod", "origin main");
    assert_eq!(verify(&[]).0, Some(0));
    // The approval request is the last entry of its topic (an ordered part of the log). After the entry is removed and
    // the stored head of the topic is set back, the log is still valid. Only a head that was saved before shows the
    // removal.
    file.execute_batch(&format!(
        "DELETE FROM event WHERE topic = '{topic}' AND seq >= {seq}; UPDATE topic SET seq = {seq} - 1, \
         hash = (SELECT hash FROM event WHERE topic = '{topic}' AND seq = {seq} - 1) WHERE name = '{topic}'"
    ))
    .unwrap();
    assert_eq!(verify(&[]).0, Some(0));
    assert_eq!(verify(&kept), (Some(1), format!("{topic} entry {seq} was removed")));
}
