//! `/api/v1/tokens`: lists, creates and revokes tokens. The request needs a token of scope admin.

use axum::Extension;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::{IntoResponse as _, Response};
use engine::Refusal;
use engine::id::TokenId;
use engine::token::Scope;
use http::StatusCode;
use wire::json::{Value, object};

use super::problem::{HttpProblem, json, named};
use super::{HttpState, intake};
use crate::token::{self, ShownToken, TokenHolder};

/// The fields that a request for a new token may have. Any other field is refused.
const FIELDS: [&str; 4] = ["name", "scope", "agent", "shared"];

fn admin(scope: Scope) -> Result<(), HttpProblem> {
    if scope == Scope::Admin {
        return Ok(());
    }
    Err(HttpProblem::new(
        StatusCode::FORBIDDEN,
        "NOT_PERMITTED",
        format!("a token of scope {scope} cannot manage tokens"),
        "use the token of this machine, or `handover token` at a terminal",
    ))
}

/// Refuses to make or revoke a token unless its scope is agent. A token of scope agent cannot decide about approvals,
/// so it may be made and revoked over HTTP. All other tokens need a person at a terminal.
fn agents(scope: Scope) -> Result<(), HttpProblem> {
    if scope == Scope::Agent {
        return Ok(());
    }
    Err(HttpProblem::new(
        StatusCode::FORBIDDEN,
        "NOT_PERMITTED",
        format!("a token of scope {scope} is created and revoked by a person at a terminal, never over HTTP"),
        "ask a person to run `handover token create NAME --scope SCOPE` or `handover token revoke ID` in a terminal",
    ))
}

fn invalid(message: &str) -> HttpProblem {
    let next = "send a JSON object with `name` and, if you need them, `agent` (a name or id) or `shared` (true for \
        several agents)";
    HttpProblem::new(StatusCode::UNPROCESSABLE_ENTITY, "INVALID_INPUT", message, next)
}

pub(super) async fn list(
    State(shared): State<HttpState>,
    Extension(scope): Extension<Scope>,
) -> Result<Response, HttpProblem> {
    admin(scope)?;
    let found = token::list(shared.desk.service()).await.map_err(|error| HttpProblem::fault(&error))?;
    Ok(json(&object([("tokens", Value::List(found.iter().map(row).collect()))])))
}

fn row(token: &ShownToken) -> Value {
    object([
        ("id", token.id.to_string().into()),
        ("name", token.name.as_str().into()),
        ("scope", token.scope.as_str().into()),
        ("agent", token.agent.map(|agent| agent.to_string()).into()),
        ("created_at", Value::Number(token.created.0.into())),
        ("kind", token.kind_word().into()),
        ("last_used_at", token.used().map(|at| Value::Number(at.0.into())).into()),
        ("revoked_at", token.revoked.map(|at| Value::Number(at.0.into())).into()),
    ])
}

pub(super) async fn create(
    State(site): State<HttpState>,
    Extension(scope): Extension<Scope>,
    body: Body,
) -> Result<Response, HttpProblem> {
    admin(scope)?;
    let service = site.desk.service();
    let body = intake::whole(body, wire::document::BYTES_MAX).await?;
    let text = std::str::from_utf8(&body).map_err(|_| invalid("the body is not UTF-8"))?;
    let node =
        wire::json::parse_object(text).map_err(|error| invalid(&format!("the body is not a JSON object: {error}")))?;
    let value = node.to_value();
    if let Value::Object(members) = &value
        && let Some((name, _)) = members.iter().find(|(name, _)| !FIELDS.contains(&name.as_str()))
    {
        return Err(invalid(&format!(
            "`{name}` is not a field of a token; the fields are name, scope, agent and shared"
        )));
    }
    let word = |name: &str| value.get(name).and_then(Value::as_text);
    let name = word("name").ok_or_else(|| invalid("`name` is required"))?;
    let wanted = match value.get("scope") {
        None => Scope::Agent,
        Some(_) => word("scope").and_then(Scope::parse).ok_or_else(|| {
            invalid(
                "`scope` must be agent, coordinator, \
            person or admin",
            )
        })?,
    };
    agents(wanted)?;
    let shared = match value.get("shared") {
        None | Some(Value::Null) => false,
        Some(Value::Bool(shared)) => *shared,
        Some(_) => return Err(invalid("`shared` must be true or false")),
    };
    let holder = match value.get("agent") {
        None | Some(Value::Null) if shared => TokenHolder::Shared,
        None | Some(Value::Null) => TokenHolder::Named(name.to_owned()),
        Some(_) if shared => return Err(invalid("`shared` and `agent` exclude each other; leave one of them out")),
        Some(Value::Text(agent)) => TokenHolder::Agent(agent.clone()),
        Some(_) => return Err(invalid("`agent` must be an agent's name or id")),
    };
    let agent = token::holder(service, &holder).await.map_err(|error| HttpProblem::fault(&error))?;
    let made = token::create(service, name, wanted, agent).await;
    let made = made.map_err(|error| HttpProblem::fault(&error))?;
    let reply = object([
        ("id", made.id.to_string().into()),
        ("token", made.secret.into()),
        ("scope", wanted.as_str().into()),
        ("agent", agent.map(|agent| agent.to_string()).into()),
    ]);
    Ok((StatusCode::CREATED, json(&reply)).into_response())
}

pub(super) async fn revoke(
    State(shared): State<HttpState>,
    Extension(scope): Extension<Scope>,
    Path(id): Path<String>,
) -> Result<Response, HttpProblem> {
    admin(scope)?;
    let id: TokenId = named(&id, |token| Refusal::TokenNotFound { token })?;
    let known = token::known(shared.desk.service(), id).await.map_err(|error| HttpProblem::fault(&error))?;
    agents(known.scope)?;
    token::revoke(shared.desk.service(), id).await.map_err(|error| HttpProblem::fault(&error))?;
    shared.guard.forget();
    Ok(json(&object([("success", true.into())])))
}
