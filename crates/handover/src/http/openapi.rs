//! Builds the OpenAPI document of the HTTP API from the schemas of the tools.

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
        ("description", "It was not done; `code` says why and `suggestion` what to do next".into()),
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
            ("responses", answers(schema, "What there is")),
        ]),
    )])
}

fn tool_path(tool: &Tool) -> Value {
    let headers = vec![
        parameter("Handover-Agent", "header", "The agent that calls: its id or slug", text()),
        parameter("Idempotency-Key", "header", "The same key and arguments are done once", text()),
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
            ("responses", answers(reference(&format!("{}.reply", tool.name)), "It is done")),
        ]),
    )])
}

/// Returns the description of the GET routes. They read data by a path instead of by a tool's name.
fn reads() -> Object {
    let reply = |tool: &str| reference(&format!("{tool}.reply"));
    let limit = || parameter("limit", "query", "How many at most", whole());
    let cursor = || parameter("cursor", "query", "Where the last page ended", text());
    let id = |about: &str| parameter("id", "path", about, text());
    let status = || {
        let schema = object([("type", "array".into()), ("items", text())]);
        parameter("status", "query", "Only these; may be repeated", schema)
    };
    let workflow = || parameter("workflow_id", "query", "Only this workflow", text());
    let with_tasks = parameter("include_tasks", "query", "With a page of its tasks", flag());
    let with_points = parameter("include_checkpoints", "query", "With its newest checkpoints", flag());
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
            get("list_tasks", "What can be claimed", vec![workflow(), limit(), cursor()], reply("task_get_available")),
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
                "Entries of a topic, such as workflows/wf_0123456789ab (its slash stands for itself)",
                vec![
                    parameter("topic", "path", "The topic", text()),
                    parameter("after", "query", "After this number", whole()),
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
        parameter("after", "query", "The id of the last event that was seen; 0 begins at the beginning", text()),
        parameter("topic", "query", "Only this topic; a * at its end matches the rest; may be repeated", text()),
        parameter("type", "query", "Only this type; may be repeated", text()),
        parameter("Last-Event-ID", "header", "The same as after", text()),
    ];
    let stream = object([
        ("description", "Server-sent events; each has the place one goes on from as its id".into()),
        ("content", content("text/event-stream", text())),
    ]);
    object([(
        "get",
        object([
            ("operationId", "follow_events".into()),
            ("summary", "What happens, as it happens".into()),
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
        "What agents ask for, newest first; not for agents",
        vec![
            parameter("status", "query", "Only these; may be repeated", text()),
            parameter("limit", "query", "How many at most", whole()),
            parameter("cursor", "query", "Where the last page ended", text()),
        ],
        any(),
    );
    let show = get("get_approval", "One approval, word for word", vec![id()], any());
    let mut paths = vec![("/api/v1/approvals".to_owned(), list), ("/api/v1/approvals/{id}".to_owned(), show)];
    for (verb, about) in [
        ("approve", "Allow exactly this, once; for persons"),
        ("reject", "Say no, with a reason that the agent is told; for persons"),
        ("revoke", "Take it back; for persons"),
    ] {
        let wanted = object([
            ("type", "object".into()),
            ("properties", object([("reason", text())])),
            ("additionalProperties", false.into()),
        ]);
        let post = object([
            ("operationId", format!("{verb}_approval").into()),
            ("summary", about.into()),
            ("parameters", Value::List(vec![id()])),
            ("requestBody", object([("required", false.into()), ("content", content("application/json", wanted))])),
            ("responses", answers(any(), "It is decided")),
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
        ("summary", "Answer an agent's message to people; the task that waits for it goes on; for persons".into()),
        ("parameters", Value::List(vec![parameter("id", "path", "The message's id", text())])),
        ("requestBody", object([("required", true.into()), ("content", content("application/json", wanted))])),
        ("responses", answers(given, "It is answered; the same words again are the same answer")),
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
                ("description", "Made; the secret is shown once".into()),
                ("content", content("application/json", any())),
            ]),
        ),
        ("default", problems()),
    ]);
    let list = object([
        ("operationId", "list_tokens".into()),
        ("summary", "Tokens, without their secrets; for admins".into()),
        ("responses", answers(any(), "The tokens")),
    ]);
    let create = object([
        ("operationId", "create_token".into()),
        ("summary", "Make an agent's token; for admins".into()),
        ("requestBody", object([("required", true.into()), ("content", content("application/json", wanted))])),
        ("responses", made),
    ]);
    let revoke = object([
        ("operationId", "revoke_token".into()),
        ("summary", "Revoke an agent's token; for admins".into()),
        ("parameters", Value::List(vec![parameter("id", "path", "Its id", text())])),
        ("responses", answers(any(), "It is revoked")),
    ]);
    [
        ("/api/v1/tokens".to_owned(), object([("get", list), ("post", create)])),
        ("/api/v1/tokens/{id}".to_owned(), object([("delete", revoke)])),
    ]
}

fn make() -> Value {
    let mut paths: Object =
        TOOLS.iter().map(|tool| (format!("/api/v1/tools/{}", tool.name), tool_path(tool))).collect();
    paths.extend(reads());
    paths.push(("/api/v1/events".to_owned(), events()));
    paths.extend(approvals());
    paths.push(("/api/v1/messages/{id}/reply".to_owned(), reply()));
    paths.extend(tokens());
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
