//! The rules for conditions, which are facts about the project that need a person. A runner or a person records and
//! clears them.

use crate::case::Case;
use crate::check;
use crate::command::Rights;
use crate::condition::{Condition, ConditionKind};
use crate::event::Event;
use crate::json::Json;
use crate::limits;
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::world::{DecisionStop, NumberNeed};

/// Refuses an agent or a coordinator, because only people and runners may record and clear facts that need a person.
fn may_change(case: &Case<'_>) -> Result<(), DecisionStop> {
    match case.rights {
        Rights::Person | Rights::Script | Rights::Runner | Rights::Engine => Ok(()),
        Rights::Agent | Rights::Coordinator => {
            case.names_an_agent(None)?;
            let problem = "only the runner and people set and clear conditions of the project".to_owned();
            Err(Refusal::NotPermitted { problem }.into())
        }
    }
}

/// Records a condition, which is a fact about the project that needs a person. If a condition with this kind and
/// subject exists, replaces its text and keeps the time at which it began.
pub(crate) fn set(
    case: &mut Case<'_>,
    (kind, subject): (ConditionKind, &str),
    title: &str,
    detail: &Json,
) -> Result<Reply, DecisionStop> {
    check::path("subject", subject)?;
    check::summary("title", title)?;
    check::json("detail", Some(detail))?;
    may_change(case)?;
    case.actor()?;
    let found = case.world.condition(kind, subject)?;
    if found.is_some_and(|row| row.title == title && row.detail == *detail) {
        return Ok(Reply::ConditionSet { new: false });
    }
    if found.is_none() && *case.world.ask(&NumberNeed::Conditions)? >= limits::CONDITIONS_MAX {
        let problem =
            format!("{} conditions wait for a person, which is the limit; clear some", limits::CONDITIONS_MAX);
        return Err(Refusal::state(problem).into());
    }
    let since = found.map_or(case.now, |row| row.since);
    let new = found.is_none();
    let row = Condition {
        kind,
        subject: subject.to_owned(),
        title: title.to_owned(),
        detail: detail.clone(),
        since,
        updated: case.now.max(since),
    };
    case.events.push(Event::ConditionSet { condition: Box::new(row) });
    Ok(Reply::ConditionSet { new })
}

/// Clears a condition (a fact about the project that needs a person). Does nothing when the condition does not exist.
pub(crate) fn clear(case: &mut Case<'_>, kind: ConditionKind, subject: &str) -> Result<Reply, DecisionStop> {
    check::path("subject", subject)?;
    may_change(case)?;
    case.actor()?;
    let was_set = case.world.condition(kind, subject)?.is_some();
    if was_set {
        case.events.push(Event::ConditionCleared { kind, subject: subject.to_owned() });
    }
    Ok(Reply::ConditionCleared { was_set })
}
