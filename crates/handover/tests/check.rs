//! Tests `handover check`: its output for a person, its output for a program (`--json`), and its verdicts on whole
//! files of test cases (`--batch`).
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
#![expect(clippy::disallowed_methods, reason = "starts the program itself")]

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use wire::json::{Value, parse};

fn run(arguments: &[&str], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_handover"))
        .arg("check")
        .args(arguments)
        .env("HANDOVER_STORE", "/nowhere/at/all.db")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The program does not read its input when its arguments are wrong. Then this write fails, which is fine.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

const BAD_CLAIM: &str = r#"{"wire": "1.0", "type": "claim", "sender": "quinn",
 "ts": "yesterday",
 "payload": {"task_id": "t1", "agent": "mindy"}}"#;

#[test]
fn a_person_sees_the_line_a_caret_and_the_repair() {
    let output = run(&["wire"], BAD_CLAIM);
    assert_eq!(output.status.code(), Some(1));
    let expected = r#"error: PATTERN:/ts
 --> standard input:2:8
  |
2 |  "ts": "yesterday",
  |        ^^^^^^^^^^^
  = `/ts`: must be an RFC 3339 date-time with an offset, such as 2026-04-28T12:00:00Z; found "yesterday"

error: MISSING:/payload/role
 --> standard input:3:13
  |
3 |  "payload": {"task_id": "t1", "agent": "mindy"}}
  |             ^
  = `/payload/role`: is required and must be a slug such as `quinn`

error: CLAIM_SENDER_MISMATCH
 --> standard input:3:40
  |
3 |  "payload": {"task_id": "t1", "agent": "mindy"}}
  |                                        ^^^^^^^
  = `/payload/agent` must be the `/sender`: a task is claimed in one's own name

standard input: not valid wire: 3 errors
"#;
    assert_eq!(out(&output), expected);
}

#[test]
fn escape_sequences_of_a_document_do_not_reach_the_terminal() {
    let output = run(&["wire"], "{\"wire\": \"1.0\", \"type\": \"\u{1b}[31mred\u{202e}\"}");
    assert!(!out(&output).contains(['\u{1b}', '\u{202e}']), "{}", out(&output));
}

#[test]
fn a_program_gets_the_verdict_on_one_line() {
    let output = run(&["wire", "--json"], BAD_CLAIM);
    assert_eq!(output.status.code(), Some(1));
    let verdict = parse(out(&output).trim_end()).unwrap().to_value();
    let codes = vec!["PATTERN:/ts", "MISSING:/payload/role", "CLAIM_SENDER_MISMATCH"];
    assert_eq!(verdict.get("errors"), Some(&Value::from(codes)));
    assert_eq!(out(&output).lines().count(), 1);
    let valid = run(&["remote"], "git@GitHub.com:Org/Repo.git\n");
    assert_eq!(
        (valid.status.code(), out(&valid)),
        (Some(0), "{\n  \"identity\": \"github.com/org/repo\"\n}\n".to_owned())
    );
}

#[test]
fn wrong_calls_are_told_apart_from_wrong_documents() {
    for arguments in [&["poem"][..], &[], &["wire", "/no/such/file"], &["wire", "--frob"]] {
        let output = run(arguments, "{}");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(!output.stderr.is_empty() && output.stdout.is_empty(), "{arguments:?}");
    }
}

/// Checks every file of test cases with `handover check`, which prints one verdict per line, in the order of the cases,
/// with the case's id.
#[test]
fn files_of_cases() {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let folder = here.join("../wire/tests/fixtures/vectors");
    for (kind, file, expected) in [
        ("envelope-input", "envelope/input.jsonl", "expect"),
        ("envelope-output", "envelope/output.jsonl", "expect"),
        ("feedback-request", "feedback/request.jsonl", "expect"),
        ("feedback-response", "feedback/response.jsonl", "expect"),
        ("wire", "wire/wire.jsonl", "expect"),
        ("card", "card/card.jsonl", "expect"),
        ("stream", "stream/stream.jsonl", "expect"),
        ("merge", "handoff/merge_cases.jsonl", "expected"),
        ("remote", "handoff/remotes.jsonl", "expected"),
        ("reference", "handoff/refs.jsonl", "expected"),
        ("transitions", "handoff/transitions.jsonl", "expected"),
    ] {
        let path = folder.join(file);
        let output = run(&[kind, "--batch", path.to_str().unwrap()], "");
        assert_eq!(output.status.code(), Some(0), "{kind}");
        let cases = std::fs::read_to_string(&path).unwrap();
        assert_eq!(out(&output).lines().count(), cases.lines().count(), "{kind}");
        for (verdict, case) in out(&output).lines().zip(cases.lines()) {
            let (verdict, case) = (parse(verdict).unwrap().to_value(), parse(case).unwrap().to_value());
            assert_eq!(verdict.get("id"), case.get("id"));
            let Some(Value::Object(expected)) = case.get(expected) else { panic!("{case}") };
            for (name, value) in expected {
                let found = verdict.get(name).unwrap_or_else(|| panic!("{kind}: {verdict} has no {name}"));
                assert!(found.same(value), "{kind} {:?}: {name} is {found}, not {value}", case.get("id"));
            }
        }
    }
}

/// Checks the files of handoff documents (reports of agents at the end of their work). The expected verdicts are in
/// separate files.
#[test]
fn files_of_handoffs() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../wire/tests/fixtures/vectors/handoff");
    for (cases, expected) in [("cases.jsonl", "expected.jsonl"), ("large_cases.jsonl", "large_expected.jsonl")] {
        let output = run(&["handoff", "--batch", folder.join(cases).to_str().unwrap()], "");
        assert_eq!(output.status.code(), Some(0));
        let expected = std::fs::read_to_string(folder.join(expected)).unwrap();
        assert_eq!(out(&output).lines().count(), expected.lines().count());
        for (verdict, expected) in out(&output).lines().zip(expected.lines()) {
            let (verdict, expected) = (parse(verdict).unwrap().to_value(), parse(expected).unwrap().to_value());
            for name in ["id", "parsed", "valid", "plan_status", "missing", "invalid", "repair"] {
                assert_eq!(verdict.get(name), expected.get(name), "{:?}: {name}", expected.get("id"));
            }
        }
    }
}

#[test]
fn a_line_that_is_no_case_is_answered_and_told_at_the_end() {
    let lines = "{\"id\": 1, \"text\": \"{}\", \"unknown\": true}\nnot json\n\n{\"id\": \"b\", \"text\": \"[]\"}\n";
    let output = run(&["card", "--batch"], lines);
    assert_eq!(output.status.code(), Some(2));
    let answers: Vec<Value> = out(&output).lines().map(|line| parse(line).unwrap().to_value()).collect();
    assert_eq!(answers.len(), 3);
    assert_eq!(answers[0].get("id").map(ToString::to_string).as_deref(), Some("1"));
    assert_eq!(answers[1].get("id"), Some(&Value::Null));
    assert!(answers[1].get("error").is_some());
    assert_eq!(answers[2].get("errors"), Some(&Value::from(vec!["NOT_JSON"])));
}
