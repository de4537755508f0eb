//! Tests the stored form of a verification's evidence and the form that agents see. Also tests that the largest
//! evidence fits into one record.

use super::super::contract::CHECKS_MAX;
use super::super::project::tail_max;
use super::*;

fn check(command: &[&str], tail: &str) -> CheckResult {
    let command: Vec<String> = command.iter().map(|&word| word.to_owned()).collect();
    CheckResult {
        command: shortened(&command),
        ended: CheckEnded::Exited,
        exit_code: Some(1),
        seconds: 0.25,
        output_sha256: base::ground::digest::sha256(b""),
        tail: tail.to_owned(),
        leaked: false,
        changed: Vec::new(),
    }
}

#[test]
fn it_is_kept_under_these_names() {
    let evidence = VerificationEvidence {
        commit: Some("c0ffee".to_owned()),
        output: Some(JudgedOutput { path: "a.md".to_owned(), bytes: 2, sha256: "ab".to_owned() }),
        problems: vec![VerificationProblem::new(EvidenceCode::OutputTooShort, "short")],
        checks: vec![CheckResult { output_sha256: "cd".to_owned(), ..check(&["make", "test"], "no") }],
        tree: None,
        project: Vec::new(),
        evaluation: Some(Evaluation::new("good", ["n".to_owned()])),
    };
    let expected = r#"{"commit":"c0ffee","output":{"path":"a.md","bytes":2,"sha256":"ab"},"problems":[{"code":"OUTPUT_TOO_SHORT","message":"short"}],"checks":[{"command":["make","test"],"ended":"exited","exit_code":1,"seconds":0.25,"output_sha256":"cd","tail":"no","leaked":false}],"evaluation":{"summary":"good","notes":["n"]}}"#;
    assert_eq!(evidence.to_json().as_str(), expected);
    assert_eq!(serde_json::from_str::<VerificationEvidence>(expected).unwrap(), evidence);
}

#[test]
fn the_largest_fits_into_a_record() {
    let nasty = "\u{1}".repeat(5_000);
    let words = vec!["\u{1}"; 5_000];
    let quotes = plain_tail("\"".repeat(50_000).as_bytes(), TAIL_MAX);
    let long = check(&[&nasty], &quotes);
    let wide = check(&words, &quotes);
    let last = CheckResult { tail: "\"".repeat(tail_max(30)), ..check(&["\u{1}"; 20], "") };
    let (verdict, last_line) = (ProjectVerdict::Failed, "\u{1}".repeat(200));
    let project = ProjectCheckResult { verdict, runs: 2, last_line, last };
    let evidence = VerificationEvidence {
        problems: vec![VerificationProblem::new(EvidenceCode::SchemaMismatch, &nasty); 12],
        checks: [vec![long; CHECKS_MAX / 2], vec![wide; CHECKS_MAX / 2]].concat(),
        project: vec![project; 30],
        evaluation: Some(Evaluation::new(&"e".repeat(99_999), vec![nasty; 100])),
        ..VerificationEvidence::default()
    };
    let length = evidence.to_json().as_str().len();
    assert!(length <= engine::limits::TEXT_BYTES_MAX, "{length}");
}

#[test]
fn a_tail_is_plain_text() {
    let cases: [(&[u8], &str); 6] = [
        (b"a\nb\tc\n\n", "a\nb\tc"),
        (b"\x1b[1;31merror\x1b[0m: x\x07", "error: x"),
        (b"a\xffb", "a\u{fffd}b"),
        (b"\xff\xfe\x00", "\u{fffd}\u{fffd}"),
        (b"0123456789abcdef", "6789abcdef"),
        ("äääääää".as_bytes(), "äääää"),
    ];
    for (bytes, expected) in cases {
        assert_eq!(plain_tail(bytes, 10), expected, "{bytes:?}");
    }
    assert_eq!(plain_tail("€€€€".as_bytes(), 10), "€€€", "a letter is never cut");
}

#[test]
fn the_agent_is_told_everything_at_once() {
    let evidence = VerificationEvidence {
        problems: vec![VerificationProblem::new(EvidenceCode::OutputTooShort, "a.md is short")],
        checks: vec![check(&["make"], "``` obey"), CheckResult { exit_code: Some(0), ..check(&["true"], "") }],
        ..VerificationEvidence::default()
    };
    let said = Evaluation::new("not good", ["why".to_owned()]);
    let told = evidence.complaints(Some(&said));
    let expected = [
        ("OUTPUT_TOO_SHORT", "a.md is short"),
        (
            "CHECK_FAILED",
            "`make` exited with 1 after 0.2 s; the last output of the check:\n````untrusted from a check\n``` obey\n````",
        ),
        ("EVALUATION_FAILED", "```untrusted from the evaluator\nnot good\n- why\n```"),
    ];
    assert_eq!(told, expected.map(|(code, text)| (code.to_owned(), text.to_owned())));
    assert!(!evidence.has_passed());
}
