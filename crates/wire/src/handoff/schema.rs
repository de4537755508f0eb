//! The JSON Schema of a handoff contract. It covers only the rules that JSON Schema can express.

use super::consolidation::Ownership;
use super::status::PlanStatus;
use crate::json::{Value, object};
use crate::schema::{self, not_blank, or_null, pattern};

const LISTS: [&str; 6] =
    ["patterns_checked", "files_checked", "key_outputs", "verbatim_outputs", "cross_layer_impacts", "open_gaps"];

fn kind(name: &str) -> Value {
    object([("type", name.into())])
}

fn any_of(schemas: Vec<Value>) -> Value {
    object([("anyOf", schemas.into())])
}

fn array(items: Value) -> Value {
    object([("type", "array".into()), ("items", items)])
}

/// Returns the schema of a JSON object with the given fields. The object may have other fields, too.
fn fields(required: &[&str], properties: Vec<(&str, Value)>) -> Value {
    let properties = properties.into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect();
    object([
        ("type", "object".into()),
        ("properties", Value::Object(properties)),
        ("required", required.to_vec().into()),
    ])
}

/// Returns a schema for strings that consist of one of the words. The letter case does not matter, and white space
/// around the word is allowed. A text that matches the pattern `tail` may follow the word.
fn spelt(words: &[&str], tail: &str) -> Value {
    let letter = |letter: char| match letter.to_ascii_lowercase() {
        lower @ 'a'..='z' => format!("[{}{lower}]", lower.to_ascii_uppercase()),
        other => other.to_string(),
    };
    let words: Vec<String> = words.iter().map(|word| word.chars().map(letter).collect()).collect();
    let space = schema::space();
    pattern(&format!("^{space}*(?:{}){tail}{space}*$", words.join("|")))
}

fn status(words: &[PlanStatus]) -> Value {
    spelt(&words.iter().map(|word| word.as_str()).collect::<Vec<_>>(), "[.,;]*")
}

fn evidence() -> Value {
    let note = any_of(vec![kind("string"), kind("object")]);
    let command = any_of(vec![kind("string"), fields(&["command"], vec![("command", kind("string"))])]);
    let mut properties: Vec<(&str, Value)> = LISTS.iter().map(|name| (*name, array(note.clone()))).collect();
    properties.push(("commands_run", array(command)));
    let required: Vec<&str> = properties.iter().map(|(name, _)| *name).collect();
    fields(&required, properties)
}

fn consolidation() -> Value {
    let ownership: Vec<&str> = Ownership::ALL.iter().map(|word| word.as_str()).collect();
    let given = || object([("not", kind("null"))]);
    let names = ["confirmed_findings", "suspected_findings", "conflicts", "open_gaps", "next_best_agent"];
    let mut properties: Vec<(&str, Value)> = names.map(|name| (name, given())).into();
    properties.push(("ownership_assessment", object([("enum", ownership.into())])));
    let required: Vec<&str> = properties.iter().map(|(name, _)| *name).collect();
    fields(&required, properties)
}

fn request() -> Value {
    fields(&["rollback", "verification"], vec![("rollback", not_blank()), ("verification", not_blank())])
}

fn looping() -> Value {
    let number = || or_null(&kind("number"));
    fields(
        &["iteration", "max_iterations"],
        vec![
            ("iteration", kind("integer")),
            ("max_iterations", kind("integer")),
            ("metric", number()),
            ("threshold", number()),
        ],
    )
}

/// Returns a schema that requires `then` only of handoff contracts with the status `word`.
fn when(word: PlanStatus, then: Value) -> Value {
    let found = fields(
        &["agent_status"],
        vec![("agent_status", fields(&["plan_status"], vec![("plan_status", status(&[word]))]))],
    );
    object([("if", found), ("then", then)])
}

/// Returns the JSON Schema of a handoff contract, the JSON with which an agent ends its turn.
pub fn schema() -> Value {
    let steps = any_of(vec![array(kind("string")), object([("type", "string".into()), ("minLength", 1_u64.into())])]);
    let agent_status = fields(
        &["plan_status", "agent_id", "pending_steps", "next_action"],
        vec![
            ("plan_status", status(PlanStatus::ALL)),
            ("agent_id", pattern("^a[0-9a-f]{5,}$")),
            ("pending_steps", steps),
            ("next_action", not_blank()),
        ],
    );
    let empty = object([("type", "object".into()), ("maxProperties", 0_u64.into())]);
    let Value::Object(mut contract) = fields(
        &["agent_status", "evidence_report"],
        vec![
            ("agent_status", agent_status),
            ("evidence_report", evidence()),
            ("consolidation_report", or_null(&consolidation())),
            ("approval_request", any_of(vec![kind("null"), empty, request()])),
            ("loop_state", or_null(&looping())),
        ],
    ) else {
        return Value::Null;
    };
    let passed = fields(&["result"], vec![("result", spelt(&["pass"], ""))]);
    let verified = fields(
        &["evidence_report"],
        vec![("evidence_report", fields(&["verification"], vec![("verification", passed)]))],
    );
    let rules = vec![
        when(PlanStatus::Complete, verified),
        when(PlanStatus::ApprovalRequest, fields(&["approval_request"], vec![("approval_request", request())])),
    ];
    contract.push(("allOf".to_owned(), rules.into()));
    Value::Object(contract)
}
