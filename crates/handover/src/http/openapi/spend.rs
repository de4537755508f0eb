//! Describes the routes about costs and about items (things that need a person) that are put off.

use wire::json::{Value, object};

use super::pages::{list, or_null, row};
use super::{answers, content, flag, get, parameter, text, whole};

/// Returns the members of a sum of costs. An amount that is unknown is null.
fn sum() -> [(&'static str, Value); 7] {
    [
        ("usd_micros", or_null(whole())),
        ("unknown_turns", whole()),
        ("turns", whole()),
        ("tokens", or_null(whole())),
        ("tokens_in", or_null(whole())),
        ("tokens_out", or_null(whole())),
        ("ms", whole()),
    ]
}

fn spend() -> Value {
    let named = [("key", or_null(text())), ("name", text())];
    let schema = row(&[
        ("by", text()),
        ("from", whole()),
        ("to", whole()),
        ("rows", list(row(&[named.as_slice(), sum().as_slice()].concat()))),
        ("total", row(&sum())),
        ("is_cut", flag()),
    ]);
    let by = object([("enum", vec!["day", "agent", "workflow", "model"].into())]);
    let parameters = vec![
        parameter("by", "query", "The property by which costs are added up; the default is day", by),
        parameter(
            "from",
            "query",
            "Only turns that started at this time or later; the default is 30 days ago",
            whole(),
        ),
        parameter("to", "query", "Only turns that started before this time; the default is now", whole()),
    ];
    get("get_spend", "The costs of the turns of a time range; needs a token of scope person", parameters, schema)
}

fn put_off() -> Value {
    let until = object([("type", vec!["integer", "null"].into())]);
    let wanted = object([
        ("type", "object".into()),
        ("properties", object([("name", text()), ("until", until)])),
        ("required", vec!["name", "until"].into()),
        ("additionalProperties", false.into()),
    ]);
    let given = row(&[("success", flag()), ("put_off_until", or_null(whole()))]);
    let post = object([
        ("operationId", "put_off_item".into()),
        (
            "summary",
            "Put off something that needs a person, for at most 14 days, or show it again; needs a token of scope person"
                .into(),
        ),
        ("requestBody", object([("required", true.into()), ("content", content("application/json", wanted))])),
        ("responses", answers(given, "The time is recorded")),
    ]);
    object([("post", post)])
}

/// Returns the description of the routes in this file.
pub(super) fn paths() -> [(String, Value); 2] {
    [("/api/v1/spend".to_owned(), spend()), ("/api/v1/items/put-off".to_owned(), put_off())]
}
