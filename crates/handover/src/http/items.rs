//! `/api/v1/items`: the acts of a person on items (things that need a person) as such.

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use base::people::attention;
use engine::put_off::ItemDelay;
use engine::token::Scope;
use wire::json::{Value, object};

use super::HttpState;
use super::fields::BodyFields;
use super::problem::{HttpProblem, json};
use super::work_place::{caller, may_act};
use crate::desk::Visitor;

/// Handles `POST /api/v1/items/put-off` with the body `{"name": …, "until": …}`. When `until` is null, the item is shown
/// among the others again.
pub(super) async fn put_off(
    State(shared): State<HttpState>,
    Extension(scope): Extension<Scope>,
    Extension(visitor): Extension<Visitor>,
    body: Body,
) -> Result<Response, HttpProblem> {
    may_act(scope)?;
    let fields = BodyFields::read(body, &["name", "until"]).await?;
    let delay = ItemDelay { item: fields.text("name")?, until: fields.time_or_null("until")? };
    let facts = shared.facts.project(&shared.desk).await;
    let done = attention::put_off(shared.desk.service(), &facts.around, (caller(&visitor), delay)).await;
    let until = done.map_err(|error| HttpProblem::fault(&error))?;
    let until = until.map(|until| Value::Number(until.0.into()));
    Ok(json(&object([("success", true.into()), ("put_off_until", until.into())])))
}
