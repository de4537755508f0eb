//! Describes the routes that the dashboard's page reads: the first page and the page of a task.

use wire::json::{Value, object};

use super::{flag, get, parameter, text, whole};

/// Returns the schema of a value that can be missing, which is then null.
pub(super) fn or_null(schema: Value) -> Value {
    object([("anyOf", Value::List(vec![schema, object([("type", "null".into())])]))])
}

pub(super) fn list(items: Value) -> Value {
    object([("type", "array".into()), ("items", items)])
}

/// Returns the schema of an object that has all of these members. Later versions may add members.
pub(super) fn row(members: &[(&str, Value)]) -> Value {
    let names = members.iter().map(|(name, _)| *name).collect::<Vec<_>>();
    let properties = members.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone())).collect();
    object([("type", "object".into()), ("properties", Value::Object(properties)), ("required", names.into())])
}

/// Returns the schema of one thing that needs a person.
fn item() -> Value {
    let ids = ["approval_id", "message_id", "review_id", "agent"];
    row(&[
        ("name", text()),
        ("kind", text()),
        ("title", text()),
        ("detail", text()),
        ("task", or_null(whole())),
        ("task_id", or_null(text())),
        ("task_name", or_null(text())),
        ("subject", row(&ids.map(|name| (name, or_null(text()))))),
        ("text", or_null(text())),
        ("since", whole()),
        ("behind", whole()),
        ("stops_agents", flag()),
        ("put_off_until", or_null(whole())),
        ("acts", list(row(&[("name", text()), ("command", text())]))),
    ])
}

/// Returns the members that name a task: its short number, its id and its name.
fn task() -> [(&'static str, Value); 3] {
    [("task", whole()), ("task_id", text()), ("name", text())]
}

fn with_task(more: &[(&'static str, Value)]) -> Value {
    row(&[task().as_slice(), more].concat())
}

/// Returns the schema of finished work that waits for a person.
fn finished() -> Value {
    row(&[
        ("task", or_null(whole())),
        ("task_id", or_null(text())),
        ("workflow_id", or_null(text())),
        ("name", text()),
        ("agent", or_null(text())),
        ("check", object([("enum", vec!["checked", "flaky", "unchecked", "no changes"].into())])),
        ("why", or_null(text())),
        ("files", whole()),
        ("added", whole()),
        ("removed", whole()),
        ("usd_micros", or_null(whole())),
        ("since", whole()),
        ("tree", text()),
    ])
}

fn now() -> Value {
    let cost = || ("usd_micros", or_null(whole()));
    let done = row(&[
        ("count", whole()),
        ("merged", whole()),
        cost(),
        ("unknown_cost", whole()),
        ("rows", list(with_task(&[("merged_at", or_null(whole())), cost()]))),
    ]);
    let running = with_task(&[
        ("agent", text()),
        ("since", whole()),
        ("doing", or_null(text())),
        cost(),
        ("turn_id", or_null(text())),
    ]);
    let last = row(&[("task", or_null(whole())), ("name", text()), ("merged_at", whole())]);
    row(&[
        ("cursor", text()),
        ("at", whole()),
        ("viewer", row(&[("scope", text()), ("decides", flag())])),
        ("project", row(&[("name", text()), ("branch", or_null(text())), ("commit", or_null(text()))])),
        ("repositories", list(row(&[("name", text()), ("needs", whole())]))),
        ("runner", row(&[("alive", flag())])),
        ("agents", list(row(&[("slug", text()), ("state", text())]))),
        ("check", or_null(row(&[("command", text()), ("state", text())]))),
        ("any_task", flag()),
        ("last", or_null(last)),
        ("items", list(item())),
        ("merge", list(finished())),
        ("running", list(running)),
        ("ready", list(with_task(&[("after", list(whole()))]))),
        ("stalled", list(row(&[("workflow_id", text()), ("name", text()), ("words", text())]))),
        ("done", done),
    ])
}

fn task_page() -> Value {
    let task = row(&[
        ("number", whole()),
        ("id", text()),
        ("name", text()),
        ("description", or_null(text())),
        ("goal", or_null(text())),
        ("acceptance_criteria", object([])),
        ("status", text()),
        ("state", text()),
        ("plan", text()),
        ("workflow_id", text()),
        ("role", or_null(text())),
    ]);
    let check = row(&[("word", text()), ("why", or_null(text())), ("words", text())]);
    let any = || list(object([("type", "object".into())]));
    row(&[
        ("task", task),
        ("agent", or_null(text())),
        ("tries", whole()),
        ("ms", whole()),
        ("usd_micros", or_null(whole())),
        ("base", or_null(row(&[("branch", or_null(text())), ("commit", text())]))),
        ("branch", or_null(text())),
        ("tree", or_null(text())),
        ("outcome", or_null(text())),
        ("check", or_null(check)),
        ("can", list(text())),
        ("item", or_null(item())),
        ("turns", any()),
        ("checks", any()),
        ("checkpoints", any()),
        ("findings", any()),
        ("messages", any()),
    ])
}

fn graph() -> Value {
    let pair = object([("type", "array".into()), ("items", whole())]);
    row(&[
        ("ids", list(text())),
        ("numbers", list(whole())),
        ("names", list(text())),
        ("states", list(text())),
        ("agents", list(or_null(text()))),
        ("layers", list(whole())),
        ("edges", list(pair)),
        ("cut", flag()),
        ("cursor", text()),
    ])
}

/// Returns the description of the routes that the dashboard's page reads.
pub(super) fn paths() -> Vec<(String, Value)> {
    let id = parameter("id", "path", "The id of the task, or its number", text());
    let plan = parameter("id", "path", "The id of the plan", text());
    vec![
        (
            "/api/v1/now".to_owned(),
            get("get_now", "What needs a person, what is ready to merge, what runs, and what was done", vec![], now()),
        ),
        (
            "/api/v1/tasks/{id}/page".to_owned(),
            get("get_task_page", "One task with its turns, checks, findings and questions", vec![id], task_page()),
        ),
        (
            "/api/v1/workflows/{id}/graph".to_owned(),
            get("get_graph", "The tasks of a plan with their states and dependencies, in columns", vec![plan], graph()),
        ),
    ]
}
