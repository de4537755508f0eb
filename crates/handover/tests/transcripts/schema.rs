//! Checks that every reply, refusal and list of tools has its published form, over all interfaces.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use jsonschema::Validator;
use serde_json::Value;
use wire::lifecycle::{TOOLS, Tool};

static REPLIES: OnceLock<BTreeMap<&'static str, Validator>> = OnceLock::new();

fn value(value: &wire::json::Value) -> Value {
    serde_json::from_str(&value.to_string()).unwrap()
}

/// Checks that a reply fits the tool's published schema.
pub(crate) fn check_reply(tool: &str, reply: &Value) {
    let known = REPLIES.get_or_init(|| {
        let validator = |tool: &'static Tool| (tool.name, jsonschema::validator_for(&value(&tool.reply())).unwrap());
        TOOLS.iter().map(validator).collect()
    });
    let problems: Vec<String> = known[tool].iter_errors(reply).map(|problem| problem.to_string()).collect();
    assert_eq!(problems, Vec::<String>::new(), "{tool} replies against its schema: {reply}");
}

/// Checks that a refusal is `{code, message, recoverable, suggestion, details?}`, and that a refusal because of invalid
/// arguments names the fields that are invalid.
pub(crate) fn check_refusal(tool: &str, refusal: &Value) {
    let members = refusal.as_object().unwrap();
    let names: Vec<&str> = members.keys().map(String::as_str).collect();
    let wanted = ["code", "message", "recoverable", "suggestion", "details"];
    assert!(names == wanted || names == wanted[..4], "{tool}: {refusal}");
    let code = refusal["code"].as_str().unwrap();
    assert!(code.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_'), "{tool}: {refusal}");
    assert!(refusal["recoverable"].is_boolean(), "{tool}: {refusal}");
    for words in ["message", "suggestion"] {
        assert!(refusal[words].as_str().is_some_and(|text| text.len() > 5), "{tool}: {refusal}");
    }
    if code == "INVALID_INPUT" {
        let fields = refusal["details"]["fields"].as_array().unwrap_or_else(|| panic!("{tool}: {refusal}"));
        assert!(!fields.is_empty(), "{tool}: {refusal}");
        for field in fields {
            assert!(field["field"].is_string() && field["problem"].is_string(), "{tool}: {refusal}");
        }
    }
}

/// Checks that the list of tools has every tool, each with its effect on the state and with schemas of objects. The
/// listed schema of a tool's replies must be the schema against which this test checks replies.
pub(crate) fn check_catalog(list: &Value) {
    let listed = list["tools"].as_array().unwrap();
    let names: Vec<&str> = listed.iter().filter_map(|tool| tool["name"].as_str()).collect();
    let all: Vec<&str> = TOOLS.iter().map(|tool| tool.name).collect();
    assert_eq!(names, all);
    for (shown, tool) in listed.iter().zip(TOOLS) {
        let name = tool.name;
        assert_eq!(shown["inputSchema"]["type"], "object", "{name}");
        assert_eq!(shown["outputSchema"], value(&tool.reply()), "{name}");
        assert_eq!(shown["outputSchema"]["type"], "object", "{name}: an object at the root");
        for union in ["anyOf", "oneOf", "allOf"] {
            assert!(shown["outputSchema"].get(union).is_none(), "{name}: {union} at the root");
        }
        for hint in ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"] {
            let read_only = tool.effect == wire::lifecycle::Effect::Reads;
            let needed = hint == "readOnlyHint" || !read_only;
            assert!(shown["annotations"][hint].is_boolean() || !needed, "{name}: {hint} of {}", shown["annotations"]);
        }
    }
}
