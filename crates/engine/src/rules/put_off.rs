//! The rules for items (things that need a person) that a person puts off. Only people put items off: an agent must not
//! be able to move its own approvals and questions out of sight.

use crate::case::Case;
use crate::check;
use crate::command::Rights;
use crate::event::Event;
use crate::limits;
use crate::put_off::{ItemDelay, PutOffItem};
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::world::{DecisionStop, PutOffNeed};

fn by_a_person(case: &Case<'_>) -> Result<(), DecisionStop> {
    match case.rights {
        Rights::Person | Rights::Script | Rights::Engine => Ok(()),
        Rights::Agent | Rights::Runner | Rights::Coordinator => {
            case.names_an_agent(None)?;
            Err(Refusal::NotPermitted { problem: "only people put off what needs them".to_owned() }.into())
        }
    }
}

/// Puts an item off, or shows it again. Deletes the rows of items whose time is over, so that old rows do not pile up.
pub(crate) fn put_off(case: &mut Case<'_>, delay: &ItemDelay) -> Result<Reply, DecisionStop> {
    let ItemDelay { item, until } = delay;
    check::name("name", item)?;
    if let Some(until) = until {
        check_until(case, *until)?;
    }
    by_a_person(case)?;
    let by = case.actor()?;
    let rows = case.world.ask(&PutOffNeed)?;
    let known = rows.iter().find(|row| row.item == *item);
    let over = |row: &&PutOffItem| row.is_over(case.now) && row.item != *item;
    let expired: Vec<String> = rows.iter().filter(over).map(|row| row.item.clone()).collect();
    let Some(until) = *until else {
        if known.is_some() {
            case.events.push(Event::ItemShown { item: item.clone(), expired });
        }
        return Ok(Reply::ItemShown);
    };
    let row = PutOffItem { item: item.clone(), until, by };
    if known.is_none() && rows.len() - expired.len() >= limits::PUT_OFF_MAX {
        let problem = format!("{} items are put off, which is the limit; show some of them again", limits::PUT_OFF_MAX);
        return Err(Refusal::state(problem).into());
    }
    if known != Some(&row) {
        case.events.push(Event::ItemPutOff { put_off: Box::new(row), expired });
    }
    Ok(Reply::ItemPutOff { until })
}

/// Refuses a time that is over, or that is too far ahead: an item is put off, it is never hidden.
fn check_until(case: &Case<'_>, until: crate::time::Timestamp) -> Result<(), Refusal> {
    if until <= case.now {
        return Err(Refusal::input("until", "is not in the future"));
    }
    if until > case.now + limits::PUT_OFF_MS_MAX {
        return Err(Refusal::input("until", "is more than 14 days ahead"));
    }
    Ok(())
}
