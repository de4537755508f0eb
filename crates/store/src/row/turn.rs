//! Converts turns (runs of agents' programs), verifications, runners, sections of the project context (the shared
//! knowledge about the project) and approvals to database columns and back.

use engine::Actor;
use engine::approval::{Approval, ApprovalRequest, ApprovalState, ApprovalStatus, Source, WaitingTask};
use engine::notice::{Channel, Notice, NoticeWay, ToldItem};
use engine::put_off::PutOffItem;
use engine::reminder::Reminder;
use engine::runner::Runner;
use engine::section::{Section, SectionChange};
use engine::turn::{Purpose, Spent, StoredObject, Turn, TurnEnd, TurnResult, TurnState};
use engine::verification::{Verdict, Verification};

use crate::fault::Fault;
use crate::value::{Columns, SqlValue, list, optional, text};

/// Returns an amount, such as a cost, as a signed integer, because databases only sum signed integers. An amount above
/// the maximum of `i64` becomes that maximum; real amounts are far lower.
pub(super) fn amount(number: u64) -> SqlValue {
    SqlValue::Int(i64::try_from(number).unwrap_or(i64::MAX))
}

pub(super) fn known(number: Option<i64>) -> Option<u64> {
    number.map(|number| u64::try_from(number).unwrap_or(0))
}

pub(crate) fn turn(row: &Turn) -> Vec<SqlValue> {
    let mut values = vec![
        text(row.id),
        text(row.task),
        text(row.workflow),
        text(row.agent),
        row.attempt.into(),
        row.number.into(),
        row.purpose.as_str().into(),
        (&row.adapter).into(),
        (&row.runner).into(),
        row.started.into(),
    ];
    match &row.state {
        TurnState::Running => values.extend(std::iter::repeat_n(SqlValue::Null, 15)),
        TurnState::Ended(ended) => {
            let TurnResult { at, end, reason, conversation, spent, tool_calls, stream, verdict, model } = &**ended;
            values.extend([
                (*at).into(),
                end.as_str().into(),
                reason.as_ref().into(),
                conversation.as_ref().into(),
                spent.usd_micros.map_or(SqlValue::Null, amount),
                spent.tokens.map_or(SqlValue::Null, amount),
                amount(spent.ms),
                spent.turns.into(),
                (*tool_calls).into(),
                stream.as_ref().map(|object| &object.hash).into(),
                stream.as_ref().map_or(SqlValue::Null, |object| amount(object.bytes)),
                verdict.as_ref().into(),
                spent.tokens_in.map_or(SqlValue::Null, amount),
                spent.tokens_out.map_or(SqlValue::Null, amount),
                model.as_ref().into(),
            ]);
        }
    }
    values
}

pub(crate) fn read_turn(row: Vec<SqlValue>) -> Result<Turn, Fault> {
    let mut columns = Columns::new("turn", row);
    let row = &mut columns;
    Ok(Turn {
        id: row.parsed()?,
        task: row.parsed()?,
        workflow: row.parsed()?,
        agent: row.parsed()?,
        attempt: row.count()?,
        number: row.count()?,
        purpose: row.word(Purpose::parse)?,
        adapter: row.text()?,
        runner: row.text()?,
        started: row.time()?,
        state: match row.maybe_time()? {
            None => TurnState::Running,
            Some(at) => TurnState::Ended(Box::new(read_turn_result(at, row)?)),
        },
    })
}

fn read_turn_result(at: engine::Timestamp, row: &mut Columns) -> Result<TurnResult, Fault> {
    let mut ended = TurnResult {
        at,
        end: row.word(TurnEnd::parse)?,
        reason: row.maybe_text()?,
        conversation: row.maybe_text()?,
        spent: read_totals(row)?,
        tool_calls: row.count()?,
        stream: match (row.maybe_text()?, known(row.maybe_int()?)) {
            (Some(hash), Some(bytes)) => Some(StoredObject { hash, bytes }),
            _ => None,
        },
        verdict: row.json()?,
        model: None,
    };
    ended.spent = read_tokens_apart(ended.spent, row)?;
    ended.model = row.maybe_text()?;
    Ok(ended)
}

/// Reads the four columns of a cost that every schema has: dollars, tokens, milliseconds and turns.
fn read_totals(row: &mut Columns) -> Result<Spent, Fault> {
    Ok(Spent {
        usd_micros: known(row.maybe_int()?),
        tokens: known(row.maybe_int()?),
        ms: known(row.maybe_int()?).unwrap_or(0),
        turns: row.maybe_int()?.map_or(0, |turns| u32::try_from(turns).unwrap_or(u32::MAX)),
        ..Spent::default()
    })
}

/// Reads the tokens in and the tokens out. Their columns stand at the end of their tables, because a later schema added
/// them.
fn read_tokens_apart(spent: Spent, row: &mut Columns) -> Result<Spent, Fault> {
    Ok(Spent { tokens_in: known(row.maybe_int()?), tokens_out: known(row.maybe_int()?), ..spent })
}

pub(super) fn read_spent_columns(row: &mut Columns) -> Result<Spent, Fault> {
    let totals = read_totals(row)?;
    read_tokens_apart(totals, row)
}

pub(crate) fn read_spent(row: Vec<SqlValue>) -> Result<Spent, Fault> {
    read_spent_columns(&mut Columns::new("turn", row))
}

pub(crate) fn verification(row: &Verification) -> Vec<SqlValue> {
    vec![
        text(row.task),
        row.number.into(),
        text(row.workflow),
        row.attempt.into(),
        optional(row.turn),
        text(row.by),
        row.mechanical.as_str().into(),
        row.semantic.as_str().into(),
        row.output_ref.as_ref().into(),
        (&row.evidence).into(),
        row.at.into(),
    ]
}

pub(crate) fn read_verification(row: Vec<SqlValue>) -> Result<Verification, Fault> {
    let mut columns = Columns::new("verification", row);
    let row = &mut columns;
    Ok(Verification {
        task: row.parsed()?,
        number: row.count()?,
        workflow: row.parsed()?,
        attempt: row.count()?,
        turn: row.maybe_parsed()?,
        by: row.parsed()?,
        mechanical: row.word(Verdict::parse)?,
        semantic: row.word(Verdict::parse)?,
        output_ref: row.maybe_text()?,
        evidence: engine::Json::from_stored(row.text()?),
        at: row.time()?,
    })
}

pub(crate) fn reminder(row: &Reminder) -> Vec<SqlValue> {
    let Reminder { conversation, part, prompt, count, task, attempt, goes_on, at } = row;
    let names = [conversation, part, prompt].map(SqlValue::from);
    let rest = [(*count).into(), text(task), (*attempt).into(), (*goes_on).into(), (*at).into()];
    names.into_iter().chain(rest).collect()
}

pub(crate) fn read_reminder(row: Vec<SqlValue>) -> Result<Reminder, Fault> {
    let mut columns = Columns::new("reminder", row);
    let row = &mut columns;
    Ok(Reminder {
        conversation: row.text()?,
        part: row.text()?,
        prompt: row.text()?,
        count: row.count()?,
        task: row.parsed()?,
        attempt: row.count()?,
        goes_on: row.count()?,
        at: row.time()?,
    })
}

pub(crate) fn runner(row: &Runner) -> Vec<SqlValue> {
    let Runner { name, host, pid, agents, since, seen } = row;
    vec![name.into(), host.into(), (*pid).into(), list(agents), (*since).into(), (*seen).into()]
}

pub(crate) fn read_runner(row: Vec<SqlValue>) -> Result<Runner, Fault> {
    let mut columns = Columns::new("runner", row);
    let row = &mut columns;
    Ok(Runner {
        name: row.text()?,
        host: row.text()?,
        pid: row.count()?,
        agents: row.list()?,
        since: row.time()?,
        seen: row.time()?,
    })
}

pub(crate) fn section(row: &Section) -> Vec<SqlValue> {
    vec![(&row.name).into(), (&row.body).into(), row.version.into(), text(row.by), row.updated.into()]
}

pub(crate) fn read_section(row: Vec<SqlValue>) -> Result<Section, Fault> {
    let mut columns = Columns::new("section", row);
    let row = &mut columns;
    Ok(Section {
        name: row.text()?,
        body: engine::Json::from_stored(row.text()?),
        version: row.count()?,
        by: row.parsed()?,
        updated: row.time()?,
    })
}

pub(crate) fn section_change(row: &SectionChange) -> Vec<SqlValue> {
    vec![
        (&row.section).into(),
        row.version.into(),
        text(row.by),
        optional(row.task),
        row.at.into(),
        row.before.as_ref().into(),
        (&row.after).into(),
    ]
}

pub(crate) fn read_section_change(row: Vec<SqlValue>) -> Result<SectionChange, Fault> {
    let mut columns = Columns::new("section_change", row);
    let row = &mut columns;
    Ok(SectionChange {
        section: row.text()?,
        version: row.count()?,
        by: row.parsed()?,
        task: row.maybe_parsed()?,
        at: row.time()?,
        before: row.json()?,
        after: engine::Json::from_stored(row.text()?),
    })
}

pub(crate) fn approval(row: &Approval) -> Vec<SqlValue> {
    let ApprovalRequest { operation, content, scope, directory, risk, rollback, verification } = &row.request;
    let mut values = vec![
        text(row.id),
        row.source.as_str().into(),
        text(row.asker),
        optional(row.waiting.map(|waiting| waiting.workflow)),
        optional(row.waiting.map(|waiting| waiting.task)),
        row.waiting.map(|waiting| waiting.attempt).into(),
    ];
    values.extend([operation, content, scope, directory, risk, rollback, verification].map(SqlValue::from));
    values.extend([(&row.fingerprint).into(), row.asked.into(), row.state.status().as_str().into()]);
    let (by, at, reason): (Option<Actor>, _, Option<&String>) = match &row.state {
        ApprovalState::Pending { .. } => (None, None, None),
        ApprovalState::Approved { by, at, .. } => (Some(*by), Some(*at), None),
        ApprovalState::Consumed { given, .. } => (given.map(|(by, _)| by), given.map(|(_, at)| at), None),
        ApprovalState::Rejected { by, at, reason } => (Some(*by), Some(*at), Some(reason)),
        ApprovalState::Expired { at } => (None, Some(*at), None),
        ApprovalState::Revoked { by, at, reason } => (Some(*by), Some(*at), reason.as_ref()),
    };
    values.extend([row.state.until().into(), optional(by), at.into(), reason.into(), list(&row.shown)]);
    let used = if let ApprovalState::Consumed { by, at, .. } = &row.state { Some((*by, *at)) } else { None };
    values.extend([optional(used.map(|(by, _)| by)), used.map(|(_, at)| at).into()]);
    values
}

pub(crate) fn read_approval(row: Vec<SqlValue>) -> Result<Approval, Fault> {
    let mut columns = Columns::new("approval", row);
    let row = &mut columns;
    let (id, source, asker) = (row.parsed()?, row.word(Source::parse)?, row.parsed()?);
    let waiting = match (row.maybe_parsed()?, row.maybe_parsed()?, row.maybe_int()?) {
        (Some(workflow), Some(task), Some(attempt)) => {
            Some(WaitingTask { workflow, task, attempt: u32::try_from(attempt).unwrap_or(u32::MAX) })
        }
        _ => None,
    };
    let request = ApprovalRequest {
        operation: row.text()?,
        content: row.text()?,
        scope: row.text()?,
        directory: row.text()?,
        risk: row.text()?,
        rollback: row.text()?,
        verification: row.text()?,
    };
    let (fingerprint, asked, status) = (row.text()?, row.time()?, row.word(ApprovalStatus::parse)?);
    let (until, by, at, reason) = (row.maybe_time()?, row.maybe_parsed()?, row.maybe_time()?, row.maybe_text()?);
    let shown = row.list()?;
    let (used_by, used): (Option<Actor>, Option<engine::Timestamp>) = (row.maybe_parsed()?, row.maybe_time()?);
    let damaged = || Fault::Damaged { what: format!("approval {id} is {status} without what belongs to it") };
    let state = match status {
        ApprovalStatus::Pending => ApprovalState::Pending { until: until.ok_or_else(damaged)? },
        ApprovalStatus::Approved => {
            ApprovalState::Approved { by: by.ok_or_else(damaged)?, at: at.ok_or_else(damaged)?, until }
        }
        ApprovalStatus::Rejected => ApprovalState::Rejected {
            by: by.ok_or_else(damaged)?,
            at: at.ok_or_else(damaged)?,
            reason: reason.ok_or_else(damaged)?,
        },
        ApprovalStatus::Expired => ApprovalState::Expired { at: at.ok_or_else(damaged)? },
        ApprovalStatus::Revoked => {
            ApprovalState::Revoked { by: by.ok_or_else(damaged)?, at: at.ok_or_else(damaged)?, reason }
        }
        ApprovalStatus::Consumed => ApprovalState::Consumed {
            by: used_by.ok_or_else(damaged)?,
            at: used.ok_or_else(damaged)?,
            given: by.zip(at),
        },
    };
    Ok(Approval { id, source, asker, waiting, request, fingerprint, asked, state, shown })
}

pub(crate) fn told_item(row: &ToldItem) -> Vec<SqlValue> {
    vec![row.way.as_str().into(), (&row.item).into(), row.at.into()]
}

pub(crate) fn read_told_item(row: Vec<SqlValue>) -> Result<ToldItem, Fault> {
    let mut columns = Columns::new("told_item", row);
    let row = &mut columns;
    Ok(ToldItem { way: row.word(NoticeWay::parse)?, item: row.text()?, at: row.time()? })
}

pub(crate) fn put_off(row: &PutOffItem) -> Vec<SqlValue> {
    vec![(&row.item).into(), row.until.into(), text(row.by)]
}

pub(crate) fn read_put_off(row: Vec<SqlValue>) -> Result<PutOffItem, Fault> {
    let mut columns = Columns::new("put_off", row);
    let row = &mut columns;
    Ok(PutOffItem { item: row.text()?, until: row.time()?, by: row.parsed()? })
}

pub(crate) fn notice(row: &Notice) -> Vec<SqlValue> {
    vec![
        text(row.approval),
        row.channel.as_str().into(),
        row.tries.into(),
        row.next.into(),
        row.problem.as_ref().into(),
    ]
}

pub(crate) fn read_notice(row: Vec<SqlValue>) -> Result<Notice, Fault> {
    let mut columns = Columns::new("notice", row);
    let row = &mut columns;
    Ok(Notice {
        approval: row.parsed()?,
        channel: row.word(Channel::parse)?,
        tries: row.count()?,
        next: row.maybe_time()?,
        problem: row.maybe_text()?,
    })
}
