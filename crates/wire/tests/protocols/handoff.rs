//! Compares the verdicts on handoff contracts with the test vectors (files of cases with expected results). Compares
//! every expected field of every case.

use std::fs;
use std::path::{Path, PathBuf};

use wire::handoff::{HandoffContext, HandoffVerdict, Machine, NoIdentity, Reference, identity, judge, merge_all};
use wire::json::{Value, parse, parse_object};

/// Returns the folder of the test vectors (files of cases with expected results). It is next to the repository; if it
/// does not exist there, the copy in the repository is used.
fn folder() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let beside = here.join("../../../shared/vectors");
    if beside.is_dir() { beside } else { here.join("tests/fixtures/vectors") }.join("handoff")
}

fn cases(file: &str) -> Vec<Value> {
    let path = folder().join(file);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let cases: Vec<Value> = text.lines().map(|line| parse_object(line).unwrap().to_value()).collect();
    assert!(!cases.is_empty(), "{file} is empty");
    cases
}

fn text<'v>(case: &'v Value, name: &str) -> &'v str {
    case.get(name).and_then(Value::as_text).unwrap()
}

/// Returns the agent's text in a test case. The file has a long text as a list of parts, each with the number of its
/// repetitions.
fn said(case: &Value) -> String {
    String::from_utf8(crate::cases::Case::of(case.clone()).bytes()).unwrap()
}

fn verdict(case: &Value) -> HandoffVerdict {
    let dispatch_agent_id = case.get("dispatch_agent_id").and_then(Value::as_text);
    judge(&said(case), &HandoffContext { input: case.get("input_envelope"), dispatch_agent_id })
}

/// Removes the warnings about live state (values of a running system, such as IP addresses). Recognising live state is
/// a matter of judgement, so these warnings are not compared.
fn without_live_state(value: &Value) -> Value {
    let is_other = |code: &&Value| !code.as_text().unwrap().starts_with("LIVE_STATE:");
    Value::List(value.as_list().unwrap().iter().filter(is_other).cloned().collect())
}

/// Calls `found` with every test case of a file. `found` returns the difference between the verdict and the expected
/// verdict, or `None` when they are equal. Fails only at the end, so that one run shows every wrong case.
fn check(file: &str, found: impl Fn(&Value) -> Option<String>) {
    let cases = cases(file);
    let wrong: Vec<String> =
        cases.iter().filter_map(|case| found(case).map(|wrong| format!("{}: {wrong}", text(case, "id")))).collect();
    assert!(wrong.is_empty(), "{} of {} cases in {file}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

fn compare(found: &Value, case: &Value) -> Option<String> {
    let expected = case.get("expected").unwrap();
    (!found.same(expected)).then(|| format!("found {found}, expected {expected}"))
}

fn check_verdicts(file: &str, expected: &str) {
    let expected = cases(expected);
    check(file, |case| {
        let id = text(case, "id");
        let expected = expected.iter().find(|expected| text(expected, "id") == id).unwrap();
        let found = verdict(case).to_value();
        for name in ["parsed", "reason", "valid", "plan_status", "missing", "invalid", "repair", "applies"] {
            let (found, expected) = (found.get(name), expected.get(name));
            if found.map(Value::canonical) != expected.map(Value::canonical) {
                return Some(format!("{name}: found {found:?}, expected {expected:?}"));
            }
        }
        let warnings = without_live_state(found.get("warnings").unwrap());
        let expected = without_live_state(expected.get("warnings").unwrap());
        (warnings != expected).then(|| format!("warnings: found {warnings}, expected {expected}"))
    });
}

#[test]
fn contracts_are_judged() {
    check_verdicts("cases.jsonl", "expected.jsonl");
}

#[test]
fn large_contracts_are_judged() {
    check_verdicts("large_cases.jsonl", "large_expected.jsonl");
}

#[test]
fn updates_are_merged() {
    check("merge_cases.jsonl", |case| {
        let payloads = match (case.get("payloads"), case.get("payload")) {
            (Some(payloads), None) => payloads.as_list().unwrap(),
            (None, payload) => std::slice::from_ref(payload.unwrap()),
            (Some(_), Some(_)) => panic!("one payload or several"),
        };
        compare(&merge_all(case.get("stored").unwrap(), payloads).to_value(), case)
    });
}

#[test]
fn remotes_have_an_identity() {
    check("remotes.jsonl", |case| compare(&NoIdentity::to_value(&identity(text(case, "remote"))), case));
}

#[test]
fn references_are_parsed() {
    check("refs.jsonl", |case| compare(&Reference::to_value(&Reference::parse(text(case, "ref"))), case));
}

#[test]
fn statuses_follow_each_other() {
    check("transitions.jsonl", |case| compare(&Machine::run(case.get("events").unwrap()).unwrap(), case));
}

#[test]
fn a_valid_contract_loses_nothing() {
    let mut valid = 0;
    for case in cases("cases.jsonl").iter().chain(&cases("large_cases.jsonl")) {
        let verdict = verdict(case);
        let Some(contract) = &verdict.contract else { continue };
        let body = parse(verdict.body.unwrap().of(&said(case))).unwrap().to_value();
        let rendered = contract.render();
        assert!(rendered.same(&body), "{}: {rendered} is not {body}", text(case, "id"));
        valid += 1;
    }
    assert!(valid > 0);
}

#[test]
fn every_code_is_explained_on_one_line() {
    for case in cases("cases.jsonl") {
        let verdict = verdict(&case).to_value();
        let codes = |name: &str| verdict.get(name).and_then(Value::as_list).unwrap().to_vec();
        let reason = verdict.get("reason").cloned();
        let wanted: Vec<Value> =
            reason.into_iter().chain(["missing", "invalid", "warnings"].into_iter().flat_map(codes)).collect();
        let messages = codes("messages");
        let found: Vec<Value> = messages.iter().map(|message| message.get("code").unwrap().clone()).collect();
        assert_eq!(found, wanted, "{}", text(&case, "id"));
        for message in &messages {
            let message = text(message, "message");
            assert!(message.starts_with('`') && message.contains("; found ") && !message.contains('\n'), "{message}");
        }
    }
}
