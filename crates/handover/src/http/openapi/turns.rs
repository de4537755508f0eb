//! Describes the routes for turns (runs of agents' programs), their transcripts and the outputs of checks.

use wire::json::{Value, object};

use super::pages::{list, or_null, row};
use super::{flag, get, parameter, text, whole};

/// Returns the description of the routes.
pub(super) fn paths() -> Vec<(String, Value)> {
    let id = || parameter("id", "path", "The turn's id", text());
    let query = |name: &str, about: &str, schema: Value| parameter(name, "query", about, schema);
    let rows = get(
        "list_turns",
        "Turns (runs of agents' programs) by the time of their start, newest first; only a person sees their costs",
        vec![
            query("task", "Only turns of this task: its id or its short number", text()),
            query("workflow", "Only turns of this workflow", text()),
            query("from", "Only turns that started at this time or later, in milliseconds since 1970", whole()),
            query("to", "Only turns that started before this time", whole()),
            query("limit", "The largest number of rows", whole()),
            query("cursor", "The next_cursor of the last page", text()),
        ],
        row(&[("turns", list(turn())), ("next_cursor", or_null(text()))]),
    );
    let transcript = get(
        "read_transcript",
        "A piece of the conversation of a turn, also while it runs; needs a token of scope person",
        vec![
            id(),
            query("after", "Where the piece begins: 0, or the `next` of the last piece", whole()),
            query("limit", "The number of bytes of the program's output to read", whole()),
            query("wait", "The number of seconds to wait for new lines, at most 20", whole()),
        ],
        row(&[("lines", list(line())), ("next", whole()), ("ended", flag())]),
    );
    let output = get(
        "read_check_output",
        "The output of the checks of one verification; needs a token of scope person",
        vec![
            parameter("id", "path", "The task's id or its short number", text()),
            parameter("number", "path", "The number of the verification", text()),
            query("check", "Only the check at this position of the verification, from 1", whole()),
        ],
        row(&[("text", text()), ("cut", flag())]),
    );
    vec![
        ("/api/v1/turns".to_owned(), rows),
        ("/api/v1/turns/{id}".to_owned(), get("get_turn", "One turn", vec![id()], turn())),
        ("/api/v1/turns/{id}/transcript".to_owned(), transcript),
        ("/api/v1/tasks/{id}/checks/{number}/output".to_owned(), output),
    ]
}

fn turn() -> Value {
    row(&[
        ("id", text()),
        ("number", whole()),
        ("agent", or_null(text())),
        ("purpose", text()),
        ("started", whole()),
        ("ended_at", or_null(whole())),
        ("end", or_null(text())),
        ("reason", or_null(text())),
        ("usd_micros", or_null(whole())),
        ("ms", or_null(whole())),
        ("conversation", or_null(text())),
        ("task", or_null(whole())),
        ("task_id", text()),
        ("task_name", or_null(text())),
        ("workflow_id", text()),
    ])
}

fn line() -> Value {
    let kinds = ["text", "tool", "result", "error", "stderr", "warning"];
    row(&[
        ("kind", object([("enum", kinds.to_vec().into())])),
        ("text", text()),
        ("title", or_null(text())),
        ("detail", list(text())),
        ("ok", or_null(flag())),
        ("call", or_null(text())),
        ("at", or_null(whole())),
    ])
}
