//! Describes the routes by which a person's browser connects. They need no token.

use wire::json::{Object, Value, object};

use super::{answers, content, problems, text, whole};

/// Returns the description of the routes below `/api/v1/browser`.
pub(super) fn paths() -> Vec<(String, Value)> {
    let enrolled = object([
        (
            "201",
            object([
                ("description", "The browser is connected; its key stays valid for 30 days after its last use".into()),
                ("content", content("application/json", closed(&[("key_id", text()), ("expires_at", whole())]))),
            ]),
        ),
        ("default", problems()),
    ]);
    let nonce = closed(&[("nonce", text()), ("expires_at", whole())]);
    let token = closed(&[
        ("token", text()),
        ("expires_at", whole()),
        ("key_id", text()),
        ("name", text()),
        ("scope", object([("enum", vec!["person"].into())])),
    ]);
    let operations = [
        (
            "keys",
            "enrol_browser",
            "Connect a browser: the code of the link that `handover open` made enrols its public key",
            closed(&[("code", text()), ("public_key", text()), ("name", text())]),
            enrolled,
        ),
        (
            "challenge",
            "challenge_browser",
            "Get a nonce for one signature, valid for a minute",
            closed(&[]),
            answers(nonce, "The nonce"),
        ),
        (
            "token",
            "get_browser_token",
            "Get a token of 15 minutes for a signature (ECDSA P-256 with SHA-256, 64 bytes) over the lines `handover \
             browser token`, the origin of the page and the nonce",
            closed(&[("public_key", text()), ("nonce", text()), ("signature", text())]),
            answers(token, "The token, with the rights of a person"),
        ),
    ];
    let path = |(name, id, about, wanted, responses): (&str, &str, &str, Value, Value)| {
        let body = object([("required", true.into()), ("content", content("application/json", wanted))]);
        let post = object([
            ("operationId", id.into()),
            ("summary", about.into()),
            ("security", Value::List(Vec::new())),
            ("requestBody", body),
            ("responses", responses),
        ]);
        (format!("/api/v1/browser/{name}"), object([("post", post)]))
    };
    operations.into_iter().map(path).collect()
}

/// Returns the schema of an object that has exactly these fields.
fn closed(fields: &[(&str, Value)]) -> Value {
    let properties: Object = fields.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone())).collect();
    let names: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
    object([
        ("type", "object".into()),
        ("properties", Value::Object(properties)),
        ("required", names.into()),
        ("additionalProperties", false.into()),
    ])
}
