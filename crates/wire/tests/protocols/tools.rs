//! What the tools cost a model that is only told of them, and what a client may rely on in their descriptions.

use wire::json::{Value, object};
use wire::lifecycle::{Set, TOOLS, Tool};

/// What every conversation pays for the default set, by the rules.
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
        // Clients prefix names, fold dashes and limit lengths; one hides `ask_user`.
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

/// Arguments of `workflow_set_plan` with so many small tasks.
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
    // Seven million numbers would be hundreds of megabytes of values, though no list of them is long.
    let many = vec![format!("[{}0]", "0,".repeat(90_000)); 80].join(",");
    let text = format!(r#"{{"id":"wf_000000000000","plan":{{"summary":"s","tasks":[{many}]}}}}"#);
    let judged = wire::lifecycle::judge("workflow_set_plan", text.as_bytes()).unwrap();
    assert_eq!(judged.report.codes().0, ["TOO_LONG:"]);
    let text = plan_of(100_000);
    let judged = wire::lifecycle::judge("workflow_set_plan", text.as_bytes()).unwrap();
    assert_eq!(judged.report.codes().0, [""; 0]);
}
