//! `/api/v1`: routes to call the tools, and GET routes that read workflows, tasks, agents and the log.

use axum::Extension;
use axum::body::Body;
use axum::extract::{Path, RawQuery, State};
use axum::response::{IntoResponse as _, Response};
use engine::token::Scope;
use http::StatusCode;
use wire::json::{Object, Value, object};
use wire::lifecycle::Tool;

use super::HttpState;
use super::intake;
use super::problem::{HttpProblem, json};
use crate::desk::{ToolOutcome, Visitor};
use base::service::Entry;

/// Handles `POST /api/v1/tools/{tool}`.
pub(super) async fn call(
    State(shared): State<HttpState>,
    Path(tool): Path<String>,
    Extension(visitor): Extension<Visitor>,
    body: Body,
) -> Result<Response, HttpProblem> {
    let bytes_max = Tool::find(&tool).map_or(wire::document::BYTES_MAX, |tool| tool.bytes_max);
    let body = intake::whole(body, bytes_max).await?;
    let arguments: &[u8] = if body.is_empty() { b"{}" } else { &body };
    Ok(done(&shared, &visitor, &tool, arguments).await)
}

/// Calls a tool and turns its outcome into an HTTP response.
async fn done(shared: &HttpState, visitor: &Visitor, tool: &str, arguments: &[u8]) -> Response {
    let began = shared.desk.service().now();
    let outcome = shared.desk.call(visitor, tool, arguments, None).await;
    let ms = shared.desk.service().now().0 - began.0;
    let (word, response) = match outcome {
        ToolOutcome::Done(value) => ("done", json(&value)),
        ToolOutcome::Refused(said) => ("refused", HttpProblem::refused(said).into_response()),
        ToolOutcome::Failed(said) => ("failed", HttpProblem::failed(said).into_response()),
        ToolOutcome::UnknownTool => {
            let message = format!("there is no tool {}", tool.chars().take(64).collect::<String>());
            let next = "/api/v1/openapi.json lists the tools";
            return HttpProblem::new(StatusCode::NOT_FOUND, "TOOL_NOT_FOUND", message, next).into_response();
        }
    };
    if let Some(known) = Tool::find(tool) {
        shared.metrics.call(known.name, word, ms);
    }
    response
}

/// Returns the parameters of a URL's query as members of an object. A parameter in `lists` becomes a list with one item
/// per occurrence. `numbers` and `flags` name the parameters that become numbers and booleans.
fn members(query: Option<&str>, lists: &[&str], numbers: &[&str], flags: &[&str]) -> Object {
    let mut found = Object::new();
    for (name, text) in form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
        let whole = || text.parse::<u64>().ok().map(Value::from);
        let value = if numbers.contains(&name.as_ref()) {
            // Pass on a text that is not a number: the tool refuses it and names the field.
            whole().unwrap_or_else(|| text.as_ref().into())
        } else if flags.contains(&name.as_ref()) {
            match text.as_ref() {
                "" | "true" | "1" => true.into(),
                "false" | "0" => false.into(),
                other => other.into(),
            }
        } else {
            text.as_ref().into()
        };
        if !lists.contains(&name.as_ref()) {
            found.push((name.into_owned(), value));
            continue;
        }
        match found.iter_mut().find(|(known, _)| *known == name) {
            Some((_, Value::List(items))) => items.push(value),
            Some(_) | None => found.push((name.into_owned(), Value::List(vec![value]))),
        }
    }
    found
}

async fn look(shared: &HttpState, visitor: &Visitor, tool: &str, members: Object) -> Response {
    done(shared, visitor, tool, Value::Object(members).to_string().as_bytes()).await
}

pub(super) async fn workflows(
    State(shared): State<HttpState>,
    Extension(visitor): Extension<Visitor>,
    RawQuery(query): RawQuery,
) -> Response {
    look(&shared, &visitor, "workflow_list", members(query.as_deref(), &["status"], &["limit", "offset"], &[])).await
}

pub(super) async fn workflow(
    State(shared): State<HttpState>,
    Path(id): Path<String>,
    Extension(visitor): Extension<Visitor>,
    RawQuery(query): RawQuery,
) -> Response {
    let mut members = members(query.as_deref(), &[], &["limit"], &["include_tasks"]);
    members.push(("id".to_owned(), id.into()));
    look(&shared, &visitor, "workflow_get", members).await
}

/// Lists the tasks of all workflows that an agent can claim now.
pub(super) async fn tasks(
    State(shared): State<HttpState>,
    Extension(visitor): Extension<Visitor>,
    RawQuery(query): RawQuery,
) -> Response {
    look(&shared, &visitor, "task_get_available", members(query.as_deref(), &[], &["limit"], &[])).await
}

pub(super) async fn task(
    State(shared): State<HttpState>,
    Path(id): Path<String>,
    Extension(visitor): Extension<Visitor>,
    RawQuery(query): RawQuery,
) -> Response {
    let mut members = members(query.as_deref(), &[], &["checkpoint_limit"], &["include_checkpoints"]);
    members.push(("id".to_owned(), id.into()));
    look(&shared, &visitor, "task_get", members).await
}

pub(super) async fn agents(
    State(shared): State<HttpState>,
    Extension(visitor): Extension<Visitor>,
    RawQuery(query): RawQuery,
) -> Response {
    look(&shared, &visitor, "agent_list", members(query.as_deref(), &["status"], &["limit"], &[])).await
}

pub(super) async fn agent(
    State(shared): State<HttpState>,
    Path(id): Path<String>,
    Extension(visitor): Extension<Visitor>,
) -> Response {
    look(&shared, &visitor, "agent_get", vec![("id".to_owned(), id.into())]).await
}

pub(super) async fn inbox(
    State(shared): State<HttpState>,
    Path(agent): Path<String>,
    Extension(visitor): Extension<Visitor>,
    RawQuery(query): RawQuery,
) -> Response {
    let mut members = members(query.as_deref(), &[], &["limit"], &[]);
    members.push(("agent_id".to_owned(), agent.into()));
    look(&shared, &visitor, "inbox_read", members).await
}

/// The topic (the part of the log) that records changes of tokens.
const REGISTRY: &str = "registry";

/// The topics (the parts of the log) that the bearer of a token may read. An agent's mail is read only by the agent
/// itself and by coordinators, who may act on tasks of other agents. A person's mail is read only by a person.
#[derive(Debug, Clone)]
pub(super) enum Sight {
    All,
    /// The parts of the log about workflows and about tokens. This is for an admin, who manages tokens and reads no
    /// mail.
    Tokens,
    /// The parts of the log about workflows, and the mail of all agents, but not a person's mail.
    Team,
    /// The parts of the log about workflows, and the mail of the agent with this slug (its short name). With `None`, no
    /// mail.
    Agent(Option<String>),
}

impl Sight {
    pub(super) async fn of(shared: &HttpState, visitor: &Visitor, scope: Scope) -> Result<Self, HttpProblem> {
        match scope {
            Scope::Person => return Ok(Self::All),
            Scope::Admin => return Ok(Self::Tokens),
            Scope::Coordinator => return Ok(Self::Team),
            Scope::Agent => {}
        }
        let named = visitor.named.filter(|_| !visitor.bound);
        let Some(agent) = named.or(visitor.agent) else { return Ok(Self::Agent(None)) };
        let (session, bound) = (visitor.session, visitor.bound);
        let own = shared.desk.service().view(move |world| {
            let row = world.agent(agent)?;
            // Naming an agent in a header is not enough to read its mail. The token must be bound to the agent, or the
            // agent must be registered on the caller's connection.
            Ok((bound || (session.is_some() && row.session == session)).then(|| row.slug.clone()))
        });
        own.await.map(Self::Agent).map_err(|error| HttpProblem::fault(&error))
    }

    pub(super) fn takes(&self, topic: &str) -> bool {
        match self {
            Self::All => true,
            Self::Tokens => topic.starts_with("workflows/") || topic == REGISTRY,
            Self::Team => topic.starts_with("workflows/") || (topic.starts_with("agents/") && topic != "agents/human"),
            Self::Agent(own) => {
                topic.starts_with("workflows/")
                    || topic.strip_prefix("agents/").is_some_and(|slug| own.as_deref() == Some(slug))
            }
        }
    }
}

/// Returns the log entries of one topic (one part of the log) that follow a given sequence number.
pub(super) async fn log(
    State(shared): State<HttpState>,
    Path(topic): Path<String>,
    Extension(visitor): Extension<Visitor>,
    Extension(scope): Extension<Scope>,
    RawQuery(query): RawQuery,
) -> Result<Response, HttpProblem> {
    if !Sight::of(&shared, &visitor, scope).await?.takes(&topic) {
        let message = "this token does not allow reading this: an agent's token reads workflows and the agent's own \
            mail, a coordinator's also the mail of the team, an admin's workflows and tokens";
        return Err(HttpProblem::new(StatusCode::FORBIDDEN, "NOT_PERMITTED", message, "use a person's token"));
    }
    let words: Vec<(String, String)> =
        form_urlencoded::parse(query.unwrap_or_default().as_bytes()).into_owned().collect();
    let number = |name: &str, most: i64, usual: i64| match words.iter().find(|(word, _)| word == name) {
        None => Ok(usual),
        Some((_, text)) => text.parse::<i64>().ok().filter(|number| (0..=most).contains(number)).ok_or_else(|| {
            let message = format!("`{name}` must be a number up to {most}");
            HttpProblem::new(
                StatusCode::UNPROCESSABLE_ENTITY,
                "INVALID_INPUT",
                message,
                "correct the parameter and \
                try again",
            )
        }),
    };
    let (after, limit) = (number("after", i64::MAX, 0)?, number("limit", 500, 50)?);
    let limit = u32::try_from(limit).unwrap_or(50);
    let found = shared.desk.service().topic(topic.clone(), after, limit + 1).await;
    let found = found.map_err(|error| HttpProblem::fault(&error))?;
    let size = usize::try_from(limit).unwrap_or(usize::MAX);
    let page = found.get(..size.min(found.len())).unwrap_or_default();
    let next = page.last().filter(|_| found.len() > size).map(|entry| Value::Number(entry.seq.into()));
    let entries = page.iter().map(entry).collect();
    let mut reply = vec![("topic".to_owned(), topic.into()), ("entries".to_owned(), Value::List(entries))];
    reply.extend(next.map(|next| ("next_after".to_owned(), next)));
    Ok(json(&Value::Object(reply)))
}

/// Returns a log entry as JSON. The entry's body becomes a JSON value in this object, not a quoted text.
pub(super) fn entry(entry: &Entry) -> Value {
    object([
        ("topic", entry.topic.as_str().into()),
        ("seq", Value::Number(entry.seq.into())),
        ("at", Value::Number(entry.at.0.into())),
        ("type", entry.kind.as_str().into()),
        ("sender", entry.sender.as_str().into()),
        ("body", wire::json::parse(&entry.body).map_or(Value::Null, |node| node.to_value())),
        ("hash", entry.hash.as_str().into()),
    ])
}
