//! Checks the documents of all test cases and compares every verdict with the expected verdict, field by field.

use crate::cases::{Case, each};
use wire::json::Value;
use wire::prompt::{Sources, assemble};
use wire::report::{Registry, Report};
use wire::{card, envelope, feedback, message, stream};

fn compare(case: &Case, report: &Report<'_>) {
    let found = report.to_value();
    let expect = case.get("expect");
    for key in ["valid", "errors", "warnings"] {
        assert_eq!(found.get(key), expect.get(key), "{}: {key}", case.id());
    }
    let told = found.get("messages").and_then(Value::as_list).unwrap().len();
    assert_eq!(told, report.errors().len() + report.warnings().len(), "{}: a message for every code", case.id());
}

#[test]
fn envelopes() {
    each("envelope/input.jsonl", |case| compare(case, &envelope::judge_input(&case.bytes()).report));
    each("envelope/output.jsonl", |case| compare(case, &envelope::judge_output(&case.bytes()).report));
}

#[test]
fn requests() {
    each("feedback/request.jsonl", |case| compare(case, &feedback::judge_request(&case.bytes()).report));
}

#[test]
fn responses() {
    each("feedback/response.jsonl", |case| {
        let issued = case.find("issued_ids").and_then(Value::as_list);
        let issued = issued.map(|ids| ids.iter().filter_map(Value::as_text).map(str::to_owned).collect());
        let request = case.find("request").and_then(Value::as_text);
        let asked = request.map(|request| feedback::AskedParts::by(request.as_bytes(), issued));
        compare(case, &feedback::judge_response(&case.bytes(), asked.as_ref()).report);
    });
}

#[test]
fn wires() {
    each("wire/wire.jsonl", |case| compare(case, &message::judge(&case.bytes()).report));
}

#[test]
fn cards() {
    each("card/card.jsonl", |case| {
        let registry = case.find("registry").filter(|found| **found != Value::Null).map(Registry::from_value);
        compare(case, &card::judge(&case.bytes(), registry.as_ref()).report);
    });
}

#[test]
fn streams() {
    each("stream/stream.jsonl", |case| {
        let found = stream::read(case.bytes().as_slice()).unwrap().to_value();
        for key in ["valid", "errors", "warnings", "line"] {
            assert_eq!(found.get(key), case.get("expect").get(key), "{}: {key}", case.id());
        }
        let (found, expected) = (found.get("response").unwrap(), case.get("expect").get("response").unwrap());
        assert!(found.same(expected), "{}: {found} is not {expected}", case.id());
    });
}

#[test]
fn prompts() {
    each("prompt/prompt.jsonl", |case| {
        let sources = Sources::from_value(case.get("input")).unwrap();
        let prompt = assemble(&sources);
        expect_prompt(case, &prompt);
        if case.find("permuted").is_some() {
            let mut turned = sources;
            turned.skills.reverse();
            turned.shared_skills.reverse();
            turned.memory.reverse();
            turned.inbox.reverse();
            assert_eq!(assemble(&turned), prompt, "{}: the order of the sources does not matter", case.id());
        }
    });
}

fn expect_prompt(case: &Case, prompt: &str) {
    let expect = case.get("expect");
    let texts = |name: &str| -> Vec<&str> {
        let found = expect.get(name).and_then(Value::as_list).unwrap_or_default();
        found.iter().filter_map(Value::as_text).collect()
    };
    if let Some(golden) = expect.get("golden").and_then(Value::as_text) {
        assert_eq!(prompt, golden, "{}", case.id());
    }
    if let Some(blocks) = expect.get("blocks_1_6").and_then(Value::as_text) {
        assert!(prompt.starts_with(&format!("{blocks}\n")), "{}: {prompt}", case.id());
    }
    let mut rest = prompt;
    for text in texts("in_order") {
        let (_, behind) = rest.split_once(text).unwrap_or_else(|| panic!("{}: {text:?} in {rest}", case.id()));
        rest = behind;
    }
    texts("absent").iter().for_each(|text| assert!(!prompt.contains(text), "{}: {text:?}", case.id()));
    if let Some(Value::Object(counts)) = expect.get("count") {
        for (text, count) in counts {
            assert_eq!(
                Value::from(u64::try_from(prompt.matches(text.as_str()).count()).unwrap()),
                *count,
                "{}",
                case.id()
            );
        }
    }
}
