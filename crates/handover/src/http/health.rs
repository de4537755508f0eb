//! `/healthz` and `/readyz`: whether the process lives, and whether it should be given work.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::StatusCode;
use tokio::sync::Mutex;
use wire::json::{Value, object};

use super::Shared;
use super::problem::{Problem, json};

/// A check of the whole store may take long, so its result is kept for a while.
const KEPT_MS: i64 = 10_000;
/// Who asks is not kept waiting longer than this; the last result counts meanwhile.
const WAIT: Duration = Duration::from_secs(5);

/// What the last check of the store found.
#[derive(Debug, Default)]
pub(crate) struct Health {
    last: Mutex<Option<Checked>>,
}

#[derive(Debug, Clone)]
struct Checked {
    at: i64,
    problems: Vec<String>,
}

pub(super) async fn alive() -> Response {
    json(&object([("status", "alive".into())]))
}

pub(super) async fn ready(State(shared): State<Shared>) -> Response {
    let check = tokio::spawn(check(Arc::clone(&shared.health), shared.clone()));
    let checked = match tokio::time::timeout(WAIT, check).await {
        Ok(Ok(checked)) => checked,
        // Still at it, or it panicked: what is known counts.
        Ok(Err(_)) | Err(_) => None,
    };
    let Some(checked) = checked else {
        return json(&object([("status", "ready".into()), ("integrity", "not checked yet".into())]));
    };
    if checked.problems.is_empty() {
        return json(&object([("status", "ready".into()), ("integrity", "ok".into())]));
    }
    let mut problem = Problem::new(
        StatusCode::SERVICE_UNAVAILABLE,
        "NOT_READY",
        "the store failed its integrity check",
        "run `handover doctor`; it says how to mend it",
    );
    problem.said.details = Some(object([("problems", Value::from(checked.problems))]));
    problem.into_response()
}

async fn check(health: Arc<Health>, shared: Shared) -> Option<Checked> {
    let mut last = health.last.lock().await;
    let now = shared.desk.service().now().0;
    if let Some(known) = last.as_ref().filter(|known| (known.at..known.at + KEPT_MS).contains(&now)) {
        return Some(known.clone());
    }
    let problems = match shared.desk.service().integrity().await {
        Ok(problems) => problems,
        Err(fault) => vec![fault.told()],
    };
    let checked = Checked { at: now, problems };
    *last = Some(checked.clone());
    Some(checked)
}
