//! Renders reviews as JSON objects for people and agents.

use engine::review::{Finding, Review, ReviewRound, RoundState};
use engine::view::Reviewed;
use wire::json::{Value, object};

use super::task_work::shown;
use base::service::turns::spent;

fn time(at: engine::Timestamp) -> Value {
    Value::Number(at.0.into())
}

pub fn review(row: &Review) -> Value {
    object([
        ("session", row.id.to_string().into()),
        ("provider", row.provider.as_str().into()),
        ("status", row.status.as_str().into()),
        ("iteration", u64::from(row.rounds).into()),
        ("findings", u64::from(row.findings).into()),
        ("open", u64::from(row.open).into()),
        ("task_id", row.gate.map(|gate| gate.task.to_string()).into()),
        ("by", row.by.to_string().into()),
        ("opened_at", time(row.opened)),
        ("updated_at", time(row.updated)),
    ])
}

pub fn round(row: &ReviewRound) -> Value {
    let (ended, confidence, summary, found, error, cost) = match &row.state {
        RoundState::Running { .. } => (None, None, None, None, None, None),
        RoundState::Answered(answered) => (
            Some(answered.at),
            Some(answered.confidence.clone()),
            Some(answered.summary.clone()),
            Some(u64::from(answered.found)),
            None,
            Some(answered.spent),
        ),
        RoundState::Failed { at, code, message, spent } => {
            let error = object([("code", code.as_str().into()), ("message", message.as_str().into())]);
            (Some(*at), None, None, None, Some(error), Some(*spent))
        }
    };
    object([
        ("iteration", u64::from(row.number).into()),
        ("status", row.state.status().as_str().into()),
        ("media_type", row.artifact.media_type.as_str().into()),
        ("artifact_ref", row.artifact.reference.clone().into()),
        ("shown", row.artifact.reference.as_deref().and_then(|name| shown(name, &row.artifact.media_type)).into()),
        ("turn_id", row.turn.map(|turn| turn.to_string()).into()),
        ("started_at", time(row.started)),
        ("ended_at", ended.map(time).into()),
        ("confidence", confidence.into()),
        ("general_summary", summary.into()),
        ("found", found.into()),
        ("error", error.into()),
        ("spent", cost.map(spent).into()),
    ])
}

pub fn finding(row: &Finding) -> Value {
    let decided = row.decided();
    object([
        ("id", row.name.as_str().into()),
        ("status", row.status().into()),
        ("iteration", u64::from(row.round).into()),
        ("aspect", row.aspect.as_str().into()),
        ("description", row.description.as_str().into()),
        ("recommendation", row.recommendation.as_str().into()),
        ("reason_code", decided.and_then(|decided| decided.decision.code.clone()).into()),
        ("explanation", decided.and_then(|decided| decided.decision.explanation.clone()).into()),
        ("decided_by", decided.map(|decided| decided.by.to_string()).into()),
        ("told_in", decided.and_then(|decided| decided.told).map(u64::from).into()),
    ])
}

/// Returns a review as JSON, with all its rounds and findings.
pub fn whole(found: &Reviewed) -> Value {
    let Value::Object(mut members) = review(&found.review) else { return Value::Null };
    members.push(("rounds".to_owned(), Value::List(found.rounds.iter().map(round).collect())));
    members.retain(|(name, _)| name != "findings");
    members.push(("findings".to_owned(), Value::List(found.findings.iter().map(finding).collect())));
    Value::Object(members)
}
