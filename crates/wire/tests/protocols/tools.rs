//! Tests how many tokens the descriptions of the tools cost a model, and checks properties of the tools that clients
//! rely on.

use wire::json::{Value, object};
use wire::lifecycle::{Set, TOOLS, Tool};

/// The maximum number of tokens that the descriptions of the default set of tools may cost in every conversation. The
/// test fails when they cost more.
const DEFAULT_TOKENS_MAX: usize = 4_000;

fn cost(tools: impl Iterator<Item = &'static Tool>) -> usize {
    let told = tools.map(|tool| {
        object([("name", tool.name.into()), ("description", tool.about.into()), ("inputSchema", tool.offered())])
    });
    let text = Value::List(told.collect()).to_string();
    tiktoken_rs::o200k_base().unwrap().encode_ordinary(&text).len()
}

#[test]
fn the_default_set_fits_its_budget() {
    let found = cost(TOOLS.iter().filter(|tool| tool.set != Set::Full));
    assert!(found <= DEFAULT_TOKENS_MAX, "{found} tokens");
    let core = cost(TOOLS.iter().filter(|tool| tool.set == Set::Core));
    println!("core {core}, default {found}, full {} tokens", cost(TOOLS.iter()));
}

#[test]
fn descriptions_are_what_clients_take() {
    for tool in TOOLS {
        let name = tool.name;
        // Clients put prefixes before the names of tools, replace dashes in them and limit their length. So names must
        // be short and without dashes. One client hides a tool with the name `ask_user`.
        assert!(name.len() <= 40 && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{name}");
        assert_ne!(name, "ask_user");
        assert!((10..=160).contains(&tool.about.len()) && tool.about.ends_with('.'), "{name}: {}", tool.about);
        for schema in [tool.arguments(), tool.offered(), tool.reply()] {
            assert_eq!(schema.get("type").and_then(Value::as_text), Some("object"), "{name}");
        }
        jsonschema::validator_for(&serde_json::from_str(&tool.reply().to_string()).unwrap()).unwrap();
    }
    assert_eq!(TOOLS.len(), 66);
}

/// Returns the arguments of `workflow_set_plan` with this number of small tasks.
fn plan_of(tasks: usize) -> String {
    let list = vec![r#"{"name":"a task with a name"}"#; tasks].join(",");
    format!(r#"{{"id":"wf_000000000000","plan":{{"summary":"s","tasks":[{list}]}}}}"#)
}

#[test]
fn a_plan_with_too_many_tasks_is_refused_before_it_is_parsed() {
    let text = plan_of(100_001);
    let judged = wire::lifecycle::judge("workflow_set_plan", text.as_bytes()).unwrap();
    assert!(judged.value.is_none());
    assert_eq!(judged.report.codes().0, ["TOO_LONG:"]);
    let said = wire::lifecycle::rejection(Tool::find("workflow_set_plan").unwrap(), &judged.report);
    assert!(said.message.contains("a list has 100001 entries; at most 100000 are allowed"), "{}", said.message);
    assert!(said.suggestion.starts_with("send less"), "{}", said.suggestion);
    // This input has seven million numbers, whose parsed values would take hundreds of megabytes, although each list in
    // the input has a legal length.
    let many = vec![format!("[{}0]", "0,".repeat(90_000)); 80].join(",");
    let text = format!(r#"{{"id":"wf_000000000000","plan":{{"summary":"s","tasks":[{many}]}}}}"#);
    let judged = wire::lifecycle::judge("workflow_set_plan", text.as_bytes()).unwrap();
    assert_eq!(judged.report.codes().0, ["TOO_LONG:"]);
    let text = plan_of(100_000);
    let judged = wire::lifecycle::judge("workflow_set_plan", text.as_bytes()).unwrap();
    assert_eq!(judged.report.codes().0, [""; 0]);
}

/// Tests that null for an optional argument of a tool counts as absent. Clients write null for every argument that
/// their model left out.
#[test]
fn null_for_an_optional_argument_of_any_tool_is_the_argument_left_out() {
    let mut optional = 0;
    for tool in TOOLS {
        let (schema, offered) = (tool.arguments(), tool.offered());
        let validator = jsonschema::validator_for(&serde_json::from_str(&schema.to_string()).unwrap()).unwrap();
        let Some(Value::Object(names)) = schema.get("properties") else { panic!("{} has no arguments", tool.name) };
        let required: Vec<&str> = schema
            .get("required")
            .and_then(Value::as_list)
            .unwrap_or_default()
            .iter()
            .filter_map(Value::as_text)
            .collect();
        for (name, _) in names {
            let text = format!(r#"{{"{name}": null}}"#);
            let named = format!(":/{name}");
            let judged = wire::lifecycle::judge(tool.name, text.as_bytes()).unwrap();
            let (errors, _) = judged.report.codes();
            let about: Vec<&String> = errors.iter().filter(|code| code.ends_with(&named)).collect();
            let at = format!("/{name}");
            let instance = serde_json::from_str(&text).unwrap();
            let schema_refuses = validator.iter_errors(&instance).any(|error| error.instance_path().to_string() == at);
            if required.contains(&name.as_str()) {
                assert_eq!(about, [&format!("MISSING{named}")], "{} {name}", tool.name);
                assert!(schema_refuses, "the schema of {} takes null for {name}", tool.name);
            } else {
                optional += 1;
                assert!(about.is_empty(), "{} {name}: {about:?}", tool.name);
                assert!(!schema_refuses, "the schema of {} refuses null for {name}", tool.name);
                // The schema that models get mentions null only for an argument in which null has its own meaning,
                // because each mention costs tokens in every conversation.
                let told = offered.get("properties").and_then(|all| all.get(name)).and_then(|one| one.get("anyOf"));
                let tells = told.is_some_and(|either| either.to_string().contains(r#"{"type":"null"}"#));
                assert_eq!(tells, name == "current_task_id" && tool.name == "agent_update", "{} {name}", tool.name);
            }
        }
    }
    assert!(optional > 150, "{optional} optional arguments");
}

#[test]
fn a_call_with_null_is_the_call_without_the_argument() {
    let cases = [
        (
            "task_claim",
            r#"{"task_id":"tk_0123456789ab","agent_id":null,"idempotency_key":null}"#,
            r#"{"task_id":"tk_0123456789ab"}"#,
        ),
        (
            "workflow_set_plan",
            r#"{"id":"wf_0123456789ab","plan":{"summary":"s","tasks":[{"name":"a","depends_on":null,"brief":null}]}}"#,
            r#"{"id":"wf_0123456789ab","plan":{"summary":"s","tasks":[{"name":"a"}]}}"#,
        ),
    ];
    for (tool, with, without) in cases {
        let [with, without] = [with, without].map(|text| {
            let judged = wire::lifecycle::judge(tool, text.as_bytes()).unwrap();
            assert_eq!(judged.report.codes().0, [""; 0], "{text}");
            judged.value.unwrap()
        });
        assert_eq!(with, without);
        assert_eq!(with.fingerprint(), without.fingerprint());
    }
    // For a required argument and for an item of a list, null does not count as absent but is an error.
    let judged = wire::lifecycle::judge("workflow_set_plan", br#"{"id":null,"plan":{"summary":null,"tasks":[null]}}"#);
    assert_eq!(judged.unwrap().report.codes().0, ["MISSING:/id", "TYPE:/plan/tasks/0"]);
}
