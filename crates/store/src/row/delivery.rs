//! Converts deliveries (the work of tasks and workflows in git) and conditions (facts about the project that need a
//! person) to database columns and back.

use engine::Json;
use engine::condition::{Condition, ConditionKind};
use engine::delivery::{
    CheckOutcome, DeliveredWork, Delivery, DeliveryState, DeliveryStatus, UncheckedReason, WorkflowDelivery,
};

use super::turn::{amount, known};
use crate::fault::Fault;
use crate::value::{Columns, SqlValue, optional, text};

pub(crate) fn delivery(row: &Delivery) -> Vec<SqlValue> {
    let mut values = vec![text(row.task), text(row.workflow), row.attempt.into(), text(row.agent)];
    values.extend(check(&row.check));
    values.extend(work(&row.work));
    values.extend(state(&row.state));
    values.extend([row.created.into(), row.updated.into()]);
    values
}

pub(crate) fn read_delivery(row: Vec<SqlValue>) -> Result<Delivery, Fault> {
    let mut columns = Columns::new("delivery", row);
    let row = &mut columns;
    Ok(Delivery {
        task: row.parsed()?,
        workflow: row.parsed()?,
        attempt: row.count()?,
        agent: row.parsed()?,
        check: read_check(row)?,
        work: read_work(row)?,
        state: read_state(row)?,
        created: row.time()?,
        updated: row.time()?,
    })
}

pub(crate) fn workflow_delivery(row: &WorkflowDelivery) -> Vec<SqlValue> {
    let mut values = vec![text(row.workflow)];
    values.extend(check(&row.check));
    values.extend(work(&row.work));
    values.extend(state(&row.state));
    values.extend([row.created.into(), row.updated.into()]);
    values
}

pub(crate) fn read_workflow_delivery(row: Vec<SqlValue>) -> Result<WorkflowDelivery, Fault> {
    let mut columns = Columns::new("workflow_delivery", row);
    let row = &mut columns;
    Ok(WorkflowDelivery {
        workflow: row.parsed()?,
        check: read_check(row)?,
        work: read_work(row)?,
        state: read_state(row)?,
        created: row.time()?,
        updated: row.time()?,
    })
}

/// Returns the result of the checks of delivered work as the values of the columns check_outcome, check_why,
/// check_text, check_run, check_of and check_ms.
fn check(check: &CheckOutcome) -> [SqlValue; 6] {
    let null = || SqlValue::Null;
    match check {
        CheckOutcome::Checked { command, ms } => {
            ["checked".into(), null(), command.into(), null(), null(), amount(*ms)]
        }
        CheckOutcome::CheckedFlaky { command, run, of, ms } => {
            ["checked_flaky".into(), null(), command.into(), (*run).into(), (*of).into(), amount(*ms)]
        }
        CheckOutcome::Unchecked { why } => {
            let (word, said): (&str, Option<&String>) = match why {
                UncheckedReason::NoCheck => ("no_check", None),
                UncheckedReason::Baseline { command } => ("baseline", Some(command)),
                UncheckedReason::TimedOut { command } => ("timed_out", Some(command)),
                UncheckedReason::CheckChanged { script } => ("check_changed", Some(script)),
                UncheckedReason::TakenAsIs { reason } => ("taken_as_is", Some(reason)),
                UncheckedReason::NotRun => ("not_run", None),
            };
            ["unchecked".into(), word.into(), said.into(), null(), null(), null()]
        }
        CheckOutcome::NoChanges => ["no_changes".into(), null(), null(), null(), null(), null()],
    }
}

fn read_check(row: &mut Columns) -> Result<CheckOutcome, Fault> {
    let (outcome, why, said) = (row.text()?, row.maybe_text()?, row.maybe_text()?);
    let (run, of, ms) = (row.maybe_int()?, row.maybe_int()?, known(row.maybe_int()?));
    let small = |number: i64| u32::try_from(number).unwrap_or(u32::MAX);
    let damaged = |outcome: &str| Fault::Damaged { what: format!("a delivery that is {outcome} but lacks its data") };
    Ok(match (outcome.as_str(), why.as_deref(), said, ms) {
        ("checked", None, Some(command), Some(ms)) => CheckOutcome::Checked { command, ms },
        ("checked_flaky", None, Some(command), Some(ms)) => match (run, of) {
            (Some(run), Some(of)) => CheckOutcome::CheckedFlaky { command, run: small(run), of: small(of), ms },
            _ => return Err(damaged("checked_flaky")),
        },
        ("unchecked", Some(why), said, None) => {
            let why = match (why, said) {
                ("no_check", None) => UncheckedReason::NoCheck,
                ("not_run", None) => UncheckedReason::NotRun,
                ("baseline", Some(command)) => UncheckedReason::Baseline { command },
                ("timed_out", Some(command)) => UncheckedReason::TimedOut { command },
                ("check_changed", Some(script)) => UncheckedReason::CheckChanged { script },
                ("taken_as_is", Some(reason)) => UncheckedReason::TakenAsIs { reason },
                (why, _) => return Err(damaged(why)),
            };
            CheckOutcome::Unchecked { why }
        }
        ("no_changes", None, None, None) => CheckOutcome::NoChanges,
        (outcome, ..) => return Err(damaged(outcome)),
    })
}

fn work(work: &DeliveredWork) -> [SqlValue; 9] {
    [
        (&work.branch).into(),
        work.base_branch.as_ref().into(),
        (&work.base).into(),
        (&work.commit).into(),
        (&work.tree).into(),
        work.files.into(),
        work.added.into(),
        work.removed.into(),
        work.tries.into(),
    ]
}

fn read_work(row: &mut Columns) -> Result<DeliveredWork, Fault> {
    Ok(DeliveredWork {
        branch: row.text()?,
        base_branch: row.maybe_text()?,
        base: row.text()?,
        commit: row.text()?,
        tree: row.text()?,
        files: row.count()?,
        added: row.count()?,
        removed: row.count()?,
        tries: row.count()?,
    })
}

/// Returns the state of delivered work in git as the values of the columns state, merged_into, before_commit,
/// result_commit, actor, decided and kept_as.
fn state(state: &DeliveryState) -> [SqlValue; 7] {
    let word = state.status().as_str().into();
    let null = || SqlValue::Null;
    match state {
        DeliveryState::Waiting => [word, null(), null(), null(), null(), null(), null()],
        DeliveryState::InPlan { commit } => [word, null(), null(), commit.into(), null(), null(), null()],
        DeliveryState::Merged { into, before, commit, by, at } => {
            [word, into.into(), before.into(), commit.into(), text(by), (*at).into(), null()]
        }
        DeliveryState::Dropped { by, at, kept_as } => {
            [word, null(), null(), null(), optional(Some(by)), (*at).into(), kept_as.as_ref().into()]
        }
    }
}

fn read_state(row: &mut Columns) -> Result<DeliveryState, Fault> {
    let status = row.word(DeliveryStatus::parse)?;
    let (into, before, commit) = (row.maybe_text()?, row.maybe_text()?, row.maybe_text()?);
    let (by, at, kept_as) = (row.maybe_parsed()?, row.maybe_time()?, row.maybe_text()?);
    Ok(match (status, into, before, commit, by, at) {
        (DeliveryStatus::Waiting, None, None, None, None, None) => DeliveryState::Waiting,
        (DeliveryStatus::InPlan, None, None, Some(commit), None, None) => DeliveryState::InPlan { commit },
        (DeliveryStatus::Merged, Some(into), Some(before), Some(commit), Some(by), Some(at)) => {
            DeliveryState::Merged { into, before, commit, by, at }
        }
        (DeliveryStatus::Dropped, None, None, None, Some(by), Some(at)) => DeliveryState::Dropped { by, at, kept_as },
        (status, ..) => {
            return Err(Fault::Damaged { what: format!("a delivery that is {status} but lacks what that needs") });
        }
    })
}

pub(crate) fn condition(row: &Condition) -> Vec<SqlValue> {
    vec![
        row.kind.as_str().into(),
        (&row.subject).into(),
        (&row.title).into(),
        (&row.detail).into(),
        row.since.into(),
        row.updated.into(),
    ]
}

pub(crate) fn read_condition(row: Vec<SqlValue>) -> Result<Condition, Fault> {
    let mut columns = Columns::new("condition", row);
    let row = &mut columns;
    Ok(Condition {
        kind: row.word(ConditionKind::parse)?,
        subject: row.text()?,
        title: row.text()?,
        detail: Json::from_stored(row.text()?),
        since: row.time()?,
        updated: row.time()?,
    })
}
