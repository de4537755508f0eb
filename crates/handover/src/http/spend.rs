//! `/api/v1/spend`: what the turns (runs of agents' programs) of a time range cost. Only a person sees costs.

use axum::Extension;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use base::ground::local_time::LocalClock;
use base::people::spend::{self, SpendGroup, SpendRange, SpendReport, SpendRow, SpendSum};
use engine::Timestamp;
use engine::token::Scope;
use wire::json::{Object, Value, object};
use wire::visible;

use super::HttpState;
use super::fields::QueryFields;
use super::problem::{HttpProblem, invalid, json};
use super::work_place::may_read_costs;

/// The length of the range, in milliseconds, when the request names no beginning: the last 30 days.
const RANGE_MS: u64 = 30 * 24 * 3_600_000;

/// Handles `GET /api/v1/spend?by=day|agent|workflow|model&from=&to=`. The times are milliseconds since 1970; `to` is
/// exclusive.
pub(super) async fn show(
    State(shared): State<HttpState>,
    Extension(scope): Extension<Scope>,
    RawQuery(query): RawQuery,
) -> Result<Response, HttpProblem> {
    may_read_costs(scope)?;
    let query = QueryFields::read(query.as_deref(), &["by", "from", "to"])?;
    let group = query.text("by").map_or(Some(SpendGroup::Day), SpendGroup::parse);
    let group = group.ok_or_else(|| invalid("`by` must be day, agent, workflow or model"))?;
    let clock = LocalClock::here_at(shared.desk.service().now());
    let range = range(&query, clock.now())?;
    let report = spend::read(shared.desk.service(), (group, range), &clock).await;
    Ok(json(&value(group, range, &report.map_err(|error| HttpProblem::fault(&error))?)))
}

/// Reads the range of time. Without an end, the range ends after the present moment.
fn range(query: &QueryFields, now: Timestamp) -> Result<SpendRange, HttpProblem> {
    let latest = u64::try_from(i64::MAX).unwrap_or(u64::MAX);
    let now = u64::try_from(now.0).unwrap_or(0);
    let until = query.number("to", (0, latest), now.saturating_add(1))?;
    let from = query.number("from", (0, latest), until.saturating_sub(RANGE_MS))?;
    if from >= until {
        return Err(invalid("`from` must be earlier than `to`"));
    }
    let time = |number: u64| Timestamp(i64::try_from(number).unwrap_or(i64::MAX));
    Ok(SpendRange { from: time(from), until: time(until) })
}

fn value(group: SpendGroup, range: SpendRange, report: &SpendReport) -> Value {
    object([
        ("by", group.as_str().into()),
        ("from", Value::Number(range.from.0.into())),
        ("to", Value::Number(range.until.0.into())),
        ("rows", Value::List(report.rows.iter().map(row).collect())),
        ("total", Value::Object(sum(report.total))),
        ("is_cut", report.is_cut.into()),
    ])
}

fn row(row: &SpendRow) -> Value {
    let named: Object = vec![
        ("key".to_owned(), row.key.as_deref().into()),
        // The name of a model comes from a program, so it is made visible like all foreign text.
        ("name".to_owned(), visible::one_line(&row.name).into()),
    ];
    Value::Object(named.into_iter().chain(sum(row.sum)).collect())
}

/// Returns the members of a sum. An amount that no turn reported is null.
fn sum(sum: SpendSum) -> Object {
    let spent = sum.spent;
    let members: [(&str, Value); 7] = [
        ("usd_micros", spent.usd_micros.into()),
        ("unknown_turns", u64::from(sum.unknown_turns).into()),
        ("turns", u64::from(spent.turns).into()),
        ("tokens", spent.tokens.into()),
        ("tokens_in", spent.tokens_in.into()),
        ("tokens_out", spent.tokens_out.into()),
        ("ms", spent.ms.into()),
    ];
    members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}
