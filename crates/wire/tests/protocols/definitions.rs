//! Tests that the JSON Schemas in `definitions/` match the Rust types, and that they agree with the checkers of
//! documents on all rules that a schema can express.

use std::path::PathBuf;

use crate::cases::each;
use wire::check::{CheckFinding, DocumentKind, Severity, check};
use wire::definitions;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../definitions")
}

#[test]
fn the_files_are_fresh() {
    for (path, schema) in definitions::all() {
        let (file, text) = (folder().join(&path), schema.pretty());
        if std::env::var_os("UPDATE").is_some() {
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(&file, &text).unwrap();
        }
        let found = std::fs::read_to_string(&file).unwrap_or_default();
        assert_eq!(found, text, "{path} is not what the types say; run this test with UPDATE=1");
    }
}

/// The codes of rules that the checkers enforce but that a JSON Schema cannot express, each with the reason.
const UNSAYABLE: &[(&str, &str)] = &[
    ("TOO_LONG", "words, sentences and bytes are not counted by a schema"),
    ("TYPE", "an integer written as 1.0 is one for a schema"),
    ("RANGE", "a number too small for a double is 0 for a validator"),
    ("DUPLICATE_ID", "ids of different items are not compared by a schema"),
    ("DUPLICATE_PATH", "nor are paths"),
    ("PATH_OUTSIDE_ROOT", "a pattern does not resolve `..`"),
    ("PROCEED_WITHOUT_SUCCESS", "rules that join fields are left to the checker"),
    ("COMPLETE_WITHOUT_PASS", "the same"),
    ("CLAIM_SENDER_MISMATCH", "two fields are not compared by a schema"),
    ("SESSION_FIELD", "a key inside an extension is not looked at by a schema"),
    ("ITERATION_MISMATCH", "the request is another document"),
    ("UNEXPECTED", "so is what it asked for"),
    ("MISSING", "an acknowledgement is missing only when the request asked for one"),
    ("ACK_MISMATCH", "the same"),
    ("ACK_WRONG", "the session's history is not in the document"),
    ("UNKNOWN_ROUTE", "the registry is another document"),
    ("UNKNOWN_OUTPUT_TYPE", "the same"),
    ("UNKNOWN_AGENT", "the same"),
    ("PATTERN", "a pattern does not know the calendar"),
];

/// Returns the codes of the errors that a check found, without the places in the document that follow the codes.
fn errors(finding: &CheckFinding) -> Vec<&str> {
    let errors = finding.notes.iter().filter(|note| note.severity == Severity::Error);
    errors.map(|note| note.code.split(':').next().unwrap()).collect()
}

#[test]
fn schemas_and_checkers_agree() {
    let schemas: Vec<(String, jsonschema::Validator)> = definitions::all()
        .into_iter()
        .map(|(path, schema)| {
            let schema: serde_json::Value = serde_json::from_str(&schema.to_string()).unwrap();
            assert!(jsonschema::meta::is_valid(&schema), "{path} is no JSON Schema");
            (path, jsonschema::validator_for(&schema).unwrap())
        })
        .collect();
    let accepts = |prefix: &str, document: &serde_json::Value| {
        schemas.iter().any(|(path, schema)| path.starts_with(prefix) && schema.is_valid(document))
    };
    let (mut agreed, mut unsaid) = (0, std::collections::BTreeSet::new());
    for (file, kind, prefix) in [
        ("envelope/input.jsonl", DocumentKind::EnvelopeInput, "envelope/input"),
        ("envelope/output.jsonl", DocumentKind::EnvelopeOutput, "envelope/output"),
        ("feedback/request.jsonl", DocumentKind::FeedbackRequest, "feedback/request"),
        ("feedback/response.jsonl", DocumentKind::FeedbackResponse, "feedback/response"),
        ("wire/wire.jsonl", DocumentKind::Wire, "wire/"),
        ("card/card.jsonl", DocumentKind::Card, "card/"),
    ] {
        each(file, |case| {
            let finding = check(kind, &case.bytes(), &case.context());
            // The schema validator works on documents that `serde_json` has read. A document that `serde_json` cannot
            // read is skipped, for example bad JSON or a number that fits into no double.
            let Ok(document) = serde_json::from_slice(&case.bytes()) else { return };
            let codes: Vec<&str> = errors(&finding);
            if codes == ["NOT_JSON"] {
                return;
            }
            let accepted = accepts(prefix, &document);
            if finding.valid {
                assert!(accepted, "{}: the schema refuses what the checker accepts", case.id());
            }
            if finding.valid == accepted {
                agreed += 1;
                return;
            }
            for code in codes {
                let known = UNSAYABLE.iter().any(|(known, _)| *known == code);
                assert!(known, "{}: the schema accepts {:?}", case.id(), finding.notes);
                unsaid.insert(code.to_owned());
            }
        });
    }
    assert!(agreed > 900, "only {agreed} agreed");
    let idle: Vec<&str> = UNSAYABLE.iter().map(|(code, _)| *code).filter(|code| !unsaid.contains(*code)).collect();
    assert!(idle.is_empty(), "a schema can say these after all, or no case shows it: {idle:?}");
}

/// The codes of rules for handoff contracts that a JSON Schema cannot express, each with the reason.
const UNSAYABLE_OF_CONTRACTS: &[(&str, &str)] = &[
    ("CONSOLIDATION_REPORT", "whether it is required stands in the INPUT"),
    ("LOOP_STATE_INCOMPLETE", "two numbers are not compared by a schema"),
    ("LOOP_STATE_TYPE", "an integer written as 1.0 is one for a schema"),
];

#[test]
fn the_contract_and_its_schema_agree() {
    let schema: serde_json::Value = serde_json::from_str(&wire::handoff::schema().to_string()).unwrap();
    assert!(jsonschema::meta::is_valid(&schema));
    let validator = jsonschema::validator_for(&schema).unwrap();
    let (mut agreed, mut unsaid) = (0, std::collections::BTreeSet::new());
    each("handoff/cases.jsonl", |case| {
        let (bytes, context) = (case.bytes(), case.context());
        let text = std::str::from_utf8(&bytes).unwrap();
        let dispatch_agent_id = context.dispatch_agent_id.as_deref();
        let verdict = wire::handoff::judge(
            text,
            &wire::handoff::HandoffContext { input: context.input.as_ref(), dispatch_agent_id },
        );
        let Some(body) = verdict.body.filter(|_| verdict.is_parsed()) else { return };
        let Ok(document) = serde_json::from_str(body.of(text)) else { return };
        let accepted = validator.is_valid(&document);
        if verdict.is_valid() == accepted {
            agreed += 1;
            return;
        }
        assert!(accepted, "{}: the schema refuses what the checker accepts", case.id());
        for problem in verdict.missing.iter().chain(&verdict.invalid) {
            let code = problem.code();
            let code = code.split(':').next().unwrap();
            assert!(
                UNSAYABLE_OF_CONTRACTS.iter().any(|(known, _)| *known == code),
                "{}: the schema accepts {code}",
                case.id()
            );
            unsaid.insert(code.to_owned());
        }
    });
    assert!(agreed > 400, "only {agreed} agreed");
    let idle: Vec<&str> =
        UNSAYABLE_OF_CONTRACTS.iter().map(|(code, _)| *code).filter(|code| !unsaid.contains(*code)).collect();
    assert!(idle.is_empty(), "a schema can say these after all, or no case shows it: {idle:?}");
}

/// Tests that the lines that this crate writes for a review tool's output match the JSON Schema of these lines.
#[test]
fn frames_fit_their_schema() {
    use wire::stream::Frame;
    let schema: serde_json::Value = serde_json::from_str(&wire::stream::schema().to_string()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let tokens = wire::json::object([("input", 1_u64.into()), ("output", 2_u64.into())]);
    for frame in [
        Frame::start("ses_1", 1),
        Frame::text("ses_1", 2, "{}"),
        Frame::finish("ses_1", 3, wire::json::Number::try_from(0.25).unwrap(), tokens),
    ] {
        let line: serde_json::Value = serde_json::from_str(&frame.line()).unwrap();
        assert!(validator.is_valid(&line), "{line}");
    }
}
