//! `/api/v1/approvals`: persons, admins and coordinators (callers that may act on tasks of other agents) may read
//! approvals, but only a person decides about them.

use axum::Extension;
use axum::body::Body;
use axum::extract::{Path, RawQuery, State};
use axum::response::Response;
use engine::approval::{Approval, ApprovalDecision, ApprovalStatus, Via};
use engine::id::ApprovalId;
use engine::token::{AccessTokenKind, Scope};
use engine::{Caller, Refusal, Timestamp};
use http::StatusCode;
use wire::json::{Object, Value, object};

use super::HttpState;
use super::fields::BodyFields;
use super::problem::{HttpProblem, invalid, json, named};
use crate::desk::Visitor;
use base::people::approvals;
use base::service::Service;

const ROWS_DEFAULT: u32 = 50;
const ROWS_MAX: u32 = 500;

/// Refuses a token of scope agent. The list of approvals is for tokens of the scopes person, coordinator and admin. An
/// agent sees its own requests in its prompt.
fn may_look(scope: Scope) -> Result<(), HttpProblem> {
    match scope {
        Scope::Coordinator | Scope::Person | Scope::Admin => Ok(()),
        Scope::Agent => Err(not_permitted("a token of scope agent cannot read approvals")),
    }
}

fn not_permitted(message: &str) -> HttpProblem {
    HttpProblem::new(StatusCode::FORBIDDEN, "NOT_PERMITTED", message, "ask a person")
}

fn id(text: &str) -> Result<ApprovalId, HttpProblem> {
    named(text, |approval| Refusal::ApprovalNotFound { approval })
}

/// Handles `GET /api/v1/approvals?status=pending&limit=50&cursor=…`.
pub(super) async fn list(
    State(shared): State<HttpState>,
    Extension(scope): Extension<Scope>,
    RawQuery(query): RawQuery,
) -> Result<Response, HttpProblem> {
    may_look(scope)?;
    let (mut statuses, mut limit, mut before) = (Vec::new(), ROWS_DEFAULT, None);
    for (name, value) in form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
        match name.as_ref() {
            "status" => statuses.push(ApprovalStatus::parse(&value).ok_or_else(|| {
                invalid(
                    "`status` is not a status of \
                    approvals; use pending, approved, rejected, expired, revoked or consumed",
                )
            })?),
            "limit" => {
                let found = value.parse().ok().filter(|limit| (1..=ROWS_MAX).contains(limit));
                limit = found.ok_or_else(|| invalid(format!("`limit` must be 1 to {ROWS_MAX}")))?;
            }
            "cursor" => {
                before = Some(place(&value).ok_or_else(|| {
                    invalid(
                        "`cursor` is not a cursor of this list; \
                use next_cursor of the last page",
                    )
                })?)
            }
            other => {
                return Err(invalid(format!(
                    "`{other}` is not a filter of this list; the filters are status, \
                limit and cursor"
                )));
            }
        }
    }
    let service = shared.desk.service();
    let page = approvals::list(service, statuses, before, limit).await.map_err(|error| HttpProblem::fault(&error))?;
    note(&shared, scope, &page.rows).await;
    let rows = page.rows.iter().map(|row| approvals::row(row, service.now())).collect();
    let next = page.next.map(|(asked, id)| format!("{}.{id}", asked.0));
    Ok(json(&object([("approvals", Value::List(rows)), ("next_cursor", next.into())])))
}

fn place(cursor: &str) -> Option<(Timestamp, ApprovalId)> {
    let (asked, id) = cursor.split_once('.')?;
    Some((Timestamp(asked.parse().ok()?), id.parse().ok()?))
}

/// Handles `GET /api/v1/approvals/{id}`.
pub(super) async fn show(
    State(shared): State<HttpState>,
    Extension(scope): Extension<Scope>,
    Path(text): Path<String>,
) -> Result<Response, HttpProblem> {
    may_look(scope)?;
    let service = shared.desk.service();
    let found = approvals::show(service, id(&text)?).await.map_err(|error| HttpProblem::fault(&error))?;
    note(&shared, scope, std::slice::from_ref(&found)).await;
    let names = names(service, &found).await.map_err(|error| HttpProblem::fault(&error))?;
    let Value::Object(mut members) = approvals::row(&found, service.now()) else { return Ok(json(&Value::Null)) };
    members.extend(names);
    Ok(json(&Value::Object(members)))
}

/// Returns the names of the agent and of the task that an approval is about, as members of its object.
async fn names(service: &Service, approval: &Approval) -> Result<Object, base::Error> {
    let (agent, task) = (approval.agent(), approval.waiting.map(|waiting| waiting.task));
    let found = service.view(move |world| {
        let slug = agent.map(|agent| world.agent(agent).map(|row| row.slug.clone())).transpose()?;
        let task = task.map(|task| world.task(task).map(|row| (row.number, row.name.clone()))).transpose()?;
        Ok((slug, task))
    });
    let (slug, task) = found.await?;
    Ok(vec![
        ("agent".to_owned(), slug.into()),
        ("task".to_owned(), task.as_ref().map(|(number, _)| u64::from(*number)).into()),
        ("task_name".to_owned(), task.map(|(_, name)| name).into()),
    ])
}

/// Records that a person has seen these approvals, if the token belongs to a person. A failure to record is ignored:
/// the person sees the approvals anyway.
async fn note(shared: &HttpState, scope: Scope, rows: &[Approval]) {
    if scope == Scope::Person {
        let _unrecorded = approvals::seen(shared.desk.service(), rows, Via::Http).await;
    }
}

/// Refuses every token whose scope is not person, because agents on this machine may be able to read tokens of the
/// other scopes.
fn may_decide(scope: Scope) -> Result<(), HttpProblem> {
    match scope {
        Scope::Person => Ok(()),
        Scope::Agent | Scope::Coordinator | Scope::Admin => {
            Err(not_permitted("only a person decides about approvals; use a token of scope person"))
        }
    }
}

/// Handles `POST /api/v1/approvals/{id}/{approve,reject,revoke}`.
pub(super) async fn decide(
    State(shared): State<HttpState>,
    Extension(scope): Extension<Scope>,
    (Extension(visitor), Extension(kind)): (Extension<Visitor>, Extension<AccessTokenKind>),
    Path((text, verb)): Path<(String, String)>,
    body: Body,
) -> Result<Response, HttpProblem> {
    may_decide(scope)?;
    let fields = BodyFields::read(body, &["reason", "fingerprint"]).await?;
    let approval = id(&text)?;
    let shown = fields.some_text("fingerprint")?;
    let is_browser = matches!(kind, AccessTokenKind::BrowserKey { .. });
    if is_browser && verb == "approve" && shown.is_none() {
        return Err(invalid("`fingerprint` is required: a page approves only the request that it showed"));
    }
    if let Some(fingerprint) = shown {
        let kept = approvals::show(shared.desk.service(), approval).await;
        let kept = kept.map_err(|error| HttpProblem::fault(&error))?;
        // A page sends the fingerprint of the request that it showed. The person decides about nothing else.
        if kept.fingerprint != fingerprint {
            return Err(HttpProblem::refused(wire::lifecycle::refusal(&Refusal::FingerprintMismatch { approval })));
        }
    }
    let decision = match (verb.as_str(), fields.some_text("reason")?) {
        ("approve", None) => ApprovalDecision::Approve,
        ("approve", Some(_)) => return Err(invalid("`reason` is not allowed when you approve; leave it out")),
        ("reject", Some(reason)) => ApprovalDecision::Reject { reason },
        ("reject", None) => return Err(invalid("`reason` is required to reject: the agent sees it")),
        ("revoke", reason) => ApprovalDecision::Revoke { reason },
        _ => {
            return Err(HttpProblem::new(
                StatusCode::NOT_FOUND,
                "ROUTE_NOT_FOUND",
                "the last part of the path must be approve, reject or revoke",
                "send the request again with one of them",
            ));
        }
    };
    // If the token belongs to an agent, use that agent and not the agent that the header names. Otherwise a header
    // could attribute the decision to another agent.
    let agent = visitor.agent.or(visitor.named);
    let caller = Caller { agent, ..Caller::with_rights(scope.rights()) };
    let status = approvals::decide_as(shared.desk.service(), caller, approval, decision).await;
    let status = status.map_err(|error| HttpProblem::fault(&error))?;
    Ok(json(&object([("success", true.into()), ("status", status.as_str().into())])))
}
