//! Builds the OpenAPI document of the HTTP API from the schemas of the tools.

mod browser;
mod pages;
mod spend;
mod turns;
mod work;

use std::sync::LazyLock;

use axum::response::Response;
use wire::json::{Object, Value, object};
use wire::lifecycle::{TOOLS, Tool};

use super::problem::json;

static DOCUMENT: LazyLock<Value> = LazyLock::new(make);

pub(super) async fn document() -> Response {
    json(&DOCUMENT)
}

fn reference(name: &str) -> Value {
    object([("$ref", format!("#/components/schemas/{name}").into())])
}

fn content(kind: &str, schema: Value) -> Value {
    Value::Object(vec![(kind.to_owned(), object([("schema", schema)]))])
}

fn problems() -> Value {
    object([
        ("description", "The request was refused or failed; `code` says why, and `suggestion` what to do next".into()),
        ("content", content("application/problem+json", reference("Problem"))),
    ])
}

fn answers(schema: Value, about: &str) -> Value {
    object([
        ("200", object([("description", about.into()), ("content", content("application/json", schema))])),
        ("default", problems()),
    ])
}

fn parameter(name: &str, place: &str, about: &str, schema: Value) -> Value {
    object([
        ("name", name.into()),
        ("in", place.into()),
        ("required", (place == "path").into()),
        ("description", about.into()),
        ("schema", schema),
    ])
}

fn text() -> Value {
    object([("type", "string".into())])
}

fn whole() -> Value {
    object([("type", "integer".into()), ("minimum", Value::Number(0_i64.into()))])
}

fn flag() -> Value {
    object([("type", "boolean".into())])
}

fn get(id: &str, about: &str, parameters: Vec<Value>, schema: Value) -> Value {
    object([(
        "get",
        object([
            ("operationId", id.into()),
            ("summary", about.into()),
            ("parameters", Value::List(parameters)),
            ("responses", answers(schema, "The result")),
        ]),
    )])
}

fn tool_path(tool: &Tool) -> Value {
    let headers = vec![
        parameter("Handover-Agent", "header", "The agent that calls: its id or slug", text()),
        parameter(
            "Idempotency-Key",
            "header",
            "A request with the same key and the same arguments takes effect only \
            once",
            text(),
        ),
    ];
    let body = object([
        ("required", true.into()),
        ("content", content("application/json", reference(&format!("{}.arguments", tool.name)))),
    ]);
    object([(
        "post",
        object([
            ("operationId", tool.name.into()),
            ("summary", tool.about.into()),
            ("tags", vec!["tools"].into()),
            ("parameters", Value::List(headers)),
            ("requestBody", body),
            ("responses", answers(reference(&format!("{}.reply", tool.name)), "The request was carried out")),
        ]),
    )])
}

/// Returns the description of the GET routes. With them, a client reads data by a URL path, without the name of a tool.
fn reads() -> Object {
    let reply = |tool: &str| reference(&format!("{tool}.reply"));
    let limit = || parameter("limit", "query", "The largest number of rows", whole());
    let cursor = || parameter("cursor", "query", "The next_cursor of the last page", text());
    let id = |about: &str| parameter("id", "path", about, text());
    let status = || {
        let schema = object([("type", "array".into()), ("items", text())]);
        parameter("status", "query", "Only rows with this status; may be repeated", schema)
    };
    let workflow = || parameter("workflow_id", "query", "Only rows of this workflow", text());
    let with_tasks = parameter("include_tasks", "query", "Include a page of the workflow's tasks", flag());
    let with_points = parameter("include_checkpoints", "query", "Include the newest checkpoints of the task", flag());
    let entries = object([("type", "object".into())]);
    let paths = [
        (
            "/api/v1/workflows",
            get("list_workflows", "Workflows, newest first", vec![status(), limit(), cursor()], reply("workflow_list")),
        ),
        (
            "/api/v1/workflows/{id}",
            get(
                "get_workflow",
                "One workflow",
                vec![id("Its id"), with_tasks, limit(), cursor()],
                reply("workflow_get"),
            ),
        ),
        (
            "/api/v1/tasks",
            get(
                "list_tasks",
                "Tasks that can be claimed",
                vec![workflow(), limit(), cursor()],
                reply("task_get_available"),
            ),
        ),
        ("/api/v1/tasks/{id}", get("get_task", "One task", vec![id("Its id"), with_points], reply("task_get"))),
        ("/api/v1/agents", get("list_agents", "Agents", vec![status(), limit(), cursor()], reply("agent_list"))),
        ("/api/v1/agents/{id}", get("get_agent", "One agent", vec![id("Its id")], reply("agent_get"))),
        (
            "/api/v1/inbox/{agent}",
            get(
                "read_inbox",
                "Unread messages",
                vec![parameter("agent", "path", "An agent's id or slug, or human", text()), limit()],
                reply("inbox_read"),
            ),
        ),
        (
            "/api/v1/log/{topic}",
            get(
                "read_log",
                "Entries of a topic, such as workflows/wf_0123456789ab (do not encode the slash)",
                vec![
                    parameter("topic", "path", "The topic", text()),
                    parameter("after", "query", "Only entries after this number", whole()),
                    limit(),
                ],
                entries,
            ),
        ),
    ];
    paths.into_iter().map(|(path, item)| (path.to_owned(), item)).collect()
}

fn events() -> Value {
    let parameters = vec![
        parameter(
            "after",
            "query",
            "The id of the last event that you have seen; 0 starts with the first event",
            text(),
        ),
        parameter(
            "topic",
            "query",
            "Only events of this topic; a * at its end matches the rest; may be repeated",
            text(),
        ),
        parameter("type", "query", "Only events of this type; may be repeated", text()),
        parameter("Last-Event-ID", "header", "The same as the parameter `after`", text()),
    ];
    let stream = object([
        ("description", "Server-sent events; give the id of the last one as `after` to continue from there".into()),
        ("content", content("text/event-stream", text())),
    ]);
    object([(
        "get",
        object([
            ("operationId", "follow_events".into()),
            ("summary", "New events as they happen".into()),
            ("parameters", Value::List(parameters)),
            ("responses", object([("200", stream), ("default", problems())])),
        ]),
    )])
}

fn approvals() -> Vec<(String, Value)> {
    let any = || object([("type", "object".into())]);
    let id = || parameter("id", "path", "Its id", text());
    let list = get(
        "list_approvals",
        "Approvals that agents ask for, newest first; not for tokens of scope agent",
        vec![
            parameter("status", "query", "Only rows with this status; may be repeated", text()),
            parameter("limit", "query", "The largest number of rows", whole()),
            parameter("cursor", "query", "The next_cursor of the last page", text()),
        ],
        any(),
    );
    let show = get("get_approval", "One approval, word for word", vec![id()], any());
    let mut paths = vec![("/api/v1/approvals".to_owned(), list), ("/api/v1/approvals/{id}".to_owned(), show)];
    for (verb, about) in [
        ("approve", "Allow exactly this request, once; needs a token of scope person"),
        ("reject", "Reject the request with a reason that the agent sees; needs a token of scope person"),
        ("revoke", "Revoke a request, or an approval that was not used yet; needs a token of scope person"),
    ] {
        let wanted = object([
            ("type", "object".into()),
            ("properties", object([("reason", text()), ("fingerprint", text())])),
            ("additionalProperties", false.into()),
        ]);
        let post = object([
            ("operationId", format!("{verb}_approval").into()),
            ("summary", about.into()),
            ("parameters", Value::List(vec![id()])),
            ("requestBody", object([("required", false.into()), ("content", content("application/json", wanted))])),
            ("responses", answers(any(), "The decision is recorded")),
        ]);
        paths.push((format!("/api/v1/approvals/{{id}}/{verb}"), object([("post", post)])));
    }
    paths
}

fn reply() -> Value {
    let wanted = object([
        ("type", "object".into()),
        ("properties", object([("text", text())])),
        ("required", vec!["text"].into()),
        ("additionalProperties", false.into()),
    ]);
    let given = object([
        ("type", "object".into()),
        (
            "properties",
            object([
                ("success", flag()),
                ("answer_id", text()),
                ("task_id", maybe_text()),
                ("task_status", maybe_text()),
            ]),
        ),
        ("required", vec!["success", "answer_id", "task_id", "task_status"].into()),
    ]);
    let post = object([
        ("operationId", "reply_to_message".into()),
        (
            "summary",
            "Answer a message that an agent sent to people, so that its task continues; needs a token of \
            scope person"
                .into(),
        ),
        ("parameters", Value::List(vec![parameter("id", "path", "The id of the message", text())])),
        ("requestBody", object([("required", true.into()), ("content", content("application/json", wanted))])),
        ("responses", answers(given, "The answer is recorded; sending the same text again changes nothing")),
    ]);
    object([("post", post)])
}

fn maybe_text() -> Value {
    object([("type", vec!["string", "null"].into())])
}

fn tokens() -> [(String, Value); 2] {
    let any = || object([("type", "object".into())]);
    let wanted = object([
        ("type", "object".into()),
        (
            "properties",
            object([
                ("name", text()),
                ("scope", object([("enum", vec!["agent"].into())])),
                ("agent", text()),
                ("shared", object([("type", "boolean".into())])),
            ]),
        ),
        ("required", vec!["name"].into()),
        ("additionalProperties", false.into()),
    ]);
    let made = object([
        (
            "201",
            object([
                ("description", "The token was created; its secret is shown only here".into()),
                ("content", content("application/json", any())),
            ]),
        ),
        ("default", problems()),
    ]);
    let list = object([
        ("operationId", "list_tokens".into()),
        ("summary", "Tokens, without their secrets; needs a token of scope admin".into()),
        ("responses", answers(any(), "The tokens")),
    ]);
    let create = object([
        ("operationId", "create_token".into()),
        ("summary", "Create a token for an agent; needs a token of scope admin".into()),
        ("requestBody", object([("required", true.into()), ("content", content("application/json", wanted))])),
        ("responses", made),
    ]);
    let revoke = object([
        ("operationId", "revoke_token".into()),
        ("summary", "Revoke an agent's token; needs a token of scope admin".into()),
        ("parameters", Value::List(vec![parameter("id", "path", "Its id", text())])),
        ("responses", answers(any(), "The token is revoked")),
    ]);
    [
        ("/api/v1/tokens".to_owned(), object([("get", list), ("post", create)])),
        ("/api/v1/tokens/{id}".to_owned(), object([("delete", revoke)])),
    ]
}

/// Adds the operations of routes to the document. A path can have operations already.
fn join(paths: &mut Object, more: Vec<(String, Value)>) {
    for (path, item) in more {
        match (paths.iter_mut().find(|(known, _)| *known == path), item) {
            (Some((_, Value::Object(operations))), Value::Object(new)) => operations.extend(new),
            (_, item) => paths.push((path, item)),
        }
    }
}

fn make() -> Value {
    let mut paths: Object =
        TOOLS.iter().map(|tool| (format!("/api/v1/tools/{}", tool.name), tool_path(tool))).collect();
    paths.extend(reads());
    paths.push(("/api/v1/events".to_owned(), events()));
    paths.extend(approvals());
    paths.push(("/api/v1/messages/{id}/reply".to_owned(), reply()));
    paths.extend(tokens());
    paths.extend(browser::paths());
    paths.extend(pages::paths());
    join(&mut paths, work::paths());
    join(&mut paths, turns::paths());
    paths.extend(spend::paths());
    let problem = object([
        ("type", "object".into()),
        (
            "properties",
            object([
                ("type", text()),
                ("title", text()),
                ("status", whole()),
                ("detail", text()),
                ("code", text()),
                ("message", text()),
                ("recoverable", flag()),
                ("suggestion", text()),
                ("details", Value::Object(Object::new())),
            ]),
        ),
        ("required", vec!["status", "code", "message", "suggestion"].into()),
    ]);
    let mut schemas: Object = vec![("Problem".to_owned(), problem)];
    for tool in TOOLS {
        schemas.push((format!("{}.arguments", tool.name), tool.arguments()));
        schemas.push((format!("{}.reply", tool.name), tool.reply()));
    }
    let bearer = object([("type", "http".into()), ("scheme", "bearer".into())]);
    object([
        ("openapi", "3.1.0".into()),
        (
            "info",
            object([
                ("title", "Handover".into()),
                ("version", env!("CARGO_PKG_VERSION").into()),
                ("description", "Hands work between AI agents without dropping it".into()),
                ("license", object([("name", "MIT OR Apache-2.0".into()), ("identifier", "MIT OR Apache-2.0".into())])),
            ]),
        ),
        ("paths", Value::Object(paths)),
        ("components", object([("schemas", Value::Object(schemas)), ("securitySchemes", object([("token", bearer)]))])),
        ("security", Value::List(vec![object([("token", Value::List(Vec::new()))])])),
    ])
}
