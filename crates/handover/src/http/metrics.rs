//! Serves `/metrics`: counters in the text format of Prometheus.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};

use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::{HeaderValue, header};

use super::HttpState;

#[derive(Debug, Default)]
pub(crate) struct Metrics {
    counts: Mutex<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    requests: BTreeMap<u16, u64>,
    calls: BTreeMap<(&'static str, &'static str), u64>,
    ms: BTreeMap<&'static str, (u64, i64)>,
}

impl Metrics {
    pub(super) fn request(&self, status: u16) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.requests.entry(status).or_default() += 1;
    }

    pub(super) fn call(&self, tool: &'static str, outcome: &'static str, ms: i64) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.calls.entry((tool, outcome)).or_default() += 1;
        let (number, sum) = counts.ms.entry(tool).or_default();
        *number += 1;
        *sum += ms.max(0);
    }

    fn text(&self) -> String {
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = String::new();
        let mut head = |name: &str, kind: &str, about: &str| {
            let _ = writeln!(text, "# HELP {name} {about}\n# TYPE {name} {kind}");
            std::mem::take(&mut text)
        };
        let mut out = head("handover_http_requests_total", "counter", "Requests by status.");
        for (status, count) in &counts.requests {
            let _ = writeln!(out, "handover_http_requests_total{{status=\"{status}\"}} {count}");
        }
        out.push_str(&head("handover_tool_calls_total", "counter", "Calls over /api/v1 by tool and outcome."));
        for ((tool, outcome), count) in &counts.calls {
            let _ = writeln!(out, "handover_tool_calls_total{{tool=\"{tool}\",outcome=\"{outcome}\"}} {count}");
        }
        out.push_str(&head("handover_tool_call_duration_ms", "summary", "Duration of calls, by tool."));
        for (tool, (number, sum)) in &counts.ms {
            let _ = writeln!(out, "handover_tool_call_duration_ms_sum{{tool=\"{tool}\"}} {sum}");
            let _ = writeln!(out, "handover_tool_call_duration_ms_count{{tool=\"{tool}\"}} {number}");
        }
        out
    }
}

pub(super) async fn show(State(shared): State<HttpState>) -> Response {
    let mut text = shared.metrics.text();
    let now = shared.desk.service().now();
    // If the store fails, the numbers that come from the store are left out, but the page still has the counters of
    // this process.
    let alive = shared.desk.alive();
    if let Ok(found) = shared.desk.service().view(move |world| engine::view::overview(world, &alive, now)).await {
        let mut gauge = |name: &str, about: &str, number: usize| {
            let _ = writeln!(text, "# HELP {name} {about}\n# TYPE {name} gauge\n{name} {number}");
        };
        gauge(
            "handover_workflows_open",
            "Workflows that have not ended (at most 50 are counted).",
            found.workflows.len(),
        );
        gauge("handover_tasks_held", "Tasks that an agent holds (at most 50 are counted).", found.held.len());
        gauge("handover_tasks_stuck", "Tasks that wait for a person (at most 50 are counted).", found.stuck.len());
        gauge("handover_agents_present", "Agents whose last heartbeat is recent.", found.agents.len());
    }
    let mut response = text.into_response();
    let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}
