//! The differences between the accepted settings and the files as they are now.

use std::collections::BTreeMap;

use super::list::{ItemOrder, TrustItem, TrustList};

/// One difference between the accepted settings and the files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustChange {
    /// One line, for example `+ check of code: make lint`, `- gate: deny write infra/**`, `~ limit usd: 5 -> 100`.
    pub text: String,
    /// True when the change waits for a person. The others are in force already, or they stop nothing.
    pub waits: bool,
}

/// Compares two lists, in the order of the new list. Removed items come last.
pub(super) fn changes(accepted: &TrustList, found: &TrustList) -> Vec<TrustChange> {
    let key = |item: &TrustItem| (item.key, item.subject.clone());
    let before: BTreeMap<_, _> = accepted.0.iter().map(|item| (key(item), item)).collect();
    let after: BTreeMap<_, _> = found.0.iter().map(|item| (key(item), item)).collect();
    let mut changes = Vec::new();
    for item in &found.0 {
        match before.get(&key(item)) {
            None => changes.push(TrustChange { text: format!("+ {}", item.text), waits: is_wider(item, accepted) }),
            Some(known) if is_same(known, item) => {}
            Some(known) => changes.push(changed(known, item)),
        }
    }
    for item in accepted.0.iter().filter(|item| !after.contains_key(&key(item))) {
        changes.push(TrustChange { text: format!("- {}", item.text), waits: is_loosened(item, found) });
    }
    changes
}

/// Tells whether an item is unchanged. For a script several contents may have been accepted, so each is looked up.
fn is_same(known: &TrustItem, item: &TrustItem) -> bool {
    if item.key != super::SCRIPT {
        return known.value == item.value;
    }
    let marks = |item: &TrustItem| item.value.as_array().cloned().unwrap_or_default();
    let accepted = marks(known);
    marks(item).iter().all(|mark| accepted.contains(mark))
}

fn changed(known: &TrustItem, item: &TrustItem) -> TrustChange {
    let waits = match (known.order, item.order) {
        (ItemOrder::Bound(before), ItemOrder::Bound(after)) => after > before,
        (ItemOrder::Demand(before), ItemOrder::Demand(after)) => after <= before,
        // A rule changed from allow to ask or deny, so it is stricter.
        (ItemOrder::Grant, ItemOrder::Demand(_)) => false,
        (_, ItemOrder::Noted) => false,
        (_, ItemOrder::Grant | ItemOrder::Fixed | ItemOrder::Bound(_) | ItemOrder::Demand(_)) => true,
    };
    // Secrets are left out of the lines, so two different lines may look the same.
    let text = if known.text == item.text {
        format!("~ {} (another value)", item.text)
    } else {
        match item.text.strip_prefix(common(&known.text, &item.text)) {
            Some(rest) => {
                let name = common(&known.text, &item.text);
                format!("~ {name}{} -> {rest}", &known.text[name.len()..])
            }
            None => format!("~ {} -> {}", known.text, item.text),
        }
    };
    TrustChange { text, waits }
}

/// Returns the name that both lines start with, up to its last colon.
fn common<'a>(one: &'a str, other: &str) -> &'a str {
    let same = one.char_indices().zip(other.chars()).find(|((_, a), b)| a != b);
    let end = same.map_or(one.len().min(other.len()), |((at, _), _)| at);
    let end = one[..end].rfind(": ").map_or(0, |at| at + 2);
    &one[..end]
}

/// Tells whether a new item widens access.
fn is_wider(item: &TrustItem, accepted: &TrustList) -> bool {
    let reads_all = || {
        let slug = agent_of(item).unwrap_or_default();
        accepted.0.iter().any(|known| known.key == item.key && known.subject == format!("{slug} *"))
    };
    match item.order {
        ItemOrder::Grant if item.key == "agent.readable_sections" => !reads_all(),
        ItemOrder::Grant | ItemOrder::Fixed | ItemOrder::Bound(_) => true,
        ItemOrder::Demand(_) | ItemOrder::Noted => false,
    }
}

/// Tells whether the removal of an item widens access.
fn is_loosened(item: &TrustItem, found: &TrustList) -> bool {
    match item.order {
        ItemOrder::Grant | ItemOrder::Bound(_) | ItemOrder::Noted => false,
        ItemOrder::Demand(_) => true,
        // The settings of a removed agent do not matter.
        ItemOrder::Fixed => agent_of(item).is_none_or(|slug| has_agent(found, slug)),
    }
}

/// Returns the slug of the agent that an item belongs to.
fn agent_of(item: &TrustItem) -> Option<&str> {
    item.key.starts_with("agent.").then(|| item.subject.split(' ').next().unwrap_or_default())
}

fn has_agent(list: &TrustList, slug: &str) -> bool {
    list.0.iter().any(|item| item.key == "agent.command" && item.subject == slug)
}
