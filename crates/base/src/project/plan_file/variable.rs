//! Fills in the variables of a plan: `{{NAME}}` in any text becomes the value of NAME.

use wire::json::{Object, Value};

/// The keys of a plan that describe its variables. Their texts are not filled in.
const ABOUT_VARIABLES: [&str; 2] = ["variables", "defaults"];

/// Puts the given values, or the plan's own defaults, in the place of the variables. Fails when no text uses a given
/// value, because its name is probably misspelt. Also fails when a variable that the plan lists has no value.
pub(super) fn fill(members: &mut Object, given: &[(String, String)]) -> Result<(), String> {
    let of = |key: &str| members.iter().find(|(name, _)| name == key).map(|(_, value)| value.clone());
    let (listed, defaults) = (of("variables"), of("defaults"));
    for (name, value) in given {
        if !fill_one(members, name, value) {
            let mark = mark(name);
            return Err(format!("the plan has no {mark}; check the name that you gave with --var"));
        }
    }
    let is_given = |name: &str| given.iter().any(|(known, _)| known == name);
    if let Some(Value::Object(defaults)) = &defaults {
        for (name, value) in defaults.iter().filter(|(name, _)| !is_given(name)) {
            // A default that is no text is skipped here. A later check refuses it, with an error that names its line.
            value.as_text().map(|value| fill_one(members, name, value));
        }
    }
    let listed = listed.as_ref().and_then(Value::as_list).unwrap_or_default().iter().filter_map(Value::as_text);
    let has_default = |name: &str| defaults.as_ref().is_some_and(|defaults| defaults.get(name).is_some());
    let mut open = listed.filter(|name| !is_given(name) && !has_default(name));
    match open.next() {
        None => Ok(()),
        Some(name) => Err(format!("the plan needs a value for {{{{{name}}}}}: --var {name}=VALUE")),
    }
}

fn mark(name: &str) -> String {
    format!("{{{{{name}}}}}")
}

fn fill_one(members: &mut Object, name: &str, value: &str) -> bool {
    let mark = mark(name);
    let mut used = false;
    for (_, member) in members.iter_mut().filter(|(key, _)| !ABOUT_VARIABLES.contains(&key.as_str())) {
        used |= fill_value(member, &mark, value);
    }
    used
}

fn fill_value(value: &mut Value, mark: &str, with: &str) -> bool {
    match value {
        Value::Text(text) if text.contains(mark) => {
            *text = text.replace(mark, with);
            true
        }
        Value::List(items) => items.iter_mut().fold(false, |used, item| fill_value(item, mark, with) | used),
        Value::Object(members) => members.iter_mut().fold(false, |used, (_, item)| fill_value(item, mark, with) | used),
        Value::Text(_) | Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}
