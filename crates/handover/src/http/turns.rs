//! `/api/v1/turns`: the turns (runs of agents' programs), their transcripts, and the outputs of checks.

use std::path;
use std::time::Duration;

use axum::Extension;
use axum::extract::{Path, RawQuery, State};
use axum::response::Response;
use base::service::Service;
use base::service::turns::{self, NamedTurn};
use engine::id::{TurnId, WorkflowId};
use engine::list::{TurnQuery, Whose};
use engine::token::Scope;
use engine::turn::Turn;
use engine::{Refusal, Timestamp};
use http::StatusCode;
use wire::json::{Value, object};
use wire::visible;
use work::check_output::check_output;
use work::conversation::TurnOutput;
use work::transcript::{TranscriptLine, TranscriptPiece, TranscriptRange, piece};

use super::HttpState;
use super::fields::QueryFields;
use super::problem::{HttpProblem, invalid, json, named};
use super::task_page::{named_task, turn_value};
use super::work_place::{WorkPlaceParts, failed, may_read_outputs};

const ROWS_DEFAULT: u64 = 50;
const ROWS_MAX: u64 = 500;
/// The number of bytes of a program's output that one answer reads, if the request names none, and the largest number.
const BYTES_DEFAULT: u64 = 256 << 10;
const BYTES_MAX: u64 = 1 << 20;
/// The longest time in seconds for which a request may wait for new lines.
const WAIT_MAX: u64 = 20;
/// The time between two reads of the output of a program that still runs.
const LOOK: Duration = Duration::from_millis(200);

/// Handles `GET /api/v1/turns?task=&workflow=&from=&to=&limit=&cursor=`: turns (runs of agents' programs) by the time of
/// their start, newest first.
pub(super) async fn list(
    State(shared): State<HttpState>,
    Extension(scope): Extension<Scope>,
    RawQuery(query): RawQuery,
) -> Result<Response, HttpProblem> {
    let query = QueryFields::read(query.as_deref(), &["task", "workflow", "from", "to", "limit", "cursor"])?;
    let service = shared.desk.service();
    let limit = query.number("limit", (1, ROWS_MAX), ROWS_DEFAULT)?;
    let limit = u32::try_from(limit).unwrap_or(u32::MAX);
    let latest = u64::try_from(i64::MAX).unwrap_or(u64::MAX);
    let time = |name, usual| Ok(Timestamp(i64::try_from(query.number(name, (0, latest), usual)?).unwrap_or(i64::MAX)));
    let (from, until): (Timestamp, Timestamp) = (time("from", 0)?, time("to", latest)?);
    let before = match query.text("cursor") {
        Some(cursor) => Some(
            place(cursor)
                .ok_or_else(|| invalid("`cursor` is not a cursor of this list; use next_cursor of the last page"))?,
        ),
        None => None,
    };
    let whose = whose(service, &query).await?;
    let rows = match whose {
        None => service.ask(TurnQuery::Started { from, until, before, limit }).await,
        Some(of) => {
            // The rows of one task or workflow are ordered by their start, so a later start is left out by beginning
            // before the end of the time range.
            let end = (until, TurnId::FIRST);
            let before = Some(before.map_or(end, |before| before.min(end)));
            service.ask(TurnQuery::Of { of, before, limit }).await
        }
    };
    let rows: Vec<Turn> = rows.map_err(|error| HttpProblem::fault(&error))?;
    let is_full = rows.len() >= usize::try_from(limit).unwrap_or(usize::MAX);
    let last = rows.last().map(|turn| (turn.started, turn.id));
    let rows: Vec<Turn> = rows.into_iter().filter(|turn| turn.started >= from).collect();
    let next = last.filter(|(started, _)| is_full && *started >= from);
    let found = turns::named_turns(service, rows).await.map_err(|error| HttpProblem::fault(&error))?;
    let rows = found.iter().map(|turn| row(turn, scope)).collect();
    let next = next.map(|(started, id)| format!("{}.{id}", started.0));
    Ok(json(&object([("turns", Value::List(rows)), ("next_cursor", next.into())])))
}

/// Returns the task or workflow whose turns (runs of agents' programs) are asked for.
async fn whose(service: &Service, query: &QueryFields) -> Result<Option<Whose>, HttpProblem> {
    match (query.text("task"), query.text("workflow")) {
        (None, None) => Ok(None),
        (Some(task), None) => Ok(Some(Whose::Task(named_task(service, task).await?.id))),
        (None, Some(workflow)) => {
            let id: WorkflowId = named(workflow, |workflow| Refusal::WorkflowNotFound { workflow })?;
            let found = service.view(move |world| world.workflow(id).map(|workflow| workflow.id)).await;
            Ok(Some(Whose::Workflow(found.map_err(|error| HttpProblem::fault(&error))?)))
        }
        (Some(_), Some(_)) => Err(invalid("`task` and `workflow` exclude each other; leave one of them out")),
    }
}

fn place(cursor: &str) -> Option<(Timestamp, TurnId)> {
    let (started, id) = cursor.split_once('.')?;
    Some((Timestamp(started.parse().ok()?), id.parse().ok()?))
}

/// Returns a turn (one run of an agent's program) as JSON, with its task. Only a person sees the costs.
fn row(named: &NamedTurn, scope: Scope) -> Value {
    let Value::Object(mut members) = turn_value(named, scope == Scope::Person) else { return Value::Null };
    members.push(("task".to_owned(), named.number.map(u64::from).into()));
    members.push(("task_id".to_owned(), named.turn.task.to_string().into()));
    members.push(("task_name".to_owned(), named.task.as_deref().map(visible::one_line).into()));
    members.push(("workflow_id".to_owned(), named.turn.workflow.to_string().into()));
    Value::Object(members)
}

/// Handles `GET /api/v1/turns/{id}`.
pub(super) async fn show(
    State(shared): State<HttpState>,
    Extension(scope): Extension<Scope>,
    Path(id): Path<String>,
) -> Result<Response, HttpProblem> {
    let turn = turn(shared.desk.service(), turn_id(&id)?).await?;
    let found = turns::named_turns(shared.desk.service(), vec![turn]).await;
    let found = found.map_err(|error| HttpProblem::fault(&error))?;
    Ok(json(&found.first().map_or(Value::Null, |turn| row(turn, scope))))
}

fn turn_id(text: &str) -> Result<TurnId, HttpProblem> {
    named(text, |turn| Refusal::TurnNotFound { turn })
}

async fn turn(service: &Service, id: TurnId) -> Result<Turn, HttpProblem> {
    service.view(move |world| world.turn(id).cloned()).await.map_err(|error| HttpProblem::fault(&error))
}

/// Handles `GET /api/v1/turns/{id}/transcript?after=OFFSET&limit=BYTES&wait=SECONDS`. Waits for new lines when there are
/// none and the program still runs.
pub(super) async fn transcript(
    State(shared): State<HttpState>,
    Extension(scope): Extension<Scope>,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, HttpProblem> {
    may_read_outputs(scope)?;
    let id = turn_id(&id)?;
    let query = QueryFields::read(query.as_deref(), &["after", "limit", "wait"])?;
    let after = query.number("after", (0, u64::MAX), 0)?;
    let bytes_max = usize::try_from(query.number("limit", (1, BYTES_MAX), BYTES_DEFAULT)?).unwrap_or(usize::MAX);
    let wait = Duration::from_secs(query.number("wait", (0, WAIT_MAX), 0)?);
    let range = TranscriptRange { after, bytes_max };
    let parts = WorkPlaceParts::of(&shared)?;
    let slots = parts.site().await.ok().map(|site| site.slots.pool.folder().to_owned());
    let reader = TranscriptReader { service: shared.desk.service(), parts: &parts, slots: slots.as_deref() };
    let waiting = async {
        loop {
            let found = reader.read(id, range).await?;
            if found.is_last || !found.lines.is_empty() || found.next > after || shared.stopping.is_cancelled() {
                return Ok(found);
            }
            tokio::time::sleep(LOOK).await;
        }
    };
    let found = match tokio::time::timeout(wait, waiting).await {
        Ok(found) => found?,
        Err(_) => reader.read(id, range).await?,
    };
    Ok(json(&transcript_value(&found)))
}

/// The store and the folders from which the transcript of one request is read.
#[derive(Debug, Clone, Copy)]
struct TranscriptReader<'a> {
    service: &'a Service,
    parts: &'a WorkPlaceParts,
    slots: Option<&'a path::Path>,
}

impl TranscriptReader<'_> {
    /// Reads a piece of a transcript, on a thread where blocking on the disk is allowed.
    async fn read(&self, id: TurnId, range: TranscriptRange) -> Result<TranscriptPiece, HttpProblem> {
        // Read the state of the turn (the run of the program) before its output. In the other order, output that is
        // written between the two steps would be lost.
        let turn = turn(self.service, id).await?;
        let (state, slots) = (self.parts.state().to_owned(), self.slots.map(path::Path::to_owned));
        let reading = move || piece(TurnOutput { state: &state, turn: &turn }, range, slots.as_deref());
        let found = tokio::task::spawn_blocking(reading).await;
        let found = found.map_err(|_| HttpProblem::failed(wire::lifecycle::fault("read the output", false)))?;
        found.map_err(|error| failed(&error))
    }
}

fn transcript_value(found: &TranscriptPiece) -> Value {
    object([
        ("lines", Value::List(found.lines.iter().map(line).collect())),
        ("next", found.next.into()),
        ("ended", found.is_last.into()),
    ])
}

fn line(line: &TranscriptLine) -> Value {
    let detail = line.detail.iter().map(|text| Value::from(text.as_str())).collect();
    object([
        ("kind", line.kind.as_str().into()),
        ("text", line.text.as_str().into()),
        ("title", line.title.clone().into()),
        ("detail", Value::List(detail)),
        ("ok", line.ok.into()),
        ("call", line.call.clone().into()),
        ("at", Value::Null),
    ])
}

/// Handles `GET /api/v1/tasks/{id}/checks/{number}/output?check=N`. The number is that of the verification, and `check`
/// the position of one of its checks.
pub(super) async fn check(
    State(shared): State<HttpState>,
    Extension(scope): Extension<Scope>,
    Path((id, number)): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Result<Response, HttpProblem> {
    may_read_outputs(scope)?;
    let query = QueryFields::read(query.as_deref(), &["check"])?;
    let position = match query.text("check") {
        Some(_) => Some(query.number("check", (1, 1_000), 1)?),
        None => None,
    };
    let position = position.and_then(|position| usize::try_from(position).ok());
    let service = shared.desk.service();
    let task = named_task(service, &id).await?;
    let parts = WorkPlaceParts::of(&shared)?;
    let found = match number.parse() {
        Ok(number) => check_output(service, parts.state(), task.id, (number, position)).await,
        Err(_) => Ok(None),
    };
    let Some(found) = found.map_err(|error| HttpProblem::fault(&error))? else {
        let message = format!("task {} has no check with this number", task.number);
        let next = "use the field `verification` of a check of /api/v1/tasks/{id}/page";
        return Err(HttpProblem::new(StatusCode::NOT_FOUND, "CHECK_NOT_FOUND", message, next));
    };
    let text = visible::lines(&visible::redacted(&found.text));
    Ok(json(&object([("text", text.into()), ("cut", found.is_cut.into())])))
}
