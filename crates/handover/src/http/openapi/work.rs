//! Describes the routes for a person's acts on the work of agents: add, merge, send back, drop and the others.

use wire::json::{Object, Value, object};

use super::pages::{list, or_null, row};
use super::{answers, content, flag, get, parameter, problems, text, whole};

/// Returns the description of the routes.
pub(super) fn paths() -> Vec<(String, Value)> {
    let mut paths = vec![("/api/v1/tasks".to_owned(), object([("post", add())]))];
    let task = [("success", flag()), ("task", whole())];
    for (act, about, wanted, more) in acts() {
        let reply = row(&[task.as_slice(), &more].concat());
        let operation = post(&format!("{}_task", act.replace('-', "_")), about, task_id(), (wanted, reply));
        paths.push((format!("/api/v1/tasks/{{id}}/{act}"), object([("post", operation)])));
    }
    for (kind, of, id) in [("task", "tasks", task_id()), ("workflow", "workflows", workflow_id())] {
        paths.push((format!("/api/v1/{of}/{{id}}/merge"), merge(kind, &id)));
        let since = parameter("since", "query", "The `tree` of an earlier answer: compare it with the work", text());
        let about = "The difference that the work makes; for a task that runs, the present files of its worktree";
        let diff = get(&format!("diff_{kind}"), about, vec![id, since], difference());
        paths.push((format!("/api/v1/{of}/{{id}}/diff"), diff));
    }
    paths
}

fn task_id() -> Value {
    parameter("id", "path", "The task's id or its short number", text())
}

fn workflow_id() -> Value {
    parameter("id", "path", "The workflow's id", text())
}

/// An act on a task: its name in the path, its summary, the schema of its body, and the members of its reply.
type DescribedAct = (&'static str, &'static str, Value, Vec<(&'static str, Value)>);

fn acts() -> Vec<DescribedAct> {
    let none = || body(&[], &[]);
    let note = body(&[("path", text()), ("line", or_null(whole())), ("text", text())], &["path", "text"]);
    let answered = vec![
        ("answer_id", text()),
        ("task_id", or_null(text())),
        ("task_status", or_null(text())),
        ("agent", or_null(text())),
    ];
    vec![
        (
            "answer",
            "Answer the oldest open question of a task, so that its agent continues; needs a token of scope person",
            body(&[("text", text())], &["text"]),
            answered,
        ),
        ("retry", "Let a blocked or failed task start again; needs a token of scope person", none(), Vec::new()),
        ("stop", "End the running turn of a task; needs a token of scope person", none(), Vec::new()),
        (
            "drop",
            "Drop the work of a task; git keeps it for some days. Needs a token of scope person",
            none(),
            vec![("kept_days", or_null(whole()))],
        ),
        ("restore", "Bring dropped work back; needs a token of scope person", none(), Vec::new()),
        (
            "take",
            "Take the work of a blocked task as it is, unchecked; needs a token of scope person",
            body(&[("reason", text())], &["reason"]),
            vec![("has_work", flag())],
        ),
        (
            "send-back",
            "Give a task back to its agent, with remarks on the whole or on lines; needs a token of scope person",
            body(&[("text", text()), ("notes", list(note))], &[]),
            vec![("agent", or_null(text()))],
        ),
    ]
}

fn add() -> Value {
    let wanted =
        body(&[("name", text()), ("after", list(whole())), ("role", text()), ("touches", list(text()))], &["name"]);
    let made = row(&[("success", flag()), ("task", whole()), ("task_id", text()), ("name", text())]);
    let responses = object([
        (
            "201",
            object([
                ("description", "The task is in the list; the first line of the text is its name".into()),
                ("content", content("application/json", made)),
            ]),
        ),
        ("default", problems()),
    ]);
    object([
        ("operationId", "add_task".into()),
        ("summary", "Add a task to the list `Tasks`; needs a token of scope person".into()),
        ("requestBody", object([("required", true.into()), ("content", content("application/json", wanted))])),
        ("responses", responses),
    ])
}

fn merge(kind: &str, id: &Value) -> Value {
    let file = row(&[("path", text()), ("added", whole()), ("removed", whole())]);
    let dialog = row(&[
        ("target", text()),
        ("message", text()),
        ("files", list(file)),
        ("tree", text()),
        ("moved", whole()),
        ("checked", text()),
        ("dirty", list(text())),
        ("blocked_by", list(text())),
        ("conflict", list(text())),
        ("command", text()),
        ("seconds", or_null(whole())),
    ]);
    let merged = row(&[
        ("success", flag()),
        ("task", or_null(whole())),
        ("into", text()),
        ("before", text()),
        ("commit", text()),
        ("is_new", flag()),
    ]);
    let looked = get(
        &format!("look_at_merge_of_{kind}"),
        "The merge as it would be made now; changes nothing; needs a token of scope person",
        vec![id.clone()],
        dialog,
    );
    let about = "Merge the work into the branch that is checked out, as one commit. `tree` is the tree that was shown. When \
        the branch moved since the check, the merged result is checked first, so the answer may take minutes. Needs a \
        token of scope person";
    let made = post(&format!("merge_{kind}"), about, id.clone(), (body(&[("tree", text())], &["tree"]), merged));
    let Value::Object(mut members) = looked else { return Value::Null };
    members.push(("post".to_owned(), made));
    Value::Object(members)
}

fn difference() -> Value {
    let number = || or_null(whole());
    let kinds = |names: &[&str]| object([("enum", names.to_vec().into())]);
    let line =
        row(&[("kind", kinds(&["same", "add", "remove"])), ("old", number()), ("new", number()), ("text", text())]);
    let hunk =
        row(&[("old_start", whole()), ("new_start", whole()), ("heading", or_null(text())), ("lines", list(line))]);
    let file = row(&[
        ("path", text()),
        ("old_path", or_null(text())),
        ("status", kinds(&["changed", "added", "removed", "renamed"])),
        ("added", whole()),
        ("removed", whole()),
        ("binary", flag()),
        ("cut", flag()),
        ("hunks", list(hunk)),
    ]);
    row(&[("from", text()), ("to", text()), ("tree", text()), ("cut", flag()), ("files", list(file))])
}

fn post(id: &str, about: &str, parameter: Value, (wanted, reply): (Value, Value)) -> Value {
    let has_fields = wanted.get("required").is_some_and(|names| names.as_list().is_some_and(|names| !names.is_empty()));
    object([
        ("operationId", id.into()),
        ("summary", about.into()),
        ("parameters", Value::List(vec![parameter])),
        ("requestBody", object([("required", has_fields.into()), ("content", content("application/json", wanted))])),
        ("responses", answers(reply, "It is done")),
    ])
}

/// Returns the schema of a body that has no other fields than these.
fn body(fields: &[(&str, Value)], required: &[&str]) -> Value {
    let properties: Object = fields.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone())).collect();
    object([
        ("type", "object".into()),
        ("properties", Value::Object(properties)),
        ("required", required.to_vec().into()),
        ("additionalProperties", false.into()),
    ])
}
