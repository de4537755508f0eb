//! Tests the translation of documents to the engine's commands. Each file `fixtures/acts/*.json` has a document, the
//! expected commands, and the parts of the document that are expected to become no command.
//!
//! With `UPDATE=1` the test writes the found commands and parts into the files as the new expectation.

use std::path::PathBuf;

use engine::id::{TaskId, WorkflowId};
use wire::json::{Value, object, parse};
use wire::translate::{Acts, TurnFence};
use wire::{card, convert, envelope, feedback, handoff, lifecycle, message, translate};

fn turn() -> TurnFence {
    TurnFence { task: "tk_0123456789ab".parse().unwrap(), attempt: 3 }
}

fn told(acts: &Acts) -> Value {
    let commands = acts.commands.iter().map(command_value).collect();
    object([("commands", Value::List(commands)), ("left", left(&acts.left))])
}

fn left(left: &[translate::LeftPart]) -> Value {
    Value::List(left.iter().map(|left| left.to_string().into()).collect())
}

fn command_value(command: &engine::Command) -> Value {
    parse(&serde_json::to_string(command).unwrap()).unwrap().to_value()
}

fn header() -> convert::WireHeader {
    convert::WireHeader {
        sender: message::Sender::new("runner").unwrap(),
        ts: wire::time::DateTime::new("2026-04-28T12:00:00Z").unwrap(),
        task_id: message::Id::new("tk_0123456789ab").unwrap(),
    }
}

fn converted(value: Value, lost: &[translate::LeftPart]) -> Value {
    object([("document", value), ("lost", left(lost))])
}

/// Translates a document of the given kind. Returns the engine's commands. For some kinds, also returns the document
/// converted to another protocol.
fn translated(kind: &str, document: &[u8]) -> Vec<(&'static str, Value)> {
    use wire::shape::Shape;
    match kind {
        "envelope-output" => {
            let output = envelope::judge_output(document).value.unwrap();
            let handoff = match convert::handoff_from_output(&output, "ab7e4d2") {
                Ok(found) => converted(found.value, &found.lost),
                Err(why) => object([("refused", why.to_string().into())]),
            };
            vec![("acts", told(&translate::output(&output, turn()))), ("as_handoff", handoff)]
        }
        "handoff" => {
            let text = std::str::from_utf8(document).unwrap();
            let contract = handoff::judge(text, &handoff::HandoffContext::default()).contract.unwrap();
            let output = convert::output_from_handoff(&contract);
            let rendered = output.value.render();
            assert!(envelope::judge_output(rendered.to_string().as_bytes()).report.is_valid(), "{rendered}");
            let agent = wire::shape::Slug::new("quinn").unwrap();
            let blocked = convert::blocked_from_handoff(&contract, header(), agent, 2);
            let blocked = blocked.map(|found| ("as_wire", converted(found.value.render(), &found.lost)));
            let acts = told(&translate::handoff(&contract, turn()));
            [("acts", acts), ("as_output", converted(rendered, &output.lost))].into_iter().chain(blocked).collect()
        }
        "wire" => {
            let wire = message::judge(document).value.unwrap();
            let workflow: WorkflowId = "wf_0123456789ab".parse().unwrap();
            let acts = match translate::wire(&wire, Some(workflow)) {
                Ok(acts) => told(&acts),
                Err(rejection) => object([("rejected", rejection.to_string().into())]),
            };
            vec![("acts", acts)]
        }
        "card" => {
            let card = card::judge(document, None).value.unwrap();
            vec![("acts", told(&translate::card(&card, "claude_code", Some("developer"))))]
        }
        "feedback-response" => {
            let response = feedback::judge_response(document, None).value.unwrap();
            let to = wire::shape::Slug::new("quinn").unwrap();
            let inbox = convert::feedback_as_inbox(&response, header(), to).unwrap();
            assert!(message::judge(inbox.value.render().to_string().as_bytes()).report.is_valid());
            vec![("as_wire", converted(inbox.value.render(), &inbox.lost))]
        }
        tool => {
            let call = lifecycle::judge(tool, document).unwrap().value.unwrap();
            assert_eq!(call.tool().name, tool);
            let (who, command) = (call.common().agent, command(&call));
            vec![("caller", who.map(|who| who.to_string()).into()), ("acts", command_value(&command))]
        }
    }
}

/// Returns the engine's command for a tool call. Handles only the tools that have a file in `fixtures/acts`.
#[expect(clippy::wildcard_enum_match_arm, reason = "a new file needs an arm here and says so")]
fn command(call: &lifecycle::Call) -> engine::Command {
    use lifecycle::Call;
    match call {
        Call::AgentRegister(asked) => engine::Command::Register(asked.register(None)),
        Call::AgentHeartbeat(asked) => asked.command(),
        Call::AgentUnregister(asked) => asked.command(),
        Call::CheckpointAdd(asked) => asked.command(),
        Call::TaskClaim(asked) => asked.command(),
        Call::TaskUpdateStatus(asked) => asked.command(),
        other => panic!("no command for {}", other.tool().name),
    }
}

#[test]
fn documents_become_commands() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/acts");
    let mut files: Vec<PathBuf> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 15, "only {} cases", files.len());
    for file in files {
        let case = parse(&std::fs::read_to_string(&file).unwrap()).unwrap().to_value();
        let kind = case.get("kind").and_then(Value::as_text).unwrap().to_owned();
        let document = case.get("document").unwrap();
        let bytes = document.as_text().map_or_else(|| document.to_string(), str::to_owned).into_bytes();
        let mut members = vec![("kind".to_owned(), kind.as_str().into()), ("document".to_owned(), document.clone())];
        members.extend(translated(&kind, &bytes).into_iter().map(|(name, value)| (name.to_owned(), value)));
        let found = Value::Object(members);
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(&file, found.pretty()).unwrap();
            continue;
        }
        assert_eq!(found.pretty(), case.pretty(), "{}", file.display());
    }
}

/// Tests that documents made from the engine's state pass the checks of their protocols.
#[test]
fn state_becomes_documents() {
    use engine::inbox::{MailboxOwner, MessageDraft, MessageKind, MessageState};
    use engine::task::Priority;
    use wire::shape::Shape;
    let id: TaskId = "tk_0123456789ab".parse().unwrap();
    let mut draft = MessageDraft::text(MessageKind::Question, Priority::FIRST, "A or B?");
    draft.task = Some(id);
    let letter = engine::inbox::Message {
        id: "msg_0123456789ab".parse().unwrap(),
        to: MailboxOwner::Human,
        sequence: 1,
        from: engine::Actor::Runner,
        thread: "thr_0123456789ab".parse().unwrap(),
        state: MessageState::Unread,
        draft,
        at: engine::Timestamp(1_777_377_600_000),
        answer: None,
    };
    let wire = translate::inbox(&letter, "quinn", "human").unwrap().render();
    let judged = message::judge(wire.to_string().as_bytes()).report.codes();
    assert_eq!(judged, (Vec::new(), vec!["PRIORITY_MISMATCH".to_owned()]), "{wire}");
    assert_eq!(wire.get("sender").and_then(Value::as_text), Some("runner"));
    assert_eq!(wire.get("ts").and_then(Value::as_text), Some("2026-04-28T12:00:00.000Z"));

    let given = translate::TaskInput {
        feature: None,
        workflow: "ship it",
        iteration: 2,
        action: "implement",
        params: vec![("goal".to_owned(), "The page is live.".into())],
        paths: vec![("root".to_owned(), ".".to_owned())],
        notes: vec!["The schema is settled.".to_owned()],
    };
    let input = translate::input(given.clone()).unwrap().render();
    assert!(envelope::judge_input(input.to_string().as_bytes()).report.is_valid(), "{input}");
    let outside = translate::TaskInput { paths: vec![("root".to_owned(), "../other".to_owned())], ..given };
    assert_eq!(translate::input(outside), None, "a path outside the root is not given to an agent");
}

#[test]
fn answers_have_the_shape_of_the_specification() {
    use engine::Reply;
    let agent = "ag_0123456789ab".parse().unwrap();
    let answers = [
        (
            "task_claim",
            Reply::AlreadyClaimedBy { agent },
            r#"{"success":false,"already_claimed_by":"ag_0123456789ab"}"#,
        ),
        (
            "task_claim",
            Reply::Claimed {
                task: "tk_0123456789ab".parse().unwrap(),
                attempt: 2,
                until: engine::Timestamp(0),
                review: false,
            },
            r#"{"success":true,"attempt":2,"lease_expires_at":0}"#,
        ),
        ("agent_unregister", Reply::Unregistered { released: 1 }, r#"{"success":true,"tasks_released":1}"#),
        (
            "agent_heartbeat",
            Reply::Alive { next_heartbeat_ms: engine::Millis(30_000) },
            r#"{"success":true,"next_heartbeat_ms":30000}"#,
        ),
    ];
    for (tool, reply, expected) in answers {
        let arguments = if tool == "task_claim" { r#"{"task_id":"tk_0123456789ab"}"# } else { "{}" };
        let call = lifecycle::judge(tool, arguments.as_bytes()).unwrap().value.unwrap();
        assert_eq!(lifecycle::answer(&call, &reply).unwrap().to_string(), expected);
        assert_eq!(lifecycle::answer(&call, &Reply::Configured), None);
    }
}
