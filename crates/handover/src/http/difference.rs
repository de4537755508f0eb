//! `/api/v1/tasks/{id}/diff` and `/api/v1/workflows/{id}/diff`: the difference that work makes, as files and lines.

use axum::extract::{Path, RawQuery, State};
use axum::response::Response;
use http::StatusCode;
use wire::json::{Value, object};
use wire::visible;
use work::difference::hunks::{DiffHunk, DiffLine};
use work::difference::{ChangedWork, DifferenceEnd, WorkDifference, difference};

use super::HttpState;
use super::fields::QueryFields;
use super::landing_problem::without_work;
use super::problem::{HttpProblem, invalid, json};
use super::work_place::{WorkKind, WorkPlaceParts, failed, named_work};

/// Handles `GET /api/v1/tasks/{id}/diff?since=TREE`.
pub(super) async fn of_task(
    State(shared): State<HttpState>,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, HttpProblem> {
    answer(&shared, (WorkKind::Task, &id), query.as_deref()).await
}

/// Handles `GET /api/v1/workflows/{id}/diff?since=TREE`.
pub(super) async fn of_workflow(
    State(shared): State<HttpState>,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, HttpProblem> {
    answer(&shared, (WorkKind::Workflow, &id), query.as_deref()).await
}

async fn answer(
    shared: &HttpState,
    (kind, id): (WorkKind, &str),
    query: Option<&str>,
) -> Result<Response, HttpProblem> {
    let query = QueryFields::read(query, &["since"])?;
    let since = query.text("since");
    let is_hash = |text: &str| (40..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if since.is_some_and(|since| !is_hash(since)) {
        return Err(invalid("`since` must be the `tree` of an earlier answer"));
    }
    let named = named_work(shared.desk.service(), kind, id).await?;
    let parts = WorkPlaceParts::of(shared)?;
    let site = parts.site().await?;
    let _one_of_few = shared.git_reads.acquire().await;
    match difference(&site, &named, since).await.map_err(|error| failed(&error))? {
        DifferenceEnd::Found(found) => Ok(json(&value(&found))),
        DifferenceEnd::NoWork => Err(without_work(&named)),
        DifferenceEnd::NoSuchTree => Err(HttpProblem::new(
            StatusCode::NOT_FOUND,
            "TREE_NOT_FOUND",
            "the repository no longer has the tree of `since`",
            "leave `since` out to see the whole difference",
        )),
    }
}

fn value(found: &WorkDifference) -> Value {
    object([
        ("from", found.from.as_str().into()),
        ("to", found.to.as_str().into()),
        ("tree", found.tree.as_str().into()),
        ("cut", found.is_cut.into()),
        ("files", Value::List(found.files.iter().map(file).collect())),
    ])
}

fn file(found: &ChangedWork) -> Value {
    let patch = &found.patch;
    object([
        ("path", visible::one_line(&patch.path).into()),
        ("old_path", patch.old_path.as_deref().map(visible::one_line).into()),
        ("status", patch.status.as_str().into()),
        ("added", found.added.into()),
        ("removed", found.removed.into()),
        ("binary", found.is_binary.into()),
        ("cut", patch.is_cut.into()),
        ("hunks", Value::List(patch.hunks.iter().map(hunk).collect())),
    ])
}

fn hunk(hunk: &DiffHunk) -> Value {
    object([
        ("old_start", u64::from(hunk.old_start).into()),
        ("new_start", u64::from(hunk.new_start).into()),
        ("heading", hunk.heading.as_deref().map(visible::one_line).into()),
        ("lines", Value::List(hunk.lines.iter().map(line).collect())),
    ])
}

fn line(line: &DiffLine) -> Value {
    object([
        ("kind", line.kind.as_str().into()),
        ("old", line.old.map(u64::from).into()),
        ("new", line.new.map(u64::from).into()),
        ("text", visible::lines(&line.text).into()),
    ])
}
