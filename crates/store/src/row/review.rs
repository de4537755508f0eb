//! Converts reviews, their rounds and their findings to database columns and back.

use engine::review::{
    Answered, Decided, Finding, FindingDecision, FindingState, Review, ReviewGate, ReviewRound, ReviewStatus,
    ReviewedVersion, RoundState, Verdict,
};
use engine::turn::{Spent, StoredObject};

use super::turn::{amount, known, read_spent_columns};
use crate::fault::Fault;
use crate::value::{Columns, SqlValue, optional, text};

pub(crate) fn review(row: &Review) -> Vec<SqlValue> {
    vec![
        text(row.id),
        (&row.provider).into(),
        text(row.by),
        optional(row.gate.map(|gate| gate.workflow)),
        optional(row.gate.map(|gate| gate.task)),
        row.gate.map(|gate| gate.attempt).into(),
        row.rounds_max.into(),
        row.rounds.into(),
        row.status.as_str().into(),
        row.findings.into(),
        row.open.into(),
        row.conversation.as_ref().into(),
        row.opened.into(),
        row.updated.into(),
    ]
}

pub(crate) fn read_review(row: Vec<SqlValue>) -> Result<Review, Fault> {
    let mut columns = Columns::new("review", row);
    let row = &mut columns;
    Ok(Review {
        id: row.parsed()?,
        provider: row.text()?,
        by: row.parsed()?,
        gate: match (row.maybe_parsed()?, row.maybe_parsed()?, row.maybe_int()?) {
            (Some(workflow), Some(task), Some(attempt)) => {
                Some(ReviewGate { workflow, task, attempt: u32::try_from(attempt).unwrap_or(u32::MAX) })
            }
            _ => None,
        },
        rounds_max: row.count()?,
        rounds: row.count()?,
        status: row.word(ReviewStatus::parse)?,
        findings: row.count()?,
        open: row.count()?,
        conversation: row.maybe_text()?,
        opened: row.time()?,
        updated: row.time()?,
    })
}

fn spent(spent: &Spent) -> [SqlValue; 6] {
    [
        spent.usd_micros.map_or(SqlValue::Null, amount),
        spent.tokens.map_or(SqlValue::Null, amount),
        amount(spent.ms),
        spent.turns.into(),
        spent.tokens_in.map_or(SqlValue::Null, amount),
        spent.tokens_out.map_or(SqlValue::Null, amount),
    ]
}

pub(crate) fn round(row: &ReviewRound) -> Vec<SqlValue> {
    let ReviewedVersion { media_type, reference, request } = &row.artifact;
    let mut values = vec![
        text(row.review),
        row.number.into(),
        row.tries.into(),
        optional(row.turn),
        media_type.into(),
        reference.as_ref().into(),
        (&request.hash).into(),
        amount(request.bytes),
        row.started.into(),
        row.state.status().as_str().into(),
    ];
    match &row.state {
        RoundState::Running { host, until } => {
            values.extend([host.into(), (*until).into()]);
            values.extend(std::iter::repeat_n(SqlValue::Null, 13));
        }
        RoundState::Answered(answered) => {
            let Answered { at, confidence, summary, found, response, spent: cost } = &**answered;
            values.extend([
                SqlValue::Null,
                SqlValue::Null,
                (*at).into(),
                confidence.into(),
                summary.into(),
                (*found).into(),
            ]);
            values.push(response.as_ref().map(|object| &object.hash).into());
            values.push(response.as_ref().map_or(SqlValue::Null, |object| amount(object.bytes)));
            values.push(SqlValue::Null);
            values.extend(spent(cost));
        }
        RoundState::Failed { at, code, message, spent: cost } => {
            values.extend([SqlValue::Null, SqlValue::Null, (*at).into(), SqlValue::Null, message.into()]);
            values.extend([SqlValue::Null, SqlValue::Null, SqlValue::Null, code.into()]);
            values.extend(spent(cost));
        }
    }
    values
}

pub(crate) fn read_round(row: Vec<SqlValue>) -> Result<ReviewRound, Fault> {
    let mut columns = Columns::new("review_round", row);
    let row = &mut columns;
    let (review, number, tries, turn) = (row.parsed()?, row.count()?, row.count()?, row.maybe_parsed()?);
    let (media_type, reference, hash) = (row.text()?, row.maybe_text()?, row.text()?);
    let request = StoredObject { hash, bytes: known(row.maybe_int()?).unwrap_or(0) };
    let (started, status) = (row.time()?, row.word(ReviewStatus::parse)?);
    let (host, until, at) = (row.maybe_text()?, row.maybe_time()?, row.maybe_time()?);
    let (confidence, summary, found) = (row.maybe_text()?, row.maybe_text()?, row.maybe_int()?);
    let response = match (row.maybe_text()?, known(row.maybe_int()?)) {
        (Some(hash), Some(bytes)) => Some(StoredObject { hash, bytes }),
        _ => None,
    };
    let code = row.maybe_text()?;
    let spent = read_spent_columns(row)?;
    let state = match (status, host.zip(until), at, code) {
        (ReviewStatus::Running, Some((host, until)), None, None) => RoundState::Running { host, until },
        (ReviewStatus::Answered, None, Some(at), None) => RoundState::Answered(Box::new(Answered {
            at,
            confidence: confidence.unwrap_or_default(),
            summary: summary.unwrap_or_default(),
            found: found.map_or(0, |found| u32::try_from(found).unwrap_or(u32::MAX)),
            response,
            spent,
        })),
        (ReviewStatus::Failed, None, Some(at), Some(code)) => {
            RoundState::Failed { at, code, message: summary.unwrap_or_default(), spent }
        }
        (status, ..) => {
            let what = format!("round {number} of {review} is {status} without what belongs to it");
            return Err(Fault::Damaged { what });
        }
    };
    let artifact = ReviewedVersion { media_type, reference, request };
    Ok(ReviewRound { review, number, tries, turn, artifact, started, state })
}

pub(crate) fn finding(row: &Finding) -> Vec<SqlValue> {
    let mut values = vec![
        text(row.review),
        (&row.name).into(),
        row.number.into(),
        row.round.into(),
        (&row.aspect).into(),
        (&row.description).into(),
        (&row.recommendation).into(),
        row.status().into(),
    ];
    match &row.state {
        FindingState::Open => values.extend(std::iter::repeat_n(SqlValue::Null, 5)),
        FindingState::Decided(decided) => {
            let Decided { decision: FindingDecision { code, explanation, .. }, by, at, told } = &**decided;
            values.extend([text(by), (*at).into(), code.as_ref().into(), explanation.as_ref().into(), (*told).into()]);
        }
    }
    values
}

pub(crate) fn read_finding(row: Vec<SqlValue>) -> Result<Finding, Fault> {
    let mut columns = Columns::new("finding", row);
    let row = &mut columns;
    let (review, name, number, round) = (row.parsed()?, row.text()?, row.count()?, row.count()?);
    let (aspect, description, recommendation) = (row.text()?, row.text()?, row.text()?);
    let status = row.text()?;
    let (by, at) = (row.maybe_parsed()?, row.maybe_time()?);
    let (code, explanation, told) = (row.maybe_text()?, row.maybe_text()?, row.maybe_int()?);
    let state = match (Verdict::parse(&status), by, at) {
        (Some(verdict), Some(by), Some(at)) => FindingState::Decided(Box::new(Decided {
            decision: FindingDecision { verdict, code, explanation },
            by,
            at,
            told: told.map(|round| u32::try_from(round).unwrap_or(u32::MAX)),
        })),
        (None, None, None) if status == "open" => FindingState::Open,
        _ => {
            let what = format!("finding {name} of {review} is {status} without what belongs to it");
            return Err(Fault::Damaged { what });
        }
    };
    Ok(Finding { review, name, number, round, aspect, description, recommendation, state })
}
