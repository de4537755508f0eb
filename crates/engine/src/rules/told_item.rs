//! Decides which items (things that need a person) a process reports in a notice. Several processes see the same items,
//! but only one of them sends the notice.

use std::collections::BTreeSet;

use crate::case::Case;
use crate::check;
use crate::command::Rights;
use crate::event::Event;
use crate::limits;
use crate::notice::{ItemTelling, ItemUntelling, NoticePace, ToldItem};
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::time::Timestamp;
use crate::world::DecisionStop;

fn may_tell(case: &Case<'_>, items: &[String]) -> Result<(), Refusal> {
    if case.rights != Rights::Engine {
        return Err(Refusal::NotPermitted { problem: "only Handover itself sends notices".to_owned() });
    }
    check::count("items", items.len(), limits::TOLD_ITEMS_MAX)?;
    items.iter().try_for_each(|item| check::name("items", item))
}

/// Gives the caller the items (things that need a person) about which no notice was sent yet. The caller then sends one
/// notice about all of these items.
pub(crate) fn tell(case: &mut Case<'_>, telling: &ItemTelling) -> Result<Reply, DecisionStop> {
    let ItemTelling { way, items, pace } = telling;
    let (way, pace) = (*way, *pace);
    may_tell(case, items)?;
    let told = case.world.told_items(way)?;
    let known: BTreeSet<&str> = told.iter().map(|row| row.item.as_str()).collect();
    let unknown: BTreeSet<&String> = items.iter().filter(|item| !known.contains(item.as_str())).collect();
    let last = told.iter().map(|row| row.at).max();
    // Compare the distance of the two times, not their order. If the clock was set back, the last notice seems to be in
    // the future, and it must not delay the next notice.
    let is_close =
        |last: Timestamp| (case.now.0.saturating_sub(last.0)).abs() < i64::from(limits::ITEM_NOTICE_PAUSE_MS.0);
    let is_early = last.is_some_and(is_close);
    let to_tell: Vec<String> = match pace {
        NoticePace::Spaced if is_early => Vec::new(),
        NoticePace::Spaced | NoticePace::Now => unknown.into_iter().cloned().collect(),
    };
    let is_over = |row: &&ToldItem| row.at + limits::TOLD_ITEM_MS <= case.now && !items.contains(&row.item);
    let over: Vec<String> = told.iter().filter(is_over).map(|row| row.item.clone()).collect();
    if !over.is_empty() {
        case.events.push(Event::ItemsUntold { way, items: over });
    }
    if !to_tell.is_empty() {
        case.events.push(Event::ItemsTold { way, items: to_tell.clone() });
    }
    Ok(Reply::ItemsToTell { items: to_tell })
}

/// Forgets that people were told about these items, because sending the notice failed.
pub(crate) fn untell(case: &mut Case<'_>, untelling: &ItemUntelling) -> Result<Reply, DecisionStop> {
    let ItemUntelling { way, items } = untelling;
    let way = *way;
    may_tell(case, items)?;
    let known = case.world.told_items(way)?.iter().map(|row| &row.item);
    let untold: BTreeSet<&String> = known.filter(|item| items.contains(item)).collect();
    if !untold.is_empty() {
        let items = untold.into_iter().cloned().collect();
        case.events.push(Event::ItemsUntold { way, items });
    }
    Ok(Reply::ItemsUntold)
}
