//! `/healthz` and `/readyz`: tell whether the process is alive, and whether it is ready for requests.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::StatusCode;
use tokio::sync::Mutex;
use wire::json::{Value, object};

use super::HttpState;
use super::problem::{HttpProblem, json};

/// The time for which the result of a check of the store is reused, in milliseconds. A check reads the full store and
/// may take long.
const KEPT_MS: i64 = 10_000;
/// The longest time that a request of `/readyz` waits for the check of the store. After this time, the reply says
/// "ready" and that the store is not checked yet.
const WAIT: Duration = Duration::from_secs(5);

/// The result of the last check of the store.
#[derive(Debug, Default)]
pub(crate) struct Health {
    last: Mutex<Option<HealthCheck>>,
}

#[derive(Debug, Clone)]
struct HealthCheck {
    at: i64,
    problems: Vec<String>,
}

pub(super) async fn alive() -> Response {
    json(&object([("status", "alive".into())]))
}

pub(super) async fn ready(State(shared): State<HttpState>) -> Response {
    let check = tokio::spawn(check(Arc::clone(&shared.health), shared.clone()));
    let checked = match tokio::time::timeout(WAIT, check).await {
        Ok(Ok(checked)) => checked,
        // If the check of the store is still running, or it panicked, report that there is no result yet.
        Ok(Err(_)) | Err(_) => None,
    };
    let Some(checked) = checked else {
        return json(&object([("status", "ready".into()), ("integrity", "the store is not checked yet".into())]));
    };
    if checked.problems.is_empty() {
        return json(&object([("status", "ready".into()), ("integrity", "ok".into())]));
    }
    let mut problem = HttpProblem::new(
        StatusCode::SERVICE_UNAVAILABLE,
        "NOT_READY",
        "the store failed its integrity check",
        "run `handover doctor`; it says how to fix the store",
    );
    problem.said.details = Some(object([("problems", Value::from(checked.problems))]));
    problem.into_response()
}

async fn check(health: Arc<Health>, shared: HttpState) -> Option<HealthCheck> {
    let mut last = health.last.lock().await;
    let now = shared.desk.service().now().0;
    if let Some(known) = last.as_ref().filter(|known| (known.at..known.at + KEPT_MS).contains(&now)) {
        return Some(known.clone());
    }
    let problems = match shared.desk.service().integrity().await {
        Ok(problems) => problems,
        Err(fault) => vec![fault.told()],
    };
    let checked = HealthCheck { at: now, problems };
    *last = Some(checked.clone());
    Some(checked)
}
