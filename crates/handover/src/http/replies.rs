//! `/api/v1/messages/{id}/reply`: a person answers an agent.

use axum::Extension;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::Response;
use engine::Refusal;
use engine::id::MessageId;
use engine::token::Scope;
use wire::json::Value;

use super::problem::{HttpProblem, invalid, json, named};
use super::{HttpState, intake};
use base::people::answers;

/// Handles `POST /api/v1/messages/{id}/reply` with the body `{"text": …}`.
pub(super) async fn reply(
    State(shared): State<HttpState>,
    Extension(scope): Extension<Scope>,
    Path(id): Path<String>,
    body: Body,
) -> Result<Response, HttpProblem> {
    let text = text(&intake::whole(body, wire::document::BYTES_MAX).await?)?;
    let id: MessageId = named(&id, |message| Refusal::MessageNotFound { message })?;
    let answered = answers::answer(shared.desk.service(), scope.rights(), id, text).await;
    Ok(json(&answered.map_err(|error| HttpProblem::fault(&error))?))
}

fn text(body: &[u8]) -> Result<String, HttpProblem> {
    let whole = std::str::from_utf8(body).map_err(|_| invalid("the body is not UTF-8"))?;
    let node =
        wire::json::parse_object(whole).map_err(|error| invalid(format!("the body is not a JSON object: {error}")))?;
    let Value::Object(members) = node.to_value() else { return Err(invalid("the body is not a JSON object")) };
    let mut found = None;
    for (name, value) in members {
        match (name.as_str(), value) {
            ("text", Value::Text(text)) => found = Some(text),
            ("text", _) => return Err(invalid("`text` must be a text")),
            (other, _) => {
                return Err(invalid(format!(
                    "`{other}` is not a field of this request; the only field is \
                `text`"
                )));
            }
        }
    }
    found.ok_or_else(|| invalid("`text` is required"))
}
