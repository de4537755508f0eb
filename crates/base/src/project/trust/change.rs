//! The differences between the settings that a person accepted and the settings files as they are now.

use std::collections::BTreeMap;

use super::list::{ItemOrder, TrustItem, TrustList};
use crate::project::settings::SettingSource;

/// One difference between the accepted settings and the settings files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustChange {
    /// One line that shows the change to a person, for example `+ check of code: make lint`,
    /// `- gate: deny write infra/**`, `~ limit usd: 5 -> 100`.
    pub text: String,
    /// True when a person must accept the change before it takes effect. False when it takes effect immediately or has
    /// no effect.
    pub waits: bool,
    /// The origin of the changed value: a settings file, or the detection on this machine.
    pub source: SettingSource,
}

/// Compares the list of settings that a person accepted with the list that the current files give. Returns the changes
/// in the order of the new list; removed items come last.
pub(super) fn changes(accepted: &TrustList, found: &TrustList) -> Vec<TrustChange> {
    let key = |item: &TrustItem| (item.key, item.subject.clone());
    let before: BTreeMap<_, _> = accepted.0.iter().map(|item| (key(item), item)).collect();
    let after: BTreeMap<_, _> = found.0.iter().map(|item| (key(item), item)).collect();
    let mut changes = Vec::new();
    for item in &found.0 {
        match before.get(&key(item)) {
            // A new item with its default value, such as the time limit of a new check, is not reported. The line that
            // reports the new check is enough.
            None if item.is_default => {}
            None => {
                let (text, waits) = (format!("+ {}", item.text), is_wider(item, accepted));
                changes.push(TrustChange { text, waits, source: item.source });
            }
            Some(known) if is_same(known, item) => {}
            Some(known) => changes.push(changed(known, item)),
        }
    }
    for item in accepted.0.iter().filter(|item| !item.is_default && !after.contains_key(&key(item))) {
        let (text, waits) = (format!("- {}", item.text), is_loosened(item, found));
        changes.push(TrustChange { text, waits, source: item.source });
    }
    changes
}

/// Returns true when an item (a setting or a script) is unchanged. A person may have accepted several contents of a
/// script. The script is unchanged when its current content is one of these.
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
        // A gate rule that changed from `allow` to `ask` or `deny` is stricter, so it takes effect immediately.
        (ItemOrder::Grant, ItemOrder::Demand(_)) => false,
        (_, ItemOrder::Noted) => false,
        (_, ItemOrder::Grant | ItemOrder::Fixed | ItemOrder::Bound(_) | ItemOrder::Demand(_)) => true,
    };
    // The text of an item leaves out secrets, so two items with different values may have the same text.
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
    TrustChange { text, waits, source: item.source }
}

/// Returns the common beginning of the two lines that show an item before and after a change, up to and including the
/// last colon. It is the name of the setting.
fn common<'a>(one: &'a str, other: &str) -> &'a str {
    let same = one.char_indices().zip(other.chars()).find(|((_, a), b)| a != b);
    let end = same.map_or(one.len().min(other.len()), |((at, _), _)| at);
    let end = one[..end].rfind(": ").map_or(0, |at| at + 2);
    &one[..end]
}

/// Returns true when adding this setting to the accepted settings widens access.
fn is_wider(item: &TrustItem, accepted: &TrustList) -> bool {
    let has_all = || {
        let slug = agent_of(item).unwrap_or_default();
        accepted.0.iter().any(|known| known.key == item.key && known.subject == format!("{slug} *"))
    };
    match item.order {
        ItemOrder::Grant if item.key == "agent.readable_sections" || item.key == "agent.keys" => !has_all(),
        ItemOrder::Grant | ItemOrder::Fixed | ItemOrder::Bound(_) => true,
        ItemOrder::Demand(_) | ItemOrder::Noted => false,
    }
}

/// Returns true when removing this setting from the accepted settings widens access.
fn is_loosened(item: &TrustItem, found: &TrustList) -> bool {
    match item.order {
        ItemOrder::Grant | ItemOrder::Bound(_) | ItemOrder::Noted => false,
        // When the agent that the setting belongs to is removed, too, its settings no longer matter.
        ItemOrder::Demand(_) | ItemOrder::Fixed => agent_of(item).is_none_or(|slug| has_agent(found, slug)),
    }
}

/// Returns the slug (short name) of the agent that a setting belongs to, or `None` for a setting of no agent.
fn agent_of(item: &TrustItem) -> Option<&str> {
    item.key.starts_with("agent.").then(|| item.subject.split(' ').next().unwrap_or_default())
}

fn has_agent(list: &TrustList, slug: &str) -> bool {
    list.0.iter().any(|item| item.key == "agent.command" && item.subject == slug)
}
