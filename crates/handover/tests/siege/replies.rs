//! Tests answers to agents' questions over HTTP and on the command line: only a person answers, and only once.

use serde_json::{Value, json};

use crate::security::{Team, word};

/// Pauses a task of the agent `amy`, sends her question to a person, and returns the ids of the task and the message.
fn asked(team: &Team) -> (String, String) {
    let task = team.task(Some("paused"));
    let question = json!({
        "recipient_id": "human", "message_type": "query", "body": "which database?", "task_id": task,
        "priority": "urgent", "action_required": true, "sender_id": team.amy,
    });
    (task, word(&team.server.must("message_send", &question)["id"]))
}

#[test]
fn a_person_answers_once_and_the_task_goes_on() {
    let team = Team::new();
    let (task, message) = asked(&team);
    let status = || word(&team.server.must("task_get", &json!({"id": task}))["status"]);
    let reply = |name: &str, body: &Value| team.ask(name, "POST", &format!("/api/v1/messages/{message}/reply"), body);
    let waits = || team.call("person", "inbox_read", &json!({})).json()["messages"][0]["awaits_reply"].clone();
    assert_eq!((status(), waits()), ("paused".to_owned(), json!(true)));
    let answer = json!({"text": "the small one"});
    for name in ["agent", "bob", "coordinator"] {
        let refused = reply(name, &answer);
        assert_eq!((refused.status, refused.code().as_str()), (403, "NOT_PERMITTED"), "{name}");
    }
    for bad in [json!({}), json!({"text": 1}), json!({"text": " "}), json!({"text": "x", "task": task}), json!([])] {
        let refused = reply("person", &bad);
        assert_eq!((refused.status, refused.code().as_str()), (422, "INVALID_INPUT"), "{bad}");
    }
    let nowhere = |id: &str| team.ask("person", "POST", &format!("/api/v1/messages/{id}/reply"), &answer);
    assert_eq!(nowhere("msg_000000000000").code(), "MESSAGE_NOT_FOUND");
    assert_eq!(nowhere("tk_000000000000").code(), "MESSAGE_NOT_FOUND", "a text that is no id of a message names none");
    assert_eq!(status(), "paused", "nothing of that answered");

    let first = reply("person", &answer);
    assert_eq!((first.status, first.json()["task_status"].clone()), (200, json!("in_progress")), "{}", first.text());
    assert_eq!(first.json()["task_id"], json!(task));
    let admin = reply("admin", &answer);
    assert_eq!((admin.status, admin.code().as_str()), (403, "NOT_PERMITTED"), "an admin answers nothing");
    let again = reply("person", &answer);
    assert_eq!((again.status, again.json()), (200, first.json()), "the same words are the same answer");
    let late = reply("person", &json!({"text": "the large one"}));
    assert_eq!((late.status, late.code().as_str()), (409, "ALREADY_ANSWERED"));
    assert_eq!(status(), "in_progress");
    let mail = team.server.must("inbox_read", &json!({"agent_id": team.amy}));
    assert_eq!(mail["unread"], 1, "{mail}");
    let found = &mail["messages"][0];
    assert_eq!(found["id"], first.json()["answer_id"]);
    let told = ["body", "sender", "message_type", "reply_to_id", "ref_task_id"].map(|name| word(&found[name]));
    assert_eq!(told, ["the small one", "human", "task.feedback", message.as_str(), task.as_str()]);
    let listed = team.call("person", "message_list", &json!({"status": "all"})).json();
    assert_eq!(
        (&listed["messages"][0]["status"], &listed["messages"][0]["awaits_reply"]),
        (&json!("read"), &Value::Null)
    );
    team.server.stop();
}

/// On the command line, a process that an agent's program started, or a process without a terminal, can list the open
/// questions, and learns how a person answers them. Such a process cannot answer them itself.
#[test]
fn the_command_line_asks_for_a_person_who_answers() {
    let team = Team::new();
    let (task, message) = asked(&team);
    let run = |words: &[&str], mark: Option<&str>| {
        let mut program = team.place.program();
        program.args(words);
        if let Some(mark) = mark {
            program.env(mark, "1");
        }
        let output = program.stdin(std::process::Stdio::null()).output().unwrap();
        let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        (output.status.code(), text)
    };
    let how = format!("handover inbox reply {message} TEXT");
    for words in [vec!["inbox", "read"], vec!["inbox", "list"]] {
        let (code, text) = run(&words, None);
        assert!(code == Some(0) && text.contains(&how), "{words:?}: {text}");
    }
    let (code, text) = run(&["status"], None);
    assert!(code == Some(0) && text.contains("handover answer 1 \"...\""), "{text}");
    for mark in [None].into_iter().chain(handover::below::marks().map(Some)) {
        let (code, text) = run(&["inbox", "reply", &message, "yes"], mark);
        assert!(code == Some(1) && text.contains("NOT_A_PERSON"), "{mark:?}: {text}");
    }
    let (code, text) = run(&["inbox", "reply", &task, "yes"], None);
    assert!(code == Some(2) && text.contains("invalid value"), "{text}");
    assert_eq!(word(&team.server.must("task_get", &json!({"id": task}))["status"]), "paused");
    team.server.stop();
}

#[test]
fn at_a_terminal_the_answer_is_taken() {
    let team = Team::new();
    let (task, message) = asked(&team);
    let run = |words: &[&str]| {
        let ran = team.place.decide(&[&["inbox", "reply", &message], words].concat());
        (ran.code, format!("{}{}", ran.out, ran.err))
    };
    assert_eq!(run(&["the small one"]), (Some(0), format!("answered; {task} is in_progress\n")));
    let (code, text) = run(&["the small one", "--json"]);
    assert!(code == Some(0) && text.contains(r#""task_status":"in_progress""#), "{text}");
    let (code, text) = run(&["the large one"]);
    assert!(code == Some(1) && text.contains("ALREADY_ANSWERED"), "{text}");
    team.server.stop();
}
